"""Masked arrays: numpy.ma's results, gradients that are exactly 0 where nothing counts, ragged batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

import tg
from tg.errors import DtypeError, InputError, RangeError, ShapeError

DRAWS = np.random.default_rng(0)
VALUES = DRAWS.normal(size=(4, 5))
MASK = DRAWS.random((4, 5)) < 0.4
MASK[2] = True  # a row of which nothing counts
OURS = np.where(MASK, [np.nan, np.inf, -np.inf, np.nan, 0.0], VALUES)
THEIRS = np.ma.MaskedArray(VALUES, MASK)
BACKENDS = [one.name for one in tg.backends() if one.is_available]
X = tg.masked.tensor("x", shape=(None, None))


def of(expression: Any, value: Any = None) -> Any:
    """The value of an expression of X, whose values are NaN and infinite where they do not count."""
    x = tg.masked.MaskedArray(OURS, ~MASK) if value is None else value
    return tg.function([X], expression, backend="perform", on_unused_input="ignore")(x)


def compare(result: Any, wanted: Any) -> None:
    np.testing.assert_array_equal(result.valid, ~np.ma.getmaskarray(wanted))
    np.testing.assert_allclose(np.ma.filled(result.to_numpy(), 7.0), np.ma.filled(wanted, 7.0), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + 1.5,
        lambda x: 2.0 - x,
        lambda x: x * x / (3.0 + x),
        lambda x: 3.0 // x,
        lambda x: x % 0.7,
        lambda x: 2.0**x,
        lambda x: x**2,
        lambda x: -abs(x),
        lambda x: (x > 0.1) & ~(x >= 0.9) | (x < -1.0),
        lambda x: (x == x) ^ (x != 0.0),
        lambda x: x[1:, ::2] + x[0, 0:3],
        lambda x: x.T.reshape(2, 10),
        lambda x: x.sum(axis=1) + x.mean(axis=1),
        lambda x: VALUES + x,
    ],
)
def test_operators_are_those_of_numpy(f: Any) -> None:
    compare(of(f(X)), f(THEIRS))


def test_products_take_0_for_what_does_not_count() -> None:
    left, right, both = of([X @ VALUES.T, VALUES.T @ X, X @ X.T])
    compare(left, np.ma.dot(THEIRS, VALUES.T))
    compare(right, np.ma.dot(VALUES.T, THEIRS))
    compare(both, np.ma.dot(THEIRS, THEIRS.T))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "max", "min", "ptp", "any", "all"])
def test_reductions_are_those_of_numpy(name: str, axis: int | None) -> None:
    compare(of(getattr(X, name)(axis)), getattr(THEIRS, name)(axis))


@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_variances_count_where_there_are_more_elements_than_degrees(ddof: int) -> None:
    compare(of(X.var(1, ddof=ddof)), THEIRS.var(1, ddof=ddof))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_counts_positions_and_running_sums(axis: int | None) -> None:
    np.testing.assert_array_equal(of(X.count(axis)), THEIRS.count(axis))
    np.testing.assert_array_equal(of(X.argmax(axis)), THEIRS.argmax(axis))
    np.testing.assert_array_equal(of(X.argmin(axis)), THEIRS.argmin(axis))
    compare(of(X.cumsum(axis)), THEIRS.cumsum(axis))
    compare(of(X.cumprod(axis)), THEIRS.cumprod(axis))


def test_positions_pass_over_what_does_not_count_beside_infinities_and_nan() -> None:
    x = tg.masked.array([[5.0, -np.inf, -np.inf], [9.0, 1.0, np.nan]], [[False, True, True], [False, True, True]])
    assert x.argmax(1).eval().tolist() == [1, 2]


def test_logsumexp_and_softmax_are_scipys_of_what_counts() -> None:
    total, shares, logs = of([X.logsumexp(1), X.softmax(1), X.log_softmax(1)])
    assert total.valid.tolist() == [True, True, False, True]
    assert not shares.values[MASK].any()
    for k in (0, 1, 3):
        counts = ~MASK[k]
        np.testing.assert_allclose(total.values[k], special.logsumexp(VALUES[k][counts]), rtol=1e-13)
        np.testing.assert_allclose(shares.values[k][counts], special.softmax(VALUES[k][counts]), rtol=1e-13)
        np.testing.assert_allclose(logs.values[k][counts], special.log_softmax(VALUES[k][counts]), rtol=1e-13)


LOSSES = {
    "mean": lambda x: x.mean().filled(),
    "var": lambda x: x.var(axis=1, ddof=1).sum().filled(),
    "log": lambda x: tg.masked.log(x * x + 1e-3).sum().filled(),
    "ratio": lambda x: (1.0 / x).sum(axis=0).prod().filled(),
    "max": lambda x: x.max(axis=1).sum().filled() - x.min().filled(),
    "logsumexp": lambda x: x.logsumexp(axis=1).sum().filled(),
    "softmax": lambda x: (x.softmax(axis=1) ** 2).sum().filled(),
    "log_softmax": lambda x: x.log_softmax(axis=1).mean().filled(),
    "cumsum": lambda x: (x.cumsum(axis=1) ** 2).sum().filled(),
    "sqrt": lambda x: tg.masked.sqrt(abs(x)).mean(axis=0).sum().filled(),
    "std": lambda x: x.std(axis=0).sum().filled(),
    "matmul": lambda x: tg.sum((x @ VALUES.T).filled() ** 2),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_exactly_0_where_nothing_counts(name: str) -> None:
    slopes = of(tg.grad(LOSSES[name](X), X.values))
    assert np.isfinite(slopes).all()
    assert not slopes[MASK].any()
    x = tg.tensor("x", shape=(4, 5))
    cost = tg.function([x], LOSSES[name](tg.masked.array(x, ~MASK)), backend="perform")
    at, step = np.where(MASK, 0.3, VALUES), 1e-6
    for i, j in np.argwhere(~MASK):
        up, down = at.copy(), at.copy()
        up[i, j] += step
        down[i, j] -= step
        np.testing.assert_allclose(slopes[i, j], (cost(up) - cost(down)) / (2 * step), rtol=2e-5, atol=1e-6)


def test_functions_of_elements_and_densities() -> None:
    x = tg.masked.array([1.0, -3.0], [True, False])
    assert tg.masked.log(x).filled(5.0).eval().tolist() == [0.0, 5.0]
    assert tg.masked.hypot(x, [0.0, 1.0]).filled(5.0).eval().tolist() == [1.0, 5.0]
    density = tg.masked.apply(tg.distributions.exponential.logpdf, x, 2.0)
    assert np.isfinite(density.values.eval()).all()
    quotient, remainder = tg.masked.apply(tg.divmod, x, 2.0)
    assert (quotient.filled().eval().tolist(), remainder.filled().eval().tolist()) == ([0.0, 0.0], [1.0, 0.0])


def test_choices_and_joins_are_those_of_numpy() -> None:
    other = np.ma.MaskedArray(VALUES[::-1], MASK[::-1])
    condition = VALUES > 0
    results = of(
        [tg.masked.where(condition, X, other), tg.masked.concatenate([X, other], 1), tg.masked.stack([X, other])]
    )
    for result, wanted in zip(
        results,
        [np.ma.where(condition, THEIRS, other), np.ma.concatenate([THEIRS, other], 1), np.ma.stack([THEIRS, other])],
        strict=True,
    ):
        compare(result, wanted)
    compare(of(tg.masked.masked_invalid(X.filled(np.nan))), THEIRS)
    compare(of(tg.masked.masked_where(X.values > 0.2, X)), np.ma.masked_where(VALUES > 0.2, THEIRS))
    np.testing.assert_array_equal(of(X.compressed()), THEIRS.compressed())
    np.testing.assert_array_equal(of(X.compressed(size=3)), THEIRS.compressed()[:3])


def test_integers_and_bools_keep_their_dtypes() -> None:
    theirs = np.ma.MaskedArray(np.array([[3, -4], [5, 6]], "int8"), [[True, False], [True, True]])
    x = tg.masked.array(theirs)
    results = tg.function([], [x.max(1), x.min(), x.sum(1), x.mean(0)], backend="perform")()
    for result, wanted in zip(results, [theirs.max(1), theirs.min(), theirs.sum(1), theirs.mean(0)], strict=True):
        compare(result, wanted)
        assert result.values.dtype == np.asarray(wanted).dtype


def test_ragged_batches_go_in_and_come_out() -> None:
    rows = [DRAWS.normal(size=(n, 2)) for n in (3, 1, 0, 4)]
    batch = tg.masked.from_ragged(rows, length=6)
    assert batch.values.shape == (4, 6, 2)
    x = tg.masked.tensor("batch", shape=(None, None, 2))
    f = tg.function([x], (x * 2.0, x.mean(axis=1)), backend="perform")
    doubled, means = f(batch)
    for row, back in zip(rows, doubled.to_ragged(), strict=True):
        np.testing.assert_array_equal(back, 2.0 * row)
    assert means.valid[:, 0].tolist() == [True, True, False, True]
    np.testing.assert_allclose(means.values[3], rows[3].mean(0), rtol=1e-14)


def test_ragged_batches_of_variables_have_lengths_of_calls() -> None:
    x, y = tg.vector("x"), tg.vector("y")
    f = tg.function([x, y], tg.masked.from_ragged([x, y]), backend="perform")
    assert [row.tolist() for row in f([1.0, 2.0, 3.0], [4.0]).to_ragged()] == [[1.0, 2.0, 3.0], [4.0]]
    assert [row.tolist() for row in f([1.0], [4.0, 5.0]).to_ragged()] == [[1.0], [4.0, 5.0]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_batches_loops_and_compiled_functions_take_them(backend: str) -> None:
    lengths = np.array([2, 5, 0, 3])
    values, n = tg.matrix("values", shape=(4, 5)), tg.vector("n", dtype="int64", shape=(4,))
    x = tg.masked.from_lengths(values, n)
    rows = tg.vmap(lambda row: row.mean())(x)
    last, _ = tg.scan(lambda c, row: (c + row.sum().filled(), c), 0.0, x)
    f = tg.function([values, n], [rows, last, tg.grad(rows.sum().filled(), values)], backend=backend)
    means, total, slopes = f(np.where(np.arange(5) < lengths[:, None], VALUES, np.nan), lengths)
    wanted = [VALUES[k, :m].mean() for k, m in enumerate(lengths) if m]
    np.testing.assert_allclose(means.values[means.valid], wanted, rtol=1e-12)
    np.testing.assert_allclose(total, sum(VALUES[k, :m].sum() for k, m in enumerate(lengths)), rtol=1e-12)
    np.testing.assert_allclose(slopes, [[1 / m if j < m else 0.0 for j in range(5)] for m in lengths], rtol=1e-12)


def test_a_function_that_compiles_itself_takes_and_gives_them() -> None:
    step = tg.jit(lambda x: x * 2.0, backend="perform")
    result = step(tg.masked.MaskedArray(OURS, ~MASK))
    compare(result, THEIRS * 2.0)


def test_errors_say_what_was_given() -> None:
    x = tg.masked.array([1.0, 2.0], [True, False])
    with pytest.raises(InputError, match=r"constant: found MaskedArray(.|\n)*hint: x.filled"):
        tg.exp(x)
    with pytest.raises(InputError, match="array that has a mask, and another"):
        tg.masked.array(x, [True, True])
    with pytest.raises(InputError, match="to_numpy: found MaskedArray"):
        x.to_numpy()
    with pytest.raises(ShapeError, match="length: found 1, needed an integer of at least 2"):
        tg.masked.from_ragged([np.ones(2)], length=1)
    with pytest.raises(ShapeError, match="entry 1: found shape"):
        tg.masked.from_ragged([np.ones((2, 3)), np.ones((2, 4))])
    with pytest.raises(AttributeError, match="has no attribute 'frobnicate'"):
        _ = tg.masked.frobnicate


def test_arrays_of_numpy_and_plain_ones_are_operands() -> None:
    other = np.ma.MaskedArray(VALUES[::-1], DRAWS.random((4, 5)) < 0.3)
    sums, differences, products, powers = of([X + other, other - X, X @ other.T, tg.masked.exp(other)])
    compare(sums, THEIRS + other)
    compare(differences, other - THEIRS)
    compare(products, np.ma.dot(THEIRS, other.T))
    compare(powers, np.ma.exp(other))
    compare(of(tg.masked.exp(VALUES)), np.ma.exp(VALUES))
    compare(of(tg.masked.clip(X, max=other)), np.ma.minimum(THEIRS, other))


def test_conditions_may_be_masked() -> None:
    compare(of(tg.masked.masked_where(X > 0.0, X)), np.ma.masked_where(THEIRS > 0.0, THEIRS))
    with pytest.raises(ShapeError, match="needed at most 1 axes"):
        tg.masked.masked_where([[True], [False]], [1.0, 2.0])
    with pytest.raises(InputError, match=r"if, and, or, not, while, in: found MaskedArray(.|\n)*hint: x.filled"):
        _ = 1.0 if X > 0.0 else 0.0


def test_exponentials_of_integers_are_floats() -> None:
    x = tg.masked.array([1, 2, 3], [True, False, True])
    total, shares, logs = tg.function([], [x.logsumexp(), x.softmax(), x.log_softmax()], backend="perform")()
    np.testing.assert_allclose(total.values, special.logsumexp([1.0, 3.0]), rtol=1e-15)
    np.testing.assert_allclose(shares.values, special.softmax([1.0, -np.inf, 3.0]), rtol=1e-15)
    np.testing.assert_allclose(logs.values[[0, 2]], special.log_softmax([1.0, 3.0]), rtol=1e-15)


def test_masks_of_entries_stay_in_ragged_batches() -> None:
    batch = tg.masked.from_ragged(entry for entry in (np.ma.masked_equal([1, 2, 3], 2), [4]))
    compare(batch, np.ma.MaskedArray([[1, 2, 3], [4, 0, 0]], [[False, True, False], [False, True, True]]))


@pytest.mark.parametrize("value", [np.nan, 0.5, 256, -1])
def test_ragged_batches_are_filled_with_values_of_their_dtype(value: float) -> None:
    with pytest.raises(RangeError, match=r"fill_value: found .*, needed one that uint8 can hold"):
        tg.masked.from_ragged([np.ones(2, "uint8")], length=3, fill_value=value)
    assert tg.masked.from_ragged([np.ones(2, "float32")], length=3, fill_value=value).values.dtype == "float32"


def test_lengths_are_integers_as_many_as_the_batch_has() -> None:
    with pytest.raises(ShapeError, match=r"found 1 lengths for float64\[4, 5\], needed 4"):
        tg.masked.from_lengths(VALUES, [2])
    with pytest.raises(DtypeError, match="lengths: found float64"):
        tg.masked.from_lengths(VALUES, [2.0, 1.0, 0.0, 3.0])
    with pytest.raises(InputError, match=r"axis: found 1\.0, needed an integer"):
        tg.masked.from_lengths(VALUES, [2, 1, 0, 3], axis=1.0)  # type: ignore[arg-type]
    x, n = tg.matrix("x"), tg.vector("n", dtype="int64")
    f = tg.function([x, n], tg.masked.from_lengths(x, n), backend="perform")
    with pytest.raises(ShapeError, match="lengths differ: 1 and 4"):
        f(VALUES, [2])
    assert f(VALUES, [2, 1, 0, 3]).valid.sum(1).tolist() == [2, 1, 0, 3]
