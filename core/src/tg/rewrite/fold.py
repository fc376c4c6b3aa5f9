"""Constant folding: a node all of whose operands are constants is computed once, when the function is compiled."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.function_graph import freeze
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant
from tg.types.dtypes import BOOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Apply, Variable
    from tg.types.tensor_type import TensorType

LARGEST: Final = 1 << 20  # bytes of a folded result
LARGEST_PRODUCT: Final = 1 << 14  # elements of a result that is larger than its operands together
LARGEST_MASK: Final = 1 << 18  # elements of a mask that is: masks of derivatives are written into zeros, and read often


def folded(node: Apply, outputs: tuple[Variable, ...]) -> tuple[Constant, ...] | None:
    """The results as constants; None where they are too large, an error is due, or an operand is no constant.

    What is written into a repeated constant is one too, if it is a mask.
    """
    operands: list[Constant] = []
    for v in node.inputs:
        constant = v if type(v) is Constant else _repeated(v) if node.op.scatters else None
        if constant is None:
            return None
        operands.append(constant)
    op = node.op
    if type(op).graph_fields or op.has_effect or not all(_is_small(node, operands, v.type) for v in outputs):
        return None
    if not _checks_hold(node, outputs):
        return None
    try:
        with np.errstate(all="ignore"):
            arrays = op.perform(*(v.data for v in operands))
    except Exception:  # noqa: BLE001 (whatever it is, it is due when the function runs)
        return None
    return tuple(map(_constant, arrays))


def _constant(array: Any) -> Constant:
    return Constant(np.array(array, order="C"))


def _repeated(v: Variable) -> Constant | None:
    """A constant truth that is repeated, as an array; None if it is none, or too large."""
    node = v.apply
    if node is None or not node.op.repeats or node.op.pointwise or v.type.dtype != BOOL or None in v.type.shape:
        return None
    (x, *_), shape = node.inputs, v.type.shape
    if type(x) is not Constant or x.data.ndim or math.prod(shape) > LARGEST_MASK:  # type: ignore[arg-type]
        return None
    return Constant(np.full(shape, x.data))


def _is_small(node: Apply, operands: Sequence[Constant], result: TensorType) -> bool:
    """Whether a result is worth keeping in the program: not large, and not a small thing repeated."""
    if None in result.shape:
        return False
    count = math.prod(result.shape)  # type: ignore[arg-type]
    if count * result.numpy_dtype.itemsize > LARGEST:
        return False
    size = sum(v.data.size for v in operands)
    if result.dtype == BOOL and node.op.gathers:
        return count <= LARGEST_MASK
    may_grow = node.op.pointwise or not size
    return bool(count <= max(size, 1) or (may_grow and count <= LARGEST_PRODUCT))


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
