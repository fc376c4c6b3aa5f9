"""The number of operations that an expression takes: those of its matrix products, convolutions and attention.

A product and what it is added to are two operations. Windows that reach beyond images count whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.graph.text.printer import held_by
from tg.graph.traversal import sorted_applies
from tg.ops.operation_counts import COUNTS, operations_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Apply, Variable


def operations(outputs: Sequence[Variable], began: int = 0) -> int | None:
    """Of the applies below the outputs that were made after the variable with a serial number.

    Returns:
        None where a length that counts is known only when the program runs, or something that counts is in a loop,
        a branch or a call.
    """
    nodes = [
        node for node, results in sorted_applies(outputs) if any(v is not None and v.serial > began for v in results)
    ]
    counts = [_of_node(node) for node in nodes]
    return None if None in counts else sum(n for n in counts if n is not None)


def _of_node(node: Apply) -> int | None:
    shapes = [kind.shape for kind in (*(v.type for v in node.inputs), *node.types)]
    if type(node.op) not in COUNTS:
        return None if any(_counts(graph) for graph in held_by(node.op)) else 0
    if any(type(n) is not int for shape in shapes for n in shape):
        return None
    return operations_of(node.op, shapes)


def _counts(graph: FrozenGraph) -> bool:
    """Whether something of an inner graph would count: how often it runs is not looked at."""
    ops = [node.op for node in graph.nodes]
    return any(isinstance(op, tuple(COUNTS)) or any(map(_counts, held_by(op))) for op in ops)
