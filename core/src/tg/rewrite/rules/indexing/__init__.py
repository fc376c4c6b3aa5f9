"""Rules of indexing: slices, gathers, updates, and what is known of indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.rewrite.rules.indexing import reads, slices

if TYPE_CHECKING:
    from tg.rewrite.rule import Pass, Rule

RULES: Final[tuple[Rule, ...]] = (*slices.RULES,)

PASSES: Final[tuple[Pass, ...]] = (*reads.PASSES,)
