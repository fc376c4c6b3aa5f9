"""All rules and passes of core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.rules import (
    contraction,
    creation,
    cumulative,
    fourier,
    indexing,
    joining,
    linalg,
    loops,
    nn,
    reduction,
    shape,
    softmax,
    sorting,
)
from tg.rules.elementwise import (
    arithmetic,
    bitwise,
    cast,
    comparison,
    complex,
    exponential,
    rounding,
    special,
    trigonometric,
)

if TYPE_CHECKING:
    from tg.rewrite.rule import Pass, Rule

RULES: Final[tuple[Rule, ...]] = (
    *arithmetic.RULES,
    *bitwise.RULES,
    *cast.RULES,
    *comparison.RULES,
    *complex.RULES,
    *exponential.RULES,
    *rounding.RULES,
    *special.RULES,
    *trigonometric.RULES,
    *contraction.RULES,
    *creation.RULES,
    *cumulative.RULES,
    *fourier.RULES,
    *indexing.RULES,
    *joining.RULES,
    *linalg.RULES,
    *loops.RULES,
    *nn.RULES,
    *reduction.RULES,
    *shape.RULES,
    *softmax.RULES,
    *sorting.RULES,
)

PASSES: Final[tuple[Pass, ...]] = (
    *fourier.PASSES,
    *indexing.PASSES,
    *arithmetic.PASSES,
    *exponential.PASSES,
    *joining.PASSES,
    *loops.PASSES,
    *nn.PASSES,
    *shape.PASSES,
    *linalg.PASSES,
    *contraction.PASSES,
)
