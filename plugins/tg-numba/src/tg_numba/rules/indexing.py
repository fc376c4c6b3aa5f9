"""Reading and writing parts of arrays: slices are views. Nothing outside an array is ever read or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numba

from tg.link.values import Array, Scalar, collapsed, is_one, spread
from tg.ops import indexing as t
from tg.types.lengths import same
from tg_numba.machine import greater, lesser
from tg_numba.site import Failure
from tg_numba.text import integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.link.values import Value
    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_numba.site import Site


def wrapped(x: Any, n: Any) -> Any:
    """An index as int64 in [0, n), negative ones counted from the end."""
    i = numba.int64(x)
    if i < 0:
        i += n
    return greater(0, lesser(i, n - 1))


def wrapped_unsigned(x: Any, n: Any) -> Any:
    """An unsigned index as int64 in [0, n)."""
    i = numba.uint64(x)
    last = greater(n - 1, 0)
    return numba.int64(i) if i < numba.uint64(last) else last


def clipped(x: Any, n: Any) -> Any:
    """An index as int64 in [0, n), the nearest one."""
    return greater(0, lesser(numba.int64(x), n - 1))


def wrap_index(op: t.WrapIndex, site: Site) -> Value:
    """int64, negative ones counted from the end, clamped."""
    i, n = site.inputs
    assert isinstance(n, Scalar)
    function = wrapped_unsigned if i.dtype.startswith("u") else clipped if op.mode == "clip" else wrapped
    name = site.compiled(function, small=True)
    if isinstance(i, Scalar):
        return site.scalar(f"{name}({i.text}, {n.text})")
    if i.fill is not None:
        text = site.local(f"{name}({i.fill}, {n.text})")
        return Array("int64", "", i.shape, i.strides, None, text)
    y = site.allocate(0)
    space = collapsed(i.shape, [i.strides, y.strides])
    nest = site.nest()
    indices = nest.loops(space.shape)
    element = nest.read(i.dtype, i.pointer, nest.offset(indices, space.strides[0]))
    nest.line(f"{y.pointer}[{nest.offset(indices, space.strides[1])}] = {name}({element}, i64({n.text}))")
    site.call(nest)
    return y


def slice_(op: t.Slice, site: Site) -> Value:
    """A view from clamped starts."""
    x, *rest = site.inputs
    assert isinstance(x, Array)
    starts = _starts(op.starts, rest)
    shape: tuple[Any, ...] = site.types[0].shape
    view, offset = _window(site, x, starts, shape[x.ndim - len(starts) :], op.steps)
    if x.fill is not None:
        return x.viewed(shape, x.strides)
    return site.target(x, offset).viewed(shape, view)


def _starts(field: Sequence[int | None], rest: Sequence[Value]) -> list[int | str]:
    values = iter(rest)
    found: list[int | str] = []
    for n in field:
        if n is not None:
            found.append(n)
            continue
        start = next(values)
        assert isinstance(start, Scalar)
        found.append(start.text)
    return found


def _window(
    site: Site, x: Array, starts: Sequence[int | str], sizes: Sequence[Any], steps: Sequence[int]
) -> tuple[list[int | Length], str]:
    """The strides of a window into the last axes of x, and the offset of its first element."""
    strides = list(x.strides)
    terms: list[str] = []
    for k, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
        axis = x.ndim - len(starts) + k
        n, stride = x.shape[axis], x.strides[axis]
        strides[axis] = stride * step
        first = _first(site, n, start, size, step)
        if first != "0":
            terms.append(first if is_one(stride) else f"{first} * {site.length(stride)}")
    return strides, " + ".join(terms) or "0"


def clamped(start: Any, count: Any, far: Any, length: Any, forward: Any) -> Any:
    """The start of a window of `count` positions, each `far` from the last, moved inside an axis; 0 for none."""
    if count <= 0:
        return 0
    span = (count - 1) * far
    low, high = (0, length - 1 - span) if forward else (span, length - 1)
    return greater(low, lesser(start, high))


def _first(site: Site, n: int | Length, start: int | str, size: int | Length, step: int) -> str:
    """The clamped start of a window along one axis, which is made sure to lie inside it."""
    if all(type(v) is int for v in (n, start, size)):
        if size and abs((size - 1) * step) >= n:
            site.require("False", Failure.BOUNDS)  # some check of the graph fails before
            return "0"
        place = t.window([n], [start], [size], [step])[0]  # type: ignore[list-item]
        return integer(place.start) if size else "0"
    if type(size) is int and size == 0:
        return "0"
    if start == 0 and step == 1 and same(n, size):
        return "0"
    length, count, far = site.length(n), site.length(size), integer(abs(step))
    site.require(f"{count} <= 0 or ({count} - 1) * {far} < {length}", Failure.BOUNDS)
    if type(start) is int and start == 0 and step > 0:
        return "0"
    text = integer(start) if type(start) is int else str(start)
    return site.local(f"{site.compiled(clamped)}({text}, {count}, {far}, {length}, {step > 0})")


def slice_update(op: t.SliceUpdate, site: Site) -> Value:
    """A copy of x with a window written."""
    x, v, *rest = site.inputs
    assert isinstance(x, Array)
    assert isinstance(v, Array)
    starts = _starts(op.starts, rest)
    y = site.allocate(0)
    site.copy(x, y)
    strides, offset = _window(site, y, starts, v.shape[v.ndim - len(starts) :], op.steps)
    target = site.target(y, offset).viewed(v.shape, strides)
    if op.fn is None:
        site.copy(v, target)
        return y
    source = spread(site.memory(v), v.shape)
    space = collapsed(v.shape, [source.strides, target.strides])
    nest = site.nest()
    indices = nest.loops(space.shape)
    place = nest.offset(indices, space.strides[1])
    old = nest.local(nest.read(y.dtype, target.pointer, place))
    new = nest.local(nest.read(y.dtype, source.pointer, nest.offset(indices, space.strides[0])))
    nest.line(f"{target.pointer}[{place}] = {site.combine(op.fn, y.dtype, old, new)}")
    site.call(nest)
    return y


def gather(op: t.Gather, site: Site) -> Value:
    """Loops over the positions, in them loops over the other axes."""
    x, *indices = site.inputs
    y = site.allocate(0)
    _positions(site, op.axes, x, y, indices, None)
    return y


def scatter(op: t.Scatter, site: Site) -> Value:
    """A copy of x, written position by position in C order."""
    x, v, *indices = site.inputs
    y = site.allocate(0)
    site.copy(x, y)
    _positions(site, op.axes, v, y, indices, op)
    return y


def inside(index: Any, length: Any) -> Any:
    """An index moved inside an axis."""
    return greater(0, lesser(index, length - 1))


def _positions(
    site: Site, axes: tuple[int, ...], source: Value, y: Array, indices: Sequence[Value], op: t.Scatter | None
) -> None:
    """Read `source` at the positions into y, or (for a scatter) write or combine `source` into y there."""
    x = site.memory(source)
    indexed, plain = (y, x) if op is not None else (x, y)
    rows = [site.memory(i) for i in indices]
    front = len(rows[0].shape)
    nest = site.nest()
    others = [k for k in range(indexed.ndim) if k - indexed.ndim not in axes]
    lengths = [indexed.shape[a] for a in axes]
    empty = " or ".join(f"{nest.length(n)} <= 0" for n in lengths if type(n) is not int or n <= 0)
    if empty:  # no index is in range: a check has reported it
        nest.open(f"if {empty}")
        if op is None:
            nest.copy(Scalar(y.dtype, site.unit.literal(0, y.dtype)), y)
        else:
            nest.line("pass")
        nest.close()
        nest.open("else")
    outer = nest.loops(plain.shape[:front])
    positions = []
    for i, n in zip(rows, lengths, strict=True):
        position = nest.read(i.dtype, i.pointer, nest.offset(outer, i.strides))
        positions.append(nest.local(f"{site.compiled(inside, small=True)}({position}, i64({nest.length(n)}))"))
    here = nest.place(plain.pointer, outer, plain.strides[:front])
    there = nest.place(indexed.pointer, positions, [indexed.strides[a] for a in axes])
    inner = nest.loops([indexed.shape[k] for k in others])
    near = nest.offset(inner, plain.strides[front:])
    far = nest.offset(inner, [indexed.strides[k] for k in others])
    if op is None:
        nest.line(f"{here}[{near}] = {there}[{far}]")
    elif op.fn is None:
        nest.line(f"{there}[{far}] = {here}[{near}]")
    else:
        old, new = nest.local(nest.read(y.dtype, there, far)), nest.local(nest.read(y.dtype, here, near))
        nest.line(f"{there}[{far}] = {site.combine(op.fn, y.dtype, old, new)}")
    site.call(nest)


def nonzero(op: t.Nonzero, site: Site) -> Value:
    """Counted first: then there is memory for just as many positions."""
    mask = site.memory(site.inputs[0])
    nest = site.nest()
    total = nest.local("0")
    index = nest.loop(mask.shape[0])
    nest.line(f"{total} += {mask.pointer}[{nest.step(index, mask.strides[0])}]")
    nest.close()
    site.function.give_lengths(site.node.outputs[0], [site.call(nest, total)])
    y = site.allocate(0)
    nest = site.nest()
    place = nest.local("0")
    index = nest.loop(mask.shape[0])
    nest.open(f"if {nest.at(mask, [index])}")
    nest.line(f"{y.pointer}[{place}] = {index}")
    nest.line(f"{place} += 1")
    site.call(nest)
    return y


RULES: Final[dict[object, Rule]] = {
    t.WrapIndex: wrap_index,
    t.Slice: slice_,
    t.SliceUpdate: slice_update,
    t.Gather: gather,
    t.Scatter: scatter,
    t.Nonzero: nonzero,
}
