"""Operations on the bits of integers; on bool they are the logical ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import bitwise as t
from tg_c.prelude import Expression

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {
    t.bitwise_and: Expression("x & y"),
    t.bitwise_or: Expression("x | y"),
    t.bitwise_xor: Expression("x ^ y"),
    t.bitwise_invert: Expression("~x", boolean="!x"),
}
