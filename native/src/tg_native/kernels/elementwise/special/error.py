"""The error function and its kin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.special import error as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.libm import libm_named

if TYPE_CHECKING:
    from tg.plugin.records import Rule

KERNELS: Final[dict[object, Rule]] = {
    t.erf: Elementwise(floating=libm_named("erf")),
    t.erfc: Elementwise(floating=libm_named("erfc")),
    t.erfcinv: Elementwise(floating=libm_named("erfcinv")),
    t.erfcx: Elementwise(floating=libm_named("erfcx")),
    t.erfinv: Elementwise(floating=libm_named("erfinv")),
}
