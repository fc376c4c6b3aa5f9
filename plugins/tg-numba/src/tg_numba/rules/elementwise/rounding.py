"""Rounding to whole numbers, as the processor does; rint rounds half to even."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import rounding as t
from tg_numba.element import Expression

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {
    t.floor: Expression(floating="floor(x)"),
    t.ceil: Expression(floating="ceil(x)"),
    t.trunc: Expression(floating="trunc(x)"),
    t.rint: Expression(floating="rint(x)", complex="pair(rint(real(x)), rint(imag(x)))"),
}
