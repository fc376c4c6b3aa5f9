"""Rules of linear algebra: what is known of a matrix saves factorisations, and what is asked of one is shared."""

from __future__ import annotations

from tg.rules.linalg import products, solving, spectral, triangular

RULES = (*products.RULES, *triangular.RULES, *solving.RULES)
PASSES = (*solving.PASSES, *spectral.PASSES)

__all__ = ["PASSES", "RULES"]
