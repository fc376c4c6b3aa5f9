"""Rules of exponentials and logarithms, by what they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.rules.elementwise.exponential import logarithms, powers, sigmoids

if TYPE_CHECKING:
    from tg.rewrite.rule import Pass, Rule

__all__ = ["PASSES", "RULES"]

RULES: Final[tuple[Rule, ...]] = (*logarithms.RULES, *sigmoids.RULES, *powers.RULES)

PASSES: Final[tuple[Pass, ...]] = powers.PASSES
