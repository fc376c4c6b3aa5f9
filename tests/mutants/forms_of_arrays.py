"""More of what rewrites of reductions, movements and lengths are for, by their names, as in `tests.mutants.forms`."""

from __future__ import annotations

import numpy as np

import tg
from tests.mutants.forms_of_matrices import of
from tg.ops.creation import iota
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.shape import AxisLength, ExpandDims, Reshape, SpecifyShape, Squeeze, Transpose

COMPARISONS = (tg.equal, tg.not_equal, tg.less, tg.less_equal, tg.greater, tg.greater_equal)


def column(y):
    return y[:, 0][:, None]


def reduced(fn, change, axes=(-1,), *, total=False):
    return lambda x: Reduce(fn, axes, total=total)(change(x))


def of_repeated(fn, count, axes, dtype=None, *, total=False):
    """The reduction of a value that is repeated so many times (None: a length that is not known) before its axes."""

    def form(x):
        v = x if dtype is None else tg.cast(x, dtype)
        n = x.shape[-1] if count is None else count
        return Reduce(fn, axes, total=total)(tg.broadcast_to(v, (n, *x.shape)))

    return form


def position(fn, change):
    return lambda x: ArgReduce(fn, -1)(change(x))


def reordered(*changes):
    """Forms of the three classes of rules that reorder: of bool, of an extreme of floats, of a sum."""
    ways = ((tg.logical_or, "bool"), (tg.maximum, "float64"), (tg.add, "float64"))
    return tuple(
        tuple(
            of((dtype, shape))(lambda x, fn=fn, f=f, a=a: Reduce(fn, a, total=fn is tg.maximum)(f(x)))
            for shape, f, axes in changes
            for a in axes
        )
        for fn, dtype in ways
    )


RESHAPED = reordered(
    ((6, 5), lambda x: tg.reshape(x, (2, 3, 5)), ((-1,), (-3, -2), (-2,), (-3,), (-3, -2, -1), (-2, -1))),
    ((2, 3, 5), lambda x: tg.reshape(x, (6, 5)), ((-1,), (-2,), (-2, -1))),
    ((4, 3, 5), lambda x: tg.reshape(x, (4, 15)), ((-1,), (-2,), (-2, -1))),
    ((4, 6), lambda x: tg.reshape(x, (6, 4)), ((-1,), (-2,), (-2, -1))),
    ((2, 6, 2), lambda x: tg.reshape(x, (2, 3, 4)), ((-1,), (-3,), (-2, -1), (-3, -1))),
    ((None, None), lambda x: tg.reshape(x, (x.shape[0], x.shape[1], 1)), ((-2,), (-3,), (-3, -2))),
    ((None, None, 4), lambda x: tg.reshape(x, (x.shape[0] * x.shape[1], 4)), ((-2,), (-1,))),
    ((3, 4), lambda x: tg.reshape(x, (3, 1, 4)), ((-2,), (-3,), (-1,))),
    ((0, 4), lambda x: tg.reshape(x, (4, 0)), ((-2,), (-1,), (-2, -1))),
)
PERMUTED = reordered(
    ((3, 4), lambda x: tg.flip(x, -1), ((-1,), (-2,), (-2, -1))),
    ((3, 4), lambda x: tg.flip(x, (0, 1)), ((-1,), (-2,), (-2, -1))),
    ((3, 4), lambda x: tg.sort(x, axis=-1), ((-1,), (-2,), (-2, -1))),
    ((3, 4), lambda x: tg.sort(x, axis=0), ((-1,), (-2,))),
    ((3, 4), lambda x: x[:, 3:0:-1], ((-1,),)),
    ((3, 4), lambda x: x[1:], ((-1,), (-2,))),
    ((None, 4), lambda x: tg.flip(x, 0), ((-1,), (-2,))),
)
JOINED = reordered(
    ((3, 4), lambda x: tg.concatenate([x, x[:1]], 0), ((-1,), (-2,), (-2, -1))),
    ((3, 4), lambda x: tg.concatenate([x, x[:, :1], x], 1), ((-1,), (-2,), (-2, -1))),
    ((3, 4), lambda x: tg.concatenate([x] * 8, 1), ((-1,),)),
    ((3, 0), lambda x: tg.concatenate([x, x], 1), ((-1,), (-2,))),
)
TRANSPOSED = reordered(
    ((2, 3, 4), lambda x: Transpose((-1, -3, -2))(x), ((-3, -2), (-2, -1), (-3, -1), (-3, -2, -1), (-1,))),
    ((2, 3, 4), lambda x: Transpose((-1, -2))(x), ((-2, -1), (-3, -1), (-3, -2, -1))),
)
TWICE = reordered(
    ((2, 3, 4), lambda x: Reduce(tg.add, (-1,))(tg.cast(x, "float64")), ((-1,), (-2, -1))),
    ((2, 3, 4), lambda x: Reduce(tg.maximum, (-2,))(tg.cast(x, "float64")), ((-1,), (-2, -1))),
    ((2, 3, 4), lambda x: Reduce(tg.logical_or, (-3,))(tg.cast(x, "bool")), ((-1,), (-2, -1))),
)
OF_REORDERING = {
    f"{prefix}_{name}": forms
    for name, three in (
        ("of_reshape", RESHAPED),
        ("of_permuted", PERMUTED),
        ("of_pieces", JOINED),
        ("of_transpose", TRANSPOSED),
        ("of_reduction", TWICE),
    )
    for prefix, forms in zip(("reduce", "extreme", "sum"), three, strict=True)
}

