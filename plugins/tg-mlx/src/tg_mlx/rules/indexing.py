"""Reading and writing parts of arrays. MLX itself checks nothing: positions are clamped before it sees them.

Deviation from MLX: extrema that are scattered propagate NaN.

A window whose start is known at run time only is a dynamic slice of the positions it spans, thinned by its step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx
import numpy as np

from tg import add, maximum, minimum, multiply
from tg.backend import indexing as t
from tg.backend import merge_sizes
from tg_mlx.arrays import copy, from_numpy, is_integer, scalar
from tg_mlx.rules.elementwise import arithmetic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import Rule

COMBINERS: Final = {add: "add", multiply: "multiply", minimum: "minimum", maximum: "maximum"}
LOGICAL: Final = {add: "maximum", multiply: "minimum", minimum: "minimum", maximum: "maximum"}

ANY: Final = {minimum: "maximum", maximum: "maximum"}


def wrap_index(op: t.WrapIndex, i: Any, n: Any) -> Any:
    """Indices counted from the front, and clamped."""
    if i.dtype == mx.uint64:
        i = mx.minimum(i, scalar(np.iinfo(np.int64).max, mx.uint64))
    wide = i.astype(mx.int64)
    wrapped = wide if op.mode == "clip" else mx.where(wide < 0, wide + n, wide)
    return mx.maximum(mx.minimum(wrapped, n - 1), 0)


def slice_(op: t.Slice, x: Any, *rest: Any) -> Any:
    """A window; starts that are operands are clamped into the array."""
    count = op.starts.count(None)
    sizes = [int(n) for n in merge_sizes(op.sizes, rest[count:])]
    if not count:
        starts: Any = op.starts
        return x[(..., *t.window(x.shape, starts, sizes, op.steps))]
    extents = _extents(sizes, op.steps)
    lows = _lows(x.shape, op.starts, rest[:count], sizes, op.steps)
    return _thinned(_read(x, lows, extents), sizes, op.steps)


def _extents(sizes: Sequence[Any], steps: Sequence[int]) -> list[int]:
    """Number of positions that each window spans."""
    return [(size - 1) * abs(step) + 1 if size > 0 else 0 for size, step in zip(sizes, steps, strict=True)]


def _lows(
    shape: Sequence[int], field: Sequence[int | None], starts: Sequence[Any], sizes: Sequence[Any], steps: Sequence[int]
) -> Any:
    """The first positions that the windows span, clamped into the array, as one vector."""
    lows = []
    lengths = shape[len(shape) - len(sizes) :]
    extents = _extents(sizes, steps)
    for n, start, size, step, extent in zip(lengths, merge_sizes(field, starts), sizes, steps, extents, strict=True):
        t.window((n,), (0,), (size,), (step,))  # refuses a window that is longer than the axis
        first: Any = scalar(start, mx.int64) if isinstance(start, int) else start
        top = n - extent
        back = extent - 1 if step < 0 and size > 0 else 0
        lows.append(mx.maximum(mx.minimum(first, top + back) - back, 0))
    return mx.stack(lows)


def _read(x: Any, lows: Any, extents: Sequence[int]) -> Any:
    """The positions from `lows` along the last axes."""
    front = x.ndim - len(extents)
    return mx.slice(x, lows, list(range(front, x.ndim)), [*x.shape[:front], *extents])


def _thinned(x: Any, sizes: Sequence[int], steps: Sequence[int]) -> Any:
    """Every `|step|`-th position along the last axes, backwards where a step is negative."""
    return x[(..., *_taken(sizes, steps))]


def _taken(sizes: Sequence[int], steps: Sequence[int]) -> tuple[slice, ...]:
    """Slices of such positions; for one position there is no step, since one of MLX has 32 bits."""
    return tuple(
        slice(None, None, step if size > 1 else None) if size else slice(0, 0)
        for size, step in zip(sizes, steps, strict=True)
    )


def slice_update(op: t.SliceUpdate, x: Any, v: Any, *starts: Any) -> Any:
    """A copy with a window written."""
    sizes = v.shape[v.ndim - len(op.steps) :]
    if 0 in v.shape:
        return copy(x)
    if not starts:
        offsets: Any = op.starts
        return written(op, x, v, t.window(x.shape, offsets, sizes, op.steps))
    extents = _extents(sizes, op.steps)
    lows = _lows(x.shape, op.starts, starts, sizes, op.steps)
    new = written(op, _read(x, lows, extents), v, _taken(sizes, op.steps))
    result = mx.slice_update(x, new, lows, list(range(x.ndim - len(extents), x.ndim)))
    return copy(result) if new.shape == x.shape else result


def written(op: Any, x: Any, v: Any, place: tuple[slice, ...]) -> Any:
    """A copy with the positions of slices written."""
    y = x[...]  # assigning to an index makes this name another array, and leaves x
    y[(..., *place)] = v if op.fn is None else arithmetic.RULES[op.fn](x[(..., *place)], v)
    return copy(y) if v.shape == x.shape else y  # where all is written MLX gives what was


def gather(op: t.Gather, x: Any, *indices: Any) -> Any:
    """The elements at positions along `axes`, the index axes in front."""
    return gathered(op, x, clamped(x, op.axes, indices))


def gathered(op: Any, x: Any, indices: Sequence[Any]) -> Any:
    """The elements at positions along `op.axes` that are in range."""
    axes = [k + x.ndim for k in op.axes]
    rest = [k for k in range(x.ndim) if k not in axes]
    shape = (*indices[0].shape, *(x.shape[k] for k in rest))
    if 0 in shape or 0 in x.shape:
        return mx.zeros(shape, x.dtype)
    order = [*axes, *rest]
    return (x if order == list(range(x.ndim)) else mx.transpose(x, order))[tuple(indices)]


def clamped(x: Any, axes: Sequence[int], indices: Sequence[Any]) -> list[Any]:
    """Indices that WrapIndex has put in range for the axis they were meant for are so for this one."""
    return [mx.clip(i, 0, max(x.shape[k + x.ndim] - 1, 0)) for k, i in zip(axes, indices, strict=True)]


def scatter(op: t.Scatter, x: Any, v: Any, *indices: Any) -> Any:
    """A copy with elements written or combined at positions along `axes`."""
    return scattered(op, x, v, clamped(x, op.axes, indices))


def scattered(op: Any, x: Any, v: Any, indices: Sequence[Any]) -> Any:
    """A copy with elements written or combined at positions along `op.axes` that are in range."""
    if 0 in x.shape or 0 in v.shape:
        return copy(x)
    if x.dtype == mx.bool_ and op.fn is not None:
        result = _scattered(op, x.astype(mx.uint8), v.astype(mx.uint8), indices, LOGICAL)
        return result.astype(mx.bool_)
    result = _scattered(op, x, v, indices, COMBINERS)
    if op.fn not in (minimum, maximum) or is_integer(x):
        return result
    absent = _scattered(op, mx.isnan(x).astype(mx.uint8), mx.isnan(v).astype(mx.uint8), indices, ANY)
    return mx.where(absent != 0, scalar(mx.nan, x.dtype), result)


def _scattered(op: Any, x: Any, v: Any, indices: Sequence[Any], combiners: dict[Any, str]) -> Any:
    axes = [k + x.ndim for k in op.axes]
    order = [*axes, *(k for k in range(x.ndim) if k not in axes)]
    is_plain = order == list(range(x.ndim))
    moved = x[...] if is_plain else mx.transpose(x, order)  # assigning to an index leaves x
    if op.fn is None:
        moved[tuple(indices)] = v
    else:
        moved = getattr(moved.at[tuple(indices)], combiners[op.fn])(v)
    return moved if is_plain else mx.transpose(moved, [order.index(k) for k in range(x.ndim)])


def nonzero(op: t.Nonzero, mask: Any) -> Any:
    """The positions of the true elements; how many there are is known when the mask has been evaluated."""
    return from_numpy(np.flatnonzero(np.asarray(mask)).astype(np.int64))


RULES: Final[dict[object, Rule]] = {
    t.WrapIndex: wrap_index,
    t.Slice: slice_,
    t.SliceUpdate: slice_update,
    t.Gather: gather,
    t.Scatter: scatter,
    t.Nonzero: nonzero,
}
