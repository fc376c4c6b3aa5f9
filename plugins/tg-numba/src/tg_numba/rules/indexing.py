"""Reading and writing parts of arrays: slices are views. Nothing outside an array is ever read or written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.frozen import Node
from tg.ops import indexing as t
from tg.types.lengths import same
from tg_native.graphs.failure import Failure
from tg_native.loops.pointwise import ScalarProgram, mapped
from tg_native.plan.values import Array, Scalar
from tg_native.rules import indexing
from tg_numba.lengths import derived

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.plan.values import Value
    from tg_numba.body import Body
    from tg_numba.site import Site


def slice_(op: t.Slice, site: Site) -> Value:
    """A view from clamped starts."""
    x, *rest = site.inputs
    assert isinstance(x, Array)
    starts = _starts(site, op.starts, rest)
    shape: tuple[Any, ...] = site.types[0].shape
    view, offset = _window(site, x, starts, shape[x.ndim - len(starts) :], op.steps)
    if x.fill is not None:
        return x.viewed(shape, x.strides)
    return site.target(x, offset).viewed(shape, view)


def _starts(site: Site, field: Sequence[int | None], rest: Sequence[Value]) -> list[int | str]:
    values = iter(rest)
    found: list[int | str] = []
    for n in field:
        if n is not None:
            found.append(n)
            continue
        start = next(values)
        assert isinstance(start, Scalar)
        found.append(site.function.number(start))
    return found


def _window(
    site: Site, x: Array, starts: Sequence[int | str], sizes: Sequence[Any], steps: Sequence[int]
) -> tuple[list[int | Length], str]:
    """The strides of a window into the last axes of x, and the offset of its first element."""
    strides, offset = list(x.strides), "0"
    for k, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True)):
        axis = x.ndim - len(starts) + k
        n, stride = x.shape[axis], x.strides[axis]
        strides[axis] = stride * step
        term = site.body.product(_first(site, n, start, size, step), site.length(stride))
        if term != "0":
            offset = term if offset == "0" else site.body.find(f"add i64 {offset}, {term}")
    return strides, offset


def _clamped(body: Body, start: str, count: str, far: int, length: str, *, forward: bool) -> str:
    """The start of a window of `count` positions, each `far` from the last, moved inside an axis; 0 for none."""
    last = body.find(f"sub i64 {length}, 1")
    span = body.product(body.find(f"sub i64 {count}, 1"), str(far))
    low, high = ("0", body.find(f"sub i64 {last}, {span}")) if forward else (span, last)
    place = derived(body, "max", low, derived(body, "min", start, high))
    return body.find(f"select i1 {body.find(f'icmp sgt i64 {count}, 0')}, i64 {place}, i64 0")


def _first(site: Site, n: int | Length, start: int | str, size: int | Length, step: int) -> str:
    """The clamped start of a window along one axis, which is made sure to lie inside it."""
    if all(type(v) is int for v in (n, start, size)):
        if size and abs((size - 1) * step) >= n:
            site.require("false", Failure.BOUNDS)  # some check of the graph fails before
            return "0"
        place = t.window([n], [start], [size], [step])[0]  # type: ignore[list-item]
        return str(place.start) if size else "0"
    if type(size) is int and size == 0:
        return "0"
    if start == 0 and step == 1 and same(n, size):
        return "0"
    body, length, count, far = site.body, site.length(n), site.length(size), abs(step)
    room = body.find(f"sub i64 {length}, 1")
    if far > 1:  # below 0, which a division would make 0, stays so
        room = body.find(
            f"select i1 {body.find(f'icmp slt i64 {room}, 0')}, i64 -1, i64 {body.find(f'sdiv i64 {room}, {far}')}"
        )
    fits = body.find(f"icmp sle i64 {body.find(f'sub i64 {count}, 1')}, {room}")
    site.require(body.find(f"or i1 {body.find(f'icmp sle i64 {count}, 0')}, {fits}"), Failure.BOUNDS)
    if type(start) is int and start == 0 and step > 0:
        return "0"
    return _clamped(body, str(start), count, far, length, forward=step > 0)


def slice_update(op: t.SliceUpdate, site: Site) -> Value:
    """A copy of x with a window written."""
    x, v, *rest = site.inputs
    assert isinstance(x, Array)
    assert isinstance(v, Array)
    starts = _starts(site, op.starts, rest)
    y = site.allocate(0)
    site.copy(x, y)
    strides, offset = _window(site, y, starts, v.shape[v.ndim - len(starts) :], op.steps)
    target = site.target(y, offset).viewed(v.shape, strides)
    if op.fn is None:
        site.copy(v, target)
        return y
    dtypes = (y.dtype, y.dtype, y.dtype)
    mapped(site, ScalarProgram(dtypes, {}, (Node(op.fn.op, (0, 1), (2,)),), (2,)), [target, v], [target])
    return y


RULES: Final[dict[object, Rule]] = {
    t.Slice: slice_,
    t.SliceUpdate: slice_update,
    **indexing.RULES,
}
