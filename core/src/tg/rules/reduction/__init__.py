"""Rules of reductions: axes that need no loop, what repeats, factors that leave."""

from __future__ import annotations

from tg.rules.reduction import axes, factors, repeated

RULES = (*axes.RULES, *repeated.RULES, *factors.RULES)

__all__ = ["RULES"]
