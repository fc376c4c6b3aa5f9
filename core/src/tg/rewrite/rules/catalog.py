"""All rules and passes of core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.rewrite.rules import contraction, creation, reduction, shape
from tg.rewrite.rules.elementwise import arithmetic, cast, comparison, exponential

if TYPE_CHECKING:
    from tg.rewrite.rule import Pass, Rule

RULES: Final[tuple[Rule, ...]] = (
    *arithmetic.RULES,
    *cast.RULES,
    *comparison.RULES,
    *exponential.RULES,
    *contraction.RULES,
    *creation.RULES,
    *reduction.RULES,
    *shape.RULES,
)

PASSES: Final[tuple[Pass, ...]] = ()
