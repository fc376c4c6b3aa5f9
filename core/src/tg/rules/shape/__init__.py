"""Rules of shape: lengths that are known, movements that cancel or are one, and repetition that is not needed.

Directions: movements go outwards, away from the inputs, through elementwise functions (`outward`) and past one another
into one order (`movements`); repetition goes outermost (`repeating`).
"""

from __future__ import annotations

from tg.rules.shape import movements, outward, repeating, sizes, specified
from tg.rules.shape.terms import is_shape_of, made_by, wanted_shape

__all__ = ["PASSES", "RULES", "is_shape_of", "made_by", "wanted_shape"]

RULES = (*sizes.RULES, *specified.RULES, *movements.RULES, *repeating.RULES, *outward.RULES)

PASSES = outward.PASSES
