"""Rules of the error function and of the normal tails, which are its own in another scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.rules.elementwise.special.error import complements, tails

if TYPE_CHECKING:
    from tg.rewrite.rule import Rule

__all__ = ["RULES"]

RULES: Final[tuple[Rule, ...]] = (*complements.RULES, *tails.RULES)
