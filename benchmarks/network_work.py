"""Work of rows of networks: operations of the convolutions, matrix products and attention of their expressions.

A product and what it is added to are two operations. Windows that reach beyond images count whole.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final

from network_rows import NETWORKS, ROWS, SQUARE, Row, resnet, vit

import tg
from tg.graph.traversal import sorted_applies
from tg.ops.contraction import MatMul
from tg.ops.nn.attention import Attention, AttentionGradient
from tg.ops.nn.convolution import Convolution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Apply


@functools.cache
def operations(name: str) -> int:
    """Of a row; 0 for what is not counted."""
    row = ROWS[name]
    if row.task == "product":
        return 2 * SQUARE**3
    if row.task == "convolution":
        return 2 * math.prod(row.product())
    if row.task not in ("inference", "training"):
        return 0
    return sum(_of_node(node) for node, _ in sorted_applies(_outputs(row)))


def _outputs(row: Row) -> list[Any]:
    kind, x = NETWORKS[row.network].kind, row.images()[0]
    p = {name: tg.tensor(name, w.dtype, w.shape) for name, w in NETWORKS[row.network].weights(row.pixels).items()}
    images, training = tg.tensor("images", "float32", x.shape), row.task == "training"
    if row.network.startswith("ViT"):
        logits = vit.vit(images, p, kind._replace(pixels=row.pixels))
    else:
        logits = resnet.resnet(images, p, kind, training=training)
    if not training:
        return [logits]
    loss = tg.nn.cross_entropy(logits, tg.vector("labels", "int64", row.batch))
    return [loss, *tg.grad(loss, [v for name, v in p.items() if "running" not in name])]


def _of_node(node: Apply) -> int:
    count = next((count for kind, count in COUNTS.items() if isinstance(node.op, kind)), None)
    shapes = [kind.shape for kind in (*(v.type for v in node.inputs), *node.types)]
    return 0 if count is None else 2 * count(node.op, shapes)


def _convolution(op: Any, shapes: Sequence[Any]) -> int:
    _, (_, _, channels, *window), *_, y = shapes
    return math.prod((*y, channels, *window)) // math.prod(op.spread)


def _matmul(_op: Any, shapes: Sequence[Any]) -> int:
    x, _, z = shapes
    return math.prod(z) * int(x[-1])


def _attention(_op: Any, shapes: Sequence[Any], products: tuple[int, int] = (1, 1)) -> int:
    """Of operands q (..., m, d), k (..., n, d) and v (..., n, e): so many products of m n d, and of m n e."""
    q, k, v, *_ = shapes
    return math.prod(q[:-1]) * int(k[-2]) * (products[0] * int(q[-1]) + products[1] * int(v[-1]))


COUNTS: Final[dict[type, Callable[[Any, Sequence[Any]], int]]] = {
    Convolution: _convolution,
    MatMul: _matmul,
    Attention: _attention,
    AttentionGradient: functools.partial(_attention, products=(3, 2)),
}
