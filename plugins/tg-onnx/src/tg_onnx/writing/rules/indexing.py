"""Reading and writing parts of arrays: slices, elements at positions, updates.

`WrapIndex` is no node where only `Gather` and `Scatter` read it: ONNX's operators count negative indices from the end
themselves, and those outside are refused by the runtime.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.backend import Gather, Nonzero, Scatter, Slice, SliceUpdate, WrapIndex, arithmetic, merge_sizes
from tg_onnx.writing.rules.shape import sizes_of
from tg_onnx.writing.scope import LARGEST, agree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg_onnx.writing.scope import Scope, Value

REDUCTIONS: Final = {
    None: ("none", 16),
    arithmetic.add: ("add", 16),
    arithmetic.multiply: ("mul", 16),
    arithmetic.maximum: ("max", 18),
    arithmetic.minimum: ("min", 18),
}


def wrap_index(op: Any, w: Scope, i: Value, n: Value) -> Value:
    """Indices counted from the front, and clamped into the axis."""
    wide = w.cast(i, "int64")
    if op.mode != "clip":
        if op.mode == "raise" and w.is_index_only:
            return wide
        wide = w("Where", w("Less", wide, w.constant(np.int64(0))), w("Add", wide, n), wide)
    last = w("Sub", n, w.constant(np.int64(1)))
    return w("Max", w("Min", wide, last), w.constant(np.int64(0)), shape=i.shape)


def _clamped(w: Scope, start: Value, x: Value, axis: int, size: Any, step: int) -> Value:
    """A start at which the whole window lies within the axis."""
    n, one = w.length(x, axis), w.constant(np.int64(1))
    reach = _times(w, _plus(w, size, -1), abs(step))  # of no positions it is below 0
    reach = max(reach, 0) if isinstance(reach, int) else w("Max", reach, w.constant(np.int64(0)))
    back, forth = (reach, 0) if step < 0 else (0, reach)
    last = w("Sub", w("Sub", n, one), _scalar(w, forth)) if forth != 0 else w("Sub", n, one)
    return w("Max", w("Min", start, last), _scalar(w, back))


def _scalar(w: Scope, n: Any) -> Value:
    return w.constant(np.int64(n)) if isinstance(n, int) else n


def _plus(w: Scope, n: Any, more: Any) -> Any:
    if isinstance(n, int) and isinstance(more, int):
        return n + more
    if isinstance(more, int) and more == 0:
        return n
    return w("Add", _scalar(w, n), _scalar(w, more))


def _times(w: Scope, n: Any, factor: int) -> Any:
    if isinstance(n, int):
        return n * factor
    return n if factor == 1 else w("Mul", n, w.constant(np.int64(factor)))


def slice_(op: Any, w: Scope, x: Value, *rest: Value) -> Value:
    """A window: what is whole along an axis is left out, and an axis turned round has no lengths in it."""
    count = op.starts.count(None)
    starts, sizes = merge_sizes(op.starts, rest[:count]), sizes_of(op.sizes, rest[count:])  # type: ignore[arg-type]
    lead = x.ndim - len(sizes)
    parts: list[tuple[Any, Any, int, int]] = []
    for k, (start, size, step) in enumerate(zip(starts, sizes, op.steps, strict=True), lead):
        whole = agree(x.shape[k : k + 1], w.out.shape[k : k + 1])
        if whole and (step == 1 or (isinstance(size, int) and size == 1)):
            continue
        if whole and step == -1:
            parts.append((-1, -LARGEST, k, step))
            continue
        first: Any = start
        if not isinstance(first, int):
            first = int(first.data) if first.data is not None else _clamped(w, first, x, k, size, step)
        end = _plus(w, first, _times(w, size, step))
        if step > 0 and not isinstance(end, int) and _reaches_end(x.shape[k], w.out.shape[k], first, step):
            end = LARGEST
        if step < 0:
            if isinstance(end, int):
                end = end if end >= 0 else -LARGEST
            else:
                below = w("Less", end, w.constant(np.int64(0)))
                end = w("Where", below, w.constant(np.int64(-LARGEST)), end, dtype="int64")
        parts.append((first, end, k, step))
    if not parts:
        return x
    firsts, ends, axes, steps = zip(*parts, strict=True)
    operands = [w.sizes(firsts), w.sizes(ends), w.integers(axes)]
    if any(step != 1 for step in steps):
        operands.append(w.integers(steps))
    return w("Slice", x, *operands, shape=w.out.shape)


def _reaches_end(n: Any, size: Any, first: Any, step: int) -> bool:
    """Whether a window that begins at a known place ends with the axis."""
    if not isinstance(first, int) or step != 1 or n is None or size is None:
        return False
    return _known(n - first - size) == 0


def _known(n: Any) -> int | None:
    return n if isinstance(n, int) else None


def _in_front(x: Value, axes: Sequence[int]) -> list[int]:
    """The permutation that has these axes first."""
    first = [k % x.ndim for k in axes]
    return first + [k for k in range(x.ndim) if k not in first]


def gather(op: Any, w: Scope, x: Value, *indices: Value) -> Value:
    """The elements at positions along axes, the axes of the indices in front."""
    if len(op.axes) == 1:
        axis, rank = op.axes[0] % x.ndim, indices[0].ndim
        shape = (*x.shape[:axis], *indices[0].shape, *x.shape[axis + 1 :])
        elements = w("Gather", x, indices[0], axis=axis, shape=shape)
        return w.transpose(elements, [*range(axis, axis + rank), *range(axis), *range(axis + rank, elements.ndim)])
    return w("GatherND", w.transpose(x, _in_front(x, op.axes)), _stacked(w, indices), shape=w.out.shape)


def _stacked(w: Scope, indices: Sequence[Value]) -> Value:
    """Positions along several axes as one array, the last axis being theirs."""
    return w.concat([w.expand_dims(i, [-1]) for i in indices], -1)


def written(w: Scope, fn: Any, x: Value, v: Value, axes: Sequence[int], indices: Sequence[Value]) -> Any:
    """A copy with elements written, or combined with those there."""
    if fn not in REDUCTIONS or w.opset < REDUCTIONS[fn][1]:
        return NotImplemented
    order = _in_front(x, axes)
    moved = w.transpose(x, order)
    attributes = {} if fn is None else {"reduction": REDUCTIONS[fn][0]}
    updated = w("ScatterND", moved, _stacked(w, indices), v, shape=moved.shape, **attributes)
    return w.transpose(updated, np.argsort(order).tolist())


def slice_update(op: Any, w: Scope, x: Value, v: Value, *starts: Value) -> Any:
    """A copy with a window written, by its positions; a window put into zeros is padded."""
    count = len(op.steps)
    lead = x.ndim - count
    first: tuple[Any, ...] = merge_sizes(op.starts, starts)  # type: ignore[arg-type]
    lines = []
    for k, (start, step) in enumerate(zip(first, op.steps, strict=True), lead):
        n, size = x.shape[k], v.shape[k]
        if agree((n,), (size,)) and step == 1:
            begin: Any = 0
        elif isinstance(start, int):
            begin = start
        else:
            begin = _clamped(w, start, x, k, size if isinstance(size, int) else w.length(v, k), step)
        if isinstance(size, int):
            line = w.constant(np.arange(size) * step)
        else:
            zero, one = w.constant(np.int64(0)), w.constant(np.int64(1))
            line = w("Range", zero, w.length(v, k), one, shape=(size,))
            line = line if step == 1 else w("Mul", line, w.constant(np.int64(step)))
        lines.append(line if isinstance(begin, int) and begin == 0 else w("Add", line, _scalar(w, begin)))
    sizes = w.sizes([n if isinstance(n, int) else w.length(v, k) for k, n in enumerate(v.shape) if k >= lead])
    rows = [w.expand_dims(line, list(range(-(count - 1 - k), 0))) for k, line in enumerate(lines)]
    indices = [w("Expand", row, sizes, shape=v.shape[lead:]) for row in rows]
    values = w.transpose(v, [*range(lead, v.ndim), *range(lead)])
    return written(w, op.fn, x, values, range(lead, x.ndim), indices)


def nonzero(op: Any, w: Scope, mask: Value) -> Value:
    """The positions of true elements."""
    positions = w("NonZero", mask, dtype="int64", shape=(1, *w.out.shape))
    return w.squeeze(positions, [0])


READERS: Final[Mapping[type, int]] = {Gather: 1, Scatter: 2}
"""The ops that read positions which may count from the end, and the first operand that has them."""

RULES: Final[Mapping[object, Callable[..., Any]]] = {
    WrapIndex: wrap_index,
    Slice: slice_,
    SliceUpdate: slice_update,
    Gather: gather,
    Scatter: lambda op, w, x, v, *indices: written(w, op.fn, x, v, op.axes, indices),
    Nonzero: nonzero,
}
