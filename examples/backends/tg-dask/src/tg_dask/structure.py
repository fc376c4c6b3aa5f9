"""Everything that is not elementwise. Sizes are ints; what depends on values stays lazy, but for `Nonzero`."""

import math
from functools import partial

import dask.array as da
import numpy as np
from dask.array.reductions import cumreduction

from tg.backend import (
    arithmetic,
    comparison,
    contraction,
    creation,
    cumulative,
    fourier,
    identity,
    indexing,
    known_shape,
    merge_sizes,
    reduction,
    shape,
    sorting,
    window,
)
from tg_dask.arrays import to_native, to_numpy, whole

UFUNCS = {
    arithmetic.add: np.add,
    arithmetic.multiply: np.multiply,
    arithmetic.maximum: np.maximum,
    arithmetic.minimum: np.minimum,
    comparison.logical_and: np.logical_and,
    comparison.logical_or: np.logical_or,
}


def zeros(sizes, dtype):
    """What sums over nothing give, and reads of nothing."""
    return da.zeros(sizes, dtype=dtype)


def reshape(op, x, *sizes):
    """dask's where it merges or splits axes; what does both at once is of the whole array."""
    wanted = merge_sizes(op.shape, sizes)
    if not x.size:
        return zeros(wanted, x.dtype)
    try:
        return da.reshape(x, wanted)
    except NotImplementedError:
        return whole(lambda x: x.reshape(wanted), wanted, x.dtype, x)


def broadcast_to(op, x, *sizes):
    return da.broadcast_to(x, merge_sizes(op.shape, sizes))


def squeeze(op, x):
    return da.squeeze(x, tuple(op.axes)) if op.axes else x


def expand_dims(op, x):
    return da.expand_dims(x, tuple(op.axes)) if op.axes else x


def matmul(op, x, y):
    """Chunks of rows by chunks of columns, each as long as what is summed: partial products would be their cube."""
    sizes = (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1])
    if not x.size or not y.size:
        return zeros(sizes, x.dtype)
    return da.matmul(x.rechunk({x.ndim - 1: -1}), y.rechunk({y.ndim - 2: -1})).astype(x.dtype)


def combined(x, axis, keepdims, *, fn, start):
    """Some elements of a chunk combined, or of results of chunks."""
    return np.asarray(UFUNCS[fn].reduce(x, axis=axis, keepdims=keepdims, initial=start)).astype(x.dtype)


def reduce(op, x):
    """A tree: within chunks, then among their results; of nothing the identity."""
    if not op.axes:
        return x
    step = partial(combined, fn=op.fn, start=identity(op.fn, x.dtype.name))
    axes = tuple(axis % x.ndim for axis in op.axes)
    return da.reduction(x, step, step, axis=axes, dtype=x.dtype, concatenate=True, meta=np.empty((), x.dtype))


def arg_reduce(op, x):
    axis = op.axis % x.ndim
    if not x.size:
        return zeros((*x.shape[:axis], *x.shape[axis + 1 :]), np.int64)
    find = da.argmax if op.fn is arithmetic.maximum else da.argmin
    return find(x, axis=axis).astype(np.int64)


def accumulate(op, x):
    """Within chunks, then with what the chunks before come to."""
    if not x.size:
        return x
    fn = UFUNCS[op.fn]

    def within(chunk, axis, dtype=None):
        return fn.accumulate(chunk, axis=axis, dtype=chunk.dtype)

    start = identity(op.fn, x.dtype.name)
    return cumreduction(within, fn, start, x, axis=op.axis % x.ndim, dtype=x.dtype)


def arange(op, *sizes, context):
    n = sizes[0] if op.length is None else op.length
    return da.arange(n, dtype=np.int64, chunks=context)


def wrap_index(op, i, n):
    """A uint64 that no int64 holds is beyond every length anyway."""
    wide = da.minimum(i, np.uint64(2**63 - 1)).astype(np.int64) if i.dtype == np.uint64 else i.astype(np.int64)
    wrapped = wide if op.mode == "clip" else da.where(wide < 0, wide + n, wide)
    return da.maximum(da.minimum(wrapped, n - 1), 0)


