"""Bugs of reductions, running results, orders and products of matrices."""

import numpy as np

import tg
from tg.ops import cumulative, reduction
from tg.ops.contraction import MatMul
from tg.ops.cumulative import Accumulate
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.sorting import ArgSort, SearchSorted, Sort
from tg_bugs.record import Bug


def maximum_by_comparing(op, x):
    """`if x > best: best = x`: a NaN stays where it stands first, and nowhere else."""
    if op.fn is not tg.maximum or x.dtype.kind != "f" or op.total or not x.size:
        return op.perform(x)[0]
    first = np.moveaxis(x, op.axes, range(-len(op.axes), 0)).reshape(*kept_lengths(op, x), -1)[..., 0]
    return np.where(np.isnan(first), first, np.fmax.reduce(x, axis=op.axes)).astype(x.dtype)


def kept_lengths(op, x):
    return [n for k, n in zip(range(-x.ndim, 0), x.shape, strict=True) if k not in op.axes]


def minimum_without_nan(op, x):
    if op.fn is not tg.minimum or x.dtype.kind != "f" or op.total:
        return op.perform(x)[0]
    return np.asarray(np.fmin.reduce(x, axis=op.axes)).astype(x.dtype)


def widened_sum(op, x):
    found = op.perform(x)[0]
    return found.astype("float64") if found.dtype == "float32" else found


def narrowed_sum(op, x):
    found = op.perform(x)[0]
    return found.astype("int32") if op.fn is tg.add and found.dtype == "int64" else found


def sum_by_floats(op, x):
    if op.fn is not tg.add or x.dtype != "int64":
        return op.perform(x)[0]
    return np.asarray(np.sum(x.astype(float), axis=op.axes)).astype("int64")


def sum_in_half(op, x):
    return op.perform(x.astype("float16"))[0].astype("float32") if x.dtype == "float32" else op.perform(x)[0]


def zero_for_nothing(op, x):
    found = op.perform(x)[0]
    return np.zeros_like(found) if x.size == 0 else found


def forgotten_axes(op, x, kept={}):  # noqa: B006 (that is the bug)
    """A table of compiled kernels whose key lacks the axes."""
    key = (op.fn, len(op.axes), x.dtype, x.ndim)
    found = kept.setdefault(key, op).perform(x)[0]
    return found if found.shape == op.perform(x)[0].shape else op.perform(x)[0]


def last_tie(op, x):
    if op.fn is tg.maximum and x.shape[op.axis]:
        return x.shape[op.axis] - 1 - np.argmax(np.flip(x, op.axis), op.axis)
    return op.perform(x)[0]


def argmax_of_numbers(op, x):
    if x.dtype.kind != "f" or not x.size:
        return op.perform(x)[0]
    worst = -np.inf if op.fn is tg.maximum else np.inf
    return op.perform(np.where(np.isnan(x), worst, x))[0]


def unsigned_positions(op, x):
    return op.perform(x)[0].astype("uint32")


def unstable_order(op, x):
    """Ties in the reverse order, NaN last."""
    n = x.shape[op.axis]
    return (n - 1 - op.perform(np.flip(x, op.axis))[0]).astype("int64")


def nan_first(op, x):
    found = op.perform(x)[0]
    if x.dtype.kind != "f" or not x.size:
        return found
    order = np.argsort(~np.isnan(found), axis=op.axis, kind="stable")
    return np.take_along_axis(found, order, op.axis)


def left_always(op, a, v):
    return type(op)("left").perform(a, v)[0]


def short_running_sum(op, x):
    if x.dtype != "int64" or op.fn is not tg.add:
        return op.perform(x)[0]
    return np.cumsum(x.astype("int8"), op.axis, dtype="int8").astype("int64")


def running_maximum_without_nan(op, x):
    if op.fn is tg.maximum and x.dtype.kind == "f" and x.dtype.name != "bfloat16":
        return np.fmax.accumulate(x, axis=op.axis)
    return op.perform(x)[0]


def running_in_memory_order(op, x):
    if x.ndim == 2 and x.flags.f_contiguous and not x.flags.c_contiguous:
        return op.perform(x.ravel("K").reshape(x.shape))[0]
    return op.perform(x)[0]


