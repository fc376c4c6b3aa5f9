"""Rules of special functions, by the families that they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.rules.elementwise.special import bessel, error, gamma, incomplete, normal

if TYPE_CHECKING:
    from tg.rewrite.rule import Rule

__all__ = ["RULES"]

RULES: Final[tuple[Rule, ...]] = (*bessel.RULES, *error.RULES, *gamma.RULES, *incomplete.RULES, *normal.RULES)
