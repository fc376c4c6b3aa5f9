"""Equal elements have equal results: whatever else a loop computes, and so however many lanes its vectors have."""

import numpy as np
import pytest

import tg

FUNCTIONS = (
    "tanh",
    "sinh",
    "cosh",
    "arctan",
    "arcsin",
    "arccos",
    "arcsinh",
    "arctanh",
    "tan",
    "expm1",
    "exp2",
    "log10",
)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_a_function_of_float32_has_the_same_bits_beside_float64(backend, name):
    """Sums in float64 have half the lanes, and libraries have one function for each number of lanes."""
    x, y = tg.matrix("x", "float32"), tg.matrix("y")
    value = getattr(tg, name)(x)
    rng = np.random.default_rng(0)
    data = rng.uniform(0.01, 0.99, (50, 24)).astype("float32")
    alone = tg.function([x], value, backend=backend)(data)
    summed, sums = tg.function([x], (value, tg.sum(value, axis=0)), backend=backend)(data)
    beside, _ = tg.function([x, y], (value, value * y), backend=backend)(data, rng.normal(size=(50, 24)))
    np.testing.assert_array_equal(summed, alone)
    np.testing.assert_array_equal(beside, alone)
    np.testing.assert_allclose(alone, getattr(np, name)(data.astype("float64")), rtol=6e-7)
    np.testing.assert_allclose(sums, alone.sum(axis=0, dtype="float64"), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_a_function_of_float64_has_the_same_bits_beside_float32(backend, name):
    x, y = tg.vector("x"), tg.vector("y", "float32")
    value = getattr(tg, name)(x)
    rng = np.random.default_rng(1)
    data = rng.uniform(0.01, 0.99, 333)
    alone = tg.function([x], value, backend=backend)(data)
    beside, _ = tg.function([x, y], (value, tg.exp(y)), backend=backend)(data, rng.normal(size=333).astype("float32"))
    np.testing.assert_array_equal(beside, alone)
    np.testing.assert_allclose(alone, getattr(np, name)(data), rtol=2e-15)
