"""Everything that is not elementwise: reductions, products, positions, shapes. What is empty is known while tracing."""

import numpy as np

from tg import backend as core
from tg_onnxruntime.elementwise import RULES as ELEMENTWISE
from tg_onnxruntime.elementwise import maximum, minimum
from tg_onnxruntime.tensors import Tensor, bits, cast, concatenate, constant, expand, make, reshape, transpose, where

COMBINERS = {  # as a reduction, as a running result, as what a scattered element does
    None: (None, None, "none"),
    core.arithmetic.add: ("ReduceSum", "CumSum", "add"),
    core.arithmetic.multiply: ("ReduceProd", "CumProd", "mul"),
    core.arithmetic.maximum: ("ReduceMax", None, "max"),
    core.arithmetic.minimum: ("ReduceMin", None, "min"),
    core.comparison.logical_and: ("ReduceMin", None, None),
    core.comparison.logical_or: ("ReduceMax", None, None),
}


def matmul(op, x, y):
    sizes = (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1])
    return make("MatMul", x, y, shape=sizes)


def ordered(x, axes):
    """These axes, then the others."""
    first = [k % x.ndim for k in axes]
    return first, [k for k in range(x.ndim) if k not in first]


def joined(x, axes):
    """The axes as one, the last."""
    axes, others = ordered(x, axes)
    count = np.prod([x.shape[k] for k in axes], dtype=int)
    return reshape(transpose(x, others + axes), [*(x.shape[k] for k in others), count])


def along(kind, x):
    """The last axis reduced by a node."""
    return make(kind, x, constant([-1], "int64"), shape=x.shape[:-1], keepdims=0)


def reduce(op, x):
    """Sums of float32 are rounded once; those of integers, which the kernel has by way of floats, end a running sum."""
    if not op.axes:
        return x
    (kind, running, _), x = COMBINERS[op.fn], joined(x, op.axes)
    if not x.shape[-1]:
        return constant(np.full(x.shape[:-1], core.identity(op.fn, x.dtype.name), x.dtype))
    if running and x.dtype.kind == "f":
        return cast(along(kind, cast(x, "float64")), x.dtype)
    if running:
        return reshape(cut(accumulated(op.fn, x, x.ndim - 1), [slice(x.shape[-1] - 1, x.shape[-1])]), x.shape[:-1])
    found = along(kind, x)
    return where(along("ReduceMax", x != x), np.nan, found) if x.dtype.kind == "f" else found


def keys(x, nan):
    """Integers in the order of floats; NaN has the place told."""
    if x.dtype.kind != "f":
        return x
    whole = bits(x)
    limits = np.iinfo(whole.dtype)
    found = where(x == 0, 0, where(whole < 0, whole ^ limits.max, whole))
    return where(x != x, limits.max if nan == "last" else limits.min, found)


def arg_reduce(op, x):
    """The position of the first extremum, or of the first NaN."""
    kind, nan = ("ArgMax", "last") if op.fn is core.arithmetic.maximum else ("ArgMin", "first")
    x = keys(joined(x, [op.axis]), nan)
    return make(kind, x, shape=x.shape[:-1], dtype="int64", axis=x.ndim - 1, keepdims=0)


def accumulated(fn, x, axis):
    """The running result; extrema are combined with those 1, 2, 4, … before."""
    if kind := COMBINERS[fn][1]:
        wide = cast(x, "float64") if x.dtype == "float32" else x
        return cast(make(kind, wide, constant(axis, "int64"), shape=x.shape), x.dtype)
    step, n, rest = 1, x.shape[axis], [slice(0, n) for n in x.shape[axis + 1 :]]
    while step < n:
        first, before, later = (cut(x, [part, *rest]) for part in (slice(0, step), slice(0, n - step), slice(step, n)))
        x, step = concatenate([first, ELEMENTWISE[fn](later, before)], axis), 2 * step
    return x


def wrap_index(op, i, n):
    wide = cast(i, "int64")
    wrapped = wide if op.mode == "clip" else where(wide < 0, wide + n, wide)
    return maximum(minimum(wrapped, n - 1), 0)


def cut(x, places):
    """The last axes at NumPy's slices; -1 as an end would be the last position."""
    ends = [-(2**62) if p.stop is None else p.stop for p in places]
    axes = range(x.ndim - len(places), x.ndim)
    operands = ([p.start for p in places], ends, list(axes), [p.step or 1 for p in places])
    sizes = [len(range(*p.indices(x.shape[k]))) for p, k in zip(places, axes, strict=True)]
    return make("Slice", x, *(constant(v, "int64") for v in operands), shape=(*x.shape[: axes.start], *sizes))


