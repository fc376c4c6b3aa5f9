"""Running results along an axis: the axes after it go along in the inner loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops import cumulative as t
from tg_c.prelude import Element
from tg_native.kernels.dtypes import WORDS

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_c.site import Site
    from tg_native.plan.values import Value


def accumulate(op: t.Accumulate, site: Site) -> Value:
    """y[i] = fn(y[i - 1], x[i])."""
    (x,) = site.inputs
    x, y = site.memory(x), site.allocate(0)
    k = x.ndim + op.axis
    kernel = site.kernel()
    source, place = kernel.read(x), kernel.write(y)
    outer = kernel.loops(x.shape[:k])
    start = [kernel.place(name, outer, a.strides[:k]) for name, a in ((source, x), (place, y))]
    kind = WORDS[x.dtype]
    if k == x.ndim - 1:
        kernel.line(f"{kind} total = {{0}};")
        kernel.loop("i", x.shape[k])
        element = f"({start[0]})[{kernel.step('i', x.strides[k])}]"
        kernel.line(f"total = i ? {_combined(op, site, 'total', element)} : {element};")
        kernel.line(f"({start[1]})[{kernel.step('i', y.strides[k])}] = total;")
        kernel.close()
    else:
        kernel.loop("i", x.shape[k])
        kernel.line(f"const {kind} *from = {kernel.place(start[0], ['i'], [x.strides[k]])};")
        kernel.line(f"{kind} *to = {kernel.place(start[1], ['i'], [y.strides[k]])};")
        kernel.line(f"const {kind} *before = to - {kernel.length(y.strides[k])};")
        inner = kernel.loops(x.shape[k + 1 :], "j")
        here, there = kernel.at("from", inner, x.strides[k + 1 :]), kernel.at("to", inner, y.strides[k + 1 :])
        kernel.line(f"{there} = i ? {_combined(op, site, there.replace('to', 'before'), here)} : {here};")
        kernel.close(1 + len(inner))
    kernel.close(k)
    site.call(kernel)
    return y


def _combined(op: t.Accumulate, site: Site, x: str, y: str) -> str:
    dtype = site.inputs[0].dtype
    return site.element(op.fn.op, Element((x, y), (dtype, dtype), dtype, site.prelude))


RULES: Final[dict[object, Rule]] = {t.Accumulate: accumulate}
