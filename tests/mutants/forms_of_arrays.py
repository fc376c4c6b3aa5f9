"""More of what rewrites of reductions, movements and lengths are for, by their names, as in `tests.mutants.forms`."""

from __future__ import annotations

import tg
from tg.ops.indexing import Gather, Nonzero
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.shape import AxisLength, Reshape, SpecifyShape

COMPARISONS = (tg.equal, tg.not_equal, tg.less, tg.less_equal, tg.greater, tg.greater_equal)
LENGTHS = (  # pairs of sizes, of which some are known to be in some order
    lambda n, m: (n, n),
    lambda n, m: (n, n + 1),
    lambda n, m: (n + 1, n),
    lambda n, m: (n, m),
    lambda n, m: (n + m, m),
    lambda n, m: (m, n + m),
    lambda n, m: (n, 0 * n),
    lambda n, m: (n + 1, 0 * n),
    lambda n, m: (n * m, m * n),
    lambda n, m: ((n + 1) * 2, 2 * n + 2),
    lambda n, m: ((n * 2**62) // 4, (2**62 * n) // 4),
    lambda n, m: ((n * 2**62) // 2**62, n),
    lambda n, m: ((n * 2**62) // 2**62 + m, n + m),
    lambda n, m: (m - (n * 2**62) // 2**62, m - n),
    lambda n, m: (n * 2**40, n * 2**40 + 1),
    lambda n, m: (tg.minimum(n, m), n),
    lambda n, m: (tg.minimum(n * 2**62, m), tg.minimum(2**62 * n, m)),
)


def compared(comparison, pair):
    def form(x):
        n, m = AxisLength(-1)(x), AxisLength(-2)(x)
        return tg.where(comparison(*pair(n, m)), x, -x)

    return form


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


def column(y):
    return y[:, 0][:, None]


def read_where_chosen(mask, chosen, other):
    """A choice between vectors that are no movement of others, read where its mask holds."""

    def form(x, y):
        v, w = tg.cumsum(x[0]), tg.cumsum(y[0])
        m = mask(v, w)
        return Gather((-1,))(tg.where(m, chosen(v, w), other(v, w)), Nonzero()(m))

    return form


EXTREMES = ((tg.maximum, True), (tg.minimum, True), (tg.add, False), (tg.multiply, False))
FORMS_OF_ARRAYS = {
    "comparison_of_lengths": tuple(compared(fn, pair) for fn in COMPARISONS for pair in LENGTHS),
    "comparison_by_bounds": tuple(
        (lambda x, fn=fn, k=k: tg.where(fn(tg.arange(x.shape[-1]) - k, 0), x, -x))
        for fn in COMPARISONS
        for k in (-1, 0, 1)
    ),
    "gather_of_chosen": tuple(
        read_where_chosen(mask, chosen, other)
        for mask in (tg.less, tg.greater_equal, lambda v, w: (v > 0) & (w > v), lambda v, w: tg.isfinite(v * w))
        for chosen in (lambda v, w: v, lambda v, w: tg.exp(w), lambda v, w: v[0], lambda v, w: w[:1], tg.multiply)
        for other in (lambda v, w: w, lambda v, w: 0.5, tg.add)
    ),
    "specify_shape_known": (
        lambda x: -SpecifyShape((5,) * x.type.ndim)(x),
        lambda x: SpecifyShape((5,) * x.type.ndim)(SpecifyShape((5,) * x.type.ndim)(x)),
    ),
    "elementwise_of_specified": (
        lambda x: -SpecifyShape((5,) * x.type.ndim)(x),
        lambda x: SpecifyShape((1,) * x.type.ndim)(x) * x,
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
        lambda x: tg.sum(tg.cast(x, "uint8") * tg.cast(3, "uint8")),
        lambda x: tg.sum(tg.cast(x, "float16") * tg.cast(300, "float16")),
    ),
    "sum_of_factor": (
        lambda x, y: tg.sum(tg.assume(x, finite=True) * column(tg.assume(y, finite=True)), -1),
        lambda x, y: tg.sum(x / column(tg.assume(y, finite=True, nonzero=True)), -1),
        lambda x, y: tg.sum(column(tg.assume(y, finite=True)) / x, -1),
        lambda x, y: tg.sum(tg.assume(x, finite=True) * column(tg.assume(y, finite=True)), 0),
        lambda x, y: tg.max(x * column(tg.assume(y, finite=True)), -1),
        lambda x, y: tg.prod(x * column(tg.assume(y, finite=True)), -1),
        lambda x, y: tg.sum(x * column(tg.assume(y, finite=True)), (0, 1)),
    ),
    "sum_of_any_factor": (
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
    "product_of_repeated": tuple(
        of_repeated(fn, count, axes, dtype)
        for fn in (tg.multiply, tg.add)
        for count in (3, 1, 0, None, 70)
        for axes in ((-3,), (-3, -2))
        for dtype in (None, "int8", "float16")
    ),
}
