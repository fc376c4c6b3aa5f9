"""Exponentials of what is known not to be above 0 are written without an upper range, and have the same bits."""

import numpy as np
import pytest
import scipy.special

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
FINITE = tg.where(tg.isfinite(TOP := tg.max(X, axis=-1, keepdims=True)), TOP, 0.0)
SHIFTED = {
    "logsumexp": tg.logsumexp(X, axis=-1),
    "log_softmax": tg.log_softmax(X, axis=-1),
    "sums": tg.sum(tg.exp(X - FINITE), axis=-1),
}
NOT_SHIFTED = {
    "powers that are kept": tg.exp(X - FINITE),
    "powers that are kept besides": tg.grad(tg.sum(tg.logsumexp(X, axis=-1)), X),
    "sums of columns": tg.sum(tg.exp(X - FINITE), axis=0),
    "weighted powers": tg.sum(tg.exp(X - FINITE) * X, axis=-1),
    "another number for infinity": tg.sum(tg.exp(X - tg.where(tg.isfinite(TOP), TOP, 1.0)), axis=-1),
    "the smallest": tg.sum(tg.exp(X - tg.where(tg.isfinite(low := tg.min(X, -1, keepdims=True)), low, 0.0)), -1),
}


def writings(name, monkeypatch):
    """The dtypes that a kernel of `libm` is written for from now on."""
    dtypes, usual = [], getattr(libm, name)

    def noted(x):
        dtypes.append(x.dtype)
        return usual.write(x)

    monkeypatch.setattr(libm, name, usual._replace(write=noted))
    return dtypes


@pytest.fixture
def written(monkeypatch):
    """What has been written for numbers that are not above 0."""
    return writings("DOWN", monkeypatch)


@pytest.fixture
def shifted(monkeypatch):
    """What has been written for numbers that are above 0 beside infinity alone."""
    return writings("SHIFTED", monkeypatch)


@pytest.mark.parametrize("name", DOWNWARDS)
def test_exponentials_of_what_is_never_above_0(backend, name, written):
    tg.function([X], DOWNWARDS[name], backend=backend)
    assert written


@pytest.mark.parametrize("name", OTHERS)
def test_exponentials_of_what_may_be_above_0(backend, name, written):
    tg.function([X], OTHERS[name], backend=backend)
    assert not written


@pytest.mark.parametrize("name", SHIFTED)
def test_exponentials_in_sums_beside_an_infinite_one(backend, name, shifted):
    tg.function([X], SHIFTED[name], backend=backend)
    assert shifted


@pytest.mark.parametrize("name", NOT_SHIFTED)
def test_exponentials_that_are_asked_for_themselves(backend, name, shifted):
    tg.function([X], NOT_SHIFTED[name], backend=backend)
    assert not shifted


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_logarithms_of_sums_of_exponentials_of_any_numbers(backend, dtype):
    inf, nan = np.inf, np.nan
    ends = [0.0, -0.0, 1.0, 50.0, 72.1, 72.3, 80.0, 88.7, 300.0, 673.1, 673.3, 700.0, -80.0, -103.9, -745.1, -1e30]
    rows = [[a, b, c] for a in (inf, -inf, nan, 1e30, 3.0) for b in ends for c in (*ends, inf, -inf, nan)]
    x = np.array(rows, dtype).repeat(5, axis=1)  # blocks, and a partial one
    v = tg.tensor("v", dtype, (None, None))
    f = tg.function([v], [tg.logsumexp(v, axis=-1), tg.log_softmax(v, axis=-1)], backend=backend)
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.permuted(x, axis=1), rng.normal(size=(50, 15)).astype(dtype) * 300])
    total, logs = f(x)
    with np.errstate(all="ignore"):
        right = scipy.special.logsumexp(x.astype(np.longdouble), axis=-1)
        np.testing.assert_allclose(
            total, right.astype(dtype), rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps
        )
        np.testing.assert_array_equal(logs, x - total[:, None])


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
