"""Complex numbers and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import complex as t
from tg_numba.element import Expression

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {
    t.complex: Expression(floating="pair(x, y)"),
    t.real: Expression(complex="real(x)"),
    t.imag: Expression(complex="imag(x)"),
    t.conjugate: Expression(complex="pair(real(x), -imag(x))"),
}
