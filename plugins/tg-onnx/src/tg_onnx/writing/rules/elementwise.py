"""Elementwise functions: ONNX's own operators, and formulas of them for what it has none of."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import helper

from tg.backend import Cast, arithmetic, rounding
from tg_onnx.writing.rules.exponential import EXPONENTIALS, floating
from tg_onnx.writing.rules.logic import LOGIC, copysign, node
from tg_onnx.writing.scope import is_one

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg_onnx.writing.scope import Scope, Value

    Rule = Callable[..., Any]

LIMITED: Final = frozenset({"int8", "int16", "int32", "uint8", "uint16", "uint32"})
"""Dtypes of integers whose limits a floating number is brought into: those of 64 bits no floating dtype has."""


def numeric(kind: str) -> Rule:
    """The rule that is one operator, of truth values by way of int32."""

    def rule(w: Scope, *operands: Value) -> Value:
        if operands[0].dtype != "bool":
            return w(kind, *operands)
        return w.cast(w(kind, *(w.cast(v, "int32") for v in operands)), w.out.dtype)

    return rule


def add(w: Scope, x: Value, y: Value) -> Value:
    """The sum, of truth values their disjunction; of a product of two matrices by `Gemm`."""
    if x.dtype == "bool":
        return w("Or", x, y)
    for a, b in ((x, y), (y, x)):
        if a.is_by("Conv") and len(a.operands) == 2 and _is_for_channels(a, b):
            return _biased(w, a, b)
        is_row = b.ndim == 0 or (b.ndim == 2 and is_one(b.shape[0]))
        if is_row and a.is_by("MatMul") and a.is_float and a.ndim == a.operands[0].ndim == 2:
            return _gemm(w, a, b)
    return w("Add", x, y)


def _is_for_channels(images: Value, b: Value) -> bool:
    """Whether an array has a number for each channel of images."""
    if b.ndim != images.ndim or not b.is_by("Unsqueeze") or b.operands[0].ndim != 1:
        return False
    return all(is_one(n) for k, n in enumerate(b.shape) if k != 1)


def _biased(w: Scope, images: Value, b: Value) -> Value:
    """A convolution with a number added to each channel."""
    assert images.node is not None
    attributes = {one.name: helper.get_attribute_value(one) for one in images.node.attribute}
    return w("Conv", *images.operands, b.operands[0], shape=images.shape, **attributes)


def _gemm(w: Scope, product: Value, c: Value) -> Value:
    """A product of matrices and what is added to each of its rows."""
    attributes: dict[str, Any] = {}
    operands: list[Value] = []
    for v, name in zip(product.operands, ("transA", "transB"), strict=True):
        if v.is_by("Transpose"):
            attributes[name] = 1
        operands.append(v.operands[0] if v.is_by("Transpose") else v)
    if c.is_by("Unsqueeze"):
        c = c.operands[0]
    return w("Gemm", *operands, c, shape=product.shape, **attributes)


def multiply(w: Scope, x: Value, y: Value) -> Value:
    """The product, of truth values their conjunction."""
    return w("And" if x.dtype == "bool" else "Mul", x, y)


def _never(w: Scope, y: Value, *numbers: int) -> Value:
    """A divisor of integers, with 1 in place of numbers that it must not be."""
    if y.data is not None and not np.isin(y.data, numbers).any():
        return y
    bad = w("Equal", y, w.like(y, numbers[0]))
    for number in numbers[1:]:
        bad = w("Or", bad, w("Equal", y, w.like(y, number)))
    return w("Where", bad, w.like(y, 1), y)


def remainder(w: Scope, x: Value, y: Value) -> Value:
    """The remainder with the sign of y; 0 for integers divided by 0."""
    if not x.is_float:
        safe = _never(w, y, 0)
        rest = w("Mod", x, safe, fmod=0)
        return rest if safe is y else w("Where", w("Equal", y, w.like(y, 0)), w.like(y, 0), rest)
    rest = w("Mod", x, y, fmod=1)
    return w("Where", _has_other_sign(w, rest, y), w("Add", rest, y), rest)


def _has_other_sign(w: Scope, rest: Value, y: Value) -> Value:
    """Whether a remainder has another sign than the divisor."""
    zero = w.like(y, 0)
    return w("And", w("Not", w("Equal", rest, zero)), w("Xor", w("Less", rest, zero), w("Less", y, zero)))


def floor_divide(w: Scope, x: Value, y: Value) -> Value:
    """The quotient rounded down; 0 for integers divided by 0."""
    if x.is_float:
        rest = w("Mod", x, y, fmod=1)
        quotient = w("Round", w("Div", w("Sub", x, rest), y))
        quotient = w("Sub", quotient, w.cast(_has_other_sign(w, rest, y), x.dtype))
        return w("Where", w("Equal", y, w.like(y, 0)), w("Div", x, y), quotient)
    safe = _never(w, y, 0)
    if x.dtype.startswith("uint"):
        quotient = w("Div", x, safe)
    else:
        quotient = w("Div", w("Sub", x, w("Mod", x, safe, fmod=0)), safe)
    return quotient if safe is y else w("Where", w("Equal", y, w.like(y, 0)), w.like(y, 0), quotient)


def absolute(w: Scope, x: Value) -> Value:
    """|x|, of truth values x."""
    return x if x.dtype == "bool" else w("Abs", x)


def negative(w: Scope, x: Value) -> Value:
    """-x, which of unsigned integers wraps."""
    return w("Sub", w.like(x, 0), x) if x.dtype.startswith("uint") else w("Neg", x)


def reciprocal(w: Scope, x: Value) -> Value:
    """1 / x, of integers 0 unless x is 1 or -1."""
    if x.is_float:
        return w("Reciprocal", x)
    is_whole = w("Equal", w("Abs", x), w.like(x, 1))
    return w("Where", is_whole, x, w.like(x, 0))


def power(w: Scope, x: Value, y: Value) -> Value:
    """x to the power of y, of which some have operators of their own."""
    if x.is_float and y.is_number and y.data is not None:
        number = float(y.data.reshape(()))
        if number == 0.5:
            return w("Pow", x, y)  # of -inf it is inf, where the root is NaN
        if number == 2:
            return w("Mul", x, x)
        if number == -1:
            return w("Reciprocal", x)
    if x.is_integer and x.dtype not in ("int32", "int64"):
        return w.cast(w("Pow", w.cast(x, "int64"), w.cast(y, "int64")), x.dtype)
    return w("Pow", x, y)


def clip(w: Scope, x: Value, low: Value, high: Value) -> Value:
    """x limited, by one node where both limits are numbers."""
    if low.ndim == high.ndim == 0:
        return w("Clip", x, low, high, shape=w.out.shape)
    return w("Min", w("Max", x, low), high)


def maximum(w: Scope, x: Value, y: Value) -> Value:
    """The larger one, beside 0 `Relu`."""
    for a, b in ((x, y), (y, x)):
        if a.is_float and b.is_number and b.data is not None and not b.data.any():
            return w("Relu", a)
    return numeric("Max")(w, x, y)  # type: ignore[no-any-return]


def cbrt(w: Scope, x: Value) -> Value:
    """The cube root, once more by Newton's step, which gives it to the last places."""
    size = w("Abs", x)
    root = w("Pow", size, w.like(x, 1 / 3))
    square = w("Mul", root, root)
    step = w("Div", w("Sub", root, w("Div", size, square)), w.like(x, 3))
    fine = w("And", w("Greater", size, w.like(x, 0)), w("Less", size, w.like(x, math.inf)))
    return copysign(w, w("Where", fine, w("Sub", root, step), root), x)


