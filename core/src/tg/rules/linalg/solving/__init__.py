"""Rules of systems, inverses and determinants: by structure, without the inverse, by factors that are shared."""

from __future__ import annotations

from tg.rules.linalg.solving import (
    banded,
    determinants,
    factor_gradients,
    inverses,
    low_rank,
    sharing,
    structure,
)

RULES = (*banded.RULES, *structure.RULES, *determinants.RULES, *factor_gradients.RULES)
PASSES = (*inverses.PASSES, *low_rank.PASSES, *sharing.PASSES)

__all__ = ["PASSES", "RULES"]
