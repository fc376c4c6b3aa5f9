"""Rules of creation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.graph.nodes import as_size_variable, size_value
from tg.ops.creation import Arange
from tg.rewrite.phases import EXACT
from tg.rewrite.rule import rule_of

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


@rule_of(Arange, kind=EXACT, example=lambda x: Arange(None)(as_size_variable(7)))
def _arange_of_known_length(op: Any, *operands: Variable) -> Variable | None:
    """A length that is known belongs into the op: equal programs are one, and backends see it."""
    if not operands:
        return None
    n = size_value(operands[0])
    return Arange(n)() if isinstance(n, int) else None


RULES = (_arange_of_known_length,)
