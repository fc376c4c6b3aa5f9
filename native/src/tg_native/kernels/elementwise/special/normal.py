"""The quantile of the normal distribution; the rest is expanded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.special import normal as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.libm import ABREAST, libm_named

if TYPE_CHECKING:
    from tg.plugin.records import Rule

KERNELS: Final[dict[object, Rule]] = {
    t.ndtri: Elementwise(floating=libm_named("ndtri"), abreast=ABREAST),
}
