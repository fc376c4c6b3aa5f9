"""Loops: what nobody reads is not computed, what does not change is no carry, what a step need not compute leaves it.

What depends on captured values alone is computed before the loop. Functions of single numbers that take long go out of
it as one operation on all steps, which computes several at a time: before it if they are of sequences, and behind it if
no later step needs them. What a loop has computed is kept for the one that reads its traces, and sums of what there is
of all steps are no carries. Conditions that depend on the step alone are constants.
"""

from __future__ import annotations

from tg.rules.loops import (
    captured,
    checked,
    dear,
    foretold,
    invariants,
    repetition,
    siblings,
    sums,
    unrolled,
    unused,
)

RULES = (*checked.RULES, *unrolled.RULES, *captured.RULES)
PASSES = (
    *unused.PASSES,
    *foretold.PASSES,
    *siblings.TWINS,
    *invariants.PASSES,
    *dear.PASSES,
    *repetition.PASSES,
    *sums.PASSES,
    *siblings.PASSES,
)

__all__ = ["PASSES", "RULES"]
