"""Running results along an axis: the axes after it go along in the inner loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops import cumulative as t

if TYPE_CHECKING:
    from tg.link.values import Array, Value
    from tg.plugin.records import Rule
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
    """The running result in a local."""
    nest = site.nest()
    outer = nest.loops(x.shape[:-1])
    n = nest.length(x.shape[-1])
    source = nest.place(x.pointer, outer, x.strides[:-1])
    target = nest.place(y.pointer, outer, y.strides[:-1])
    total = nest.fresh("e")
    nest.open(f"if {n} > 0")
    nest.line(f"{total} = {nest.read(x.dtype, source)}")
    nest.line(f"{target}[0] = {total}")
    index = nest.fresh("k")
    nest.open(f"for {index} in range(1, {n})")
    element = nest.local(nest.read(x.dtype, source, nest.step(index, x.strides[-1])))
    nest.line(f"{total} = {site.combine(op.fn, x.dtype, total, element)}")
    nest.line(f"{target}[{nest.step(index, y.strides[-1])}] = {total}")
    site.call(nest)


def _by_rows(op: t.Accumulate, site: Site, x: Array, y: Array, k: int) -> None:
    """A row copied, then each row combined with the one before."""
    nest = site.nest()
    outer = nest.loops(x.shape[:k])
    source = nest.place(x.pointer, outer, x.strides[:k])
    target = nest.place(y.pointer, outer, y.strides[:k])
    row = nest.loop(x.shape[k])
    here = nest.place(source, [row], [x.strides[k]])
    there = nest.place(target, [row], [y.strides[k]])
    before = nest.place(target, [nest.local(f"greater({row} - 1, 0)")], [y.strides[k]])
    inner = nest.loops(x.shape[k + 1 :])
    element = nest.local(nest.read(x.dtype, here, nest.offset(inner, x.strides[k + 1 :])))
    at = nest.offset(inner, y.strides[k + 1 :])
    nest.open(f"if {row} == 0")
    nest.line(f"{there}[{at}] = {element}")
    nest.close()
    nest.open("else")
    last = nest.local(nest.read(x.dtype, before, at))
    nest.line(f"{there}[{at}] = {site.combine(op.fn, x.dtype, last, element)}")
    site.call(nest)


RULES: Final[dict[object, Rule]] = {t.Accumulate: accumulate}