def positions(lengths, starts, sizes, steps):
    """The positions of a window along each axis, clamped into the array; those of a start that is an operand too."""
    known, found = [0 if isinstance(start, Tensor) else start for start in starts], []
    for n, start, place in zip(lengths, starts, core.window(lengths, known, sizes, steps), strict=True):
        line = np.arange(n)[place]
        if isinstance(start, Tensor) and line.size:
            span = line[-1] - line[0]
            found.append(maximum(minimum(start, n - 1 - max(span, 0)), max(-span, 0)) + constant(line - line[0]))
        else:
            found.append(constant(line))
    return found


def slice_(op, x, *rest):
    """A window: by ONNX's slices where it is known, else by its positions."""
    count = op.starts.count(None)
    starts, sizes = core.merge_sizes(op.starts, rest[:count]), core.known_shape(op.sizes, rest[count:])
    if not count:
        return cut(x, core.window(x.shape, starts, sizes, op.steps))
    lead = x.ndim - len(sizes)
    for k, line in enumerate(positions(x.shape[lead:], starts, sizes, op.steps), lead):
        x = make("Gather", x, line, shape=(*x.shape[:k], *line.shape, *x.shape[k + 1 :]), axis=k)
    return x


def slice_update(op, x, v, *starts):
    count = len(op.steps)
    lead, sizes = x.ndim - count, v.shape[v.ndim - count :]
    lines = positions(x.shape[lead:], core.merge_sizes(op.starts, starts), sizes, op.steps)
    indices = [expand(reshape(line, [*line.shape, *[1] * (count - 1 - k)]), sizes) for k, line in enumerate(lines)]
    return written(op.fn, x, transpose(v, [*range(lead, v.ndim), *range(lead)]), range(lead, x.ndim), indices)


def stacked(indices):
    """Positions along several axes as one array, the last axis being theirs."""
    return concatenate([reshape(i, [*i.shape, 1]) for i in indices], -1)


def gather(op, x, *indices):
    """The elements at positions along axes, the index axes in front."""
    axes, others = ordered(x, op.axes)
    sizes = (*indices[0].shape, *(x.shape[k] for k in others))
    return make("GatherND", transpose(x, axes + others), stacked(indices), shape=sizes)


def written(fn, x, v, axes, indices):
    """A copy with elements written or combined; NaN, which extrema do not see, is combined by itself."""
    if 0 in x.shape or 0 in v.shape:
        return x
    (first, others), kind = ordered(x, axes), COMBINERS[fn][2]
    order = first + others

    def scattered(kind, x, v):
        moved = transpose(x, order)
        found = make("ScatterND", moved, stacked(indices), v, shape=moved.shape, reduction=kind)
        return transpose(found, np.argsort(order).tolist())

    found = scattered(kind, x, v)
    if kind not in ("max", "min") or x.dtype.kind != "f":
        return found
    return where(scattered("max", *(cast(one != one, "int32") for one in (x, v))) != 0, np.nan, found)


def argsort(op, x):
    """The positions that sort the elements, by the n least."""
    axis = op.axis % x.ndim
    n = constant([x.shape[axis]], "int64")
    return make("TopK", keys(x, "last"), n, shape=x.shape, dtype="int64", place=1, axis=axis, largest=0)


RULES = {
    core.contraction.MatMul: matmul,
    core.creation.Arange: lambda op, *sizes: constant(np.arange(sizes[0] if op.length is None else op.length)),
    core.cumulative.Accumulate: lambda op, x: accumulated(op.fn, x, op.axis % x.ndim),
    core.indexing.Gather: gather,
    core.indexing.Scatter: lambda op, x, v, *indices: written(op.fn, x, v, op.axes, indices),
    core.indexing.Slice: slice_,
    core.indexing.SliceUpdate: slice_update,
    core.indexing.WrapIndex: wrap_index,
    core.reduction.ArgReduce: arg_reduce,
    core.reduction.Reduce: reduce,
    core.shape.BroadcastTo: lambda op, x, *sizes: expand(x, core.merge_sizes(op.shape, sizes)),
    core.shape.Concatenate: lambda op, *arrays: concatenate(arrays, op.axis),
    core.shape.ExpandDims: lambda op, x: reshape(x, np.expand_dims(np.broadcast_to(0, x.shape), op.axes).shape),
    core.shape.Reshape: lambda op, x, *sizes: reshape(x, core.merge_sizes(op.shape, sizes)),
    core.shape.Squeeze: lambda op, x: reshape(x, np.squeeze(np.broadcast_to(0, x.shape), op.axes).shape),
    core.shape.Transpose: lambda op, x: transpose(x, op.order(x.ndim)),
    core.sorting.ArgSort: argsort,
}
