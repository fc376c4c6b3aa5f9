"""Loops with ends, positions and stages in C: against the reference, and how exact sums are."""

import math

import numpy as np
import pytest

import tg
from tests.unit.native_backends.test_stages import LENGTHS, comparison, normal
from tg.ops.elementwise.arithmetic import add, maximum, multiply
from tg.ops.indexing import Scatter, wrap_index
from tg_native.loops.costs import CHUNK

pytestmark = pytest.mark.sampled(4)


def agrees(inputs, outputs, arrays, rtol=1e-12):
    """Compare with the reference, layouts and dtypes too."""
    comparison("c", inputs, outputs, rtol)(arrays)


def test_one_pass_gives_a_sum_an_extreme_and_an_array():
    x, mu = tg.vector("x"), tg.scalar("mu")
    z = x - mu
    f = tg.function([x, mu], [tg.sum(z * z), tg.sum(z), tg.exp(z)], backend="c")
    assert f.source().count("static void loop") == 1
    for n in LENGTHS:
        a = normal(n)
        found = f(a, 0.5)
        np.testing.assert_allclose(found[0], math.fsum((a - 0.5) ** 2), rtol=1e-13)
        np.testing.assert_allclose(found[2], np.exp(a - 0.5), rtol=1e-14)


def test_a_row_that_is_read_later_may_lie_where_the_result_will():
    x, g = tg.matrix("x"), tg.vector("g")
    e = tg.exp(x - tg.max(x, axis=-1, keepdims=True))
    total = tg.sum(e, axis=-1, keepdims=True)
    f = tg.function([x], e / total, backend="c")
    assert "void *heap" not in f.source()  # no memory but the result's
    for shape in ((3, 5), (2, 40), (1, 1)):
        agrees([x, g], [e / total * x, e / total * g], [normal(*shape), normal(shape[1])])
        agrees([x], [e / total, e], [normal(*shape)])
        agrees([x], [e / total, tg.cast(e / total, "float32")], [normal(*shape)], 1e-6)
        agrees([x], [(e / total).T, tg.sqrt(e / total)], [normal(*shape)])


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (3, 8), (5, 1), (65, 17), (200, 33)])
def test_columns(shape):
    x, w, a = tg.matrix("x"), tg.vector("w"), normal(*shape)
    h = tg.tanh(x * w)
    outputs = [tg.sum(h, axis=0), h, tg.sum(h * h), tg.sum(x * w, axis=-1)]
    agrees([x, w], outputs, [a, normal(shape[1], seed=1)])
    agrees([x], [tg.sum(tg.exp(x.T), axis=0), tg.mean(tg.exp(x[:, ::-1]), axis=0)], [a])
    if shape[0]:
        agrees([x, w], [tg.max(h * x, axis=0), tg.min(h, axis=0), tg.prod(h, axis=0)], [a, normal(shape[1], seed=1)])
        agrees([x], [tg.exp(x) - tg.mean(tg.exp(x), axis=0)], [a])
    assert "tg_add_levels(" in tg.function([x, w], tg.sum(h, axis=0), backend="c").source()


def test_columns_of_more_axes():
    x = tg.tensor("x", "float64", (None, None, None))
    y = tg.exp(x) * x
    for shape in ((3, 4, 5), (1, 70, 9), (0, 2, 3), (2, 0, 3)):
        agrees([x], [tg.sum(y, axis=0), tg.sum(y)], [normal(*shape)])
        agrees([x], [tg.sum(y, axis=(0, 1)), y], [normal(*shape)])
        agrees([x], [tg.sum(y, axis=1), tg.sum(y, axis=(0, 2))], [normal(*shape)])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("shape", [(3, 4), (40_000, 9), (5, 50_000)])
def test_columns_that_threads_share(shape):
    x = tg.matrix("x")
    outputs = [tg.sum(tg.exp(x), axis=0), tg.max(tg.exp(x), axis=0), tg.exp(x), tg.sum(tg.exp(x))]
    a = normal(*shape)
    found = tg.function([x], outputs, backend=tg.backend("c", threads=2))(a)
    for one, wanted in zip(found, (np.exp(a).sum(0), np.exp(a).max(0), np.exp(a), np.exp(a).sum()), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-12)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "uint64", "bool"])
