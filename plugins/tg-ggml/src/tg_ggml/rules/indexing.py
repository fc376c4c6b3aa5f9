"""Reading and writing parts of arrays.

A window that is known is a view, copied. One that moves is read and written by rows, along one axis of float32; what
else there is of windows NumPy does. Elements at positions are rows of a table, which may be quantised.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import ggml as g
import numpy as np

from tg.backend import Hosted, arithmetic, merge_sizes
from tg.backend import indexing as t
from tg_ggml.host import hosted
from tg_ggml.tensors import Tensor, constant, current, extents, reshape, transpose
from tg_ggml.weights import factor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import Rule

    Array = np.ndarray[Any, Any]


def wrap_index(op: t.WrapIndex, i: Tensor, n: Tensor) -> Any:
    """Indices counted from the front, and clamped."""
    if i.dtype != np.int64:
        return NotImplemented
    wraps = op.mode != "clip"

    def wrapped(at: Array, length: Array) -> Array:
        counted = np.where(at < 0, at + length, at) if wraps else at
        return np.asarray(np.maximum(np.minimum(counted, length - 1), 0))

    return hosted(wrapped, [i, n], i.shape, "int64")


def slice_(op: t.Slice, x: Tensor, *rest: Any) -> Any:
    """A window; starts that are operands are clamped into the array."""
    count = op.starts.count(None)
    sizes = [int(n) for n in merge_sizes(op.sizes, rest[count:])]
    lead = x.shape[: x.ndim - len(sizes)]
    shape = (*lead, *sizes)
    dtype = x.dtype.name
    if 0 in shape:
        return Tensor(shape, dtype)
    starts = rest[:count]
    if all(start.data is not None for start in starts):
        begins = [int(n) for n in merge_sizes(op.starts, [int(s.data) for s in starts])]
        places = t.window(x.shape, begins, sizes, op.steps)
        taken: Any = (..., *places)
        if x.data is not None:
            return constant(x.data[taken])
        if all(step > 0 for step in op.steps):
            return _view(x, places, shape)
        return hosted(lambda a: a[taken], [x], shape, dtype)
    axis = _moving(op.starts, op.steps, x.shape[len(lead) :], sizes)
    if axis is not None and x.dtype == np.float32:
        return _rows_read(x, len(lead) + axis, starts[0], shape)

    def read(a: Array, *at: Array) -> Array:
        begins = [int(n) for n in merge_sizes(op.starts, [int(s) for s in at])]
        place: Any = (..., *t.window(a.shape, begins, sizes, op.steps))
        window: Array = a[place]
        return window

    return hosted(read, [x, *starts], shape, dtype)


def _moving(
    starts: Sequence[int | None], steps: Sequence[int], lengths: Sequence[int], sizes: Sequence[int]
) -> int | None:
    """The one axis along which a window moves position by position, the others being whole; None: it is another."""
    if starts.count(None) != 1 or any(step != 1 for step in steps):
        return None
    axis = [*starts].index(None)
    others = [k for k in range(len(starts)) if k != axis]
    return axis if all(starts[k] == 0 and lengths[k] == sizes[k] for k in others) else None


def _view(x: Tensor, places: Sequence[slice], shape: tuple[int, ...]) -> Tensor:
    """A window of known begin, axis by axis where axes cannot be joined to four; each that is not whole is copied."""
    node, ctx, lengths = x.node, current().ctx, [*x.shape]
    size = x.dtype.itemsize
    lead = x.ndim - len(places)
    for k, place in enumerate(places, lead):
        taken = range(*place.indices(lengths[k]))
        if len(taken) == lengths[k]:
            continue
        before, behind = math.prod(lengths[:k]), math.prod(lengths[k + 1 :])
        row = behind * size
        step = taken.step if len(taken) > 1 else 1
        dims = extents((before, len(taken), behind))
        strides = (row * step, row * lengths[k], row * lengths[k] * before)
        node = g.ggml_view_4d(ctx, node, *dims, *strides, taken[0] * row)
        if not g.ggml_is_contiguous(node):
            node = g.ggml_cont(ctx, node)
        lengths[k] = len(taken)
    return Tensor(shape, x.dtype.name, node=node)


def _rows_read(x: Tensor, axis: int, start: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A window that moves along an axis, as rows of a table."""
    before, n, behind = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
    size = shape[axis]
    at = hosted(lambda s: max(0, min(int(s), n - size)) + np.arange(size), [start], (size,), "int32")
    if before > 1:
        moved = transpose(reshape(x, (before, n, behind)), (1, 0, 2))
        node = g.ggml_get_rows(current().ctx, moved.dims((n, before * behind)), at.node)
        return reshape(transpose(Tensor((size, before, behind), node=node), (1, 0, 2)), shape)
    table = reshape(x, (n, behind))
    rows = table.rows() if x.data is None else factor("window", table, (n, behind))
    return Tensor(shape, node=g.ggml_get_rows(current().ctx, rows, at.node))