def hypot(w: Scope, x: Value, y: Value) -> Value:
    """The root of the sum of squares, of which the larger one is taken out."""
    a, b = w("Abs", x), w("Abs", y)
    top, low, zero = w("Max", a, b), w("Min", a, b), w.like(x, 0)
    ratio = w("Div", low, top)
    value = w("Mul", top, w("Sqrt", w("Add", w("Mul", ratio, ratio), w.like(x, 1))))
    infinite = w("Or", *(w("Equal", v, w.like(x, math.inf)) for v in (a, b)))
    both = w("Add", a, b)  # NaN where one is, which operators for extremes may pass over
    plain = w("Where", w("Or", w("Equal", low, zero), w("IsNaN", both)), both, value)
    return w("Where", infinite, w.like(x, math.inf), plain)


def gate(w: Scope, dy: Value, d: Value) -> Value:
    """dy * d, and 0 where dy is."""
    zero = w.like(dy, 0)
    return w("Where", w("Equal", dy, zero), zero, w("Mul", dy, d))


# dtypes


def cast_to(op: Any, w: Scope, x: Value) -> Any:
    """The elements in another dtype; floating numbers that an integer one cannot hold become its nearest."""
    if op.dtype.startswith("complex") or x.dtype.startswith("complex"):
        return NotImplemented
    if x.is_float and op.dtype in LIMITED:
        wide = w.cast(x, "float32") if x.dtype in ("float16", "bfloat16") else x
        limits = np.iinfo(op.dtype)
        least = 128 if limits.bits == 32 and wide.dtype == "float32" else 0  # float32 has steps of so much there
        low, high = float(limits.min), float(limits.max - (2 * least if limits.min == 0 else least))
        if not (x.data is not None and ((x.data >= low) & (x.data <= high)).all()):
            return w.cast(w("Clip", wide, w.like(wide, low), w.like(wide, high), shape=x.shape), op.dtype)
    return w.cast(x, op.dtype)


def trunc(w: Scope, x: Value) -> Value:
    """Rounded towards 0."""
    return copysign(w, w("Floor", w("Abs", x)), x) if x.is_float else x


def rounded(kind: str) -> Rule:
    """The rule of an operator that rounds floating numbers."""
    return lambda w, x: w(kind, x) if x.is_float else x


FUNCTIONS: Final[Mapping[object, Rule]] = {
    **LOGIC,
    **EXPONENTIALS,
    arithmetic.add: add,
    arithmetic.subtract: node("Sub"),
    arithmetic.multiply: multiply,
    arithmetic.divide: node("Div"),
    arithmetic.floor_divide: floor_divide,
    arithmetic.remainder: remainder,
    arithmetic.negative: negative,
    arithmetic.absolute: absolute,
    arithmetic.sign: node("Sign"),
    arithmetic.square: lambda w, x: multiply(w, x, x),
    arithmetic.sqrt: floating("Sqrt"),
    arithmetic.reciprocal: reciprocal,
    arithmetic.power: power,
    arithmetic.maximum: maximum,
    arithmetic.minimum: numeric("Min"),
    arithmetic.clip: clip,
    arithmetic.copysign: copysign,
    arithmetic.cbrt: cbrt,
    arithmetic.hypot: hypot,
    arithmetic.gate: gate,
    rounding.floor: rounded("Floor"),
    rounding.ceil: rounded("Ceil"),
    rounding.rint: rounded("Round"),
    rounding.trunc: trunc,
}


def _without_op(rule: Rule) -> Rule:
    """The rule of a function as that of an op."""
    return lambda op, w, *operands: rule(w, *operands)


RULES: Final[Mapping[object, Rule]] = {
    Cast: cast_to,
    **{fn: _without_op(rule) for fn, rule in FUNCTIONS.items()},
}
