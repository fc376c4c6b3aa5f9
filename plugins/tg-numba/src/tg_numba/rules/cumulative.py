"""Running results along an axis: the axes after it go along in the inner loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops import cumulative as t
from tg_native.kernels.lanes import of_parts, parts
from tg_native.plan.values import collapsed
from tg_numba.blocks import load, load_one, store, store_one

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.plan.values import Array, Value
    from tg_numba.kernel import Block
    from tg_numba.site import Site


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
    kernel, rule = site.kernel(), site.unit.rule(op.fn.op)
    body, source, target, n = kernel.body, kernel.read(x), kernel.write(y), kernel.length(x.shape[-1])
    with kernel.loops(x.shape[:-1]) as outer:
        row = kernel.moved((x.dtype, source), outer, x.strides[:-1])
        result = kernel.moved((y.dtype, target), outer, y.strides[:-1])
        with body.when(body.find(f"icmp sgt i64 {n}, 0")):
            first = load_one(kernel, x.dtype, row)
            store_one(kernel, first, result)

            def step(at: str, *texts: str) -> list[str]:
                element = load_one(kernel, x.dtype, kernel.moved((x.dtype, row), [at], x.strides[-1:]))
                total: Any = rule(op.fn.op, (of_parts(body, x.dtype, texts), element), x.dtype)
                store_one(kernel, total, kernel.moved((y.dtype, result), [at], y.strides[-1:]))
                return [part.text for part in parts([total])]

            body.fold("1", n, 1, [part.operand for part in parts([first])], step)
    site.run(kernel)


def _by_rows(op: t.Accumulate, site: Site, x: Array, y: Array, k: int) -> None:
    """A row copied, then each row combined with the one before."""
    space = collapsed(x.shape[k + 1 :], [x.strides[k + 1 :], y.strides[k + 1 :]])
    inner, steps = space.shape or (1,), [s or (1,) for s in space.strides]
    kernel, rule = site.kernel([x.dtype], length=inner[-1]), site.unit.rule(op.fn.op)
    body, source, target, n = kernel.body, kernel.read(x), kernel.write(y), kernel.length(x.shape[k])
    before = "-1"

    def write(row: str, *, combines: bool) -> None:
        here = kernel.moved((x.dtype, start), [row], x.strides[k : k + 1])
        there = kernel.moved((y.dtype, result), [row], y.strides[k : k + 1])
        last = kernel.moved((y.dtype, there), [before], y.strides[k : k + 1])
        with kernel.loops(inner[:-1]) as indices:
            places = [
                kernel.moved((x.dtype, place), indices, s[:-1])
                for place, s in ((here, steps[0]), (there, steps[1]), (last, steps[1]))
            ]

            def block_of(block: Block) -> None:
                value: Any = load(kernel, x.dtype, places[0], steps[0][-1], block)
                if combines:
                    value = rule(op.fn.op, (load(kernel, y.dtype, places[2], 1, block), value), x.dtype)
                store(kernel, value, places[1], 1, block)

            kernel.blocks(inner[-1], block_of)

    with kernel.loops(x.shape[:k]) as outer:
        start = kernel.moved((x.dtype, source), outer, x.strides[:k])
        result = kernel.moved((y.dtype, target), outer, y.strides[:k])
        with body.when(body.find(f"icmp sgt i64 {n}, 0")):
            write("0", combines=False)
        with body.loop("1", n) as row:
            write(row, combines=True)
    site.run(kernel)


RULES: Final[dict[object, Rule]] = {t.Accumulate: accumulate}
