"""Reductions and statistics: masks, arguments in NumPy's names, what is refused, and what NumPy's functions build."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tg
from tg.errors import DtypeError, InputError, ShapeError

MATRIX = np.array([[1.0, 5.0, 2.0], [4.0, 3.0, 0.5]])


@pytest.mark.parametrize(
    "expression",
    [
        lambda x: np.median(x, axis=0),
        lambda x: np.quantile(x, [0.25, 0.5], axis=1),
        lambda x: np.std(x, axis=1, ddof=1),
        lambda x: np.sort(x, axis=0),
        lambda x: np.cumprod(x, axis=1),
        lambda x: np.diff(x),
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.trace(x),
        lambda x: np.maximum.accumulate(x, axis=1),
        lambda x: np.add.reduce(x, axis=1, keepdims=True),
        lambda x: x.std(axis=0, ddof=1),
        lambda x: x.argsort(axis=1),
        lambda x: x.sum(axis=0, where=x > 1, initial=2.0),
        lambda x: x.max(axis=1, keepdims=True),
        lambda x: x.cumprod(axis=0),
        lambda x: x.diagonal(),
    ],
)
def test_numpy_functions_and_methods_build_the_same(expression):
    x = tg.matrix("x")
    np.testing.assert_allclose(expression(x).eval({x: MATRIX}), expression(MATRIX), rtol=1e-14)


def test_the_diagonal_of_linalg_is_that_of_the_last_axes():
    x = tg.tensor("x", "float64", (None, None, None))
    a = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(np.linalg.diagonal(x).eval({x: a}), np.linalg.diagonal(a))


def test_a_mask_is_bool():
    x = tg.matrix("x")
    with pytest.raises(DtypeError, match="sum: where: found float64, needed bool"):
        tg.sum(x, where=x)


def test_an_extreme_of_chosen_elements_needs_a_start():
    x = tg.matrix("x")
    with pytest.raises(InputError, match="max: where: found no initial, needed one"):
        tg.max(x, where=x > 0)


def test_results_keep_single_precision():
    x = tg.tensor("x", "float32", (None, 3))
    made = [tg.median(x), tg.std(x), tg.norm(x), tg.trapezoid(x), tg.cov(x), tg.quantile(x, 0.5), tg.cumprod(x)]
    assert {v.type.dtype for v in made} == {"float32"}


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
def test_more_halves_than_a_half_can_count(dtype):
    """float16 counts to 65,504 and bfloat16 in steps of 512 there; their sums are made in float32."""
    x = tg.vector("x", dtype)
    means = [tg.mean(x), tg.average(x), tg.sum(x / 1000), tg.norm(x), *tg.grad(tg.sum(tg.log_softmax(x)), [x])]
    with tg.config(backend="perform"):
        *results, slope = tg.function([x], means)(np.full(70_000, 0.5, dtype))
    wanted = [0.5, 0.5, 70_000 * float(np.asarray(0.5 / 1000, dtype)), 0.5 * np.sqrt(70_000)]
    np.testing.assert_array_equal(np.array(results, dtype), np.array(wanted, dtype))
    np.testing.assert_allclose(slope.astype(float), 0, atol=70_000 * 2.0**-23)


def test_an_array_of_shares_comes_first():
    x = tg.tensor("x", "float64", (4, 5, 6))
    assert tg.quantile(x, [0.1, 0.2, 0.3], (0, 2)).type.shape == (3, 5)
    assert tg.quantile(x, 0.5, 1, keepdims=True).type.shape == (4, 1, 6)


def test_weights_have_the_lengths_of_the_axis():
    with pytest.raises(ShapeError, match="average: weights: found"):
        tg.average(tg.matrix("x"), weights=tg.vector("w"))


def test_counts_of_a_size_have_it():
    i = tg.vector("i", dtype="int64")
    assert tg.bincount(i, size=7).type.shape == (7,)
    assert tg.bincount(i).type.shape == (None,)
    assert [v.type.shape for v in tg.histogram(tg.vector("x"), 5)] == [(5,), (6,)]


def test_static_lengths_of_creation():
    assert tg.arange(2, 12, 3).type.shape == (4,)
    assert tg.linspace(0, 1, 7).type.shape == (7,)
    assert [v.type.shape for v in tg.triu_indices(4)] == [(10,), (10,)]
    assert tg.vander(tg.tensor("x", "float64", (3,)), 2).type.shape == (3, 2)


def test_products_of_axes_have_static_lengths():
    x, y = tg.tensor("x", "float64", (2, 3, 4)), tg.tensor("y", "float64", (5, 4, 3))
    assert tg.dot(x, y).type.shape == (2, 3, 5, 3)
    assert tg.tensordot(x, y, ((1, 2), (2, 1))).type.shape == (2, 5)
    assert tg.kron(x, y).type.shape == (10, 12, 12)
