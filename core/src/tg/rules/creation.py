"""Rules of creation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.graph.nodes import as_size_variable, size_value
from tg.ops.creation import Arange
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import node_rule

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _known_length(node: Apply, outputs: Any) -> Variable | None:
    if not node.inputs:
        return None
    n = size_value(node.inputs[0])
    return Arange(n)() if isinstance(n, int) else None


RULES = (
    node_rule(
        "arange_of_known_length",
        keys=(Arange,),
        apply=_known_length,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A length that is known belongs into the op: equal programs are one, and backends see it.",
        example=lambda x: Arange(None)(as_size_variable(7)),
    ),
)
