"""Updates of optimizers, as the preview of training has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules


def _updates(parts: int, update: Callable[..., Any]) -> Callable[[Node], list[Variable]]:
    """A rule for groups of tensors: weights, gradients, then states, each group in the same order."""

    def rule(node: Node) -> list[Variable]:
        rate, count = node[0], tg.cast(node[1], node[0].dtype)
        number = (len(node.inputs) - 2) // parts
        groups = [[node[2 + number * part + k] for part in range(parts)] for k in range(number)]
        results = [update(node, rate, count, *group) for group in groups]
        return [result[part] for part in range(parts - 1) for result in results]

    return rule


def _adagrad(node: Node, rate: Any, count: Any, x: Any, gradient: Any, h: Any) -> tuple[Any, ...]:
    step = rate / (1 + count * node.attr("decay_factor", 0.0))
    g = node.attr("norm_coefficient", 0.0) * x + gradient
    h = h + g * g
    return x - step * g / (tg.sqrt(h) + node.attr("epsilon", 1e-6)), h


def _adam(node: Node, rate: Any, count: Any, x: Any, gradient: Any, v: Any, h: Any) -> tuple[Any, ...]:
    alpha, beta = node.attr("alpha", 0.9), node.attr("beta", 0.999)
    g = node.attr("norm_coefficient", 0.0) * x + gradient
    v, h = alpha * v + (1 - alpha) * g, beta * h + (1 - beta) * g * g
    later = count > 0
    t = tg.where(later, count, 1)
    rate = tg.where(later, rate * tg.sqrt(1 - beta**t) / (1 - alpha**t), rate)
    x = x - rate * v / (tg.sqrt(h) + node.attr("epsilon", 1e-6))
    return (1 - node.attr("norm_coefficient_post", 0.0)) * x, v, h


def _momentum(node: Node, rate: Any, count: Any, x: Any, gradient: Any, v: Any) -> tuple[Any, ...]:
    alpha = node.attr("alpha")
    g = node.attr("norm_coefficient") * x + gradient
    v = alpha * v + tg.where(count > 0, node.attr("beta"), 1.0) * g
    return x - rate * (g + alpha * v if node.attr("mode") == "nesterov" else v), v


TRAINING: Final[Rules] = {
    "Adagrad": _updates(3, _adagrad),
    "Adam": _updates(4, _adam),
    "Momentum": _updates(3, _momentum),
}
