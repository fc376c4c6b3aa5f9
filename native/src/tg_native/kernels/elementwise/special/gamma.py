"""Functions that come of the gamma function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.special import gamma as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.libm import ABREAST, libm_named

if TYPE_CHECKING:
    from tg.plugin.records import Rule

KERNELS: Final[dict[object, Rule]] = {
    t.digamma: Elementwise(floating=libm_named("digamma"), abreast=ABREAST),
    t.gammaln: Elementwise(floating=libm_named("lgamma"), abreast=ABREAST),
    t.trigamma: Elementwise(floating=libm_named("trigamma"), abreast=ABREAST),
}
