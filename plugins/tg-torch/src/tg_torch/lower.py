"""Rewrites for PyTorch: to what one of its functions does in a single pass. Every op has a rule or expands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg import relu
from tg.backend import (
    BACKEND,
    REASSOCIATES,
    RUNNING_RESULTS,
    SIGNED_ZERO,
    STEPS_AHEAD,
    Constant,
    Pass,
    Reduce,
    Rewrites,
    arithmetic,
    comparison,
    convolution,
    node_rule,
)
from tg_torch.fused import AddMultiple, Fence, Relu, ReluGradient, SquaredNorm
from tg_torch.paired import pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import Apply, Variable

IN_ITSELF: Final = ("float32", "float64")  # computed in by PyTorch, of real floating numbers
SHARING: Final = 16  # elements that share a condition, from which on it is asked first whether it always holds


def _squared_norm(node: Apply, outputs: Any) -> Variable | None:
    (x,) = node.inputs
    below = x.apply
    if below is None or below.op.rule_key is not arithmetic.square:
        return None
    if node.op.fn is not arithmetic.add or x.type.ndim != 1 or x.type.dtype != "float64":  # type: ignore[attr-defined]
        return None
    norm: Variable = SquaredNorm()(*below.inputs)
    return norm


def _add_multiple(node: Apply, outputs: Any) -> Variable | None:
    """A sum or difference of which a term, behind the sign, has a factor that cannot bring it out of range."""
    pairs = [(node.inputs[0], node.inputs[1])]
    is_sum = node.op.rule_key is arithmetic.add
    if is_sum:
        pairs.append((node.inputs[1], node.inputs[0]))
    for x, product in pairs:
        multiple = _multiple(product)
        if multiple is not None and x.type.static == multiple[0].type.static:
            y, factor = multiple
            sum_: Variable = AddMultiple(factor if is_sum else -factor)(x, y)
            return sum_
    return None


def _multiple(v: Variable) -> tuple[Variable, float] | None:
    """An array and a number up to 1 whose product a value is."""
    node = v.apply
    if node is None or node.op.rule_key is not arithmetic.multiply or v.type.dtype not in IN_ITSELF:
        return None
    for y, c in (node.inputs, node.inputs[::-1]):
        if isinstance(c, Constant) and c.data.size == 1 and abs(c.data.item()) <= 1:
            return y, float(c.data.item())
    return None


def _relu(node: Apply, outputs: Any) -> Variable | None:
    """`relu` of what is compared with 0, or its gradient."""
    condition, zero, y = node.inputs
    below = condition.apply
    if below is None or below.op.rule_key is not comparison.less_equal or y.type.dtype not in IN_ITSELF:
        return None
    x = below.inputs[0]
    if x.type.static != y.type.static or not all(_is_zero(v) for v in (zero, below.inputs[1])):
        return None
    value: Variable = Relu()(x) if x is y else ReluGradient()(x, y)
    return value


def _fence(node: Apply, outputs: Any) -> Variable | None:
    condition, x, zero = node.inputs
    if x.type.dtype not in IN_ITSELF or x.type.static != outputs[0].type.static or not _is_zero(zero):
        return None
    if _sharing(condition.type.shape, x.type.shape) < SHARING:
        return None
    value: Variable = Fence()(condition, x)
    return value


def _sharing(few: Sequence[Any], shape: Sequence[Any]) -> int:
    """The number of elements that share one of a smaller array which repeats to a shape; unknown lengths count as 1."""
    own = (*[1] * (len(shape) - len(few)), *few)
    return math.prod(n for n, k in zip(shape, own, strict=True) if k == 1 and type(n) is int)


def _is_zero(v: Variable) -> bool:
    return isinstance(v, Constant) and v.data.size == 1 and not v.data.any()


REWRITES: Final = Rewrites(
    rules=(
        RUNNING_RESULTS,
        node_rule(
            "squared_norm",
            keys=(Reduce,),
            below=(arithmetic.square,),
            apply=_squared_norm,
            phase=BACKEND,
            kind=REASSOCIATES,
            why="A product of vectors stores nothing; float64 has digits to spare for another order of its sum.",
            example=lambda x: Reduce(arithmetic.add, (-1,))(arithmetic.square(x[0])),
        ),
        node_rule(
            "add_multiple",
            keys=(arithmetic.add, arithmetic.subtract),
            below=(arithmetic.multiply,),
            apply=_add_multiple,
            phase=BACKEND,
            kind=REASSOCIATES,
            why="The product is not stored: a step of an optimiser reads and writes all parameters.",
            example=lambda x, y: x - y * np.asarray(0.5, x.type.numpy_dtype),
        ),
        node_rule(
            "relu",
            keys=(comparison.where,),
            below=(comparison.less_equal,),
            apply=_relu,
            phase=BACKEND,
            kind=SIGNED_ZERO,
            why="One pass in place of a comparison and a choice.",
            example=lambda x: relu(x),  # noqa: PLW0108 (of one argument, as examples are counted)
        ),
        node_rule(
            "fence",
            keys=(comparison.where,),
            apply=_fence,
            phase=BACKEND,
            kind=SIGNED_ZERO,
            why="Gradients are 0 where a few conditions say so, which hardly any do: they are not copied to see that.",
            example=lambda x: comparison.where(comparison.less(x[0, 0], 5), x, np.asarray(0, x.type.numpy_dtype)),
        ),
    ),
    passes=(
        STEPS_AHEAD,
        Pass(
            "convolution_gradients",
            phase=BACKEND,
            kind=REASSOCIATES,
            why="PyTorch computes both gradients of a convolution by one call, in five sixths of the time of two.",
            run=pairs,
            keys=(convolution.Convolution,),
        ),
    ),
)
