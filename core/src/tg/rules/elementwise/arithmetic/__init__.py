"""Rules of arithmetic, by what they are about; and what other families ask of values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.rules.elementwise.arithmetic import (
    extremes,
    integers,
    powers,
    product_pass,
    products,
    signs,
    sum_pass,
    sums,
)
from tg.rules.elementwise.arithmetic.analysis import is_finite, is_not_negative, is_scalar_constant

if TYPE_CHECKING:
    from tg.rewrite.rule import Pass, Rule

__all__ = ["PASSES", "RULES", "is_finite", "is_not_negative", "is_scalar_constant"]

RULES: Final[tuple[Rule, ...]] = (
    *sums.RULES,
    *products.RULES,
    *signs.RULES,
    *powers.RULES,
    *integers.RULES,
    *extremes.RULES,
)

PASSES: Final[tuple[Pass, ...]] = (*product_pass.PASSES, *sum_pass.PASSES)
