"""Rules of rounding: what is whole stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.facts import holds
from tg.ops.elementwise.rounding import ceil, floor, rint, trunc
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import node_rule

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

ROUNDING: Final = (floor, ceil, trunc, rint)


def _of_whole(node: Apply, outputs: Any) -> Variable | None:
    (x,) = node.inputs
    return x if holds(x, "whole") else None


RULES = (
    node_rule(
        "round_whole",
        keys=ROUNDING,
        apply=_of_whole,
        phase=CANONICALIZE,
        kind=EXACT,
        why="What has been rounded, or was an integer, is whole.",
        example=lambda x: floor(rint(x)),
    ),
)
