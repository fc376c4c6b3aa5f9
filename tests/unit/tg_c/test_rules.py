"""Every rule of the C backend for arrays: dtypes, layouts, lengths that are known and that are not."""

import itertools

import numpy as np
import pytest

import tg
from tg.ops.catalog import FAMILIES
from tg.ops.elementwise.arithmetic import add, maximum, minimum
from tg.ops.indexing import Gather, Scatter, Slice, SliceUpdate
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.reductions import ALL, ANY, LARGEST, LEAST, PRODUCT, SUM
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType
from tg_c.prelude import Element, Prelude
from tg_c.printed import Printed

pytestmark = pytest.mark.sampled(2)

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *HALVES, *FLOATS, *COMPLEX)
RUNNING = tuple(one.fn for one in (SUM, PRODUCT, LEAST, LARGEST))
REDUCING = (*RUNNING, ALL.fn, ANY.fn)
PLAIN = [family for family in FAMILIES if "/special/" not in family.path]  # what rounding is relative to, cases say
FUNCTIONS = tuple(fn for family in PLAIN for fn in family.elementwise)


def variables(arrays, static):
    return [
        tg.Variable(TensorType(a.dtype, a.shape if static else (None,) * a.ndim), name=f"x{k}")
        for k, a in enumerate(arrays)
    ]


