"""Reading and writing parts of arrays: slices are views. Nothing outside an array is ever read or written."""

from __future__ import annotations

import contextlib
import functools
import operator
from typing import TYPE_CHECKING, Any, Final

from tg.graph.frozen import Node, ValueSlot
from tg.ops import indexing as t
from tg.ops.elementwise.arithmetic import add, maximum, minimum, subtract
from tg.ops.elementwise.comparison import less, where
from tg.types import lengths
from tg.types.atoms import ScalarValue
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import is_natural, of_atom, operation, same, times
from tg_native.kernels.index import Condition, Index
from tg_native.kernels.lanes import constant, constant_of
from tg_native.loops.pointwise import ScalarProgram, Steps, pointwise
from tg_native.loops.positions import gathered, offset, whole
from tg_native.plan.values import TERMS, Array, Scalar, collapsed, is_one, is_zero, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.graph.op import Op
    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.kernels.routine import Block
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Value


def slice_(op: t.Slice, site: Site) -> Value:
    """A view from clamped starts."""
    x = site.inputs[0]
    if isinstance(x, Scalar):
        return x
    shape: Any = site.types[0].shape
    strides, first = _window(site, x, _starts(site, op.starts, 1), shape[x.ndim - len(op.starts) :], op.steps)
    if x.fill is not None:
        return x.viewed(shape, x.strides)
    return site.target(x, site.length(first)).viewed(shape, strides)


def slice_update(op: t.SliceUpdate, site: Site) -> Value:
    """A copy of x with a window written."""
    x, v = site.inputs[:2]
    if isinstance(x, Scalar) or isinstance(v, Scalar):
        nodes = () if op.fn is None else (Node(op.fn.op, (0, 1), (2,)),)
        return pointwise(site, ScalarProgram((x.dtype,) * 3, {}, nodes, (2 if nodes else 1,)), [x, v])[0]
    y = site.allocate(0)
    site.copy(x, y)
    sizes = v.shape[v.ndim - len(op.starts) :]
    strides, first = _window(site, y, _starts(site, op.starts, 2), sizes, op.steps)
    target = site.target(y, site.length(first)).viewed(v.shape, strides)
    if op.fn is None:
        site.copy(v, target)
    else:
        _combine(site, op.fn.op, spread(site.memory(v), v.shape), target)
    return y


def _starts(site: Site, field: Sequence[int | None], operands: int) -> list[int | Length]:
    """Starts of windows: those that are None are the operands behind the first ones."""
    numbers = iter(site.node.inputs[operands:])
    return [of_atom(ScalarValue(ValueSlot(next(numbers)))) if n is None else n for n in field]


def _window(
    site: Site, x: Array, starts: Sequence[int | Length], sizes: Sequence[int | Length], steps: Sequence[int]
) -> tuple[list[int | Length], int | Length]:
    """The strides of a window into the last axes of x, and how many elements lie before its first one."""
    strides = list(x.strides)
    before: int | Length = 0
    for k, (start, size, step) in enumerate(zip(starts, sizes, steps, strict=True), x.ndim - len(starts)):
        strides[k] = times(x.strides[k], step)
        before = lengths.add(before, times(_first(site, x.shape[k], start, size, step), x.strides[k], TERMS))
    return strides, before


def _first(site: Site, n: int | Length, start: int | Length, size: int | Length, step: int) -> int | Length:
    """The clamped start of a window along an axis of length n, which is made sure to have so many positions."""
    far = abs(step)
    last = lengths.subtract(n, 1)
    room = lengths.add(_quotient(last, far), 1)
    if is_zero(size) or (step == 1 and same(start, 0) and same(n, size)):
        return 0
    if not is_natural(lengths.subtract(room, size)):
        site.require_room(size, room)
    span = times(lengths.maximum(lengths.subtract(size, 1), 0), far)
    if step < 0:
        return _extreme("max", span, _extreme("min", start, last))
    return _extreme("max", 0, _extreme("min", start, lengths.subtract(last, span)))


