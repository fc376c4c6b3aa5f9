"""The number of operations that an expression takes: those of its matrix products, convolutions and attention.

A product and what it is added to are two operations. Windows that reach beyond images count whole.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final

from tg.graph.text.printer import held_by
from tg.graph.traversal import sorted_applies
from tg.ops.contraction import MatMul
from tg.ops.nn.attention import Attention, AttentionGradient
from tg.ops.nn.convolved import Convolution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    count = next((count for kind, count in COUNTS.items() if isinstance(node.op, kind)), None)
    shapes = [kind.shape for kind in (*(v.type for v in node.inputs), *node.types)]
    if count is None:
        return None if any(_counts(graph) for graph in held_by(node.op)) else 0
    if any(type(n) is not int for shape in shapes for n in shape):
        return None
    return 2 * count(node.op, shapes)


def _counts(graph: FrozenGraph) -> bool:
    """Whether something of an inner graph would count: how often it runs is not looked at."""
    ops = [node.op for node in graph.nodes]
    return any(isinstance(op, tuple(COUNTS)) or any(map(_counts, held_by(op))) for op in ops)


def _convolution(op: Any, shapes: Sequence[Any]) -> int:
    _, (_, _, channels, *window), *_, y = shapes
    return int(math.prod((*y, channels, *window)) // math.prod(op.spread))


def _matmul(_op: Any, shapes: Sequence[Any]) -> int:
    x, _, z = shapes
    return int(math.prod(z)) * int(x[-1])


def _attention(_op: Any, shapes: Sequence[Any], products: tuple[int, int] = (1, 1)) -> int:
    """Of operands q (..., m, d), k (..., n, d) and v (..., n, e): so many products of m n d, and of m n e."""
    q, k, v, *_ = shapes
    return int(math.prod(q[:-1])) * int(k[-2]) * (products[0] * int(q[-1]) + products[1] * int(v[-1]))


COUNTS: Final[dict[type, Callable[[Any, Sequence[Any]], int]]] = {
    Convolution: _convolution,
    MatMul: _matmul,
    Attention: _attention,
    AttentionGradient: functools.partial(_attention, products=(3, 2)),
}
