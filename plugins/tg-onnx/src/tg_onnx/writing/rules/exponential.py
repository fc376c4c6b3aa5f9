"""Exponentials, logarithms and functions of angles, of which ONNX has most."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from tg.backend import exponential, special, trigonometric
from tg_onnx.writing.rules.logic import copysign, signbit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg_onnx.writing.scope import Scope, Value

    Rule = Callable[..., Any]


def floating(kind: str) -> Rule:
    """The rule of an operator that only floating numbers have."""
    return lambda w, *operands: w(kind, *operands) if operands[0].is_float else NotImplemented


def expm1(w: Scope, x: Value) -> Value:
    """exp(x) - 1 by Kahan's formula, which knows what exp has rounded off from its logarithm."""
    y, one = w("Exp", x), w.like(x, 1)
    less = w("Sub", y, one)
    value = w("Div", w("Mul", less, x), w("Log", y))
    small = w("Equal", y, one)
    plain = w("Or", w("Equal", y, w.like(x, 0)), w("Equal", y, w.like(x, math.inf)))
    return w("Where", small, x, w("Where", plain, less, value))


def log1p(w: Scope, x: Value) -> Value:
    """log(1 + x) by Kahan's formula, which knows what 1 + x has rounded off."""
    one = w.like(x, 1)
    y = w("Add", x, one)
    value = w("Div", w("Mul", w("Log", y), x), w("Sub", y, one))
    plain = w("Or", w("Equal", y, one), w("Equal", x, w.like(x, math.inf)))
    return w("Where", plain, x, value)


def log_by(base: float) -> Rule:
    """The logarithm to a base."""
    return lambda w, x: w("Div", w("Log", x), w.like(x, math.log(base)))


def exp2(w: Scope, x: Value) -> Value:
    """2 to the power of x."""
    return w("Pow", w.like(x, 2), x)


def softplus(w: Scope, x: Value) -> Value:
    """log(1 + exp(x))."""
    return w("Add", w("Max", x, w.like(x, 0)), log1p(w, w("Exp", w("Neg", w("Abs", x)))))


def logaddexp(w: Scope, x: Value, y: Value) -> Value:
    """log(exp(x) + exp(y)), of equal infinities x."""
    rest = log1p(w, w("Exp", w("Neg", w("Abs", w("Sub", x, y)))))
    value = w("Add", w("Max", x, y), rest)
    return w("Where", w("Equal", x, y), w("Add", x, w.like(x, math.log(2))), value)


def arctan2(w: Scope, y: Value, x: Value) -> Value:
    """The angle of (x, y), by the arc tangent of the smaller over the larger one."""
    a, b = w("Abs", y), w("Abs", x)
    top, low, zero = w("Max", a, b), w("Min", a, b), w.like(x, 0)
    both = w("And", w("Equal", low, w.like(x, math.inf)), w("Equal", top, w.like(x, math.inf)))
    ratio = w("Where", both, w.like(x, 1), w("Div", low, w("Where", w("Equal", top, zero), w.like(x, 1), top)))
    angle = w("Atan", ratio)
    angle = w("Where", w("Greater", a, b), w("Sub", w.like(x, math.pi / 2), angle), angle)
    angle = w("Where", signbit(w, x), w("Sub", w.like(x, math.pi), angle), angle)
    neither = w("Or", w("IsNaN", x), w("IsNaN", y))
    return w("Where", neither, w.like(x, math.nan), copysign(w, angle, y))


def sinc(w: Scope, x: Value) -> Value:
    """sin(pi x) / (pi x), 1 at 0."""
    angle = w("Mul", x, w.like(x, math.pi))
    at_zero = w("Equal", x, w.like(x, 0))
    safe = w("Where", at_zero, w.like(x, 1), angle)
    return w("Where", at_zero, w.like(x, 1), w("Div", w("Sin", angle), safe))


EXPONENTIALS: Final[Mapping[object, Rule]] = {
    exponential.exp: floating("Exp"),
    exponential.exp2: exp2,
    exponential.expm1: expm1,
    exponential.log: floating("Log"),
    exponential.log1p: log1p,
    exponential.log2: log_by(2),
    exponential.log10: log_by(10),
    exponential.logaddexp: logaddexp,
    exponential.sigmoid: floating("Sigmoid"),
    exponential.softplus: softplus,
    trigonometric.sin: floating("Sin"),
    trigonometric.cos: floating("Cos"),
    trigonometric.tan: floating("Tan"),
    trigonometric.arcsin: floating("Asin"),
    trigonometric.arccos: floating("Acos"),
    trigonometric.arctan: floating("Atan"),
    trigonometric.arctan2: arctan2,
    trigonometric.sinh: floating("Sinh"),
    trigonometric.cosh: floating("Cosh"),
    trigonometric.tanh: floating("Tanh"),
    trigonometric.arcsinh: floating("Asinh"),
    trigonometric.arccosh: floating("Acosh"),
    trigonometric.arctanh: floating("Atanh"),
    trigonometric.sinc: sinc,
    special.error.erf: floating("Erf"),
    special.error.erfc: lambda w, x: NotImplemented,  # whole only where it is part of a pattern
}
