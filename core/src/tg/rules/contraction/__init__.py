"""Rules of products that sum over an axis: what an operand saves, what is read of the result, the order of several."""

from __future__ import annotations

from tg.rules.contraction import chains, parts, products

RULES = (*products.RULES, *parts.RULES)
PASSES = (*parts.PASSES, *chains.PASSES)

__all__ = ["PASSES", "RULES"]
