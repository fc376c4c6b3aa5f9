"""Reading and writing parts of arrays.

PyTorch has no windows that run backwards: they are read forwards and flipped. Where a program is traced, the start of a
window is not known, and the window is read and written by its positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from tg import add, maximum, minimum, multiply
from tg.backend import ArgSort, known_shape, merge_sizes
from tg.backend import indexing as t
from tg_torch.place import RUN, Place
from tg_torch.rules.elementwise import arithmetic
from tg_torch.rules.sorting import arg_sort
from tg_torch.unsigned import as_dtype, ordered, signed, unordered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import Rule

NOTHING: Final[frozenset[int]] = frozenset()
PUT: Final = torch.ops.aten.index_put
REDUCTIONS: Final[dict[object, str]] = {multiply: "prod", maximum: "amax", minimum: "amin"}


def wrap_index(op: t.WrapIndex, i: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    """Indices counted from the front, and clamped."""
    wide = i.to(torch.int64)
    if i.dtype == torch.uint64:  # what int64 does not hold is behind the end
        wide = torch.where(wide < 0, wide.new_full((), np.iinfo(np.int64).max), wide)
    elif op.mode != "clip":
        wide = torch.where(wide < 0, wide + n, wide)
    return torch.clamp(torch.minimum(wide, n - 1), min=0)


def slice_(op: t.Slice, x: torch.Tensor, *rest: Any, context: Place = RUN) -> torch.Tensor:
    """A window; starts that are operands are clamped into the array."""
    count = op.starts.count(None)
    sizes = known_shape(op.sizes, rest[count:])
    if count and context.is_traced:
        return x[(..., *_positions(x, merge_sizes(op.starts, rest[:count]), sizes, op.steps))]
    return _window(x, known_shape(op.starts, rest[:count]), sizes, op.steps)


def _window(x: torch.Tensor, starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]) -> torch.Tensor:
    """A view of a window; a copy where it runs backwards."""
    windows, backwards = _forwards(x.shape, starts, sizes, steps)
    y = x[(..., *windows)]
    return _flip(y, backwards) if backwards else y


def _flip(x: torch.Tensor, axes: list[int]) -> torch.Tensor:
    return as_dtype(signed(x).flip(axes), x.dtype)


def _forwards(
    shape: Sequence[int], starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
) -> tuple[list[slice], list[int]]:
    """The slices of a window as they run forwards, and the axes, from the end, along which it runs backwards."""
    windows, backwards = [], []
    if all(step == 1 for step in steps) and any(isinstance(n, torch.SymInt) for n in (*shape, *sizes)):
        return [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)], []  # no guard is made
    for k, s in enumerate(t.window(shape, starts, sizes, steps), -len(steps)):
        if s.step is not None and s.step < 0:
            first = s.start + (sizes[k] - 1) * s.step
            windows.append(slice(first, s.start + 1, -s.step))
            backwards.append(k)
        else:
            windows.append(s)
    return windows, backwards


def _positions(
    x: torch.Tensor, starts: Sequence[Any], sizes: Sequence[int], steps: Sequence[int]
) -> list[torch.Tensor]:
    """The positions of a window along each of the last axes, as the indices of an open mesh."""
    positions = []
    lengths = x.shape[x.ndim - len(sizes) :]
    for k, (n, start, size, step) in enumerate(zip(lengths, starts, sizes, steps, strict=True), 1 - len(sizes)):
        t.window((n,), (0,), (size,), (step,))  # refuses a window that is longer than the axis
        span = max(size - 1, 0) * step
        low, high = max(0, -span), max(0, n - 1 - max(0, span))
        first = torch.as_tensor(start, dtype=torch.int64, device=x.device).clamp(low, high)
        line = torch.arange(size, dtype=torch.int64, device=x.device) * step + first
        positions.append(line.reshape(size, *[1] * -k))
    return positions


def slice_update(
    op: t.SliceUpdate,
    x: torch.Tensor,
    v: torch.Tensor,
    *starts: Any,
    context: Place = RUN,
    dying: frozenset[int] = NOTHING,
) -> torch.Tensor:
    """A copy with a window written; the operand itself where it may be written."""
    y = x if 0 in dying or context.is_part else x.clone()
    if v.numel() == 0:
        return y.clone() if context.is_part else y
    sizes = v.shape[v.ndim - len(op.steps) :]
    if starts and context.is_traced:
        return _put(op, y, v, _positions(x, merge_sizes(op.starts, starts), sizes, op.steps))
    windows, backwards = _forwards(x.shape, known_shape(op.starts, starts), sizes, op.steps)
    old = y[(..., *windows)]
    new = _flip(v, backwards) if backwards else v
    written = new if op.fn is None else arithmetic.RULES[op.fn](old, new)
    if context.is_part:
        return _with_window(y, windows, written)
    old.copy_(written)
    return y


def _with_window(x: torch.Tensor, windows: Sequence[slice], v: torch.Tensor) -> torch.Tensor:
    """The array with a window along its last axes replaced, without writing into it."""
    if not windows:
        return v
    first, *rest = windows
    axis = x.ndim - len(windows)
    begin, end, step = first.start, first.stop, first.step or 1
    inner = _with_window(x[(..., first, *[slice(None)] * len(rest))], rest, v)
    return as_dtype(torch.slice_scatter(signed(x), signed(inner), axis, begin, end, step), x.dtype)


def _put(op: t.SliceUpdate, x: torch.Tensor, v: torch.Tensor, positions: Sequence[torch.Tensor]) -> torch.Tensor:
    """The array with a window replaced by its positions."""
    index: Any = (..., *positions)
    places = [*[None] * (x.ndim - len(positions)), *positions]
    new = v if op.fn is None else arithmetic.RULES[op.fn](x[index], v)
    return as_dtype(PUT(signed(x), places, signed(new)), x.dtype)


def gather(op: t.Gather, x: torch.Tensor, *indices: torch.Tensor) -> torch.Tensor:
    """The elements at positions along `axes`, the index axes in front."""
    first = indices[0]
    axes = [k + x.ndim for k in op.axes]
    rest = [n for k, n in enumerate(x.shape) if k not in axes]
    if 0 in [x.shape[k] for k in axes]:
        return x.new_zeros((*first.shape, *rest))
    if len(axes) == 1:
        rows = signed(x).index_select(axes[0], first.reshape(-1)).movedim(axes[0], 0)
    else:
        rows = signed(x).movedim(axes, tuple(range(len(axes))))[tuple([i.reshape(-1) for i in indices])]
    return as_dtype(rows.reshape((*first.shape, *rest)), x.dtype)


def scatter(
    op: t.Scatter,
    x: torch.Tensor,
    v: torch.Tensor,
    *indices: torch.Tensor,
    context: Place = RUN,
    dying: frozenset[int] = NOTHING,
) -> torch.Tensor:
    """A copy with elements written or combined at positions along `axes`; the operand where it may be written."""
    y = x if 0 in dying or context.is_part else x.clone()
    if y.numel() == 0 or v.numel() == 0:
        return y.clone() if context.is_part else y
    front = indices[0].ndim
    values = v.reshape(-1, *v.shape[front:])
    places = tuple([i.reshape(-1) for i in indices])
    axes = tuple([k + x.ndim for k in op.axes])
    if op.fn is None or op.fn is add:
        moved = y.movedim(axes, tuple(range(len(axes))))
        if x.dtype == torch.bool and op.fn is add:
            return _combined("amax", y.to(torch.uint8), values.to(torch.uint8), axes, places) != 0
        if context.is_part:
            whole = as_dtype(PUT(signed(moved), places, signed(values), op.fn is add), x.dtype)
            return whole.movedim(tuple(range(len(axes))), axes)
        signed(moved).index_put_(places, signed(values), accumulate=op.fn is add)
        return y
    if x.dtype == torch.bool:
        how = "amax" if op.fn is maximum else "amin"
        return _combined(how, y.to(torch.uint8), values.to(torch.uint8), axes, places) != 0
    if op.fn is multiply:
        return as_dtype(_combined("prod", signed(y), signed(values), axes, places), x.dtype)
    if x.is_complex():
        return _extreme_of_complex(op, y, values, axes, places)
    return unordered(_combined(REDUCTIONS[op.fn], ordered(y), ordered(values), axes, places), x.dtype)


def _combined(
    how: str, x: torch.Tensor, values: torch.Tensor, axes: Sequence[int], places: Sequence[torch.Tensor]
) -> torch.Tensor:
    """All values of each position combined with what is there: `values` (k, ...) at `places` (k) along `axes`."""
    front = tuple(range(len(axes)))
    moved = x.movedim(tuple(axes), front)
    flat = moved.reshape(-1, *moved.shape[len(axes) :])
    rows = _row(places, moved.shape).reshape(-1, *[1] * (flat.ndim - 1)).expand(values.shape)
    flat = flat.scatter_reduce(0, rows, values, how, include_self=True)
    return flat.reshape(moved.shape).movedim(front, tuple(axes)).contiguous()


def _extreme_of_complex(
    op: t.Scatter, x: torch.Tensor, values: torch.Tensor, axes: Sequence[int], places: Sequence[torch.Tensor]
) -> torch.Tensor:
    """The extrema of the ranks among all elements; NaN comes last, and for a minimum before the first."""
    elements = torch.cat([x.reshape(-1), values.reshape(-1)])
    order = arg_sort(ArgSort(-1), elements)
    total = elements.shape[0]
    ranks = torch.empty_like(order).index_copy_(0, order, torch.arange(total, device=x.device))
    if op.fn is minimum:
        ranks = torch.where(torch.isnan(elements), ranks - total, ranks)
    split = x.numel()
    extrema = _combined(
        REDUCTIONS[op.fn], ranks[:split].reshape(x.shape), ranks[split:].reshape(values.shape), axes, places
    )
    return elements[order][torch.remainder(extrema, total)]


def _row(places: Sequence[torch.Tensor], lengths: Sequence[int]) -> torch.Tensor:
    """Positions along several axes as one, in C order."""
    row = places[0]
    for i, n in zip(places[1:], lengths[1 : len(places)], strict=True):
        row = row * n + i
    return row


def nonzero(op: t.Nonzero, mask: torch.Tensor) -> torch.Tensor:
    """The positions of the true elements."""
    return torch.nonzero(mask).squeeze(-1)


RULES: Final[dict[object, Rule]] = {
    t.WrapIndex: wrap_index,
    t.Slice: slice_,
    t.SliceUpdate: slice_update,
    t.Gather: gather,
    t.Scatter: scatter,
    t.Nonzero: nonzero,
}
