"""Complex numbers and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import complex as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.lanes import Pair

if TYPE_CHECKING:
    from tg.plugin.records import Rule

KERNELS: Final[dict[object, Rule]] = {
    t.complex: Elementwise(floating=Pair),
    t.real: Elementwise(complex=lambda x: x.real),
    t.imag: Elementwise(complex=lambda x: x.imag),
    t.conjugate: Elementwise(complex=lambda x: Pair(x.real, -x.imag)),
}