def product_of_views(op, x, y):
    """Strides read as those of the transpose where an operand is one row."""
    if x.shape[-2] == 1 and y.ndim == 2 and y.shape[-2] == y.shape[-1]:
        return op.perform(x, y.T)[0]
    return op.perform(x, y)[0]


def product_by_floats(op, x, y):
    if x.dtype.kind not in "iu":
        return op.perform(x, y)[0]
    return np.matmul(x.astype("float32"), y.astype("float32")).astype("int64").astype(x.dtype)


def product_over_nothing(op, x, y):
    found = op.perform(x, y)[0]
    return np.full_like(found, np.nan) if x.shape[-1] == 0 and found.dtype.kind == "f" else found


def product_of_repeated(op, x, y):
    """A stride of 0 handed to a routine that takes it for the length of a row."""
    if x.ndim == 2 and x.shape[0] > 1 and x.strides[0] == 0:
        x = np.concatenate([x[:1], np.zeros_like(x[1:])])
    return op.perform(x, y)[0]


def batch_in_memory_order(op, x, y):
    if x.ndim > 1 and not x.flags.c_contiguous:
        x = x.ravel("K").reshape(x.shape)
    return op.perform(x, y)[0]


REDUCED = "^reduction:(prod|max) axis"

BUGS = (
    Bug("maximum-by-comparing", "T23", "^reduction:extremes", {Reduce: maximum_by_comparing}),
    Bug("minimum-without-nan", "T23", "^reduction:extremes", {Reduce: minimum_without_nan}),
    Bug("sum-widens", "T14", "^reduction:sum", {Reduce: widened_sum}),
    Bug("sum-narrows", "T14", "^reduction:sum of", {Reduce: narrowed_sum}),
    Bug("sum-by-floats", "T14", "^reduction:sum (and|of)", {Reduce: sum_by_floats}),
    Bug("sum-in-half", "T20", "^reduction:sum", {Reduce: sum_in_half}),
    Bug("sum-of-int8-in-int8", "T19", "^reduction:sum of", core=((reduction, "accumulator", lambda dtype: dtype),)),
    Bug("zero-for-nothing", "T32", "^reduction:(reductions of no|all of nothing|mean of nothing|prod)",
        {Reduce: zero_for_nothing}),
    Bug("axes-left-out-of-a-key", "T79", REDUCED, {Reduce: forgotten_axes}),
    Bug("last-tie", "T31", "^reduction:arg.* ties", {ArgReduce: last_tie}),
    Bug("argmax-of-numbers", "T23", "^reduction:extremes", {ArgReduce: argmax_of_numbers}),
    Bug("unsigned-positions", "T14", "^reduction:arg", {ArgReduce: unsigned_positions}),
    Bug("unstable-order", "T31", "^sorting:sort", {ArgSort: unstable_order}),
    Bug("nan-first", "T31", "^sorting:sort (with|of)", {Sort: nan_first}),
    Bug("order-is-unsigned", "T22", "^sorting:sort axis", {ArgSort: unsigned_positions}),
    Bug("searched-from-the-left", "T31", "^sorting:(search|digitize)", {SearchSorted: left_always}),
    Bug("short-running-sum", "T19", "^cumulative:cumsum of", {Accumulate: short_running_sum}),
    Bug("cumsum-of-int8-in-int8", "T19", "^cumulative:cumsum",
        core=((cumulative, "accumulator", lambda dtype: dtype),)),
    Bug("running-maximum-without-nan", "T23", "^cumulative:running", {Accumulate: running_maximum_without_nan}),
    Bug("running-in-memory-order", "T38", "^cumulative:cumsum 2d", {Accumulate: running_in_memory_order}),
    Bug("row-by-square", "T41", "^contraction:matmul of", {MatMul: product_of_views}),
    Bug("product-by-floats", "T18", "^contraction:matmul of", {MatMul: product_by_floats}),
    Bug("product-over-nothing", "T33", "^contraction:.* over nothing", {MatMul: product_over_nothing}),
    Bug("product-of-repeated", "T41", "^contraction:matmul", {MatMul: product_of_repeated}),
    Bug("batch-in-memory-order", "T38", "^contraction:(matmul|dot)", {MatMul: batch_in_memory_order}),
)  # fmt: skip
