"""Rounding to whole numbers, as the processor does; rint rounds half to even."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import rounding as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.functions import ceil, floor, rint, trunc
from tg_native.kernels.lanes import Pair

if TYPE_CHECKING:
    from tg.plugin.records import Rule

KERNELS: Final[dict[object, Rule]] = {
    t.floor: Elementwise(floating=floor),
    t.ceil: Elementwise(floating=ceil),
    t.trunc: Elementwise(floating=trunc),
    t.rint: Elementwise(floating=rint, complex=lambda x: Pair(rint(x.real), rint(x.imag))),
}