def slice_update(op: t.SliceUpdate, x: Tensor, v: Tensor, *starts: Tensor) -> Any:
    """A copy with a window written."""
    if not v.size:
        return x
    count = len(op.steps)
    sizes = v.shape[v.ndim - count :]
    lead = x.ndim - count
    axis = _moving(op.starts, op.steps, x.shape[lead:], sizes)
    if axis is not None and op.fn is None and x.dtype == np.float32:
        return _rows_written(x, v, lead + axis, starts[0])
    combine = None if op.fn is None else COMBINERS.get(op.fn)
    if op.fn is not None and combine is None:
        return NotImplemented

    def write(a: Array, b: Array, *at: Array) -> Array:
        begins = [int(n) for n in merge_sizes(op.starts, [int(s) for s in at])]
        place: Any = (..., *t.window(a.shape, begins, sizes, op.steps))
        y = a.copy()
        y[place] = b if combine is None else combine(y[place], b)
        return y

    return hosted(write, [x, v, *starts], x.shape, x.dtype.name)


def _rows_written(x: Tensor, v: Tensor, axis: int, start: Tensor) -> Tensor:
    """A window that moves along an axis, as rows of a copy."""
    before, n, behind = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
    size, ctx = v.shape[axis], current().ctx
    at = hosted(lambda s: max(0, min(int(s), n - size)) + np.arange(size), [start], (size,), "int64")
    copy = g.ggml_dup(ctx, x.dims((before, n, behind)))
    node = g.ggml_set_rows(ctx, copy, v.dims((before, size, behind)), at.node)
    return Tensor(x.shape, node=node)


def gather(op: t.Gather, x: Tensor, *indices: Tensor) -> Any:
    """The elements at positions along `axes`, the index axes in front."""
    axes = [k + x.ndim for k in op.axes]
    rest = [k for k in range(x.ndim) if k not in axes]
    shape = (*indices[0].shape, *(x.shape[k] for k in rest))
    lengths = [x.shape[k] for k in axes]
    if 0 in lengths or 0 in shape:
        return constant(np.zeros(shape, x.dtype))
    moved = transpose(x, axes + rest)
    count, behind = math.prod(lengths), math.prod(x.shape[k] for k in rest)

    def flat(*at: Array) -> Array:
        return np.asarray(np.ravel_multi_index(at, lengths)).reshape(-1)

    if x.dtype != np.float32:
        dims = (count, behind)
        return hosted(lambda a, *at: a.reshape(dims)[flat(*at)].reshape(shape), [moved, *indices], shape, x.dtype.name)
    at = hosted(flat, indices, (indices[0].size,), "int32")
    table = factor("gather", reshape(moved, (count, behind)), (count, behind))
    return Tensor(shape, node=g.ggml_get_rows(current().ctx, table, at.node))


COMBINERS: Final = {
    arithmetic.add: np.add,
    arithmetic.multiply: np.multiply,
    arithmetic.maximum: np.maximum,
    arithmetic.minimum: np.minimum,
}
RULES: Final[dict[object, Rule]] = {
    t.WrapIndex: Hosted(wrap_index),
    t.Slice: slice_,
    t.SliceUpdate: slice_update,
    t.Gather: gather,
}
