"""Constant folding: a node all of whose operands are constants is computed once, when the function is compiled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.function_graph import freeze
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.types.tensor_type import TensorType

LARGEST: Final = 1 << 20  # bytes of a folded result
LARGEST_PRODUCT: Final = 1 << 14  # elements of a result that is larger than its operands together


def folded(node: Apply, outputs: tuple[Variable, ...]) -> tuple[Constant, ...] | None:
    """The results as constants; None where they are too large, an error is due, or an operand is no constant."""
    for v in node.inputs:
        if type(v) is not Constant:
            return None
    op = node.op
    if type(op).graph_fields or op.has_effect or not all(_is_small(node, v.type) for v in outputs):
        return None
    if not _checks_hold(node, outputs):
        return None
    try:
        with np.errstate(all="ignore"):
            arrays = op.perform(*(v.data for v in node.inputs))  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 (whatever it is, it is due when the function runs)
        return None
    return tuple(map(_constant, arrays))


def _constant(array: Any) -> Constant:
    return Constant(np.array(array, order="C"))


def _is_small(node: Apply, result: TensorType) -> bool:
    """Whether a result is worth keeping in the program: not large, and not a small thing repeated."""
    if None in result.shape:
        return False
    count = math.prod(result.shape)  # type: ignore[arg-type]
    if count * result.numpy_dtype.itemsize > LARGEST:
        return False
    given = sum(v.data.size for v in node.inputs)  # type: ignore[attr-defined]
    may_grow = node.op.pointwise or not given
    return bool(count <= max(given, 1) or (may_grow and count <= LARGEST_PRODUCT))


def _checks_hold(node: Apply, outputs: tuple[Variable, ...]) -> bool:
    """Whether none of the op's checks fails for these constants."""
    conditions = [c.condition for c in node.op.checks(node.inputs, outputs)]
    unknown = [c for c in conditions if not isinstance(c, Constant)]
    if any(isinstance(c, Constant) and not c.data for c in conditions):
        return False
    if not unknown:
        return True
    try:
        return all(interpret(freeze([], unknown), []))
    except Exception:  # noqa: BLE001 (an error while checking is an error due)
        return False
