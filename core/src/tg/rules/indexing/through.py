"""Reads of a result as reads of the operands, for each op: what of them is needed, and the op again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.ops.contraction import MatMul
from tg.ops.cumulative import Accumulate
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.record import Elementwise
from tg.ops.indexing import Gather, Scatter, Slice, SliceUpdate
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.shape import (
    BroadcastTo,
    Concatenate,
    ExpandDims,
    Reshape,
    Squeeze,
    Transpose,
    broadcast_to,
    reshape,
)
from tg.ops.softmax import LogSumExp, Softmax
from tg.ops.sorting import ArgSort, Sort
from tg.rules.indexing.bounds import at_most
from tg.rules.indexing.windows import (
    Window,
    Windows,
    canonical,
    composed,
    is_inside,
    placed,
    read,
    sizes_of,
    windows_of,
    within,
    written_windows,
)
from tg.types import lengths
from tg.types.dtypes import is_inexact
from tg.types.lengths import product, same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Apply, Variable


class Through(NamedTuple):
    """A read of a result as reads of operands: the windows of each, and what makes the result of them."""

    reads: tuple[Windows | None, ...]  # for each operand; None: it is taken as it is; UNUSED: it is not needed
    make: Callable[[Sequence[Variable]], Variable]


UNUSED: Final[Any] = object()


def _plain(node: Apply, reads: Sequence[Windows | None]) -> Through:
    """The same op of what is read of the operands."""
    return Through(tuple(reads), lambda operands: node.op(*operands))


def pointwise(node: Apply, y: Variable, windows: Windows) -> Through:
    """The same window of each operand, except along axes that it repeats."""
    return _plain(node, [repeated(v, y, windows) if v.type.ndim else None for v in node.inputs])


def repeated(v: Variable, y: Variable, windows: Windows) -> Windows:
    """Windows of an operand for the windows of a result that it broadcasts to."""
    shapes = zip(v.type.shape, y.type.shape[-v.type.ndim :], windows[-v.type.ndim :], strict=True)
    return tuple(None if n == 1 and m != 1 else w for n, m, w in shapes)


def _transpose(node: Apply, y: Variable, windows: Windows) -> Through:
    op: Any = node.op
    reads: list[Window | None] = [None] * len(windows)
    for w, axis in zip(windows, op.order(len(windows)), strict=True):
        reads[axis] = w
    return _plain(node, [tuple(reads)])


def _expand(node: Apply, y: Variable, windows: Windows) -> Through | None:
    op: Any = node.op
    if any(windows[k] is not None for k in op.axes):
        return None  # nothing is read
    return _plain(node, [tuple([w for k, w in zip(range(-len(windows), 0), windows, strict=True) if k not in op.axes])])


def _squeeze(node: Apply, y: Variable, windows: Windows) -> Through:
    return _plain(node, [with_axes(windows, node.op.axes)])  # type: ignore[attr-defined]


def with_axes(windows: Windows, axes: Sequence[int]) -> Windows:
    """The windows with whole axes inserted at ascending negative places of the result."""
    rest = iter(windows)
    ndim = len(windows) + len(axes)
    return tuple([None if k in axes else next(rest) for k in range(-ndim, 0)])


def _broadcast(node: Apply, y: Variable, windows: Windows) -> Through:
    x = node.inputs[0]
    shape = sizes_of(windows, y)
    reads = repeated(x, y, windows) if x.type.ndim else None
    return Through((reads, *(None for _ in node.inputs[1:])), lambda operands: broadcast_to(operands[0], shape))


def _reshape(node: Apply, y: Variable, windows: Windows) -> Through | None:
    """Axes in front and behind that a reshape leaves alone, and rows of an axis that it splits."""
    x = node.inputs[0]
    old, new = x.shape, y.shape
    front = 0
    while front < min(len(old), len(new)) and same(old[front], new[front]):
        front += 1
    back = 0
    while back < min(len(old), len(new)) - front and same(old[-1 - back], new[-1 - back]):
        back += 1
    middle = [w for w in windows[front : len(new) - back] if w is not None]
    inner = old[front : len(old) - back], new[front : len(new) - back]
    if not same(*map(product, inner)):
        return None
    places: list[Window | None] = [None] * len(inner[0])
    if middle:
        place = _split(inner[0], inner[1], windows[front])
        if place is None or len(middle) > 1:
            return None
        places = [place]
    reads = (*windows[:front], *places, *windows[len(new) - back :])
    shape = sizes_of(windows, y)
    return Through((reads, *(None for _ in node.inputs[1:])), lambda operands: reshape(operands[0], shape))


def _split(old: Sequence[Any], new: Sequence[Any], w: Window | None) -> Window | None:
    """Of one axis that becomes several, the window that holds rows in order."""
    if len(old) != 1 or w is None or w.step != 1 or not is_inside(w, new[0]):
        return None
    row = product(tuple(new[1:]))
    return canonical(Window(lengths.multiply(w.start, row), lengths.multiply(w.size, row), 1), old[0])


def _concatenate(node: Apply, y: Variable, windows: Windows) -> Through | None:
    """Of each piece what lies in the window."""
    axis: int = node.op.axis  # type: ignore[attr-defined]
    w, place = windows[axis], len(windows) + axis
    if w is None:
        return _plain(node, [windows for _ in node.inputs])
    cuts = _cuts(node.inputs, axis, w, y.shape[axis])
    if cuts is None:
        return None
    reads = tuple([UNUSED if c is _NOTHING else (*windows[:place], c, *windows[place + 1 :]) for c in cuts])
    chosen = [k for k, c in enumerate(cuts) if c is not _NOTHING]
    if w.step < 0:
        chosen.reverse()

    def make(operands: Sequence[Variable]) -> Variable:
        pieces = [operands[k] for k in chosen]
        return pieces[0] if len(pieces) == 1 else node.op(*pieces)

    return Through(reads, make) if chosen else None


_NOTHING: Final = Window(0, 0, 1)


def _cuts(pieces: Sequence[Variable], axis: int, w: Window, n: Any) -> list[Window | None] | None:
    """Parts of a window in each of the pieces that are joined; None where they are not known."""
    if not is_inside(w, n):
        return None
    low, high = w.ends
    parts: list[Window | None] = []
    begin: Any = 0
    for piece in pieces:
        size = piece.shape[axis]
        end = lengths.add(begin, size)
        if at_most(end, low) or at_most(lengths.add(high, 1), begin):
            parts.append(_NOTHING)
        elif at_most(begin, low) and at_most(lengths.add(high, 1), end):
            parts.append(canonical(w._replace(start=lengths.subtract(w.start, begin)), size))
        else:
            part = _part(w, begin, end)
            if part is None:
                return None
            parts.append(_NOTHING if same(part.size, 0) else canonical(part, size))
        begin = end
    return parts


def _part(w: Window, begin: Any, end: Any) -> Window | None:
    """The part of a window that lies in [begin, end), counted from there; known numbers, or steps of 1."""
    if type(w.start) is int and type(w.size) is int and type(begin) is int and type(end) is int:
        inside = [p for p in range(w.start, w.start + w.size * w.step, w.step) if begin <= p < end]
        return Window(inside[0] - begin if inside else 0, len(inside), w.step)
    if w.step != 1:
        return None
    high = lengths.add(w.last, 1)
    first = begin if at_most(w.start, begin) else w.start if at_most(begin, w.start) else None
    stop = end if at_most(end, high) else high if at_most(high, end) else None
    if first is None or stop is None or not at_most(first, stop):
        return None
    return Window(lengths.subtract(first, begin), lengths.subtract(stop, first), 1)


def _slice(node: Apply, y: Variable, windows: Windows) -> Through | None:
    x = node.inputs[0]
    inner = windows_of(node)
    try:
        reads = tuple([composed(a, b, n) for a, b, n in zip(windows, inner, x.shape, strict=True)])
    except LookupError:
        return None
    return Through((reads, *(UNUSED for _ in node.inputs[1:])), lambda operands: operands[0])


def _reduce(node: Apply, y: Variable, windows: Windows) -> Through:
    return _plain(node, [with_axes(windows, node.op.axes)])  # type: ignore[attr-defined]


def _arg_reduce(node: Apply, y: Variable, windows: Windows) -> Through:
    return _plain(node, [with_axes(windows, (node.op.axis,))])  # type: ignore[attr-defined]


def _along_axis(node: Apply, y: Variable, windows: Windows) -> Through | None:
    """Ops that treat each line along an axis alone."""
    return None if windows[node.op.axis] is not None else _plain(node, [windows])  # type: ignore[attr-defined]


def _accumulate(node: Apply, y: Variable, windows: Windows) -> Through | None:
    """The first running results need the first elements."""
    w = windows[node.op.axis]  # type: ignore[attr-defined]
    starts = w is None or (type(w.start) is int and w.start == 0 and w.step == 1)
    return _plain(node, [windows]) if starts else None


def _matmul(node: Apply, y: Variable, windows: Windows) -> Through:
    """Rows of the left, columns of the right, and of both the leading axes."""
    left, right = node.inputs
    rows = (*repeated(left, y, windows)[:-2], windows[-2], None)
    columns = (*repeated(right, y, windows)[:-2], None, windows[-1])
    return _plain(node, [rows, columns])


def _gather(node: Apply, y: Variable, windows: Windows) -> Through:
    """Of the indices what lies in the window of their axes, of the array the other axes."""
    _, *indices = node.inputs
    rank = indices[0].type.ndim
    of_indices = windows[:rank] if rank else None
    return _plain(node, [with_axes(windows[rank:], node.op.axes), *(of_indices for _ in indices)])  # type: ignore[attr-defined]


def _scatter(node: Apply, y: Variable, windows: Windows) -> Through | None:
    """Axes that are not indexed."""
    axes: tuple[int, ...] = node.op.axes  # type: ignore[attr-defined]
    if any(windows[k] is not None for k in axes):
        return None
    _, _, *indices = node.inputs
    others = [w for k, w in zip(range(-len(windows), 0), windows, strict=True) if k not in axes]
    values = (*(None for _ in range(indices[0].type.ndim)), *others)
    return _plain(node, [windows, values, *(None for _ in indices)])


def _update(node: Apply, y: Variable, windows: Windows) -> Through | None:
    """The window of the array, updated where it was written."""
    op: Any = node.op
    x, _, *starts = node.inputs
    written = written_windows(node)
    places: list[Window | None] = []  # in what is read
    values: list[Window | None] = []  # of what is written
    for r, w, n in zip(windows, written, x.shape, strict=True):
        meeting = _meeting(r, w, n)
        if meeting is None:
            return None
        places.append(meeting[0])
        values.append(meeting[1])

    def make(operands: Sequence[Variable]) -> Variable:
        base, value, *_ = operands
        if all(p is None for p in places):
            return value if op.fn is None else op.fn(base, value)
        first, steps, moving = placed(tuple(places), base)
        return SliceUpdate(first, steps, op.fn)(base, value, *moving)  # type: ignore[no-any-return]

    covered = op.fn is None and all(p is None for p in places)
    return Through((UNUSED if covered else windows, tuple(values), *(UNUSED for _ in starts)), make)


def _meeting(r: Window | None, w: Window | None, n: Any) -> tuple[Window | None, Window | None] | None:
    """Positions that a read r and a write at w share, as windows of what is read and what is written; None: unknown."""
    try:
        return None, within(r, w, n)
    except LookupError:
        pass
    try:
        return within(w, r, n), None
    except LookupError:
        pass
    return None


def needs_sums(op: Any, y: Variable) -> bool:
    """Whether an op adds up or multiplies inexact numbers, so that another shape may give other roundings."""
    kind = type(op)
    if not is_inexact(y.type.dtype):
        return False
    return kind in (MatMul, Softmax, LogSumExp) or (kind in (Reduce, Accumulate) and op.reduction.rounds)


MOVEMENTS: Final[dict[type, Any]] = {
    Transpose: _transpose,
    ExpandDims: _expand,
    Squeeze: _squeeze,
    BroadcastTo: _broadcast,
    Reshape: _reshape,
    Slice: _slice,
}
COMPUTATIONS: Final[dict[type, Any]] = {
    Elementwise: pointwise,
    Cast: pointwise,
    Reduce: _reduce,
    LogSumExp: _reduce,
    ArgReduce: _arg_reduce,
    Softmax: _along_axis,
    Sort: _along_axis,
    ArgSort: _along_axis,
    Accumulate: _accumulate,
    MatMul: _matmul,
    Gather: _gather,
    Scatter: _scatter,
    SliceUpdate: _update,
    Concatenate: _concatenate,
}


def through(node: Apply, y: Variable, windows: Windows) -> Through | None:
    """A read of a node's result as reads of its operands, for ops that have one."""
    kind = type(node.op)
    find = MOVEMENTS.get(kind) or COMPUTATIONS.get(kind)
    return None if find is None else find(node, y, windows)


def made_of(route: Through, operands: Sequence[Variable]) -> Variable:
    """The result of the reads of the operands."""
    pairs = zip(operands, route.reads, strict=True)
    return route.make([v if r is None or r is UNUSED else read(v, r) for v, r in pairs])