def layouts(a):
    """The same values in every layout."""
    yield a
    yield np.asfortranarray(a)
    yield np.repeat(a, 2, axis=0)[::2]
    yield np.repeat(a, 2, axis=-1)[..., ::2]
    yield a[::-1, ::-1].copy()[::-1, ::-1]
    unaligned = np.empty(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    unaligned[...] = a
    yield unaligned


@pytest.mark.sampled(16)
@pytest.mark.parametrize("static", [True, False])
def test_inputs_of_every_layout(static, compiled, frozen_of):
    a = np.arange(12.0).reshape(3, 4)
    (x,) = variables([a], static)
    run = compiled(frozen_of([x], [tg.exp(x), x + 1, tg.sum(x, 0), x.T])).run
    wanted = [np.exp(a), a + 1, a.sum(0), a.T]
    for layout in layouts(a):
        layout.flags.writeable = False
        found, status = run([layout])
        assert status == ()
        for y, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(y, expected, rtol=1e-15)


def numbers(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in COMPLEX:
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    if dtype in (*FLOATS, *HALVES):
        return rng.normal(size=shape).astype(numpy_dtype(dtype))
    return rng.integers(*((-9, 9) if dtype.startswith("i") else (0, 9)), shape).astype(dtype)


SHAPES = ((7,), (0,), (1,), (5, 3), (3, 0), (0, 3), (2, 3, 4), (1, 600), (600, 2), (40, 300), (2, 2, 2, 2))


@pytest.mark.sampled(18)
@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", *FLOATS, *COMPLEX])
def test_reductions(dtype, static, agrees):
    for shape in SHAPES:
        a = numbers(shape, dtype)
        (x,) = variables([a], static)
        outputs = []
        for count in range(1, len(shape) + 1):
            for axes in itertools.combinations(range(-len(shape), 0), count):
                outputs += [Reduce(fn, axes, total=True)(x) for fn in REDUCING]
                outputs.append(Reduce(add, axes)(tg.transpose(x)))
        agrees([x], outputs, [a], tolerance=600)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", *HALVES, *FLOATS, *COMPLEX])
def test_positions_of_extremes(dtype, agrees):
    for shape in ((7,), (5, 3), (2, 40, 3)):
        a = numbers(shape, dtype)
        (x,) = variables([a], static=False)
        agrees([x], [ArgReduce(fn, k)(x) for fn in (maximum, minimum) for k in range(-len(shape), 0)], [a])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("n", [1, 5, 16, 17, 40, 100])
@pytest.mark.parametrize("dtype", [*HALVES, *FLOATS, *COMPLEX])
def test_nan_wins_in_every_position(n, dtype, agrees):
    a = np.tile(numbers(n, dtype), (n, 1))
    np.fill_diagonal(a, np.nan)
    (x,) = variables([a], static=False)
    outputs = [f(x, axis) for f in (tg.max, tg.min, tg.argmax, tg.argmin) for axis in (0, 1)]
    agrees([x], [*outputs, tg.max(x), tg.argmin(x)], [a])


def test_a_float32_sum_loses_no_small_addend(compiled, frozen_of):
    a = np.array([2**24, *[1] * 1000], np.float32)
    x, y = variables([a, np.tile(a[:, None], (1, 3))], static=False)
    found, _ = compiled(frozen_of([x, y], [tg.sum(x), tg.sum(y, 0)])).run([a, np.tile(a[:, None], (1, 3))])
    assert found[0] == 16778216
    assert found[1].tolist() == [16778216] * 3


@pytest.mark.sampled(16)
@pytest.mark.parametrize("axes", [-1, 0, (0, 2)])
def test_float64_sums_are_pairwise(axes, compiled, frozen_of):
    shape = (1_000_000,) if axes == -1 else (1_000_000, 2) if axes == 0 else (2000, 2, 500)
    a = np.full(shape, 0.1)
    (x,) = variables([a], static=False)
    (found,), _ = compiled(frozen_of([x], [tg.sum(x, axes)])).run([a])
    np.testing.assert_allclose(found, 100_000.0, rtol=1e-14)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", ["bool", "int8", "float64", *HALVES, "complex64"])
def test_running_results(dtype, agrees):
    from tg.ops.cumulative import Accumulate

    for shape in ((7,), (0,), (5, 3), (2, 3, 4)):
        a = numbers(shape, dtype)
        (x,) = variables([a], static=False)
        agrees([x], [Accumulate(fn, k)(x) for fn in RUNNING for k in range(-len(shape), 0)], [a])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("static", [True, False])
def test_shapes(static, agrees):
    a, b = numbers((4, 6), "float64"), numbers((4, 6), "float64", 1)
    x, y = variables([a, b], static)
    n, m = x.shape
    outputs = [
        tg.reshape(x, (m, n)),
        tg.reshape(x.T, (-1,)),
        tg.reshape(x, (2, -1, 3)),
        tg.transpose(tg.reshape(x, (2, -1, 3)), (2, 0, 1)),
        tg.expand_dims(x, (0, 2)),
        tg.squeeze(tg.expand_dims(x, 1), 1),
        tg.broadcast_to(tg.expand_dims(x, 0), (3, n, m)),
        tg.broadcast_to(tg.sum(x), (2, m)) + 1,
        tg.concatenate([x, y, x[:2]], 0),
        tg.concatenate([x, y.T[:4, :4], x[:, 1:3]], 1) if static else tg.concatenate([x, y], 1),
        tg.stack([x[0], y[1]]),
        tg.zeros((n, 3)) + 1.5,
        tg.eye(m, n, 1),
        tg.arange(n),
        tg.cast(tg.arange(n * m, 0, -2), "float32"),
        x,
        x,
        tg.reshape(x, (-1,)),
        tg.sum(x * y) * tg.ones((3,)),
        tg.reshape(tg.sum(x), (1, 1)) * x,
    ]
    agrees([x, y], outputs, [a, b])


SLICES = (
    np.s_[1:], np.s_[:, 1], np.s_[-2:, ::2], np.s_[::-1], np.s_[::-2, 1:-1], np.s_[2, 3], np.s_[-1],
    np.s_[..., None, 0], np.s_[1:1], np.s_[4:1:-1, 5:0:-2], np.s_[100:], np.s_[:100],
)  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.parametrize("static", [True, False])
def test_slices(static, agrees):
    a = numbers((5, 7), "float64")
    (x,) = variables([a], static)
    outputs = [x[s] for s in SLICES] + [x.T[s] for s in SLICES]
    agrees([x], [*outputs, tg.sum(x[::2, ::-1], 0), x[1:] @ x[:-1].T, x[::-1] @ x.T], [a])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("i", [0, 4, -5, -1, 5, -6, 100])
def test_positions_known_at_run_time(i, agrees):
    a = numbers((5, 7), "float64")
    position = np.asarray(i)
    x, k = variables([a, position], static=False)
    agrees([x, k], [x[k], x.T[:, k]], [a, position])
    agrees([x, k], [x[:k], x[k:, ::2], x[::-1][k:]], [a, position])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_positions_in_arrays(dtype, agrees):
    a = numbers((5, 7), "float64")
    i = np.array([[0, 3, 4], [1, 1, 2]], dtype)
    negative = i if dtype.startswith("u") else -i - 1
    x, j, k = variables([a, i, negative], static=False)
    agrees([x, j, k], [x[j], x[:, k], x[j, k], x.T[k, j], x[2][j], x[j][0]], [a, i, negative])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("i", [5, -6, 127])
def test_a_position_outside_is_reported(i, agrees):
    a, index = numbers((5, 7), "float64"), np.array([0, i, 2], np.int8)
    x, k = variables([a, index], static=False)
    agrees([x, k], [x[k]], [a, index])


def test_positions_are_clamped_without_a_check(agrees):
    a = numbers((5, 7), "float64")
    empty = np.zeros((0, 7))
    index = np.array([-3, 99], np.int64)
    x, e, k = variables([a, empty, np.array([0, 1])], static=False)
    agrees([e, k], [Gather((-2,))(e, k), Scatter((-2,), add)(e, Gather((-2,))(e, k), k)], [empty, np.array([0, 1])])
    from tg.ops.indexing import wrap_index

    for mode in ("clip", "promise"):
        agrees([x, k], [Gather((-2,))(x, wrap_index(k, x.shape[0], mode))], [a, index])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "int8", "bool", *HALVES, "complex64"])
