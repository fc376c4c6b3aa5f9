"""Ops of ai.onnx.ml on numbers, and of optional values that are there or not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import tg

if TYPE_CHECKING:
    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules
    from tg_onnx.reading.values import Value


def _extracted(node: Node) -> Variable:
    x = node[0]
    rows = tg.expand_dims(x, 0) if x.ndim == 1 else x
    return tg.take(rows, tg.ravel(node[1]), -1)


def _binarized(node: Node) -> Variable:
    x = node[0]
    return tg.cast(x > node.attr("threshold", 0.0), x.dtype)


def _has_element(node: Node) -> Variable:
    return tg.constant(node.has(0))


def _element(node: Node) -> Value:
    return node.value(0)


ML: Final[Rules] = {"ArrayFeatureExtractor": _extracted, "Binarizer": _binarized}
RULES: Final[Rules] = {"OptionalGetElement": _element, "OptionalHasElement": _has_element}
