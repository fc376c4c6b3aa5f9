"""Comparisons, signs and bits; truth values are compared and combined as integers, or by logical operators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.backend import bitwise, comparison

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg_onnx.writing.scope import Scope, Value

    Rule = Callable[..., Any]


def node(kind: str) -> Rule:
    """The rule that is one operator."""
    return lambda w, *operands: w(kind, *operands)


def logical(kind: str) -> Rule:
    """The rule of a bitwise operator, which of truth values is a logical one; of integers since opset 18."""

    def rule(w: Scope, *operands: Value) -> Any:
        if operands[0].dtype == "bool":
            return w(kind, *operands)
        return w(f"Bitwise{kind}", *operands) if w.opset >= 18 else NotImplemented

    return rule


def compared(kind: str) -> Rule:
    """The rule of an operator that orders numbers, of truth values by way of int32."""

    def rule(w: Scope, x: Value, y: Value) -> Value:
        if x.dtype == "bool":
            x, y = w.cast(x, "int32"), w.cast(y, "int32")
        return w(kind, x, y)

    return rule


def not_equal(w: Scope, x: Value, y: Value) -> Value:
    """Whether elements differ."""
    return w("Not", w("Equal", x, y))


def isnan(w: Scope, x: Value) -> Value:
    """Whether elements are NaN."""
    return w("IsNaN", x) if x.is_float else not_equal(w, x, x)


def isinf(w: Scope, x: Value) -> Value:
    """Whether elements are infinite."""
    if x.dtype in ("float32", "float64"):
        return w("IsInf", x)
    return w("Equal", w("Abs", x), w.like(x, math.inf)) if x.is_float else not_equal(w, x, x)


def isfinite(w: Scope, x: Value) -> Value:
    """Whether elements are neither NaN nor infinite."""
    return w("Less", w("Abs", x), w.like(x, math.inf)) if x.is_float else w("Equal", x, x)


def invert(w: Scope, x: Value) -> Value:
    """The bits turned round."""
    if x.dtype == "bool":
        return w("Not", x)
    if w.opset >= 18:
        return w("BitwiseNot", x)
    return w("Sub", w.like(x, np.iinfo(x.dtype).max if x.dtype.startswith("u") else -1), x)


def _shifted(w: Scope, x: Value, n: Value, direction: str) -> Value:
    """Bits moved: ONNX moves those of unsigned integers only, by less than all."""
    unsigned, width = f"uint{8 * np.dtype(x.dtype).itemsize}", 8 * np.dtype(x.dtype).itemsize
    moved = w.cast(w("BitShift", w.cast(x, unsigned), w.cast(n, unsigned), direction=direction), x.dtype)
    if n.data is not None and ((n.data >= 0) & (n.data < width)).all():
        return moved
    return w("Where", w("Less", w.cast(n, unsigned), w.constant(width, unsigned)), moved, w.like(x, 0))


def left_shift(w: Scope, x: Value, n: Value) -> Value:
    """Bits moved up."""
    return _shifted(w, x, n, "LEFT")


def right_shift(w: Scope, x: Value, n: Value) -> Value:
    """Bits moved down; those of negative numbers fill up with ones."""
    if x.dtype.startswith("u"):
        return _shifted(w, x, n, "RIGHT")
    below = w("Less", x, w.like(x, 0))
    moved = _shifted(w, w("Where", below, invert(w, x), x), n, "RIGHT")
    return w("Where", below, invert(w, moved), moved)


def signbit(w: Scope, x: Value) -> Value:
    """Whether the sign is negative, that of -0 too."""
    zero = w.like(x, 0)
    if not x.is_float:
        return w("Less", x, zero)
    below = w("Less", w("Reciprocal", x), zero)
    return w("Or", w("Less", x, zero), w("And", w("Equal", x, zero), below))


def copysign(w: Scope, x: Value, y: Value) -> Value:
    """|x| with the sign of y."""
    size = w("Abs", x)
    return w("Where", signbit(w, y), w("Neg", size), size)


def where(w: Scope, condition: Value, x: Value, y: Value) -> Value:
    """x where the condition is true, else y."""
    return w("Where", condition, x, y, dtype=x.dtype)


LOGIC: Final[Mapping[object, Rule]] = {
    comparison.equal: node("Equal"),
    comparison.not_equal: not_equal,
    comparison.less: compared("Less"),
    comparison.less_equal: compared("LessOrEqual"),
    comparison.greater: compared("Greater"),
    comparison.greater_equal: compared("GreaterOrEqual"),
    comparison.logical_and: node("And"),
    comparison.logical_or: node("Or"),
    comparison.logical_xor: node("Xor"),
    comparison.logical_not: node("Not"),
    comparison.isnan: isnan,
    comparison.isinf: isinf,
    comparison.isfinite: isfinite,
    comparison.signbit: signbit,
    comparison.where: where,
    bitwise.bitwise_and: logical("And"),
    bitwise.bitwise_or: logical("Or"),
    bitwise.bitwise_xor: logical("Xor"),
    bitwise.bitwise_invert: invert,
    bitwise.left_shift: left_shift,
    bitwise.right_shift: right_shift,
}
