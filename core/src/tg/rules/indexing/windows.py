"""Windows: what a slice reads or writes along one axis, as lengths that can be added, compared and taken apart."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

from tg.graph.nodes import size_value
from tg.ops.indexing import read_slices, split_starts
from tg.ops.shape import merge_sizes
from tg.rules.indexing.bounds import at_most, steps_of
from tg.types import lengths
from tg.types.atoms import Derived, key
from tg.types.lengths import Length, same
from tg.types.requirements import equal_here, remembered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tg.graph.nodes import Apply, Variable

Number = int | Length


class Window(NamedTuple):
    """`size` positions from `start` on, `step` apart."""

    start: Number
    size: Number
    step: int

    @property
    def last(self) -> Number:
        """The last position, if there is one."""
        return lengths.add(self.start, lengths.multiply(self.step, lengths.subtract(_if_any(self.size), 1)))

    @property
    def ends(self) -> tuple[Number, Number]:
        """The least and the largest position."""
        return (self.start, self.last) if self.step > 0 else (self.last, self.start)

    @property
    def key(self) -> object:
        """Key that equal windows share."""
        return (key(self.start), key(self.size), self.step)


def _if_any(size: Number) -> Number:
    """The size of a window that is not empty: what is the greater of 0 and n is n then."""
    for a, b, is_least in _extremes(size):
        for zero, other in ((a, b), (b, a)):
            if not is_least and same(zero, 0):
                return other
    return size


Windows = tuple["Window | None", ...]  # of every axis; None: all of it


def made_by(v: Variable, kind: type) -> Apply | None:
    """The node that makes a value, if its op is of a class."""
    return v.apply if v.apply is not None and type(v.apply.op) is kind else None


def windows_of(node: Apply) -> Windows:
    """Windows that a Slice reads of each axis of its operand, in one form for equal reads."""
    return remembered(id(node), _windows_of, node)  # type: ignore[no-any-return]


def _windows_of(node: Apply) -> Windows:
    op: Any = node.op
    x, *rest = node.inputs
    count = op.starts.count(None)
    starts = merge_sizes(op.starts, [size_value(v) for v in rest[:count]])
    sizes = merge_sizes(op.sizes, [size_value(v) for v in rest[count:]])
    return _per_axis(x, starts, sizes, op.steps)


def written_windows(node: Apply) -> Windows:
    """Windows that a SliceUpdate writes of each axis of its operand."""
    return remembered(id(node), _written_windows, node)  # type: ignore[no-any-return]


def _written_windows(node: Apply) -> Windows:
    op: Any = node.op
    x, v, *rest = node.inputs
    starts = merge_sizes(op.starts, [size_value(u) for u in rest])
    return _per_axis(x, starts, v.shape[v.type.ndim - len(op.starts) :], op.steps)


def _per_axis(x: Variable, starts: Sequence[Number], sizes: Sequence[Number], steps: Sequence[int]) -> Windows:
    last = x.shape[x.type.ndim - len(sizes) :]
    windows = [canonical(Window(a, m, step), n) for a, m, step, n in zip(starts, sizes, steps, last, strict=True)]
    return (*(None for _ in range(x.type.ndim - len(sizes))), *windows)


def canonical(w: Window, n: Number) -> Window | None:
    """The one form of a window into an axis of length n: None if it is all of it, in order."""
    start, size, step = w
    if type(size) is int and size <= 0:
        return None if type(n) is int and n == 0 else Window(0, 0, 1)
    if type(size) is int and size == 1:
        step = 1
    if equal_here(size, n):  # only one start lies inside
        return None if step == 1 else Window(lengths.subtract(n, 1) if step == -1 else start, size, step)
    if type(start) is int and type(size) is int and type(n) is int:
        span = (size - 1) * step
        start = max(0, -span, min(start, n - 1 - max(0, span)))
    start = _of_some(start, n)
    candidates = [Window(a, size, step) for a in (*sorted(_unclamped(start, n), key=_terms), start)]
    return next((w for w in candidates if is_inside(w, n)), candidates[0])


def _of_some(start: Number, n: Number) -> Number:
    """A start into an axis that has elements: where it has none, nothing is read anyway."""
    for a, b, is_least in _extremes(start):
        for less, more in ((a, b), (b, a)):
            if same(lengths.subtract(more, less), lengths.subtract(n, 1)):
                return _of_some(less if is_least else more, n)
    return start


def _terms(length: Number) -> int:
    return len(getattr(length, "terms", ()))


def _unclamped(start: Number, n: Number) -> Iterator[Number]:
    """The start without a limit that the slice sets anyway: it is clamped to [0, n - 1] or closer."""
    for a, b, is_least in _extremes(start):
        for limit, other in ((a, b), (b, a)):
            if at_most(n, lengths.add(limit, 1)) if is_least else at_most(limit, 0):
                yield other


def _extremes(length: Number) -> Iterator[tuple[Number, Number, bool]]:
    """Two lengths of which a length is the least, or the greatest: n - min(n, 1) is that of n - 1 and 0."""
    if type(length) is Length:
        for monomial, factor in length.terms.items():
            atom = monomial[0] if len(monomial) == 1 else None
            if type(atom) is Derived and atom.kind == "min":
                rest = lengths.subtract(length, lengths.multiply(factor, lengths.of_atom(atom)))
                a, b = (lengths.add(rest, lengths.multiply(factor, side)) for side in (atom.lhs, atom.rhs))
                yield a, b, factor > 0


def whole(n: Number) -> Window:
    """All of an axis."""
    return Window(0, n, 1)


def is_everywhere(windows: Windows, x: Variable) -> bool:
    """Whether each axis is read or written as a whole, in order or from its end."""
    return all(w is None or (w.step == -1 and equal_here(w.size, n)) for w, n in zip(windows, x.shape, strict=True))


def filled(windows: Windows, x: Variable) -> list[Window]:
    """The windows with those of whole axes written out."""
    return [whole(n) if w is None else w for w, n in zip(windows, x.shape, strict=True)]


def trimmed(windows: Windows, x: Variable) -> list[Window]:
    """The windows of the last axes that a slice has to name: those from the first that is not whole."""
    first = next((k for k, w in enumerate(windows) if w is not None), len(windows))
    return filled(windows, x)[first:]


def read(x: Variable, windows: Windows) -> Variable:
    """x at the windows; itself where they are all whole."""
    named = trimmed(windows, x)
    return read_slices(x, named) if named else x


def placed(windows: Windows, x: Variable) -> tuple[tuple[int | None, ...], tuple[int, ...], list[Variable]]:
    """The starts and steps of a SliceUpdate at the windows, and its operands for starts."""
    named = trimmed(windows, x)
    starts, operands = split_starts([w.start for w in named])
    return starts, tuple(w.step for w in named), operands


def sizes_of(windows: Windows, x: Variable) -> tuple[Number, ...]:
    """The shape of what the windows read."""
    return tuple(n if w is None else w.size for w, n in zip(windows, x.shape, strict=True))


def all_keys(windows: Windows) -> tuple[object, ...]:
    """Keys that equal reads of one value share."""
    return tuple([None if w is None else w.key for w in windows])


def is_inside(w: Window, n: Number) -> bool:
    """Whether a window that is not empty is known to lie inside an axis of length n, so that no start is clamped."""
    low, high = w.ends
    return at_most(0, low) and at_most(lengths.add(high, 1), n)


def composed(outer: Window | None, inner: Window | None, n: Number) -> Window | None:
    """The window that reads `outer` of what `inner` reads of an axis of length n.

    Raises:
        LookupError: it is not known whether the starts are clamped.
    """
    if inner is None or outer is None:
        return inner if outer is None else outer
    if not is_inside(outer, inner.size) or not is_inside(inner, n):
        raise LookupError
    start = lengths.add(inner.start, lengths.multiply(inner.step, outer.start))
    return canonical(Window(start, outer.size, inner.step * outer.step), n)


def are_apart(a: Window | None, b: Window | None, n: Number) -> bool:
    """Whether two windows into an axis of length n are known to have no position in common."""
    a, b = a or whole(n), b or whole(n)
    return bool(remembered((a.key, b.key, key(n)), _are_apart, a, b, n))


def _are_apart(a: Window, b: Window, n: Number) -> bool:
    if not (is_inside(a, n) and is_inside(b, n)):
        return False
    (low, high), (least, most) = a.ends, b.ends
    if at_most(lengths.add(high, 1), least) or at_most(lengths.add(most, 1), low):
        return True
    distance = lengths.subtract(a.start, b.start)
    return type(distance) is int and distance % gcd(a.step, b.step) != 0


def within(r: Window | None, w: Window | None, n: Number) -> Window | None:
    """Window of the positions of a window r within a window w of an axis of length n; None: all, in order.

    Raises:
        LookupError: r is not known to lie in w.
    """
    if w is None:
        return r
    r = r or whole(n)
    if r.key == w.key:
        return None
    if type(r.size) is int and r.size == 1:
        r = r._replace(step=w.step)
    if not is_inside(w, n) or r.step % w.step:
        raise LookupError
    distance = lengths.subtract(r.start, w.start)
    if abs(w.step) != 1 and (type(distance) is not int or distance % w.step):
        raise LookupError
    start = lengths.floor_divide(distance, w.step) if type(distance) is int else lengths.multiply(w.step, distance)
    window = Window(start, r.size, r.step // w.step)
    if not is_inside(window, w.size):
        raise LookupError
    return canonical(window, w.size)


def window_of_index(i: Variable, n: Any) -> Window | None:
    """The window that a vector of indices into an axis of length n reads, if it is evenly spaced and lies inside."""
    steps = steps_of(i)
    if steps is None:
        return None
    w = Window(*steps)
    return w if is_inside(w, n) else None
