"""The Bessel functions of orders 0 and 1: of the modified ones those that are scaled; the others are expanded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.special import bessel as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.expanded import expanded
from tg_native.kernels.libm import libm_named

if TYPE_CHECKING:
    from tg.plugin.records import Rule

KERNELS: Final[dict[object, Rule]] = {
    t.i0e: Elementwise(floating=libm_named("i0e")),
    t.i1e: Elementwise(floating=libm_named("i1e")),
    t.j0: expanded(t.j0),
    t.j1: expanded(t.j1),
}