def _quotient(n: int | Length, step: int) -> int | Length:
    """n // step as it stands: a step may be of any size, and no number that it is added to fits int64 then."""
    if step == 1 or type(n) is int:
        return n // step
    return operation("//", n, step)


def _extreme(kind: str, a: int | Length, b: int | Length) -> int | Length:
    """The least or the largest of two numbers, where it is not known, as it stands: a start may be of any size."""
    if is_natural(lengths.subtract(a, b)):
        return b if kind == "min" else a
    if is_natural(lengths.subtract(b, a)):
        return a if kind == "min" else b
    return operation(kind, a, b)


def _combine(site: Site, op: Op, v: Array, y: Array) -> None:
    """Combine the elements of v into those of y, which have the same shape."""
    space = collapsed(y.shape, [y.strides, v.strides])
    inner, in_lanes = (space.shape or (1,))[-1], bool(space.shape) and is_one(space.strides[0][-1])
    kernel = site.kernel([y.dtype] if in_lanes else (), length=inner)
    places = kernel.write(y), kernel.read(v)
    with kernel.loops(space.shape[:-1]) as outer:
        there, here = (
            (kernel.moved(place, outer, s[: len(outer)]), s[-1] if s else 0)
            for place, s in zip(places, space.strides, strict=True)
        )

        def write(block: Block) -> None:
            operands = kernel.load(*there, block), kernel.load(*here, block)
            kernel.store(site.rule(op)(op, operands, y.dtype), *there, block)

        kernel.blocks(inner, write, twice=True)
    site.run(kernel)


def wrap_index(op: t.WrapIndex, site: Site) -> Value:
    """int64, negative ones counted from the end, clamped."""
    index, length = site.inputs
    steps = Steps([index.dtype, length.dtype])
    zero = steps.constant(0, "int64")
    last = steps.do(maximum, steps.do(subtract, 1, steps.constant(1, "int64")), zero)
    if index.dtype.startswith("u"):
        position = steps.cast(steps.do(minimum, steps.cast(0, "uint64"), steps.cast(last, "uint64")), "int64")
    else:
        position = steps.cast(0, "int64")
        if op.mode != "clip":
            position = steps.do(
                where, steps.do(less, position, zero, result="bool"), steps.do(add, position, 1), position
            )
        position = steps.do(maximum, steps.do(minimum, position, last), zero)
    return pointwise(site, steps.program(position), site.inputs)[0]


def gather(op: t.Gather, site: Site) -> Value:
    """Loops over the positions, in them loops over the other axes."""
    x, *indices = site.inputs
    y = site.allocate(0) if site.types[0].shape else site.temporary(site.types[0].dtype, ())
    if len(op.axes) == (x.ndim if isinstance(x, Array) else 0) and y.shape:
        _elements(site, site.memory(x), y, [site.memory(i) for i in indices])
    else:
        _positions(site, op.axes, x, y, indices, None)
    return y if y.shape else site.scalar(site.first(y))


