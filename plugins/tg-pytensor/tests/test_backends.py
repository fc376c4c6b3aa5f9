"""Modes and densities on backends of other libraries, where these are installed."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from models28 import MODELS
from test_models import points_of

import tg
import tg_pytensor

INSTALLED = {status.name for status in tg.backends() if status.state == "available"}
CLOSE = 1e-12  # of the longest component of a gradient
A = np.array([0.5, -1.0, 2.0])


def of_backends(test):
    """Run a test for each of the backends that is installed."""
    needs = [
        pytest.param(b, marks=pytest.mark.skipif(b not in INSTALLED, reason=f"no {b}")) for b in ("jax", "torch", "mlx")
    ]
    return pytest.mark.parametrize("backend", needs)(test)


@of_backends
def test_functions_of_a_mode_are_one_region(backend):
    x, m = pt.vector("x"), pt.matrix("m")
    outputs = [pt.exp(x).sum(), m * x, pt.grad(pt.sum(pt.tanh(m) @ x), m), x[::2]]
    given = A, np.arange(6.0).reshape(2, 3) / 9
    f = pytensor.function([x, m], outputs, mode=f"TG_{backend.upper()}")
    assert tg_pytensor.linked(f)[:1] == ((backend,),)
    for found, wanted in zip(f(*given), pytensor.function([x, m], outputs, mode="FAST_COMPILE")(*given), strict=True):
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, wanted, rtol=CLOSE)


@pytest.mark.long
@of_backends
@pytest.mark.parametrize("name", MODELS)
def test_densities_and_gradients_are_those_of_the_reference(name, backend):
    """The reference is compared with PyTensor in the tests of models."""
    model = MODELS[name]()
    converted = tg_pytensor.from_pymc(model)
    f, reference = converted.value_and_grad(backend), converted.value_and_grad("perform")
    for point in points_of(model):
        (value, slope), (v, d) = f(point), reference(point)
        np.testing.assert_allclose(value, v, rtol=CLOSE)
        np.testing.assert_allclose(slope, d, rtol=0, atol=CLOSE * np.abs(d).max())
