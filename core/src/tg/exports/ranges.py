"""Ranges in which the inputs of an expression are drawn: of domains, of facts that are promised, of indices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from tg.graph.traversal import sorted_applies
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.record import Elementwise
from tg.ops.indexing import Gather, Slice, WrapIndex
from tg.ops.shape_ops import ExpandDims, Squeeze, Transpose
from tg.ops.sized_ops import BroadcastTo, Reshape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Apply, Variable

MOVED: Final = (BroadcastTo, Cast, ExpandDims, Gather, Reshape, Slice, Squeeze, Transpose)
"""Ops whose result has elements of the first operand alone."""


class Range:
    """Limits of one input's elements, the facts that they are to have, and the lengths that they are places in."""

    def __init__(self) -> None:
        self.low, self.high = -math.inf, math.inf
        self.facts: set[str] = set()
        self.sizes: list[Variable] = []

    def within(self, low: float, high: float) -> None:
        """Narrow the limits; what would leave nothing is passed over, as the input is used in two ways."""
        if max(low, self.low) < min(high, self.high):
            self.low, self.high = max(low, self.low), min(high, self.high)


def ranges(inputs: Sequence[Variable], results: Sequence[Variable]) -> list[Range]:
    """The range of each input: what the ops that take it, also moved or cast, say of their operands."""
    by_input = [Range() for _ in inputs]
    origin: dict[tuple[int, int], int] = {(id(v), 0): k for k, v in enumerate(inputs)}
    for node, _ in sorted_applies(results, boundary=inputs):
        places = [origin.get((id(v), 0) if v.apply is None else (id(v.apply), v.index + 1)) for v in node.inputs]
        _note(node, places, by_input)
        if places and places[0] is not None and (isinstance(node.op, MOVED) or node.op.named_identity is not None):
            origin[id(node), 1] = places[0]
    return by_input


def _note(node: Apply, places: Sequence[int | None], by_input: Sequence[Range]) -> None:
    op = node.op
    if isinstance(op, Elementwise) and op.fn.domain is not None:
        for place in places:
            if place is not None:
                by_input[place].within(*op.fn.domain)
    if places and places[0] is not None:
        by_input[places[0]].facts |= op.assumed_facts
        if isinstance(op, WrapIndex):
            by_input[places[0]].sizes.append(node.inputs[1])
