"""Activations: PyTorch's values and derivatives to second order, limits at hard points, what is refused."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import torch
from torch.nn import functional as peer

import tg
from tests.unit.ops.nn.peers import assert_as_torch, slopes
from tg.errors import DomainError, DtypeError, InputError, ShapeError

POINTS = np.array([-40.0, -7.3, -2.9, -1.0, -0.3, 0.2, 0.9, 2.7, 5.5, 30.0])
HARD = np.array([-1e300, -1e3, 1e3, 1e300])


@pytest.mark.parametrize("name", ["relu6", "hardtanh", "leaky_relu", "elu", "selu", "celu", "silu", "mish"])
def test_functions_of_elements_are_those_of_torch(name):
    assert_as_torch(getattr(tg.nn, name), getattr(peer, name), POINTS)


def test_softsign_is_that_of_torch():
    assert_as_torch(tg.nn.softsign, peer.softsign, POINTS, order=1)  # torch imports for 12 s before the second
    np.testing.assert_allclose(slopes(tg.nn.softsign, POINTS, 2), -2 * np.sign(POINTS) / (1 + abs(POINTS)) ** 3)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda x: tg.nn.hardtanh(x, -2.0, 0.5), lambda x: peer.hardtanh(x, -2.0, 0.5)),
        (lambda x: tg.nn.threshold(x, 0.5, -3.0), lambda x: peer.threshold(x, 0.5, -3.0)),
        (lambda x: tg.nn.leaky_relu(x, 0.2), lambda x: peer.leaky_relu(x, 0.2)),
        (lambda x: tg.nn.elu(x, 0.7), lambda x: peer.elu(x, 0.7)),
        (lambda x: tg.nn.celu(x, 0.5), lambda x: peer.celu(x, 0.5)),
        (lambda x: tg.nn.gelu(x[2:]), lambda x: peer.gelu(x[2:])),
        (lambda x: tg.nn.gelu(x[2:], "tanh"), lambda x: peer.gelu(x[2:], approximate="tanh")),
        (lambda x: tg.nn.glu(x.reshape(2, 5), 0), lambda x: peer.glu(x.reshape(2, 5), 0)),
        (lambda x: tg.nn.swiglu(x), lambda x: peer.silu(x[:5]) * x[5:]),
    ],
)
def test_their_arguments_are_those_of_torch(ours, theirs):
    assert_as_torch(ours, theirs, POINTS)


def test_slopes_of_channels_are_those_of_torch():
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    assert_as_torch(tg.nn.prelu, peer.prelu, x, np.array([0.1, 0.2, -0.3]))
    assert_as_torch(lambda x, w: tg.nn.prelu(x, w, axis=-1), lambda x, w: peer.prelu(x.mT, w).mT, x, np.ones(4) / 5)
    v = tg.tensor("v", "float64", (None, None, None))
    np.testing.assert_array_equal(tg.nn.prelu(v, [0.5]).eval({v: x}), tg.nn.leaky_relu(v, 0.5).eval({v: x}))


@pytest.mark.parametrize("name", ["hardsigmoid", "hardswish", "relu6", "hardtanh", "leaky_relu", "elu", "selu", "celu"])
def test_slopes_at_kinks_are_those_of_torch(name):
    x = np.array([-3.0, -1.0, 0.0, 1.0, 3.0, 6.0])
    given = torch.tensor(x, requires_grad=True)
    (needed,) = torch.autograd.grad(getattr(peer, name)(given).sum(), given)
    np.testing.assert_allclose(slopes(getattr(tg.nn, name), x), needed, rtol=1e-7)  # torch has 1/6 in float32


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "name", ["silu", "gelu", "mish", "elu", "selu", "celu", "softsign", "hardswish", "hardsigmoid"]
)
def test_far_out_there_are_no_indeterminate_slopes(name, order):
    found = slopes(getattr(tg.nn, name), HARD, order)
    assert np.isfinite(found).all()
    if order == 2:
        np.testing.assert_allclose(found, 0, atol=1e-8)


def test_tails_are_accurate_relative_to_their_size():
    x = tg.vector("x")
    at = np.array([-30.0, -12.5, -6.0])
    with mpmath.workdps(150):
        normal = [float(v * mpmath.ncdf(v)) for v in map(mpmath.mpf, at)]
        cubes = [mpmath.sqrt(2 / mpmath.pi) * (v + mpmath.mpf("0.044715") * v**3) for v in map(mpmath.mpf, at)]
        by_tanh = [float(v / 2 * (1 + mpmath.tanh(u))) for v, u in zip(map(mpmath.mpf, at), cubes, strict=True)]
        slope = [float(mpmath.diff(lambda t: t / (1 + mpmath.exp(-t)), v)) for v in map(mpmath.mpf, at)]
        inverse = [float(1 / (1 + mpmath.mpf(v)) ** 2) for v in (1e5, 1e9)]
    np.testing.assert_allclose(tg.nn.gelu(x).eval({x: at}), normal, rtol=3e-13)
    np.testing.assert_allclose(tg.nn.gelu(x, "tanh").eval({x: at[1:]}), by_tanh[1:], rtol=1e-12)
    np.testing.assert_allclose(slopes(tg.nn.silu, at), slope, rtol=1e-13)
    np.testing.assert_allclose(slopes(tg.nn.softsign, np.array([1e5, 1e9])), inverse, rtol=1e-14)


def test_dtypes_are_kept_and_integers_become_float64():
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        assert tg.nn.silu(tg.vector("x", dtype)).type.dtype == dtype
        assert tg.nn.leaky_relu(tg.vector("x", dtype)).type.dtype == dtype
    assert tg.nn.gelu(tg.vector("i", "int32")).type.dtype == "float64"


def test_names_that_others_have_are_the_same_objects():
    assert tg.nn.swish is tg.nn.silu
    assert tg.nn.logsigmoid is tg.nn.log_sigmoid
    others = {"save", "load", "resize"}  # of weights and images there, of programs and arrays here
    for name in set(tg.nn.__all__) & set(dir(tg)) - others:
        assert getattr(tg.nn, name) is getattr(tg, name), name


def test_what_is_refused():
    x, m = tg.vector("x"), tg.matrix("m", shape=(2, 3))
    with pytest.raises(ShapeError, match="glu: axis -1: found a length of 3, needed an even one"):
        tg.nn.glu(m)
    with pytest.raises(ShapeError, match="swiglu: axis -1: found a length of 3, needed an even one"):
        tg.nn.swiglu(x).eval({x: np.ones(3)})
    with pytest.raises(ShapeError, match="prelu: weight: axis 0: lengths differ: 2 and 3"):
        tg.nn.prelu(m, np.ones(2))
    with pytest.raises(ShapeError, match=r"prelu: weight: found float64\[1, 3\], needed a scalar or a vector"):
        tg.nn.prelu(m, np.ones((1, 3)))
    with pytest.raises(InputError, match="gelu: approximate: found 'erf', needed 'none' or 'tanh'"):
        tg.nn.gelu(x, "erf")
    with pytest.raises(InputError, match="hardtanh: found limits 1 and 0, needed the lower one first"):
        tg.nn.hardtanh(x, 1, 0)
    with pytest.raises(DomainError, match="celu: alpha: found 0, needed a number other than 0"):
        tg.nn.celu(x, 0)
    with pytest.raises(DtypeError, match="mish: found complex128, needed a real dtype"):
        tg.nn.mish(tg.vector("z", "complex128"))
