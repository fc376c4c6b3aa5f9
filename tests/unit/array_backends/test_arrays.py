"""Every op on arrays, over dtypes, layouts, sizes and static knowledge of shapes, against the reference."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg import plugin
from tg.graph.nodes import Variable
from tg.ops.catalog import FAMILIES
from tg.ops.contraction import MatMul
from tg.ops.creation import Arange
from tg.ops.cumulative import Accumulate
from tg.ops.elementwise.arithmetic import add, maximum, minimum, multiply
from tg.ops.elementwise.comparison import logical_and, logical_or
from tg.ops.indexing import Gather, Nonzero, Scatter, Slice, SliceUpdate, WrapIndex
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.shape import BroadcastTo, Concatenate, ExpandDims, Reshape, Squeeze, SumTo, Transpose
from tg.ops.softmax import LogSumExp, Softmax
from tg.ops.sorting import SIDES, ArgSort, SearchSorted, Sort
from tg.plugin.coverage import WITHOUT_RULES
from tg.types.dtypes import DTYPES, INTEGERS, is_complex, is_inexact, numpy_dtype
from tg.types.tensor_type import TensorType

pytestmark = pytest.mark.sampled(4)
COMBINING = (add, multiply, minimum, maximum)
ARITHMETIC = [d for d in DTYPES if d != "bool"]
REAL_FLOATS = ["float16", "bfloat16", "float32", "float64"]


def variable(dtype, *shape):
    return Variable(TensorType(dtype, shape))


def draw(dtype, *shape, seed=1):
    rng = np.random.default_rng(seed)
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in INTEGERS:
        return rng.integers(0 if dtype.startswith("u") else -100, 100, shape).astype(kind)
    if is_complex(dtype):
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(kind)
    return rng.normal(size=shape).astype(kind)


def layouts(x):
    """The same values in memory as NumPy can have them."""
    frozen = x.copy()
    frozen.flags.writeable = False
    padded = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    strided = padded[tuple(slice(None, None, 2) for _ in x.shape)]
    strided[...] = x
    reversed_ = np.ascontiguousarray(x[tuple(slice(None, None, -1) for _ in x.shape)])
    return [x, np.asfortranarray(x), strided, reversed_[tuple(slice(None, None, -1) for _ in x.shape)], frozen]


def test_every_primitive_has_a_rule_or_a_gap(backend) -> None:
    rules, absent = plugin.registry().rules(backend), {gap.op for gap in plugin.registry().gaps(backend)}
    functions = [fn for family in FAMILIES for fn in family.elementwise if fn.expansion is None]
    classes = [op for family in FAMILIES for op in family.ops if not op.has_expansion]
    absent |= plugin.registry().hosted(backend)
    lacking = [key for key in (*functions, *classes) if key not in rules and key not in absent]
    assert [key for key in lacking if key not in WITHOUT_RULES] == []


@pytest.mark.sampled(24)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype, same) -> None:
    x = variable(dtype, None, None, None)
    names = [logical_and, logical_or] if dtype == "bool" else [add, multiply, maximum, minimum]
    outputs = [Reduce(fn, axes, total=True)(x) for fn in names for axes in ((-1,), (-3, -1), (-3, -2, -1))]
    arrays = [draw(dtype, *shape) for shape in ((3, 4, 5), (1, 1, 1), (2, 0, 3), (0, 4, 0))]
    same([x], outputs, [[a] for a in arrays], ulps=64)
    same([x], [Reduce(add, (-3, -2, -1))(x)], [[a] for a in layouts(draw(dtype, 3, 4, 5))], ulps=64)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", [*REAL_FLOATS, "complex64", "complex128"])
def test_extrema_propagate_nan_from_every_position(dtype, same) -> None:
    x = variable(dtype, None, None)
    outputs = [Reduce(fn, axes)(x) for fn in (maximum, minimum) for axes in ((-1,), (-2,), (-2, -1))]
    outputs += [ArgReduce(fn, axis)(x) for fn in (maximum, minimum) for axis in (-1, -2)]
    arrays = []
    for k in range(12):
        a = draw(dtype, 3, 4)
        a.flat[k] = np.nan
        a.flat[11 - k] = np.nan
        arrays.append([a])
    same([x], outputs, arrays)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", DTYPES)
def test_positions_of_extrema_take_the_first_of_ties(dtype, same) -> None:
    x = variable(dtype, None, None)
    outputs = [ArgReduce(fn, axis)(x) for fn in (maximum, minimum) for axis in (-1, -2)]
    ties = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]]).astype(numpy_dtype(dtype))
    same([x], outputs, [[draw(dtype, 5, 7)], [ties], [draw(dtype, 1, 1)]])


def test_sums_of_single_precision_keep_the_bound(link) -> None:
    x = variable("float32", None)
    _, executable = link([x], [Reduce(add, (-1,))(x)])
    for a in (np.r_[np.float32(2**24), np.ones(1000, "f4")], np.full(10**6, 0.1, "f4"), draw("float32", 10**5)):
        exact = a.astype("f8").sum()
        found = float(executable.to_numpy(executable.run([a])[0][0]))
        assert abs(found - exact) <= min(a.size, 16) * 2.0**-23 * np.abs(a).astype("f8").sum()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", DTYPES)
def test_running_results(dtype, same) -> None:
    x = variable(dtype, None, None)
    running = [Accumulate(fn, axis)(x) for fn in COMBINING for axis in (-1, -2)]
    same([x], running, [[draw(dtype, *s)] for s in ((5, 6), (1, 1), (0, 3), (3, 0))], ulps=128)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", REAL_FLOATS)
def test_expansions(dtype, same) -> None:
    x = variable(dtype, None, None)
    outputs = [Softmax(-1)(x), Softmax(-2)(x), LogSumExp((-1,))(x), LogSumExp((-2, -1))(x)]
    low = np.full((2, 3), -np.inf).astype(numpy_dtype(dtype))
    same([x], outputs[2:], [[low]])
    same([x], outputs, [[draw(dtype, 4, 5)], [draw(dtype, 1, 1)]], ulps=64)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", ARITHMETIC)
def test_matrix_products(dtype, same) -> None:
    if dtype == "bfloat16":
        pytest.skip("NumPy has no matrix product of bfloat16")
    x, y = variable(dtype, None, None, None), variable(dtype, None, None, None)
    pairs = [((2, 3, 4), (2, 4, 5)), ((2, 3, 0), (2, 0, 5)), ((2, 1, 1), (2, 1, 1))]
    for a, b in pairs:
        for left, right in zip(layouts(draw(dtype, *a)), layouts(draw(dtype, *b, seed=2)), strict=True):
            same([x, y], [MatMul()(x, y)], [[left, right]], ulps=256)


def test_a_boolean_matrix_product_asks_for_any(same) -> None:
    x, y = variable("bool", None, None), variable("bool", None, None)
    same([x, y], [MatMul()(x, y)], [[draw("bool", 3, 4), draw("bool", 4, 300, seed=2)]])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lengths", [(2, 3, 4), (None, None, None)])
def test_shapes(dtype, lengths, same) -> None:
    x, y = variable(dtype, *lengths), variable(dtype, lengths[0], 1, lengths[2])
    outputs = [
        Reshape((4, 6))(x),
        Reshape((24,))(x),
        BroadcastTo((5, 2, 3, 4))(x),
        BroadcastTo((2, 3, 4))(y),
        Transpose((-1, -3, -2))(x),
        Transpose((-1, -2))(x),
        ExpandDims((-5, -1))(x),
        Squeeze((-2,))(y),
        Concatenate(-2)(x, y, x),
        x,
        x,
    ]
    arrays = [[a, draw(dtype, 2, 1, 4, seed=2)] for a in layouts(draw(dtype, 2, 3, 4))]
    same([x, y], outputs, arrays)


def test_sums_to_a_shape(same) -> None:
    x = variable("float64", 2, 3, 4)
    same([x], [SumTo((3, 4))(x), SumTo((1, 4))(x), SumTo((2, 1, 1))(x), SumTo(())(x)], [[draw("float64", 2, 3, 4)]])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("n", [0, 1, 7])
def test_arange(n, same) -> None:
    same([], [Arange(n)()], [[]])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("mode", ["raise", "clip", "promise"])
def test_indices_wrap_and_clamp(dtype, mode, same) -> None:
    i = variable(dtype, None)
    n = variable("int64")
    limits = np.iinfo(dtype)
    inside = np.array([v for v in (-7, -1, 0, 3, 6) if v >= limits.min], dtype)
    outside = np.array([limits.min, limits.max, 7 if mode != "raise" else 0], dtype)
    same([i, n], [WrapIndex(mode)(i, n)], [[inside, np.array(7)]])
    if mode != "raise":
        same([i, n], [WrapIndex(mode)(i, n)], [[outside, np.array(7)]])
    if mode == "promise":
        same([i, n], [WrapIndex(mode)(i, n)], [[outside, np.array(0)]])


WINDOWS = [  # sizes, steps, starts to try
    ((3, 2), (1, 1), [(0, 0), (4, 1), (100, -5), (-3, 100)]),
    ((3, 2), (2, -1), [(0, 1), (1, 5), (99, 99), (-9, -9)]),
    ((2, 3), (-3, 2), [(6, 0), (3, 1), (99, 99), (-9, -9)]),
    ((1, 6), (-1, -1), [(6, 5), (0, 5)]),
    ((1, 1), (2**62, -(2**63)), [(0, 5), (6, 0), (99, -9)]),
    ((0, 2), (1, 1), [(0, 0), (7, 4)]),
    ((7, 6), (1, 1), [(0, 0)]),
]


@pytest.mark.sampled(36)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("sizes", "steps", "starts"), WINDOWS)
def test_windows_are_read_and_written(dtype, sizes, steps, starts, same) -> None:
    x, v = variable(dtype, None, None, None), variable(dtype, None, None, None)
    row, column = variable("int64"), variable("int64")
    outputs = [
        Slice((None, None), sizes, steps)(x, row, column),
        Slice(starts[0], sizes, steps)(x),
        SliceUpdate((None, None), steps)(x, v, row, column),
        SliceUpdate(starts[0], steps)(x, v),
        SliceUpdate((starts[0][0], None), steps, add)(x, v, column),
    ]
    new = draw(dtype, 2, *sizes, seed=4)
    arrays = [[draw(dtype, 2, 7, 6), new, np.array(r), np.array(c)] for r, c in starts]
    same([x, v, row, column], outputs, arrays)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_gathered_and_scattered(dtype, same) -> None:
    x = variable(dtype, None, None, None)
    i, j = variable("int64", None, None), variable("int64", None, None)
    one, two, all_ = (
        variable(dtype, None, None, None, None),
        variable(dtype, None, None, None),
        variable(dtype, None, None),
    )
    outputs = [
        Gather((-2,))(x, i),
        Gather((-3, -1))(x, i, j),
        Gather((-1, -3))(x, j, i),
        Gather((-3, -2, -1))(x, i, j, j),
    ]
    outputs += [
        Scatter((-2,), add)(x, one, i),
        Scatter((-3, -1), add)(x, two, i, j),
        Scatter((-3, -2, -1), add)(x, all_, i, j, j),
    ]
    rows, columns = np.array([[0, 1, 2], [2, 2, 0]]), np.array([[3, 0, 3], [1, 1, 0]])
    given = [draw(dtype, 4, 3 + 1, 5), rows, columns, draw(dtype, 2, 3, 4, 5), draw(dtype, 2, 3, 4), draw(dtype, 2, 3)]
    same([x, i, j, one, two, all_], outputs, [given], ulps=8)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fn", COMBINING, ids=lambda fn: fn.name)
def test_all_values_of_a_position_are_combined(dtype, fn, same) -> None:
    x, i, j = variable(dtype, None, None, None), variable("int64", None), variable("int64", None)
    rows, pairs = variable(dtype, None, None, None), variable(dtype, None, None)
    outputs = [Scatter((-2,), fn)(x, rows, i), Scatter((-3, -1), fn)(x, pairs, i, j)]
    places = [np.array([3, 0, 3, 3, 1]), np.array([0, 2, 0, 1, 2])]
    given = [draw(dtype, 4, 4, 3), *places, draw(dtype, 5, 4, 3, seed=2), draw(dtype, 5, 4, seed=3)]
    arrays = [given]
    if is_inexact(dtype):
        marked = [a.copy() for a in given]
        marked[0][0, 0, 0] = marked[3][1, 2, 1] = marked[4][2, 3] = np.nan
        arrays.append(marked)
    same([x, i, j, rows, pairs], outputs, arrays, ulps=16)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("dtype", DTYPES)
def test_orders(dtype, same) -> None:
    x, a, v = variable(dtype, None, None), variable(dtype, None), variable(dtype, None, None)
    arrays = [draw(dtype, 7, 5), np.repeat(draw(dtype, 1, 5), 7, 0), draw(dtype, 0, 3), draw(dtype, 1, 1)]
    if is_inexact(dtype):
        arrays[0].flat[::6] = np.nan
        arrays[0].flat[3:20:5] = arrays[0].flat[1]
    if is_complex(dtype):
        arrays[0].flat[2::7] = complex(1, np.nan)
        arrays[0].flat[4::9] = complex(np.nan, 1)
    same([x], [op(axis)(x) for op in (ArgSort, Sort) for axis in (-1, -2)], [[b] for b in arrays], ulps=0)
    searched = [SearchSorted(side)(a, v) for side in SIDES]
    if dtype != "bfloat16":
        same([a, v], searched, [[np.sort(b.ravel()), b] for b in arrays])


def test_positions_of_a_mask(same, backend) -> None:
    if any(gap.op is Nonzero for gap in plugin.registry().gaps(backend)):
        pytest.skip("a declared gap")
    mask = variable("bool", None)
    found = Nonzero()(mask)
    outputs = [found, Gather((-1,))(Arange(6)(), found)]
    same([mask], outputs, [[draw("bool", 6)], [np.zeros(6, bool)], [np.ones(6, bool)]])


def test_scatter_without_duplicates_replaces(same) -> None:
    x, v, i = variable("float32", None, None), variable("float32", None, None), variable("int64", None)
    arrays = [[draw("float32", 4, 3), draw("float32", 2, 3, seed=3), np.array([3, 0])]]
    arrays.append([draw("float32", 4, 3), draw("float32", 0, 3), np.zeros(0, np.int64)])
    same([x, v, i], [Scatter((-2,))(x, v, i)], arrays)


def test_scatter_with_duplicates_writes_one_of_the_values(link) -> None:
    x, v, i = variable("float32", None), variable("float32", None), variable("int64", None)
    _, executable = link([x, v, i], [Scatter((-1,))(x, v, i)])
    (found,), _ = executable.run([np.zeros(3, "f4"), np.float32([5, 6, 7]), np.array([1, 1, 2])])
    assert found.tolist() in ([0, 5, 7], [0, 6, 7])


def test_nothing_outside_is_read_or_written(link) -> None:
    x, v, i = variable("float64", None), variable("float64", None), variable("int64", None)
    _, executable = link([x, v, i], [Gather((-1,))(x, i), Scatter((-1,), add)(x, v, i)])
    try:
        (read, written), _ = executable.run([np.arange(3.0), np.ones(2), np.array([-9, 9])])
    except (IndexError, RuntimeError):
        return
    assert executable.to_numpy(read).tolist() == [0.0, 2.0]
    assert executable.to_numpy(written).tolist() == [1.0, 1.0, 3.0]


def test_nothing_is_gathered_from_nothing(same) -> None:
    x, i = variable("float64", None, None), variable("int64", None)
    same([x, i], [Gather((-2,))(x, i)], [[np.zeros((0, 2)), np.array([0, 0])], [np.zeros((3, 0)), np.array([1])]])


def test_inexact_dtypes_stay(same, dtypes) -> None:
    for dtype in dtypes:
        x = variable(dtype, None)
        if is_inexact(dtype):
            same([x], [Reduce(add, (-1,))(x), Reduce(multiply, (-1,))(x)], [[draw(dtype, 0)], [draw(dtype, 1)]])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("build", [tg.arange, lambda n: tg.full((n,), 1.0)])
def test_a_size_that_no_process_can_address_is_an_error(build, backend) -> None:
    n = tg.scalar("n", dtype="int64")
    with pytest.raises(MemoryError, match="no memory"):
        tg.function([n], build(n), backend=backend)(2**60)
