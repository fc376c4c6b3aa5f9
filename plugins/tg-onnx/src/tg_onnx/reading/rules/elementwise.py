"""Functions of elements. Operands broadcast as NumPy's do; results have the dtype of the operands."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.backend import is_float, is_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules


def _unary(function: Callable[[Any], Any]) -> Callable[[Node], Variable]:
    return lambda node: function(node[0])


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Node], Variable]:
    return lambda node: function(node[0], node[1])


def _many(function: Callable[[Any, Any], Any]) -> Callable[[Node], Variable]:
    return lambda node: functools.reduce(function, node.variables)


def _divide(node: Node) -> Any:
    """Quotients; those of integers toward zero."""
    x, y = node[0], node[1]
    if not is_integer(x.dtype):
        return x / y
    quotient = x // y
    if x.dtype.startswith("u"):
        return quotient
    short = tg.logical_and(tg.not_equal(quotient * y, x), tg.logical_xor(x < 0, y < 0))
    return quotient + tg.cast(short, x.dtype)


def _modulo(node: Node) -> Variable:
    """Remainders with the sign of the divisor, or with `fmod` that of the dividend."""
    x, y = node[0], node[1]
    if not node.attr("fmod", 0):
        return tg.remainder(x, y)
    rest = tg.remainder(x, y)
    if x.dtype.startswith("u"):
        return rest
    signed = tg.logical_and(tg.not_equal(rest, 0), tg.logical_xor(x < 0, y < 0))
    toward_zero = tg.where(signed, rest - y, rest)
    if is_float(x.dtype):  # of infinite divisors the rest is the dividend itself
        toward_zero = tg.where(tg.logical_and(tg.isinf(y), tg.isfinite(x)), x, toward_zero)
        return tg.copysign(toward_zero, x)
    return toward_zero


def _power(node: Node) -> Variable:
    """Powers; of a base and an exponent of two types the result has that of the base."""
    x, y = node[0], node[1]
    if x.dtype == y.dtype and not is_integer(x.dtype):
        return tg.power(x, y)
    if is_integer(x.dtype) and is_integer(y.dtype):
        return tg.cast(tg.power(tg.cast(x, "int64"), tg.cast(y, "int64")), x.dtype)
    if is_integer(x.dtype):
        return tg.cast(tg.trunc(tg.power(tg.cast(x, "float64"), tg.cast(y, "float64"))), x.dtype)
    return tg.power(x, tg.cast(y, x.dtype))


def _mean(node: Node) -> Any:
    return functools.reduce(tg.add, node.variables) / len(node.inputs)


def _shift(node: Node) -> Variable:
    """Bits moved by a number of places; all are gone where that is the width or more."""
    x, places = node[0], node[1]
    width = np.dtype(x.dtype).itemsize * 8
    right = node.attr("direction") == "RIGHT"
    moved = (tg.right_shift if right else tg.left_shift)(x, tg.minimum(places, width - 1))
    if right and not x.dtype.startswith("u"):
        return moved  # the sign's bit is what comes in, so width - 1 places leave 0 or -1
    return tg.where(places < width, moved, 0)


def _clip_attributes(node: Node) -> Variable:
    low, high = node.attr("min"), node.attr("max")
    x = node[0]
    if low is not None:
        x = tg.maximum(x, _like(low, x))
    return x if high is None else tg.minimum(x, _like(high, x))


def _clip(node: Node) -> Variable:
    x = node[0]
    if node.has(1):
        x = tg.maximum(x, node[1])
    return tg.minimum(x, node[2]) if node.has(2) else x


def _like(number: float, x: Variable) -> Any:
    return tg.cast(tg.constant(np.array(number, "float64" if is_float(x.dtype) else "int64")), x.dtype)


def _leaky(node: Node) -> Variable:
    x = node[0]
    return tg.where(x < 0, x * node.attr("alpha", 0.01), x)


def _prelu(node: Node) -> Variable:
    x = node[0]
    return tg.where(x < 0, x * node[1], x)


def _elu(node: Node) -> Variable:
    x = node[0]
    return tg.where(x < 0, node.attr("alpha", 1.0) * tg.expm1(tg.minimum(x, 0)), x)


def _selu(node: Node) -> Variable:
    x = node[0]
    alpha = node.attr("alpha", float(np.float32(1.67326319217681884765625)))
    gamma = node.attr("gamma", float(np.float32(1.05070102214813232421875)))
    y: Variable = gamma * tg.where(x > 0, x, alpha * tg.expm1(tg.minimum(x, 0)))
    return y


def _celu(node: Node) -> Variable:
    x, alpha = node[0], node.attr("alpha", 1.0)
    return tg.maximum(x, 0) + tg.minimum(0, alpha * tg.expm1(tg.minimum(x, 0) / alpha))


def _thresholded(node: Node) -> Variable:
    x = node[0]
    return tg.where(x > node.attr("alpha", 1.0), x, 0)


def _shrink(node: Node) -> Variable:
    x, bias, lambd = node[0], node.attr("bias", 0.0), node.attr("lambd", 0.5)
    wide = x if is_float(x.dtype) else tg.cast(x, "float64")
    return tg.cast(tg.where(wide < -lambd, wide + bias, tg.where(wide > lambd, wide - bias, 0)), x.dtype)


def _hard_sigmoid(node: Node) -> Variable:
    x = node[0]
    return tg.clip(node.attr("alpha", 0.2) * x + node.attr("beta", 0.5), 0, 1)


def _hard_swish(node: Node) -> Any:
    x = node[0]
    return x * tg.clip(x * float(np.float32(1 / 6)) + 0.5, 0, 1)


def _gelu(node: Node) -> Variable:
    return tg.nn.gelu(node[0], "tanh" if node.attr("approximate", "none") == "tanh" else "none")


def _swish(node: Node) -> Any:
    x = node[0]
    return x * tg.sigmoid(x * node.attr("alpha", 1.0))


def _is_infinite(node: Node) -> Variable:
    x = node[0]
    above, below = node.attr("detect_positive", 1), node.attr("detect_negative", 1)
    if above and below:
        return tg.isinf(x)
    return tg.logical_and(tg.isinf(x), x > 0 if above else x < 0) if above or below else tg.zeros_like(x, "bool")


def _absolute(x: Variable) -> Variable:
    return x if x.dtype.startswith("u") else tg.absolute(x)


def _round(x: Variable) -> Any:
    return tg.rint(x)


def _same(x: Variable) -> Any:
    return x


RULES: Final[Rules] = {
    "Abs": _unary(_absolute),
    "Acos": _unary(tg.arccos),
    "Acosh": _unary(tg.arccosh),
    "Add": _binary(tg.add),
    "And": _binary(tg.logical_and),
    "Asin": _unary(tg.arcsin),
    "Asinh": _unary(tg.arcsinh),
    "Atan": _unary(tg.arctan),
    "Atanh": _unary(tg.arctanh),
    "BitShift": _shift,
    "BitwiseAnd": _binary(tg.bitwise_and),
    "BitwiseNot": _unary(tg.bitwise_invert),
    "BitwiseOr": _binary(tg.bitwise_or),
    "BitwiseXor": _binary(tg.bitwise_xor),
    "Ceil": _unary(tg.ceil),
    "Celu": _celu,
    "Clip": {1: _clip_attributes, 11: _clip},
    "Cos": _unary(tg.cos),
    "Cosh": _unary(tg.cosh),
    "Div": _divide,
    "Elu": _elu,
    "Equal": _binary(tg.equal),
    "Erf": _unary(tg.erf),
    "Exp": _unary(tg.exp),
    "Floor": _unary(tg.floor),
    "Gelu": _gelu,
    "Greater": _binary(tg.greater),
    "GreaterOrEqual": _binary(tg.greater_equal),
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Identity": _unary(_same),
    "IsInf": _is_infinite,
    "IsNaN": _unary(tg.isnan),
    "LeakyRelu": _leaky,
    "Less": _binary(tg.less),
    "LessOrEqual": _binary(tg.less_equal),
    "Log": _unary(tg.log),
    "Max": _many(tg.maximum),
    "Mean": _mean,
    "Min": _many(tg.minimum),
    "Mish": _unary(tg.nn.mish),
    "Mod": _modulo,
    "Mul": _binary(tg.multiply),
    "Neg": _unary(tg.negative),
    "Not": _unary(tg.logical_not),
    "Or": _binary(tg.logical_or),
    "PRelu": _prelu,
    "Pow": _power,
    "Reciprocal": _unary(tg.reciprocal),
    "Relu": _unary(tg.relu),
    "Round": _unary(_round),
    "Selu": _selu,
    "Shrink": _shrink,
    "Sigmoid": _unary(tg.sigmoid),
    "Sign": _unary(tg.sign),
    "Sin": _unary(tg.sin),
    "Sinh": _unary(tg.sinh),
    "Softplus": _unary(tg.softplus),
    "Softsign": _unary(tg.nn.softsign),
    "Sqrt": _unary(tg.sqrt),
    "Sub": _binary(tg.subtract),
    "Sum": _many(tg.add),
    "Swish": _swish,
    "Tan": _unary(tg.tan),
    "Tanh": _unary(tg.tanh),
    "ThresholdedRelu": _thresholded,
    "Where": lambda node: tg.where(node[0], node[1], node[2]),
    "Xor": _binary(tg.logical_xor),
}
