"""Rounding to whole numbers, by the system's libm; rint rounds half to even, as the processor does by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import rounding as t
from tg_c.templates import Expression

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {
    t.floor: Expression(floating="@floor(x)"),
    t.ceil: Expression(floating="@ceil(x)"),
    t.trunc: Expression(floating="@trunc(x)"),
    t.rint: Expression(floating="@rint(x)", complex="__builtin_complex(@rint(__real__ x), @rint(__imag__ x))"),
}
