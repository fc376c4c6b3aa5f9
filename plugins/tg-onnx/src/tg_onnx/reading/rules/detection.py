"""Boxes that overlap better ones left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import tg

if TYPE_CHECKING:
    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules


def _corners(boxes: Variable, *, centred: bool) -> list[Variable]:
    """Least and greatest coordinates of boxes (batch, n, 4): y1, x1, y2, x2."""
    a, b, c, d = (boxes[..., k] for k in range(4))
    if centred:
        return [b - d / 2, a - c / 2, b + d / 2, a + c / 2]
    return [tg.minimum(a, c), tg.minimum(b, d), tg.maximum(a, c), tg.maximum(b, d)]


def _overlaps(boxes: Variable, threshold: Any, *, centred: bool) -> Variable:
    """Whether the intersection of each two boxes is more than a part of their union: (batch, n, n)."""
    y1, x1, y2, x2 = _corners(boxes, centred=centred)
    area = (y2 - y1) * (x2 - x1)

    def of_two(function: Any, v: Variable) -> Variable:
        return function(tg.expand_dims(v, 2), tg.expand_dims(v, 1))  # type: ignore[no-any-return]

    height = tg.maximum(of_two(tg.minimum, y2) - of_two(tg.maximum, y1), 0)
    width = tg.maximum(of_two(tg.minimum, x2) - of_two(tg.maximum, x1), 0)
    common = height * width
    union = of_two(tg.add, area) - common
    return tg.logical_and(union > 0, common > threshold * union)


def _non_max(node: Node) -> Variable:
    """Triples (batch, class, box) of the boxes that stay, the best of each class first."""
    boxes, scores = node[0], node[1]
    most = tg.reshape(tg.cast(node[2], "int64"), ()) if node.has(2) else 0
    threshold = tg.reshape(node[3], ()) if node.has(3) else 0.0
    batches, classes, n = scores.shape
    overlaps = _overlaps(boxes, threshold, centred=bool(node.attr("center_point_box", 0)))
    order = tg.argsort(-scores, -1, stable=True)
    ranked = tg.take_along_axis(scores, order, -1)
    allowed = ranked > tg.reshape(node[4], ()) if node.has(4) else tg.full(ranked.shape, True)
    batch = tg.reshape(tg.arange(batches), (-1, 1, 1))

    def step(k: Variable, carry: Any) -> Any:
        alive, chosen = carry
        here = tg.take(order, k, 2)
        picked = tg.logical_and(tg.take(alive, k, 2), tg.sum(chosen, 2) < most)
        chosen = tg.logical_or(chosen, tg.logical_and(tg.expand_dims(picked, 2), tg.equal(tg.arange(n), k)))
        covered = overlaps[batch, tg.expand_dims(here, 2), order]
        return tg.logical_and(alive, tg.logical_not(tg.logical_and(tg.expand_dims(picked, 2), covered))), chosen

    _, chosen = tg.fori_loop(0, n, step, (allowed, tg.zeros((batches, classes, n), "bool")))
    place = tg.nonzero(chosen)
    return tg.stack([place[0], place[1], order[place]], 1)


RULES: Final[Rules] = {"NonMaxSuppression": _non_max}