def test_updates(dtype, static, agrees):
    a, v = numbers((5, 7), dtype), numbers((3, 7), dtype, 1)
    index = np.array([1, 4, 1])
    x, w, k = variables([a, v, index], static)
    k = tg.ops.indexing.wrap_index(k, x.shape[0])
    outputs = [
        Scatter((-2,), add)(x, w, k),
        Scatter((-2,))(x, w, k),
        Scatter((-1,), add)(x.T, w, k) if not static else x,
        SliceUpdate((1, 0), (1, 1), add)(x, w),
        SliceUpdate((4, 6), (-2, -1))(x, w),
        SliceUpdate((None, 0), (1, 1))(x, w, tg.cast(tg.sum(tg.cast(x, "int64")), "int64")),
    ]
    inputs = variables([a, v, index], static)
    inputs = [x, w, *tg.graph.traversal.inputs_of([k])]
    arrays = {id(x): a, id(w): v}
    seen = {id(u): u for u in inputs}
    agrees(list(seen.values()), outputs[:2] + outputs[3:], [arrays.get(id(u), index) for u in seen.values()])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", ["float64", "int8", "bool", "bfloat16"])
def test_slices_of_no_axes(dtype, agrees):
    a, b = numbers((), dtype), numbers((), dtype, 1)
    x, y = variables([np.asarray(a), np.asarray(b)], static=True)
    outputs = [SliceUpdate((), ())(x, y), SliceUpdate((), (), add)(x, y), Slice((), (), ())(x)]
    agrees([x, y], outputs, [np.asarray(a), np.asarray(b)])


@pytest.mark.sampled(48)
@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", *HALVES, *FLOATS, *COMPLEX])
def test_matrix_products(dtype, static, agrees):
    for m, k, n in ((3, 4, 5), (1, 4, 1), (1, 4, 5), (3, 4, 1), (3, 0, 5), (0, 4, 5), (3, 1, 5), (40, 30, 20)):
        a, b = numbers((m, k), dtype), numbers((k, n), dtype, 1)
        c, d = numbers((2, 1, m, k), dtype, 2), numbers((1, 3, k, n), dtype, 3)
        x, y, u, w = variables([a, b, c, d], static)
        if not static:  # lengths that are not stated are not 1
            u, w = (tg.Variable(TensorType(dtype, s), name="b") for s in ((2, 1, None, None), (1, 3, None, None)))
            if 1 in (m, k, n):
                continue
        outputs = [x @ y, y.T @ x.T, x[::-1] @ y, x[:, ::-1] @ y[::-1], tg.transpose(x) @ x, u @ w, x[::2] @ y]
        outputs += [x[0] @ y, x @ y[:, 0], x[0] @ y[:, 0]] if 0 not in (m, n) else []
        agrees([x, y, u, w], outputs, [a, b, c, d], tolerance=2000)


def test_a_kernel_that_declines_is_told_from_one_that_writes():
    prelude = Prelude()
    rule = Printed(lambda op, operands, result: NotImplemented)
    assert rule(tg.exp.op, Element(("x",), ("float64",), "float64", prelude)) is NotImplemented
    assert prelude.templates == {}
