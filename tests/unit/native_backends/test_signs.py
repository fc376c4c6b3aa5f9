"""Exponentials of what is known not to be above 0 are written without an upper range, and have the same bits."""

import numpy as np
import pytest

import tg
from tg_native.kernels import libm

X = tg.tensor("x", "float64", (None, None))
DOWNWARDS = {
    "softmax": tg.softmax(X, axis=-1),
    "less the largest": tg.exp(X - tg.max(X, axis=-1, keepdims=True)),
    "sizes": tg.exp(-tg.absolute(X)),
    "squares": tg.exp(-0.5 * (X - 1) ** 2),
    "sigmoid": tg.sigmoid(X),
}
OTHERS = {
    "nothing known": tg.exp(X),
    "of another axis": tg.exp(X - tg.max(X, axis=0, keepdims=True)),
    "of other numbers": tg.exp(2 * X - tg.max(X, axis=-1, keepdims=True)),
    "the smallest": tg.exp(X - tg.min(X, axis=-1, keepdims=True)),
    "the other way round": tg.exp(tg.max(X, axis=-1, keepdims=True) - X),
    "of infinite numbers too": tg.logsumexp(X, axis=-1),
}


@pytest.fixture
def written(monkeypatch):
    """What has been written for numbers that are not above 0."""
    found = []

    def noted(x):
        found.append(x.dtype)
        return exp_down(x)

    exp_down = libm.DOWN.write
    monkeypatch.setattr(libm, "DOWN", libm.DOWN._replace(write=noted))
    return found


@pytest.mark.parametrize("name", DOWNWARDS)
def test_exponentials_of_what_is_never_above_0(backend, name, written):
    tg.function([X], DOWNWARDS[name], backend=backend)
    assert written


@pytest.mark.parametrize("name", OTHERS)
def test_exponentials_of_what_may_be_above_0(backend, name, written):
    tg.function([X], OTHERS[name], backend=backend)
    assert not written


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_bits_are_those_of_any_exponential(backend, dtype):
    rng, info = np.random.default_rng(0), np.finfo(dtype)
    bits = rng.integers(0, 2**info.bits, 20_000, dtype=f"uint{info.bits}").view(dtype)
    known = [0, -0.0, np.inf, np.nan, 87.3, 88, 103.97, 103.98, 104, 708.4, 745.13, 745.14, 746, info.max, info.tiny]
    ends = np.concatenate([np.linspace(80, 110, 5001), np.linspace(700, 750, 5001), rng.normal(size=20_000)])
    x = -np.abs(np.concatenate([bits[~np.isnan(bits)], np.array(known, dtype), ends.astype(dtype)]))
    v = tg.tensor("v", dtype, (None,))
    usual, down = (tg.function([v], e, backend=backend) for e in (tg.exp(v), tg.exp(-tg.absolute(v))))
    np.testing.assert_array_equal(usual(x), down(x))
    x = x[np.isfinite(x)]
    with np.errstate(under="ignore"):
        exact = np.exp(x.astype(np.longdouble))
        unit = np.spacing(exact.astype(dtype)).astype(np.longdouble)
    assert (np.abs(down(x) - exact) / unit).max() <= libm.DOWN.error
