"""Operations on the bits of integers; on bool they are the logical ones.

Shifts by a negative number or by the width and more have no meaning for the processor, so none is computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import bitwise as t
from tg_numba.element import Element, Expression
from tg_numba.text import WORDS, item_size

if TYPE_CHECKING:
    from tg.graph.op import Op
    from tg.plugin.records import Rule


def left_shift(op: Op, element: Element) -> str:
    """0 where nothing is left."""
    x, y = element.operands
    width, none = 8 * item_size(element.dtype), element.unit.literal(0, element.dtype)
    wide = "u64" if element.dtype.startswith("u") else "i64"
    inside = f"({y} >= {none}) & ({y} < {WORDS[element.dtype]}({width}))"
    by = f"select({inside}, {wide}({y}), {wide}(0))"
    return element.exactly(f"select({inside}, {wide}({x}) << {by}, {wide}(0))")


def right_shift(op: Op, element: Element) -> str:
    """0, or the sign throughout, where nothing is left."""
    x, y = element.operands
    width, none = 8 * item_size(element.dtype), element.unit.literal(0, element.dtype)
    word = WORDS[element.dtype]
    inside = f"({y} >= {none}) & ({y} < {word}({width}))"
    if element.dtype.startswith("u"):
        by = f"select({inside}, u64({y}), u64(0))"
        return element.exactly(f"select({inside}, u64({x}) >> {by}, u64(0))")
    return element.exactly(f"i64({x}) >> select({inside}, i64({y}), {width - 1})")


RULES: Final[dict[object, Rule]] = {
    t.bitwise_and: Expression("x & y"),
    t.bitwise_or: Expression("x | y"),
    t.bitwise_xor: Expression("x ^ y"),
    t.bitwise_invert: Expression("~x", boolean="not x"),
    t.left_shift: left_shift,
    t.right_shift: right_shift,
}
