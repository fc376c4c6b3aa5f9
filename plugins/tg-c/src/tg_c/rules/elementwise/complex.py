"""Complex numbers and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import complex as t
from tg_c.templates import Expression

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {
    t.complex: Expression(floating="__builtin_complex(x, y)"),
    t.real: Expression(complex="__real__ x"),
    t.imag: Expression(complex="__imag__ x"),
    t.conjugate: Expression(complex="~x"),
}