def _elements(site: Site, x: Array, y: Array, rows: Sequence[Array]) -> None:
    """Read single elements of x at positions along all its axes into y, in lanes; 0 where x has none."""
    space = collapsed(y.shape, [y.strides, *(spread(i, y.shape).strides for i in rows)])
    inner = space.shape[-1] if space.shape else 1
    kernel = site.kernel([y.dtype, "int64"], length=inner)
    table, target, places = whole(kernel, x, kernel.read(x)), kernel.write(y), [kernel.read(i) for i in rows]
    with kernel.loops(space.shape[:-1]) as outer:
        to, *of = (
            (kernel.moved(p, outer, s[: len(outer)]), s[-1] if s else 0)
            for p, s in zip((target, *places), space.strides, strict=True)
        )

        def write(block: Block) -> None:
            at: Any = [kernel.load(place, stride, block) for place, stride in of]
            kernel.store(gathered(kernel, table, offset(table, at, [False] * len(at))), to[0], 1, block)

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
            _inside(kernel, kernel.moved(place, outer, i.strides), n)
            for place, i, n in zip(places, rows, lengths, strict=True)
        ]
        here = kernel.moved(near, outer, plain.strides[:front])
        there = kernel.moved(far, positions, [indexed.strides[a] for a in axes])
        with kernel.loops(space.shape[:-1]) as inner:
            there, here = (kernel.moved(p, inner, s[:-1]) for p, s in zip((there, here), space.strides, strict=True))
            steps = [s[-1] if s else 1 for s in space.strides]

            def write(block: Block) -> None:
                if op is None:
                    kernel.store(kernel.load(there, steps[0], block), here, steps[1], block)
                    return
                value: Any = kernel.load(here, steps[1], block)
                if op.fn is not None:
                    old = kernel.load(there, steps[0], block)
                    value = site.rule(op.fn.op)(op.fn.op, (old, value), y.dtype)
                kernel.store(value, there, steps[0], block)

            kernel.blocks(space.shape[-1] if space.shape else 1, write)
    site.run(kernel)


@contextlib.contextmanager
def _unless_empty(kernel: Kernel, lengths: Sequence[Index], zeroed: Array | None, place: Pointer) -> Iterator[None]:
    """Context whose statements are done only if no length is 0; else no index is in range, and an array is set to 0."""
    body = kernel.body
    if all(n.known for n in lengths):
        yield
        return
    every = functools.reduce(operator.and_, (n > 0 for n in lengths))
    with body.when(every):
        yield
    if zeroed is not None:
        with body.when(~every), kernel.loops(zeroed.shape) as indices, body.of(0):
            zero = constant_of(body, numpy_dtype(zeroed.dtype).type(0), zeroed.dtype)
            body.store(zero, kernel.moved(place, indices, zeroed.strides))


def _inside(kernel: Kernel, place: Pointer, length: Index) -> Index:
    """The index at a place, moved inside an axis."""
    with kernel.body.of(0):
        value: Any = kernel.body.load(place)
    return Index(value).least(length - 1).most(0)


def nonzero(op: t.Nonzero, site: Site) -> Value:
    """Counted first: then there is memory for just as many positions."""
    mask, count = site.memory(site.inputs[0]), site.temporary("int64", ())
    kernel = site.kernel()
    place, total = kernel.read(mask), kernel.write(count)
    number = _over_mask(kernel, mask, place, lambda at, number, is_true: None)
    kernel.body.store(number, total)
    site.run(kernel)
    site.has_length(count)
    y = site.allocate(0)
    kernel = site.kernel()
    place, target, nowhere = kernel.read(mask), kernel.write(y), kernel.body.cell("int64")

    def write(at: Index, number: Index, is_true: Condition) -> None:
        there = kernel.body.nearer(is_true, target.moved(number), nowhere)  # a branch would be guessed
        kernel.body.store(at.value, there)

    _over_mask(kernel, mask, place, write)
    site.run(kernel)
    return y


def _over_mask(kernel: Kernel, mask: Array, place: Pointer, write: Callable[[Index, Index, Condition], None]) -> Lanes:
    """Go through a mask; `write` gets each index, how many were true before, and whether it is. How many are."""
    body = kernel.body

    def step(at: Index, number: Lanes) -> list[Lanes]:
        is_true: Any = body.load(kernel.moved(place, [at], [mask.strides[0]]))
        write(at, Index(number), Condition(is_true))
        return [number + is_true.to("int64")]

    return body.fold(0, kernel.length(mask.shape[0]), 1, [constant(body, 0, "int64")], step)[0]


RULES: Final[dict[object, Rule]] = {
    t.Slice: slice_,
    t.SliceUpdate: slice_update,
    t.WrapIndex: wrap_index,
    t.Gather: gather,
    t.Scatter: scatter,
    t.Nonzero: nonzero,
}