EXTREMES = ((tg.maximum, True), (tg.minimum, True), (tg.add, False), (tg.multiply, False))
FORMS_OF_ARRAYS = {
    **OF_REORDERING,
    "comparison_by_bounds": tuple(
        (lambda x, fn=fn, k=k: tg.where(fn(tg.arange(x.shape[-1]) - k, 0), x, -x))
        for fn in COMPARISONS
        for k in (-1, 0, 1)
    ),
    "elementwise_of_movement": (
        lambda x, y: y * Squeeze((-2, -1))(x[:1, :1]),
        lambda x, y: Squeeze((-2, -1))(x[:1, :1]) * y[None],
        lambda x, y: x[None] + y[None] * tg.cast(2, x.dtype),
        lambda x, y: x[:, None] + y[None],
        lambda x, y: x[:, None] * y[:, None] + np.ones((1, 1, 1), x.type.numpy_dtype),
        lambda x, y: x[None] + np.arange(5).astype(x.type.numpy_dtype).reshape(1, 1, 5),
        lambda x, y: x[:, None] + np.arange(5).astype(x.type.numpy_dtype).reshape(1, 1, 5),
        lambda x, y: Transpose((-1, -2))(x) + np.arange(5).astype(x.type.numpy_dtype).reshape(1, 5),
        lambda x, y: Transpose((-1, -2))(x) + y[0][:, None],
        lambda x, y: Transpose((-1, -2))(x) + y,
        lambda x, y: tg.reshape(x, (-1,)) + tg.reshape(y, (-1,)),
        lambda x, y: tg.reshape(x, (-1,)) + np.arange(25).astype(x.type.numpy_dtype),
        of((None,), (None,))(lambda x, y: tg.reshape(x, (1, x.shape[0])) * tg.reshape(tg.exp(x), (x.shape[0], 1)) + y),
        of((6,), (6,))(lambda x, y: tg.reshape(x, (2, 3)) * tg.reshape(y, (2, 3))),
    ),
    "reshape_of_broadcast": (
        of((4, 1))(lambda x: tg.reshape(tg.broadcast_to(x, (4, 5)), (2, 2, 5))),
        of((4, 1))(lambda x: tg.reshape(tg.broadcast_to(x, (4, 6)), (4, 2, 3))),
        of((4, 1))(lambda x: tg.reshape(tg.broadcast_to(x, (4, 6)), (24,))),
        of((1, 4))(lambda x: tg.reshape(tg.broadcast_to(x, (6, 4)), (2, 3, 2, 2))),
        of((4,))(lambda x: tg.reshape(tg.broadcast_to(x, (1, 4)), (2, 2))),
        of((4,))(lambda x: tg.reshape(tg.broadcast_to(x, (1, 1, 6, 4)), (1, 3, 2, 4))),
        of((None, 1), ("int64", ()))(lambda x, k: tg.reshape(tg.broadcast_to(x, (x.shape[0], 6)), (-1, 2, 3)) * k),
    ),
    "scalars_as_scalars": (
        of((5, 5))(lambda x: Squeeze((-2, -1))(x[:1, :1] * np.full((1, 1), 2, x.type.numpy_dtype) + 1)),
        of((5, 5))(lambda x: [Squeeze((-2, -1))(x[:1, :1] * 2), tg.exp(x[:1, :1])]),
        of((5, 5))(lambda x: Squeeze((-2, -1))(tg.exp(x[:1, :1]) * x[0, 0])),
        of((5, 5))(lambda x: Squeeze((-2,))(tg.exp(x[:1]) * x[0, 0])),
    ),
    "movement_between_elementwise": (
        lambda x: tg.exp(Transpose((-1, -2))(x * np.arange(5).astype(x.type.numpy_dtype))),
        lambda x: tg.exp(tg.reshape(x * x[0], (-1,))),
        of((3, 1, 4))(lambda x: tg.exp(Transpose((-1, -2))(Squeeze((-2,))(x * 2)))),
        of((6,), (6,))(lambda x, y: tg.exp(Transpose((-1, -2))(tg.reshape(x * y[:1], (2, 3))))),
        of((6,))(lambda x: tg.exp(tg.reshape(x * x[:1], (2, 3)))),
        of((6,), ())(lambda x, y: tg.exp(tg.reshape(x * y, (2, 3)))),
        lambda x: tg.exp(tg.reshape(x * x, (-1,))) + tg.reshape(x * x, (-1,)),
        lambda x: tg.exp(Transpose((-1, -2))(x * 2)) + Transpose((-1, -2))(x * 2)[:, :1],
        lambda x, y: tg.swapaxes(x * y, -1, -2)[0][:, None] + y,
        lambda x, y: tg.swapaxes(tg.tanh(x), -1, -2) * y,
        lambda x, y: y - tg.swapaxes(x * tg.sin(x), -1, -2),
        lambda x, y: tg.maximum(tg.swapaxes(x * y, -1, -2), y),
        lambda x, y: tg.where(tg.swapaxes(x < y, -1, -2), x, y),
        lambda x, y: [tg.swapaxes(tg.exp(x), -1, -2) * y, tg.exp(x)],
        of((4,), (4, 5))(lambda x, y: tg.exp(x)[:, None] * y),
        of((4,), (4,))(lambda x, y: (x * x)[:, None] - y),
        of((4, 1), (4,))(lambda x, y: tg.squeeze(tg.sin(x), 1) / y),
        of((2, 3), (6,))(lambda x, y: tg.reshape(tg.exp(x), (6,)) + y),
        of((6,), (6,), (2, 3))(lambda x, y, z: tg.reshape(x / y, (2, 3)) * z),
        of((2, 3, 4), (3, 4, 2))(lambda x, y: Transpose((-2, -1, -3))(tg.cos(x)) + y),
    ),
    "concatenate_slices": (
        of((3, None), ("int64", ()))(lambda x, k: tg.concatenate([x[:, :k], x[:, k:]], 1)),
        of((3, 6), ("int64", ()))(lambda x, k: tg.concatenate([x[:, :k], x[:, k:]], 1)),
        of((3, None))(lambda x: tg.concatenate([x[:, : x.shape[1] // 2], x[:, x.shape[1] // 2 :]], 1)),
        of((3, 6))(lambda x: tg.concatenate([x[:2, :3], x[:2, 3:5]], 1)),
        of((3, 6))(lambda x: tg.concatenate([x[:2, :3], x[1:, 3:5]], 1)),
        of((3, 6))(lambda x: tg.concatenate([x[:, 3:], x[:, :3]], 1)),
        of((4, 6))(lambda x: tg.concatenate([x[:, :2], x[::-1, 2:4]], 1)),
        of((4, 6))(lambda x: tg.concatenate([x[::-1, :2], x[:, 2:4]], 1)),
        of((4, 6))(lambda x: tg.concatenate([x[:, :2], x[:, :2], x[:, 2:4]], 0)),
        of((6, 6), ("int64", ()), ("int64", ()))(lambda x, k, m: tg.concatenate([x[:k, :2], x[:m, 2:4]], 1)),
    ),
    "concatenate_fills": (
        of((5,))(lambda x: tg.concatenate([tg.broadcast_to(x, (3, 5)), tg.broadcast_to(x, (3, 5))], 1)),
        of((5,))(lambda x: tg.concatenate([tg.broadcast_to(x, (3, 5)), tg.broadcast_to(x, (2, 5))], 0)),
        of((5, 1))(lambda x: tg.concatenate([tg.broadcast_to(x, (5, 3)), tg.broadcast_to(x, (5, 2))], 1)),
        of((5,), ("int64", ()))(
            lambda x, k: tg.concatenate([tg.broadcast_to(x, (tg.absolute(k) % 9, 5)), tg.broadcast_to(x, (2, 5))], 0)
        ),
        of((5,))(lambda x: tg.concatenate([tg.broadcast_to(x, (3, 5)), tg.broadcast_to(-x, (2, 5))], 0)),
        of((5, 1))(lambda x: tg.concatenate([x, tg.zeros((5, 2)), tg.zeros((5, 3)), tg.ones((5, 2))], 1)),
    ),
    "concatenate_nested": (
        of((4, 2), (4, 2))(lambda x, y: tg.concatenate([x, tg.concatenate([y[:2], x[:2]], 0), y], 1)),
        of((4, 2), (4, 2))(lambda x, y: tg.concatenate([tg.concatenate([y, x], 1), tg.concatenate([x, x], 1), y], 1)),
    ),
    "concatenate_moved": (
        of((4, 2), (4, 2))(lambda x, y: tg.concatenate([x[:, None], tg.exp(y)[:, None]], 1)),
        of((4, 2), (4, 2))(lambda x, y: tg.concatenate([x[:, None], y[:, None]], 0)),
        of((4, 2), (4, 2))(lambda x, y: tg.concatenate([x[:, None], y[:, None]], 2)),
        of((4, 2), (2, 2))(lambda x, y: tg.concatenate([x[None], tg.concatenate([y, y], 0)[None]], 0)),
        of((2, 3, 4), (2, 3, 4))(
            lambda x, y: tg.concatenate([Transpose((-2, -1, -3))(x), Transpose((-2, -1, -3))(y)], -2)
        ),
        of((2, 3, 4), (2, 3, 4))(lambda x, y: tg.concatenate([tg.swapaxes(x, -1, -2), tg.swapaxes(y, -1, -2)], 0)),
    ),
    "elementwise_of_pieces": (
        of((3, 4), (3, 4), ())(
            lambda x, y, s: tg.where(s > 0, tg.concatenate([x, y], 1), tg.concatenate([y, -x], 1)),
        ),
        of((3, 4), (3, 2))(lambda x, y: tg.concatenate([x, y], 1) * tg.concatenate([y, x], 1)),
        of((3, 4), (3, 4))(lambda x, y: tg.concatenate([x, y], 1) * tg.concatenate([x, y], 1)),
        of((3, 4), (3, 4))(lambda x, y: [(z := tg.concatenate([x, y], 1)) - tg.concatenate([y, x], 1), z]),
        of((1, 1), (1, 1))(lambda x, y: tg.concatenate([x, y], 1) * tg.concatenate([y, x], 0)),
    ),
    "reshape_of_movement": (
        of((4, None))(
            lambda x: Reshape((None, 4))(Transpose((-1, -2))(x), Squeeze((-1,))(ExpandDims((-1,))(AxisLength(-1)(x))))
        ),
        of((4, None))(lambda x: tg.reshape(x[None], (-1,))),
    ),
    "known_sizes": tuple(
        of((None, 4), ("int64", ()))(lambda x, k, s=s: Reshape((None, None))(x, *s(x, k)))
        for s in (
            lambda x, k: (k * 0 + AxisLength(-2)(x), tg.as_variable(4)),
            lambda x, k: (tg.as_variable(4), AxisLength(-2)(x)),
            lambda x, k: (AxisLength(-2)(x), AxisLength(-1)(x)),
            lambda x, k: (AxisLength(-2)(x) * 2, AxisLength(-1)(x) // 2),
        )
    ),
    "reduce_of_movement": tuple(
        (lambda x, fn=fn, move=move, axes=axes: Reduce(fn, axes, total=fn is tg.maximum)(move(x)))
        for fn in (tg.add, tg.maximum)
        for move, axes in (
            (lambda x: x[None], (-2, -1)),
            (lambda x: x[None], (-3,)),
            (lambda x: x[:, None], (-3, -1)),
            (lambda x: x[:, None], (-1,)),
            (lambda x: Squeeze((-3,))(x[None]), (-2, -1)),
            (lambda x: Squeeze((-2,))(x[:, None]), (-2,)),
            (lambda x: Transpose((-1, -2))(x), (-2,)),
            (lambda x: Transpose((-1, -3, -2))(tg.broadcast_to(x, (3, *x.shape))), (-2, -1)),
            (lambda x: Transpose((-1, -3, -2))(tg.broadcast_to(x, (3, *x.shape))), (-3,)),
        )
    ),
    "specify_shape_known": (
        lambda x: -SpecifyShape((5,) * x.type.ndim)(x),
        lambda x: SpecifyShape((5,) * x.type.ndim)(SpecifyShape((5,) * x.type.ndim)(x)),
        of((None, None), ("int64", ()))(lambda x, k: SpecifyShape((None, 5))(x, tg.absolute(k))),
        of((5, 5), ("int64", ()))(lambda x, k: SpecifyShape((None, 5))(x, tg.absolute(k))),
    ),
    "elementwise_of_specified": (
        lambda x: -SpecifyShape((5,) * x.type.ndim)(x),
        lambda x: SpecifyShape((1,) * x.type.ndim)(x) * x,
        of((None, None), ("int64", ()))(lambda x, k: -SpecifyShape((None, 5))(x, tg.absolute(k))),
        of((5, 5), ("int64", ()))(lambda x, k: -SpecifyShape((None, 5))(x, tg.absolute(k))),
    ),
    "reshape_of_ones": (
        lambda x: Reshape((1, 5))(x[0]),
        lambda x: tg.reshape(x[0], (1, -1, 1)),
        lambda x: tg.reshape(x[:1], (-1,)),
        lambda x: tg.reshape(x[:, :1], (1, 1, -1)),
        lambda x: tg.reshape(x[:, None], (-1, x.shape[-1])),
        lambda x: tg.reshape(x[:, None], (x.shape[0], x.shape[1], 1)),
        lambda x: tg.reshape(x[:2, :2], (2, 1, 2)),
        lambda x: tg.reshape(x[:2, :2], (4, 1)),
    ),
    "sum_of_negative": tuple(
        reduced(fn, tg.negative, axes, total=total) for fn, total in EXTREMES for axes in ((-1,), (-2, -1))
    ),
    "extreme_of_negative": tuple(
        reduced(fn, tg.negative, axes, total=total) for fn, total in EXTREMES for axes in ((-1,), (-2, -1))
    ),
    "position_of_negative": tuple(
        position(fn, change) for fn in (tg.maximum, tg.minimum) for change in (tg.negative, lambda x: -x[::-1])
    ),
    "sum_of_one_hot": (
        *(
            (
                lambda x, d=dtype, k=k: Reduce(tg.add, (-1,))(
                    tg.cast(tg.equal(tg.cast(x, d)[..., None], np.arange(k).astype(d)), "int64")
                )
            )
            for dtype in ("float64", "float16", "uint8", "int64", "complex128")
            for k in (5, 1)
        ),
        *(
            (lambda x, n=n, axes=axes: Reduce(tg.add, axes)(tg.cast(tg.cast(x, "int64")[..., None] == n(x), "int64")))
            for n in (lambda x: iota(x.shape[-1]), lambda x: iota(x.shape[-1]) + 1, lambda x: np.array([0, 2, 1]))
            for axes in ((-1,), (-2, -1), (-2,))
        ),
        lambda x: tg.max(tg.cast(tg.cast(x, "int64")[..., None] == iota(5), "int64"), -1),
        lambda x: tg.sum(tg.cast(tg.cast(x, "int64")[:, None] == iota(5)[:, None], "int64"), 1),
    ),
    "reduce_range": tuple(
        (lambda x, fn=fn, total=total: Reduce(fn, (-1,), total)(iota(x.shape[-1])))
        for fn in (tg.add, tg.maximum, tg.minimum, tg.multiply)
        for total in (False, True)
    ),
    "reduce_of_complement": tuple(
        reduced(fn, lambda x: tg.logical_not(tg.cast(x, "bool")), axes)
        for fn in (tg.logical_and, tg.logical_or)
        for axes in ((-1,), (-2, -1))
    ),
    "sum_of_multiple": (
        *(
            reduced(fn, change, axes, total=total)
            for fn, total in EXTREMES
            for axes in ((-1,), (-2, -1))
            for change in (lambda x: x * 2, lambda x: x * -2, lambda x: x / 2, lambda x: 2 / x, lambda x: x * 0)
        ),
        lambda x, y: tg.sum(x * tg.sum(y), -1),
        lambda x: tg.sum(tg.cast(x, "int8") * tg.cast(-128, "int8"), -1),
        lambda x: tg.sum(tg.cast(x, "complex128") * 2j, -1),
        lambda x: tg.sum(tg.cast(x, "uint8") * tg.cast(3, "uint8")),
        lambda x: tg.sum(tg.cast(x, "float16") * tg.cast(300, "float16")),
        lambda x: tg.sum(tg.cast(x, "float16") * tg.cast(0.5, "float16")),
        lambda x: tg.sum(tg.cast(x, "float16") / tg.cast(0.5, "float16")),
        lambda x: tg.sum(tg.cast(x, "float16") / tg.cast(2, "float16")),
        lambda x: tg.sum(x * 1e-300, -1),
        lambda x: tg.sum(x / 0, -1),
    ),
    "sum_of_factor_of_known": (
        lambda x, y: tg.sum(tg.assume(x, finite=True) * column(tg.assume(y, finite=True)), -1),
        lambda x, y: tg.sum(x / column(tg.assume(y, finite=True, nonzero=True)), -1),
        lambda x, y: tg.sum(column(tg.assume(y, finite=True)) / x, -1),
        lambda x, y: tg.sum(tg.assume(x, finite=True) * column(tg.assume(y, finite=True)), 0),
        lambda x, y: tg.max(x * column(tg.assume(y, finite=True)), -1),
        lambda x, y: tg.prod(x * column(tg.assume(y, finite=True)), -1),
        lambda x, y: tg.sum(x * column(tg.assume(y, finite=True)), (0, 1)),
    ),
    "sum_of_factor": (
        *(
            of((3, 0), (3, 1))(lambda x, y, fn=fn: tg.sum(fn(x, tg.assume(y, finite=True)), -1))
            for fn in (tg.divide, tg.multiply)
        ),
        lambda x, y: tg.sum(x * column(y), -1),
        lambda x, y: tg.sum(x / column(y), -1),
        lambda x, y: tg.sum(column(y) / x, -1),
        lambda x, y: tg.sum(x * column(y), 0),
        lambda x, y: tg.sum(x * column(y) * y[:1], -1),
        lambda x, y: tg.sum(x * column(y), (0, 1)),
        lambda x, y: tg.sum(x * tg.sum(y, -1, keepdims=True), -1, keepdims=True),
    ),
    "sum_of_repeated": tuple(
        of_repeated(fn, count, axes, dtype)
        for fn in (tg.add, tg.multiply)
        for count in (3, 1, 0, None)
        for axes in ((-3,), (-3, -1))
        for dtype in (None, "float16", "int8", "complex128")
    ),
    "extreme_of_repeated": (
        *(
            of_repeated(fn, count, (-3,), total=total)
            for fn in (tg.maximum, tg.minimum)
            for total in (True, False)
            for count in (3, 1, None)
        ),
        *(
            of_repeated(fn, count, axes, "bool")
            for fn in (tg.logical_and, tg.logical_or)
            for count in (3, 0, None)
            for axes in ((-3,), (-3, -1))
        ),
    ),
}
