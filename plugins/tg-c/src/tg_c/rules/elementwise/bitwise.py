"""Operations on the bits of integers; on bool they are the logical ones.

C leaves shifts by a negative number or by the width and more undefined, so none is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import bitwise as t
from tg_c.templates import Expression, Inline, lanes

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {
    t.bitwise_and: Expression("x & y"),
    t.bitwise_or: Expression("x | y"),
    t.bitwise_xor: Expression("x ^ y"),
    t.bitwise_invert: Expression("~x", boolean="!x", lanes=lanes(boolean="~x")),
    t.left_shift: Inline(
        "return (@U)y < 8 * sizeof x ? (@T)((@U)x << y) : 0;",
        lanes="return (@T)((@U)x << ((@U)y & @PLACES)) & (@T)((@U)y <= @PLACES);",
    ),
    t.right_shift: Inline(
        signed="return x >> ((@U)y < 8 * sizeof x ? y : (@T)(8 * sizeof x - 1));",
        unsigned="return y < 8 * sizeof x ? x >> y : 0;",
        lanes=lanes(
            signed="return x >> @select((@U)y <= @PLACES, y, @all(@PLACES));",
            unsigned="return (x >> (y & @PLACES)) & (@T)(y <= @PLACES);",
        ),
    ),
}