def test_columns_of_other_dtypes(dtype):
    x = tg.tensor("x", dtype, (None, None))
    for shape in ((3, 5), (100, 40), (70, 17)):
        a = normal(*shape) > 0 if dtype == "bool" else (np.abs(normal(*shape)) * 3).astype(dtype)
        tolerance = 1e-5 if dtype == "float32" else 0
        agrees([x], [tg.sum(x * x, axis=0), tg.max(x * x, axis=0), x + x], [a], tolerance)
        agrees([x], [tg.sum(tg.where(x > 0, x, x * x), axis=0)], [a], tolerance)


def test_columns_keep_nan_and_infinities_to_themselves():
    x = tg.matrix("x")
    f = tg.function([x], [tg.sum(x * 2.0, axis=0), tg.max(x * 2.0, axis=0), tg.min(x * 2.0, axis=0)], backend="c")
    for value in (np.nan, np.inf, -np.inf):
        for k in range(17):
            a = normal(70, 17)
            a[k, k] = value
            with np.errstate(all="ignore"):
                for found, wanted in zip(f(a), (np.sum(2 * a, 0), np.max(2 * a, 0), np.min(2 * a, 0)), strict=True):
                    np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("index", ["uint8", "uint64", "int8", "int32", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
def test_positions_and_tables_of_other_dtypes(index, dtype):
    a, i, x = tg.tensor("a", dtype, (None,)), tg.tensor("i", index, (None,)), tg.vector("x")
    clipped = tg.take(a, i, mode="clip")
    outputs = [tg.sum(tg.where(a[i] > 0, x, 2.0 * x)), tg.cast(a[i], "float64") * x, tg.cast(clipped, "float64") + x]
    table = (normal(9) * 3 > 0) if dtype == "bool" else (normal(9) * 3).astype(dtype)
    compare = comparison("c", [a, i, x], outputs)
    for n in LENGTHS:
        compare([table, np.random.default_rng(3).integers(0, 9, n).astype(index), normal(n)])
    wide = np.array([0, 120, 8, 3, 9] if index[0] == "u" else [0, 120, -8, 3, 9, -128], index)
    agrees([a, i, x], [tg.cast(clipped, "float64") + x], [table, wide, normal(len(wide))])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("fn", [None, maximum, multiply, add])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_what_is_scattered_is_combined_in_order(fn, dtype):
    y, v, i = tg.tensor("y", dtype, (None,)), tg.tensor("v", dtype, (None,)), tg.vector("i", dtype="int64")
    for given in (v + v, tg.cast(tg.exp(v), dtype)):
        outputs = [Scatter((-1,), fn)(y, given, wrap_index(i, y.shape[0])), given]
        compare = comparison("c", [y, v, i], outputs, 2e-4 if dtype == "float32" else 1e-11)
        for n in LENGTHS:
            values, index = (normal(n) * 2).astype(dtype), np.random.default_rng(4).integers(-5, 5, n)
            for at in (index, np.sort(index), np.zeros(n, "int64")):
                compare([np.ones(5, dtype), values[:40], at[:40]])


def in_runs(n, longest, places):
    """Indices of which up to `longest` neighbours are equal, from both ends."""
    rng = np.random.default_rng(longest)
    values = rng.integers(-places, places, n + 1)
    return np.repeat(values, rng.integers(1, longest + 1, n + 1))[:n]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("index", ["int64", "int32", "uint8", "uint64"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_runs_of_one_position(index, dtype):
    a, x, i = tg.tensor("a", dtype, (None,)), tg.tensor("x", dtype, (None,)), tg.tensor("i", index, (None,))
    z = x - a[i]
    outputs = [tg.sum(z * z), tg.max(z), tg.sum(tg.cast(i, "int64")), z, tg.grad(tg.sum(z * z), a)]
    compare = comparison("c", [a, x, i], outputs, 2e-3 if dtype == "float32" else 1e-11)
    for n in (1, 8, 9, 512, 513, 1300):
        for longest in (1, 3, 30, 700):
            for places in (1, 5):
                at = in_runs(n, longest, places)
                compare(
                    [
                        normal(places).astype(dtype),
                        normal(n).astype(dtype),
                        (at % places if index[0] == "u" else at).astype(index),
                    ]
                )


@pytest.mark.sampled(8)
@pytest.mark.parametrize("longest", [1, 40])
def test_runs_of_several_indices(longest):
    b, x, i, j = tg.matrix("b"), tg.vector("x"), tg.vector("i", dtype="int64"), tg.vector("j", dtype="int16")
    z = x * b[i, j] + b[j, i]
    compare = comparison("c", [b, x, i, j], [tg.sum(z * z), *tg.grad(tg.sum(z * z), [b, x])], 1e-11)
    for n in (5, 64, 1000):
        compare([normal(6, 6), normal(n), in_runs(n, longest, 6), in_runs(n, longest + 3, 6).astype("int16")])


def test_what_nothing_is_added_to_stays_a_negative_zero():
    y, v, i = tg.vector("y"), tg.vector("v"), tg.vector("i", dtype="int64")
    for threads in (1, 2):
        f = tg.function(
            [y, v, i], Scatter((-1,), add)(y, v, wrap_index(i, y.shape[0])), backend=tg.backend("c", threads=threads)
        )
        for at in (np.zeros(200_000, "int64"), np.arange(200_000) % 2):
            assert np.array_equal(np.signbit(f(-np.zeros(4), np.ones(200_000), at)), [False, at.max() == 0, True, True])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("bad", [-6, 5, 2**62, -(2**63)])
@pytest.mark.parametrize("at", [0, 300, 1000])
def test_one_position_outside_is_refused_wherever_it_stands(bad, at):
    a, x, i = tg.vector("a"), tg.vector("x"), tg.vector("i", dtype="int64")
    z = tg.sum((x * a[i]) ** 2)
    value = tg.function([a, x, i], z, backend="c")
    gradient = tg.function([a, x, i], tg.grad(z, a), backend="c")
    for index in (in_runs(1001, 1, 5), in_runs(1001, 200, 5)):
        index[at] = bad
        for f in (value, gradient):
            with pytest.raises(IndexError, match=f"index {bad} is out of bounds for an axis of length 5"):
                f(normal(5), normal(1001), index)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("n", [64, 5_000, 300_000])
def test_the_error_of_a_column_is_bounded(n):
    x = tg.matrix("x")
    sums = tg.function([x], tg.sum(x * 1.5, axis=0), backend="c")
    a = normal(n, 3) * 10.0 ** np.random.default_rng(2).integers(-3, 4, (n, 3))
    bound = CHUNK * math.ceil(math.log(n) / math.log(CHUNK)) * np.finfo(np.float64).eps
    for found, terms in zip(sums(a), (a * 1.5).T, strict=True):
        assert abs(found - math.fsum(terms)) <= bound * math.fsum(np.abs(terms))


def test_a_divisor_that_a_row_shares_is_inverted_only_where_that_is_exact_enough():
    x, s = tg.vector("x"), tg.scalar("s")
    f = tg.function([x, s], x / s + 0.0, backend="c")
    a = np.array([1.0, -0.0, 3.0, np.inf, -np.inf, np.nan, 5e-324, 1.7e308, 7.0])
    with np.errstate(all="ignore"):
        for divisor in (3.0, -7.0, 5e-324, 1e-310, 1e305, 1.7e308, 0.0, -0.0, np.inf, np.nan, 2.0**-1000, 2.0**1000):
            wanted = a / divisor + 0.0
            np.testing.assert_allclose(f(a, divisor), wanted, rtol=2.3e-16, atol=5e-324)
    strict = tg.function([x, s], x / s + 0.0, backend=tg.backend("c", accuracy="strict"))
    np.testing.assert_array_equal(strict(a, 3.0), a / 3.0 + 0.0)
