"""Reading and writing parts of arrays: slices are views. Nothing outside an array is ever read or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops import indexing as t
from tg_c.prelude import Element
from tg_c.text import integer
from tg_native.graphs.failure import Failure
from tg_native.plan.values import Array, Scalar, collapsed, is_one, spread
from tg_native.rules import indexing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_c.site import Site
    from tg_native.plan.values import Value


def slice_(op: t.Slice, site: Site) -> Value:
    """A view from clamped starts."""
    x, *rest = site.inputs
    if isinstance(x, Scalar):
        return x
    starts = _starts(op.starts, rest)
    shape: tuple[Any, ...] = site.types[0].shape
    view, offset = _window(site, x, starts, shape[x.ndim - len(starts) :], op.steps)
    if x.fill is not None:
        return x.viewed(shape, x.strides)
    pointer = site.pointer(x, offset)
    return x.viewed(shape, view, pointer)


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


def _first(site: Site, n: int | Length, start: int | str, size: int | Length, step: int) -> str:
    """The clamped start of a window along one axis, which is made sure to lie inside it."""
    if all(type(v) is int for v in (n, start, size)):
        if size and abs((size - 1) * step) >= n:
            site.require("0", Failure.BOUNDS)  # some check of the graph fails before
            return "0"
        place = t.window([n], [start], [size], [step])[0]  # type: ignore[list-item]
        return integer(place.start) if size else "0"
    if type(size) is int and size == 0:
        return "0"
    length, count, far = site.length(n), site.length(size), integer(abs(step))
    if not _is_whole(n, start, size, step):
        fits = f"{count} <= {length}" if abs(step) == 1 else f"{length} > 0 && {count} - 1 <= ({length} - 1) / {far}"
        site.require(f"{count} <= 0 || ({fits})", Failure.BOUNDS)
    else:
        return "0"
    text = integer(start) if type(start) is int else str(start)
    if type(start) is int and start == 0 and step > 0:
        return "0"
    span = f"({count} - 1) * {far}"
    low, high = ("0", f"{length} - 1 - {span}") if step > 0 else (span, f"{length} - 1")
    clamped = f"tg_length_max({low}, tg_length_min({text}, {high}))"
    return site.local("int64", f"{count} <= 0 ? 0 : {clamped}")


def _is_whole(n: int | Length, start: int | str, size: int | Length, step: int) -> bool:
    from tg.types.lengths import same

    return start == 0 and step == 1 and same(n, size)


def slice_update(op: t.SliceUpdate, site: Site) -> Value:
    """A copy of x with a window written."""
    x, v, *rest = site.inputs
    if isinstance(x, Scalar):
        assert isinstance(v, Scalar)
        return v if op.fn is None else site.scalar(_combined(site, op.fn, x.text, v.text, x.dtype))
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
    kernel = site.nest()
    read, place = kernel.read(source), kernel.write(target)
    indices = kernel.loops(space.shape)
    old = kernel.at(place, indices, space.strides[1])
    new = _combined(site, op.fn, old, kernel.at(read, indices, space.strides[0]), y.dtype)
    kernel.line(f"{old} = {new};")
    kernel.close(len(indices))
    site.call(kernel)
    return y


def _combined(site: Site, fn: Any, old: str, new: str, dtype: str) -> str:
    return site.element(fn.op, Element((old, new), (dtype, dtype), dtype, site.prelude))


RULES: Final[dict[object, Rule]] = {
    t.Slice: slice_,
    t.SliceUpdate: slice_update,
    **indexing.RULES,
}
