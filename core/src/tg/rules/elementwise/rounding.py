"""Rules of rounding: what is whole stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.facts import holds
from tg.ops.elementwise.rounding import ceil, floor, rint, trunc
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import rule_of

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

ROUNDING: Final = (floor, ceil, trunc, rint)


@rule_of(*ROUNDING, kind=EXACT, example=lambda x: floor(rint(x)))
def _round_whole(op: Any, x: Variable) -> Variable | None:
    """A whole number stays: it has been rounded, or was an integer."""
    return x if holds(x, "whole") else None


RULES = (_round_whole,)