def slice_(op, x, *rest):
    """dask's slicing, where the starts are known; else of the whole array, for they are lazy too."""
    count = op.starts.count(None)
    sizes = known_shape(op.sizes, rest[count:])
    lead = x.shape[: x.ndim - len(sizes)]
    if not count:
        return x[(..., *window(x.shape, op.starts, sizes, op.steps))]

    def read(x, *starts):
        return x[(..., *window(x.shape, known_shape(op.starts, starts), sizes, op.steps))]

    return whole(read, (*lead, *sizes), x.dtype, x, *rest[:count])


def slice_update(op, x, v, *starts):
    def written(x, v, *starts):
        place = (..., *window(x.shape, known_shape(op.starts, starts), v.shape[v.ndim - len(op.steps) :], op.steps))
        y = x.copy()
        y[place] = v if op.fn is None else UFUNCS[op.fn](y[place], v)
        return y

    return whole(written, x.shape, x.dtype, x, v, *starts)


def gather(op, x, *indices):
    front, axes = indices[0].shape, [axis % x.ndim for axis in op.axes]
    back = tuple(n for axis, n in enumerate(x.shape) if axis not in axes)
    if not x.size or not math.prod(front):
        return zeros((*front, *back), x.dtype)

    def read(x, *indices):
        return np.moveaxis(x, axes, range(len(axes)))[indices]

    return whole(read, (*front, *back), x.dtype, x, *indices)


def scatter(op, x, v, *indices):
    if not x.size or not v.size:
        return x

    def written(x, v, *indices):
        y = x.copy()
        moved = np.moveaxis(y, op.axes, range(len(op.axes)))
        if op.fn is None:
            moved[indices] = v
        else:
            UFUNCS[op.fn].at(moved, indices, v)
        return y

    return whole(written, x.shape, x.dtype, x, v, *indices)


def nonzero(op, mask, context):
    """Computed at once: the length is what the program goes on with, and dask does not know it before."""
    return to_native(np.flatnonzero(to_numpy(mask)).astype(np.int64), context)


def argsort(op, x):
    """Each row within one chunk: dask has no stable sort across chunks."""
    if not x.size:
        return zeros(x.shape, np.int64)
    rows = x.rechunk({op.axis % x.ndim: -1})
    return rows.map_blocks(np.argsort, axis=op.axis, kind="stable", dtype=np.int64)


def transform(op, x, *sizes):
    """NumPy's, each row within one chunk."""
    n, dtype, function = x.shape[-1], x.dtype, np.fft.ifft if getattr(op, "inverse", False) else np.fft.fft
    if isinstance(op, fourier.RealFourier):
        n, dtype, function = n // 2 + 1, x.dtype.char.upper(), np.fft.rfft
    elif isinstance(op, fourier.InverseRealFourier):
        n = op.length if op.length is not None else int(sizes[0])
        dtype, function = x.dtype.char.lower(), partial(np.fft.irfft, n=n)
    if not x.size:
        return zeros((*x.shape[:-1], n), dtype)
    rows = x.rechunk({x.ndim - 1: -1})
    return rows.map_blocks(function, norm=op.norm, chunks=(*rows.chunks[:-1], (n,)), dtype=dtype)


RULES = {
    contraction.MatMul: matmul,
    creation.Arange: arange,
    cumulative.Accumulate: accumulate,
    fourier.Fourier: transform,
    fourier.InverseRealFourier: transform,
    fourier.RealFourier: transform,
    indexing.Gather: gather,
    indexing.Nonzero: nonzero,
    indexing.Scatter: scatter,
    indexing.Slice: slice_,
    indexing.SliceUpdate: slice_update,
    indexing.WrapIndex: wrap_index,
    reduction.ArgReduce: arg_reduce,
    reduction.Reduce: reduce,
    shape.BroadcastTo: broadcast_to,
    shape.Concatenate: lambda op, *arrays: da.concatenate(arrays, op.axis),
    shape.ExpandDims: expand_dims,
    shape.Reshape: reshape,
    shape.Squeeze: squeeze,
    shape.Transpose: lambda op, x: da.transpose(x, op.order(x.ndim)),
    sorting.ArgSort: argsort,
}
