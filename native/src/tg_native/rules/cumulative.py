"""Running results along an axis: the axes after it go along in the inner loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops import cumulative as t
from tg.types.dtypes import is_complex
from tg_native.kernels.lanes import Pair, parts
from tg_native.loops.folds import combined
from tg_native.plan.values import collapsed

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index
    from tg_native.kernels.lanes import Lanes
    from tg_native.kernels.routine import Block
    from tg_native.plan.values import Array, Value


def accumulate(op: t.Accumulate, site: Site) -> Value:
    """y[i] = fn(y[i - 1], x[i])."""
    x = site.memory(site.inputs[0])
    y = site.allocate(0)
    k = x.ndim + op.axis
    if k == x.ndim - 1:
        _along_rows(op, site, x, y)
    else:
        _by_rows(op, site, x, y, k)
    return y


def _along_rows(op: t.Accumulate, site: Site, x: Array, y: Array) -> None:
    """The running result handed on from element to element."""
    kernel, rule = site.kernel(), site.rule(op.fn.op)
    body, source, target, n = kernel.body, kernel.read(x), kernel.write(y), kernel.length(x.shape[-1])
    with kernel.loops(x.shape[:-1]) as outer:
        row = kernel.moved(source, outer, x.strides[:-1])
        result = kernel.moved(target, outer, y.strides[:-1])
        with body.when(n > 0):
            first = body.load(row)
            body.store(first, result)

            def step(at: Index, *last: Lanes) -> list[Lanes]:
                element = body.load(kernel.moved(row, [at], x.strides[-1:]))
                before = Pair(*last) if is_complex(x.dtype) else last[0]
                total = combined(rule, op.fn, before, element)
                body.store(total, kernel.moved(result, [at], y.strides[-1:]))
                return parts([total])

            body.fold(1, n, 1, parts([first]), step)
    site.run(kernel)


def _by_rows(op: t.Accumulate, site: Site, x: Array, y: Array, k: int) -> None:
    """A row copied, then each row combined with the one before."""
    space = collapsed(x.shape[k + 1 :], [x.strides[k + 1 :], y.strides[k + 1 :]])
    inner, steps = space.shape or (1,), [s or (1,) for s in space.strides]
    kernel, rule = site.kernel([x.dtype], length=inner[-1]), site.rule(op.fn.op)
    body, source, target, n = kernel.body, kernel.read(x), kernel.write(y), kernel.length(x.shape[k])

    def write(row: Index | int, *, combines: bool) -> None:
        here = kernel.moved(start, [row], x.strides[k : k + 1])
        there = kernel.moved(result, [row], y.strides[k : k + 1])
        last = kernel.moved(there, [-1], y.strides[k : k + 1])
        with kernel.loops(inner[:-1]) as indices:
            places = [
                kernel.moved(place, indices, s[:-1])
                for place, s in ((here, steps[0]), (there, steps[1]), (last, steps[1]))
            ]

            def block_of(block: Block) -> None:
                value = kernel.load(places[0], steps[0][-1], block)
                if combines:
                    value = combined(rule, op.fn, kernel.load(places[2], 1, block), value)
                kernel.store(value, places[1], 1, block)

            kernel.blocks(inner[-1], block_of)

    with kernel.loops(x.shape[:k]) as outer:
        start = kernel.moved(source, outer, x.strides[:k])
        result = kernel.moved(target, outer, y.strides[:k])
        with body.when(n > 0):
            write(0, combines=False)
        with body.loop(1, n) as row:
            write(row, combines=True)
    site.run(kernel)


RULES: Final[dict[object, Rule]] = {t.Accumulate: accumulate}
