"""Orders, medians and weighted means of masked arrays: numpy.ma's results on every backend, and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tg.errors import NotDifferentiable, ShapeError

DRAWS = np.random.default_rng(1)
VALUES = np.round(DRAWS.normal(size=(4, 5)), 1)
VALUES[0, 1] = VALUES[0, 3] = 0.5  # ties
MASK = DRAWS.random((4, 5)) < 0.3
MASK[2] = True  # a row of which nothing counts
MASK[3] = False
HIDDEN = np.where(MASK, [np.nan, np.inf, -np.inf, np.nan, 0.0], VALUES)
THEIRS = np.ma.MaskedArray(VALUES, MASK)
WEIGHTS = DRAWS.random((4, 5))
BACKENDS = [one.name for one in tg.backends() if one.is_available and one.name != "loopback"]
X = tg.masked.tensor("x", shape=(None, None))
AXES = (None, 0, 1)


def of(expression: Any, backend: str = "perform", dtype: str = "float64") -> Any:
    """The value of an expression of X, whose values are NaN and infinite where they do not count."""
    f = tg.function([X], expression, backend=backend, on_unused_input="ignore")
    return f(tg.masked.MaskedArray(HIDDEN.astype(dtype), ~MASK))


def compare(result: Any, wanted: Any, rtol: float = 1e-13) -> None:
    if np.asarray(result.values).dtype == np.float32:
        rtol = 1e-6
    np.testing.assert_array_equal(result.valid, ~np.ma.getmaskarray(wanted))
    np.testing.assert_allclose(np.ma.filled(result.to_numpy(), 1), np.ma.filled(wanted, 1), rtol=rtol, atol=1e-7)


@pytest.mark.parametrize("backend", BACKENDS)
def test_orders_and_middles_are_those_of_numpy(backend: str) -> None:
    results = of(
        [
            [tg.masked.sort(X, axis) for axis in AXES],
            [tg.masked.sort(X, axis, endwith=False) for axis in AXES],
            [tg.masked.median(X, axis, keepdims=True) for axis in AXES],
            [tg.masked.argsort(X, axis) for axis in AXES],
        ],
        backend,
    )
    for axis, behind, before, middle, places in zip(AXES, *results, strict=True):
        compare(behind, np.ma.sort(THEIRS, axis))
        compare(before, np.ma.sort(THEIRS, axis, endwith=False))
        compare(middle, np.ma.median(THEIRS, axis, keepdims=True))
        np.testing.assert_array_equal(places, np.ma.argsort(THEIRS, axis, kind="stable"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_means_with_weights_are_those_of_numpy(backend: str) -> None:
    of_rows, masked = WEIGHTS[:, 0], np.ma.MaskedArray(WEIGHTS, WEIGHTS < 0.3)
    cases = [(None, None), (1, None), (1, WEIGHTS), (0, of_rows), (None, masked), (0, masked), ((0, 1), WEIGHTS)]
    results = of([tg.masked.average(X, axis, weights, returned=True) for axis, weights in cases], backend)
    for (axis, weights), (mean, scale) in zip(cases, results, strict=True):
        wanted, sums = np.ma.average(THEIRS, axis, weights, returned=True)
        compare(mean, wanted, rtol=1e-12)
        np.testing.assert_allclose(np.ma.filled(scale.to_numpy(), 0.0), np.ma.filled(sums, 0.0), rtol=1e-6)


def test_weights_that_are_0_give_no_mean() -> None:
    x = tg.masked.array([[1.0, 2.0], [3.0, 5.0]], [[True, False], [True, True]])
    w = np.array([[0.0, 4.0], [3.0, 1.0]])
    result = tg.function([], tg.masked.average(x, 1, w), backend="perform")()
    compare(result, np.ma.average(np.ma.MaskedArray([[1.0, 2.0], [3.0, 5.0]], [[False, True], [False, False]]), 1, w))
    slope = tg.grad(tg.masked.average(x, 1, w).sum().filled(), x.values)
    np.testing.assert_array_equal(slope.eval(), [[0.0, 0.0], [0.75, 0.25]])


@pytest.mark.parametrize("dtype", ["int8", "bool", "float32", "float16"])
def test_dtypes_are_those_of_numpy(dtype: str) -> None:
    values, mask = np.array([[3, 1, 0, 1], [1, 9, 0, 2]]).astype(dtype), [[0, 1, 0, 0], [1, 0, 0, 0]]
    theirs = np.ma.MaskedArray(values, mask)
    x = tg.masked.array(theirs)
    results = tg.function([], [x.sort(), x.average(1, weights=[1.0, 2.0, 3.0, 4.0]), x.median(1)], backend="perform")()
    ordered = np.ma.sort(theirs.astype("int8") if dtype == "bool" else theirs)  # NumPy takes True for masked
    wanted = [ordered, np.ma.average(theirs, 1, [1.0, 2.0, 3.0, 4.0]), np.ma.median(theirs * 1, 1)]
    for result, one in zip(results, wanted, strict=True):
        compare(result, one)
    assert results[0].values.dtype == values.dtype
    assert results[1].values.dtype == "float64"
    assert results[2].values.dtype == ("float64" if dtype in ("int8", "bool") else dtype)


def test_nan_that_counts_stands_last_and_is_the_median() -> None:
    theirs = np.ma.MaskedArray([[2.0, np.nan, 1.0, 0.0], [2.0, np.nan, 1.0, 0.0]], [[0, 0, 0, 1], [0, 1, 0, 0]])
    x = tg.masked.array(theirs)
    behind, middle, places = tg.function([], [x.sort(), x.median(1), x.argsort()], backend="perform")()
    assert behind.valid.tolist() == [[True, True, True, False]] * 2
    np.testing.assert_array_equal(behind.to_numpy()[:, :3], [[1.0, 2.0, np.nan], [0.0, 1.0, 2.0]])
    np.testing.assert_array_equal(middle.values, [np.nan, 1.0])
    assert places.tolist() == [[2, 0, 1, 3], [3, 2, 0, 1]]


LOSSES = {
    "sort": lambda x: (x.sort(1).values[:, :2] ** 2 * [1.0, 3.0]).sum(),
    "median": lambda x: (x.median(1) ** 2).sum().filled(),
    "average": lambda x: (x.average(0, WEIGHTS) ** 2).sum().filled(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_differences_and_0_where_nothing_counts(name: str) -> None:
    at = np.where(MASK, 0.0, DRAWS.permutation(20).reshape(4, 5) / 7)
    slopes = tg.grad(LOSSES[name](X), X.values)
    found, worst = (
        tg.function([X], slopes, backend="perform")(tg.masked.MaskedArray(np.where(MASK, filling, at), ~MASK))
        for filling in (0.0, np.nan)
    )
    np.testing.assert_array_equal(found, worst)
    assert not found[MASK].any()
    x = tg.tensor("x", shape=(4, 5))
    cost = tg.function([x], LOSSES[name](tg.masked.array(x, ~MASK)), backend="perform")
    for place in map(tuple, np.argwhere(~MASK)):
        up, down = at.copy(), at.copy()
        up[place] += 1e-6
        down[place] -= 1e-6
        np.testing.assert_allclose(found[place], (cost(up) - cost(down)) / 2e-6, rtol=2e-5, atol=1e-6)


def test_mistakes_are_told() -> None:
    x = tg.masked.tensor("x", shape=(None,))
    for wrt in (x, {"x": x}):
        with pytest.raises(NotDifferentiable, match=r"found <x.valid : bool(.|\n)*hint: tg.grad\(cost, x.values\)"):
            tg.grad((x * x).sum().filled(), wrt)
    with pytest.raises(NotDifferentiable, match="a cast of one gives integers"):
        tg.grad((x * x).sum().filled(), x.valid)
    with pytest.raises(ShapeError, match=r"average: weights: found float64\[1, 2\] for float64\[\?\]"):
        tg.masked.average(x, 0, [[1.0, 2.0]])
