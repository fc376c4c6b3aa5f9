"""What rules of arithmetic ask of a value: whether it is finite, not negative, a constant of one element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import (
    absolute,
    maximum,
    minimum,
    multiply,
    negative,
    sign,
    square,
)
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.exponential import exp, softplus
from tg.ops.elementwise.record import Elementwise
from tg.ops.elementwise.trigonometric import cos, sin, tanh
from tg.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose
from tg.rewrite.rule import FLOATING, INTEGER
from tg.types.dtypes import is_float, is_integer, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

REAL: Final = FLOATING | INTEGER
SIGNED: Final = FLOATING | {"int8", "int16", "int32", "int64"}
DEPTH: Final = 8  # how far an analysis looks below a value, so that it costs the same in graphs of any depth

KEEPS_FINITE: Final = frozenset((sin, cos, tanh, negative, absolute, sign, maximum, minimum))  # of finite operands
NOT_NEGATIVE: Final = frozenset((square, absolute, exp, softplus))
MOVES: Final = (BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose)  # the elements of the first operand, elsewhere


def is_finite(v: Variable, depth: int = DEPTH) -> bool:
    """Whether no element can be infinite or NaN, whatever the inputs of the graph are.

    A bounded function is not enough: its value for NaN is NaN.
    """
    if v.type.dtype == "bool" or is_integer(v.type.dtype):
        return True
    if isinstance(v, Constant):
        return bool(np.isfinite(v.data).all())
    node = v.apply
    if node is None or depth == 0:
        return False
    op = node.op
    if isinstance(op, Elementwise):
        operands = node.inputs[1:] if op.fn is where else node.inputs
        return (op.fn is where or op.fn.finite or op.fn in KEEPS_FINITE) and all(
            is_finite(u, depth - 1) for u in operands
        )
    if isinstance(op, Cast):
        return _cast_is_finite(node.inputs[0], op.dtype, depth)
    return isinstance(op, MOVES) and is_finite(node.inputs[0], depth - 1)


def _cast_is_finite(x: Variable, dtype: str, depth: int) -> bool:
    source = x.type.dtype
    if source == "bool" or (is_integer(source) and (dtype != "float16" or numpy_dtype(source).itemsize == 1)):
        return True
    widens = is_float(source) and is_float(dtype) and numpy_dtype(dtype).itemsize > numpy_dtype(source).itemsize
    return widens and is_finite(x, depth - 1)


def is_not_negative(v: Variable) -> bool:
    """Whether no element can be below 0 (NaN may occur); -0.0 does not occur either."""
    op = v.op
    return isinstance(op, Elementwise) and op.fn in NOT_NEGATIVE and is_float(v.type.dtype)


def is_scalar_constant(v: Variable) -> bool:
    """Whether a value is a constant of one element, which combines with others at no cost."""
    return isinstance(v, Constant) and v.data.size == 1


def is_made_by(v: Variable, fn: Any) -> bool:
    return v.apply is not None and v.apply.op is fn.op


def combined(fn: Any) -> Any:
    """(x fn c1) fn c2 as x fn (c1 fn c2), where the constant neither overflows nor vanishes."""

    def apply(node: Apply, outputs: Any) -> Variable | None:
        for inner, c in (node.inputs, node.inputs[::-1]):
            if not (is_scalar_constant(c) and is_made_by(inner, fn)):
                continue
            for x, b in (inner.inputs, inner.inputs[::-1]):
                if is_scalar_constant(b) and c.type.dtype in REAL and len(b.shape) == len(c.shape):
                    both = value_of(fn, b, c)
                    return fn(x, both) if both is not None else None
        return None

    return apply


def value_of(fn: Any, b: Any, c: Any) -> Constant | None:
    with np.errstate(all="ignore"):
        (value,) = fn.op.perform(b.data, c.data)
    if is_float(c.type.dtype):
        least = np.finfo(value.dtype).tiny if value.dtype.kind == "f" else 1e-37
        size = abs(float(value.reshape(())))
        if not np.isfinite(size) or (size < least and (fn is multiply or size > 0)):
            return None
    return Constant(value)
