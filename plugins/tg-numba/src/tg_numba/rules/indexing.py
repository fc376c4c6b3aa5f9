"""Reading and writing parts of arrays: slices are views. Nothing outside an array is ever read or written."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Any, Final

from tg.graph.frozen import Node
from tg.ops import indexing as t
from tg.ops.elementwise.arithmetic import add, maximum, minimum, subtract
from tg.ops.elementwise.comparison import less, where
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import same
from tg_native.kernels.lanes import Lanes, constant_of
from tg_native.plan.values import Array, Scalar, collapsed, is_one, spread
from tg_numba.blocks import load, load_one, store, store_one
from tg_numba.lengths import derived
from tg_numba.pointwise import ScalarProgram, Steps, mapped, pointwise
from tg_numba.positions import gathered, offset, whole
from tg_numba.site import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.plan.values import Value
    from tg_numba.body import Body
    from tg_numba.kernel import Block, Kernel
    from tg_numba.site import Site


def wrap_index(op: t.WrapIndex, site: Site) -> Value:
    """int64, negative ones counted from the end, clamped."""
    index, length = site.inputs
    steps = Steps([index.dtype, length.dtype])
    zero = steps.constant(0, "int64")
    last = steps.do(maximum, steps.do(subtract, 1, steps.constant(1, "int64")), zero)
    if index.dtype.startswith("u"):
        found = steps.cast(steps.do(minimum, steps.cast(0, "uint64"), steps.cast(last, "uint64")), "int64")
    else:
        found = steps.cast(0, "int64")
        if op.mode != "clip":
            found = steps.do(where, steps.do(less, found, zero, result="bool"), steps.do(add, found, 1), found)
        found = steps.do(maximum, steps.do(minimum, found, last), zero)
    return pointwise(site, steps.program(found), site.inputs)[0]


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
    mapped(site.function, ScalarProgram(dtypes, {}, (Node(op.fn.op, (0, 1), (2,)),), (2,)), [target, v], [target])
    return y


def gather(op: t.Gather, site: Site) -> Value:
    """Loops over the positions, in them loops over the other axes."""
    x, *indices = site.inputs
    y = site.allocate(0)
    if len(op.axes) == (x.ndim if isinstance(x, Array) else 0) and y.shape:
        _elements(site, site.memory(x), y, [site.memory(i) for i in indices])
    else:
        _positions(site, op.axes, x, y, indices, None)
    return y


def _elements(site: Site, x: Array, y: Array, rows: Sequence[Array]) -> None:
    """Read single elements of x at positions along all its axes into y, in lanes; 0 where x has none."""
    space = collapsed(y.shape, [y.strides, *(spread(i, y.shape).strides for i in rows)])
    inner = space.shape[-1] if space.shape else 1
    kernel = site.kernel([y.dtype, "int64"], length=inner)
    table, target, places = whole(kernel, x, kernel.read(x)), kernel.write(y), [kernel.read(i) for i in rows]
    with kernel.loops(space.shape[:-1]) as outer:
        to, *of = (
            (kernel.moved((d, p), outer, s[: len(outer)]), s[-1] if s else 0)
            for d, p, s in zip((y.dtype, *["int64"] * len(rows)), (target, *places), space.strides, strict=True)
        )

        def write(block: Block) -> None:
            at: Any = [load(kernel, "int64", place, stride, block) for place, stride in of]
            store(kernel, gathered(kernel, table, offset(table, at, [False] * len(at))), to[0], 1, block)

        kernel.blocks(inner, write, twice=True)
    site.run(kernel)


def scatter(op: t.Scatter, site: Site) -> Value:
    """A copy of x, written position by position in C order."""
    x, v, *indices = site.inputs
    y = site.allocate(0)
    site.copy(x, y)
    _positions(site, op.axes, v, y, indices, op)
    return y


def _positions(
    site: Site, axes: tuple[int, ...], source: Value, y: Array, indices: Sequence[Value], op: t.Scatter | None
) -> None:
    """Read `source` at the positions into y, or (for a scatter) write or combine `source` into y there."""
    x = site.memory(source)
    others = [k for k in range(y.ndim if op is not None else x.ndim) if k - (y.ndim if op else x.ndim) not in axes]
    indexed, plain = (y, x) if op is not None else (x, y)
    rows = [site.memory(i) for i in indices]
    front = len(rows[0].shape)
    space = collapsed([indexed.shape[k] for k in others], [[indexed.strides[k] for k in others], plain.strides[front:]])
    in_lanes = bool(space.shape) and all(is_one(s[-1]) for s in space.strides)
    kernel = site.kernel([y.dtype] if in_lanes else ())
    far, near = (kernel.read(x), kernel.write(y)) if op is None else (kernel.write(y), kernel.read(x))
    places = [kernel.read(i) for i in rows]
    lengths = [kernel.length(indexed.shape[a]) for a in axes]
    for n in (*plain.shape, *indexed.shape, *plain.strides, *indexed.strides, *(s for i in rows for s in i.strides)):
        kernel.length(n)
    with _unless_empty(kernel, lengths, y if op is None else None, near), kernel.loops(plain.shape[:front]) as outer:
        positions = [
            _inside(kernel, kernel.moved(("int64", place), outer, i.strides), n)
            for place, i, n in zip(places, rows, lengths, strict=True)
        ]
        here = kernel.moved((y.dtype, near), outer, plain.strides[:front])
        there = kernel.moved((y.dtype, far), positions, [indexed.strides[a] for a in axes])
        with kernel.loops(space.shape[:-1]) as inner:
            there, here = (
                kernel.moved((y.dtype, p), inner, s[:-1]) for p, s in zip((there, here), space.strides, strict=True)
            )
            steps = [s[-1] if s else 1 for s in space.strides]

            def write(block: Block) -> None:
                if op is None:
                    store(kernel, load(kernel, y.dtype, there, steps[0], block), here, steps[1], block)
                    return
                value: Any = load(kernel, y.dtype, here, steps[1], block)
                if op.fn is not None:
                    old = load(kernel, y.dtype, there, steps[0], block)
                    value = site.unit.rule(op.fn.op)(op.fn.op, (old, value), y.dtype)
                store(kernel, value, there, steps[0], block)

            kernel.blocks(space.shape[-1] if space.shape else 1, write)
    site.run(kernel)


@contextlib.contextmanager
def _unless_empty(kernel: Kernel, lengths: Sequence[str], zeroed: Array | None, pointer: str) -> Iterator[None]:
    """What is done only if no length is 0; else no index is in range, and an array is set to 0."""
    body = kernel.body
    if all(n.isdecimal() and n != "0" for n in lengths):
        yield
        return
    found = [body.find(f"icmp sgt i64 {n}, 0") for n in lengths]
    every = functools.reduce(lambda a, b: body.find(f"and i1 {a}, {b}"), found)
    with body.when(every):
        yield
    if zeroed is not None:
        with body.when(body.find(f"xor i1 {every}, true")), kernel.loops(zeroed.shape) as indices:
            place = kernel.moved((zeroed.dtype, pointer), indices, zeroed.strides)
            store_one(kernel, constant_of(body, numpy_dtype(zeroed.dtype).type(0), zeroed.dtype), place)


def _inside(kernel: Kernel, place: str, length: str) -> str:
    """The index at a place, moved inside an axis."""
    body = kernel.body
    index, last = body.made(f"load i64, ptr {place}"), body.find(f"sub i64 {length}, 1")
    low = body.called("llvm.smin.i64", "i64", [("i64", index), ("i64", last)])
    return body.called("llvm.smax.i64", "i64", [("i64", low), ("i64", "0")])


def nonzero(op: t.Nonzero, site: Site) -> Value:
    """Counted first: then there is memory for just as many positions."""
    mask, count = site.memory(site.inputs[0]), site.temporary("int64", ())
    kernel = site.kernel()
    place, total = kernel.read(mask), kernel.write(count)
    (found,) = _over_mask(kernel, mask, place, lambda index, found, is_true: None)
    store_one(kernel, Lanes(kernel.body, "int64", found), total)
    site.run(kernel)
    site.function.give_lengths(site.node.outputs[0], [site.first(count)])
    y = site.allocate(0)
    kernel = site.kernel()
    place, target, nowhere = kernel.read(mask), kernel.write(y), kernel.body.frame("i64")

    def write(index: str, found: str, is_true: str) -> None:
        there = kernel.moved(("int64", target), [found], [1])
        chosen = kernel.body.find(f"select i1 {is_true}, ptr {there}, ptr {nowhere}")  # a branch would be guessed
        store_one(kernel, Lanes(kernel.body, "int64", index), chosen)

    _over_mask(kernel, mask, place, write)
    site.run(kernel)
    return y


def _over_mask(kernel: Kernel, mask: Array, place: str, write: Callable[[str, str, str], None]) -> list[str]:
    """Go through a mask; `write` gets each index, how many were true before, and whether it is. How many are."""
    body = kernel.body

    def step(index: str, found: str) -> list[str]:
        is_true: Any = load_one(kernel, "bool", kernel.moved(("bool", place), [index], [mask.strides[0]]))
        write(index, found, is_true.text)
        return [body.made(f"add i64 {found}, {body.made(f'zext i1 {is_true.text} to i64')}")]

    return body.fold("0", kernel.length(mask.shape[0]), 1, [("i64", "0")], step)


RULES: Final[dict[object, Rule]] = {
    t.WrapIndex: wrap_index,
    t.Slice: slice_,
    t.SliceUpdate: slice_update,
    t.Gather: gather,
    t.Scatter: scatter,
    t.Nonzero: nonzero,
}
