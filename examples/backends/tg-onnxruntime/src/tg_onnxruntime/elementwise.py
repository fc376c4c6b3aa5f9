"""Elementwise functions: ONNX's own; what it has none of, or onnxruntime no right kernel, is made of others."""

import numpy as np

from tg.backend import Cast, arithmetic, bitwise, comparison, exponential, rounding, trigonometric
from tg_onnxruntime.tensors import bits, cast, constant, elementwise, node, where

HALF_PI = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)  # of 33 bits, and the rest
exp, log, floor, maximum, minimum = map(node, ("Exp", "Log", "Floor", "Max", "Min"))


def cast_to(op, x):
    """The elements in another dtype; of floats the nearest integer towards 0, of NaN 0."""
    if op.dtype == "bool":
        return x if x.dtype == bool else x != 0
    if x.dtype.kind != "f" or op.dtype[0] == "f":
        return cast(x, op.dtype)
    x, limits = cast(x, "float64"), np.iinfo(op.dtype)
    inside = (x > limits.min - 1.0) & (x < limits.max + 1.0)
    ends = cast(x > 0, op.dtype) * limits.max + cast(x < 0, op.dtype) * limits.min
    return where(inside, cast(where(inside, x, 0), op.dtype), ends)


def copysign(x, y):
    """|x| with the sign bit of y."""
    limits = np.iinfo(bits(y).dtype)
    return bits((bits(x) & limits.max) | (bits(y) & limits.min), y.dtype)


def divided(x, y):
    """The quotient rounded down, and the remainder with the sign of y; x / 0 and x / -1 are asked of no kernel."""
    safe = y if y.dtype.kind == "f" else where((y == 0) | (y == -1), 1, y)
    rest = elementwise("Mod", x, safe, fmod=1)
    other_sign = (rest != 0) & ((rest < 0) ^ (y < 0))
    return (x - rest) / safe - cast(other_sign, x.dtype), where(other_sign, rest + y, rest)


def floor_divide(x, y):
    """0 for integers divided by 0; of floats as NumPy, the nearest whole number to what the exact remainder gives."""
    quotient, _ = divided(x, y)
    if x.dtype.kind != "f":
        return where(y == 0, 0, where(y == -1, -x, quotient))
    nearest = floor(quotient) + cast(quotient - floor(quotient) > 0.5, x.dtype)
    return where(y == 0, x / y, where(quotient == 0, copysign(quotient, x / y), nearest))


def remainder(x, y):
    """0 for integers divided by 0."""
    _, rest = divided(x, y)
    return where(rest == 0, copysign(rest, y), rest) if x.dtype.kind == "f" else rest


def expm1(x):
    """Kahan's: what exp has rounded off is known from its logarithm."""
    y = exp(x)
    found = where(y == 0, -1, (y - 1) * (x / log(y)))
    return where(y == 1, x, where(y == np.inf, y, found))


def log1p(x):
    """Kahan's: what 1 + x has rounded off is known from the sum."""
    y = x + 1
    return where((y == 1) | (x == np.inf), x, log(y) * (x / (y - 1)))


def sine(x, quarters=0):
    """The sine of x and some quarter turns: the kernels are right near 0, where pi in three parts moves most x."""
    turns = where(abs(x) > 1e6, 0, elementwise("Round", x * (2 / np.pi)))
    for part in HALF_PI:
        x = x - turns * part
    quarters = cast(turns, "int64") + quarters
    found = where((quarters & 1) == 0, elementwise("Sin", x), elementwise("Cos", x))
    return where((quarters & 2) == 0, found, -found)


DOUBLE = {  # written for float64; for float32 the results are rounded once
    exponential.expm1: expm1,
    exponential.log2: lambda x: log(x) / np.log(2),
    exponential.log10: lambda x: log(x) / np.log(10),
    exponential.log1p: log1p,
    exponential.logaddexp: lambda x, y: where(x == y, x + np.log(2), maximum(x, y) + log1p(exp(-abs(x - y)))),
    exponential.sigmoid: lambda x: where(x < 0, exp(-abs(x)), 1) / (exp(-abs(x)) + 1),
    exponential.softplus: lambda x: maximum(x, 0) + log1p(exp(-abs(x))),
    trigonometric.sin: sine,
    trigonometric.cos: lambda x: sine(x, 1),
    trigonometric.tan: lambda x: sine(x) / sine(x, 1),
    trigonometric.tanh: lambda x: expm1(minimum(x, 22) * 2) / (expm1(minimum(x, 22) * 2) + 2),
}


def in_double(rule):
    """A rule for float64 as one for floats of either size."""
    return lambda *operands: cast(rule(*(cast(v, "float64") for v in operands)), operands[0].dtype)


def nodes(family, **kinds):
    """The rules that are one node."""
    return {getattr(family, name): node(kind) for name, kind in kinds.items()}


RULES = {
    Cast: cast_to,
    **{fn: in_double(rule) for fn, rule in DOUBLE.items()},
    **nodes(arithmetic, add="Add", subtract="Sub", multiply="Mul", divide="Div", maximum="Max", minimum="Min"),
    **nodes(arithmetic, negative="Neg", sign="Sign", sqrt="Sqrt"),
    **nodes(bitwise, bitwise_and="BitwiseAnd", bitwise_or="BitwiseOr", bitwise_xor="BitwiseXor"),
    **nodes(bitwise, bitwise_invert="BitwiseNot"),
    **nodes(comparison, equal="Equal", less="Less", less_equal="LessOrEqual", greater="Greater"),
    **nodes(comparison, greater_equal="GreaterOrEqual", logical_and="And", logical_or="Or", logical_xor="Xor"),
    **nodes(comparison, logical_not="Not"),
    **nodes(exponential, exp="Exp", log="Log"),
    **nodes(rounding, floor="Floor", ceil="Ceil", rint="Round"),
    **nodes(trigonometric, arcsin="Asin", arccos="Acos", arctan="Atan", sinh="Sinh", cosh="Cosh"),
    **nodes(trigonometric, arcsinh="Asinh", arccosh="Acosh", arctanh="Atanh"),
    arithmetic.floor_divide: floor_divide,
    arithmetic.remainder: remainder,
    arithmetic.power: lambda x, y: elementwise("Pow", x, y) if x.dtype.kind == "f" else NotImplemented,
    arithmetic.absolute: lambda x: x if x.dtype == "bool" else abs(x),
    arithmetic.square: lambda x: x * x,
    arithmetic.reciprocal: lambda x: constant(1, x.dtype) / x if x.dtype.kind == "f" else where(abs(x) == 1, x, 0),
    arithmetic.clip: lambda x, low, high: minimum(maximum(x, low), high),
    arithmetic.copysign: copysign,
    arithmetic.gate: lambda dy, d: where(dy == 0, 0, dy * d),
    comparison.not_equal: lambda x, y: x != y,
    comparison.isnan: lambda x: x != x,
    comparison.isinf: lambda x: abs(x) == np.inf if x.dtype.kind == "f" else x != x,
    comparison.isfinite: lambda x: abs(x) < np.inf if x.dtype.kind == "f" else x == x,
    comparison.signbit: lambda x: bits(x) < 0,
    comparison.where: where,
    exponential.exp2: lambda x: elementwise("Pow", constant(2, x.dtype), x),
    rounding.trunc: lambda x: copysign(floor(abs(x)), x),
    trigonometric.sinc: lambda x: where(x == 0, 1, in_double(sine)(x * np.pi) / (x * np.pi)),
}
