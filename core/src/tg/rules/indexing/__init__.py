"""Rules of indexing: slices, gathers, updates, and what is known of indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.rules.indexing import bounded, gathers, masks, pieces, reads, scatters, slices, sparse, updates

if TYPE_CHECKING:
    from tg.rewrite.rule import Pass, Rule

RULES: Final[tuple[Rule, ...]] = (
    *slices.RULES,
    *updates.RULES,
    *sparse.RULES,
    *scatters.RULES,
    *gathers.RULES,
    *bounded.RULES,
    *masks.RULES,
)

PASSES: Final[tuple[Pass, ...]] = (*reads.PASSES, *pieces.PASSES)
