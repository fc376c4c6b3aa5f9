"""The error function and its kin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.special import error as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.libm import ABREAST, libm_named

if TYPE_CHECKING:
    from tg.plugin.records import Rule

KERNELS: Final[dict[object, Rule]] = {
    t.erf: Elementwise(floating=libm_named("erf"), abreast=ABREAST),
    t.erfc: Elementwise(floating=libm_named("erfc"), abreast=ABREAST),
    t.erfcinv: Elementwise(floating=libm_named("erfcinv"), abreast=ABREAST),
    t.erfcx: Elementwise(floating=libm_named("erfcx"), abreast=ABREAST),
    t.erfinv: Elementwise(floating=libm_named("erfinv"), abreast=ABREAST),
}
