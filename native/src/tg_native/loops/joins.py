"""Joins after all parts of a loop that threads share: what each has met is joined, in the order of the parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.arithmetic import add
from tg_native.kernels.index import Index
from tg_native.loops.folds import Fold, narrow
from tg_native.plan.values import count

if TYPE_CHECKING:
    from tg_native.graphs.site import Site
    from tg_native.kernels.routine import Block
    from tg_native.loops.columns import Column
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Array, Scalar

MOST_SHARED: Final = 1024  # elements of an array that parts scatter into: of so few, memory for all is at hand


def _number(kernel: Kernel, parts: Scalar) -> Index:
    with kernel.body.of(0):
        value: Any = kernel.scalar(parts)
    return Index(value)


def join_totals(site: Site, fn: Any, dtype: str, memory: Array, parts: Scalar, target: Array) -> None:
    """Store a reduction of elements of a dtype over all axes."""
    kernel = site.kernel()
    source, place, n = kernel.read(memory), kernel.write(target), _number(kernel, parts)
    joined = Fold(kernel, fn, site.rule(fn.op), memory.dtype)
    joined.begin()
    joined.over(n, lambda at: kernel.body.load(source.moved(at)))
    kernel.body.store(narrow(joined.result(), dtype), place)
    site.run(kernel)


def join_columns(site: Site, column: Column, memory: Array, parts: Scalar, target: Array) -> None:
    """Store a reduction over the outer axes."""
    kernel = site.kernel([column.working], 1, column.length)
    source, place, n = kernel.read(memory), kernel.write(target), _number(kernel, parts)
    stride = kernel.length(memory.strides[0])
    joined = Fold(kernel, column.fn, column.rule, column.working)

    def write(block: Block) -> None:
        joined.begin()
        joined.over(n, lambda at: kernel.load(source.moved(at * stride), 1, block))
        kernel.store(narrow(joined.total(), column.dtype), place, 1, block)

    kernel.blocks(column.length, write)
    site.run(kernel)


def join_scattered(site: Site, memory: Array, parts: Scalar, target: Array) -> None:
    """Add what each part has scattered to the array, unless there was one alone."""
    kernel, rule = site.kernel(), site.rule(add.op)
    source, place, n = kernel.read(memory), kernel.write(target), _number(kernel, parts)
    length, body = kernel.length(count(target.shape)), kernel.body
    with body.when(n != 1), body.loop(0, n) as part, body.loop(0, length) as at:
        more: Any = body.load(source.moved(part * MOST_SHARED + at))
        there = place.moved(at)
        total: Any = rule(add.op, (body.load(there), more), target.dtype)
        body.store(total, there)
    site.run(kernel)
