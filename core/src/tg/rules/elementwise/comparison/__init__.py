"""Rules of comparison, logic and choice, by what they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.rules.elementwise.comparison import choice, implied, logic, masked, order, special

if TYPE_CHECKING:
    from tg.rewrite.rule import Rule

__all__ = ["RULES"]

RULES: Final[tuple[Rule, ...]] = (
    *choice.RULES,
    *masked.RULES,
    *logic.RULES,
    *implied.RULES,
    *order.RULES,
    *special.RULES,
)
