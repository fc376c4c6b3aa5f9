"""The rules of toy, in NumPy; ops that are not here run by their expansion, or are a NoRuleError."""

import numpy as np

from tg.backend import Hosted
from tg.ops import contraction, cumulative, indexing, reduction, shape
from tg.ops.elementwise import arithmetic, cast, comparison, exponential, trigonometric

REDUCTIONS = {
    arithmetic.add: np.add,
    arithmetic.multiply: np.multiply,
    arithmetic.maximum: np.maximum,
    arithmetic.minimum: np.minimum,
    comparison.logical_and: np.logical_and,
    comparison.logical_or: np.logical_or,
}


def gate(dy, d):
    return np.where(dy == 0, 0.0, dy * d)


def reduce(op, x):
    return REDUCTIONS[op.fn].reduce(x, axis=op.axes, dtype=x.dtype, initial=reduction.identity(op.fn, x.dtype.name))


def slice_(op, x, *rest):
    return x[(..., *op.place(x.shape, rest))]


def wrap_index(op, i, n):
    wrapped = i if op.mode == "clip" else np.where(i < 0, i + n, i)
    return np.clip(wrapped, 0, np.maximum(n - 1, 0)).astype(np.int64)


VIEWS = frozenset({indexing.Slice, shape.BroadcastTo, shape.ExpandDims, shape.Reshape, shape.Squeeze, shape.Transpose})
RULES = {
    arithmetic.add: np.add,
    arithmetic.subtract: np.subtract,
    arithmetic.multiply: np.multiply,
    arithmetic.divide: np.divide,
    arithmetic.negative: np.negative,
    arithmetic.absolute: np.absolute,
    arithmetic.square: np.square,
    arithmetic.sqrt: np.sqrt,
    arithmetic.maximum: np.maximum,
    arithmetic.minimum: np.minimum,
    arithmetic.gate: gate,
    cast.Cast: Hosted(lambda op, x: op.perform(x)[0]),  # saturates, as NumPy does not
    comparison.equal: np.equal,
    comparison.not_equal: np.not_equal,
    comparison.less: np.less,
    comparison.less_equal: np.less_equal,
    comparison.greater: np.greater,
    comparison.greater_equal: np.greater_equal,
    comparison.logical_and: np.logical_and,
    comparison.logical_or: np.logical_or,
    comparison.logical_not: np.logical_not,
    comparison.isnan: np.isnan,
    comparison.isfinite: np.isfinite,
    comparison.where: np.where,
    exponential.exp: np.exp,
    exponential.log: np.log,
    exponential.log1p: np.log1p,
    exponential.sigmoid: lambda x: 1 / (1 + np.exp(-x)),
    exponential.softplus: lambda x: np.logaddexp(0, x),
    trigonometric.sin: np.sin,
    trigonometric.cos: np.cos,
    trigonometric.tanh: np.tanh,
    contraction.MatMul: lambda op, x, y: np.matmul(x, y),
    cumulative.Accumulate: lambda op, x: op.fn.numpy.accumulate(x, axis=op.axis, dtype=x.dtype),
    indexing.Slice: slice_,
    indexing.WrapIndex: wrap_index,
    reduction.Reduce: reduce,
    shape.BroadcastTo: lambda op, x, *sizes: np.broadcast_to(x, shape.merge_sizes(op.shape, sizes)),
    shape.Concatenate: lambda op, *arrays: np.concatenate(arrays, op.axis),
    shape.ExpandDims: lambda op, x: np.expand_dims(x, op.axes),
    shape.Reshape: lambda op, x, *sizes: np.reshape(x, shape.merge_sizes(op.shape, sizes)),
    shape.Squeeze: lambda op, x: np.squeeze(x, op.axes),
    shape.Transpose: lambda op, x: np.transpose(x, op.order(x.ndim)),
}
