"""Functions of single elements: PyTensor's scalar ops, by the names of their classes."""

from __future__ import annotations

import functools
from typing import Any

import tg
from tg_pytensor.conversion import as_dtype
from tg_pytensor.registry import convert

# The operands are cast to the node's dtype first.
IN_RESULT = {
    "Maximum": tg.maximum, "Minimum": tg.minimum, "Sub": tg.subtract, "TrueDiv": tg.divide, "Pow": tg.power,
    "IntDiv": tg.floor_divide, "Mod": tg.remainder, "Identity": lambda x: x, "Cast": lambda x: x, "Sign": tg.sign,
    "Ceil": tg.ceil, "Floor": tg.floor, "Trunc": tg.trunc, "RoundHalfToEven": tg.rint, "Neg": tg.negative,
    "Reciprocal": tg.reciprocal, "Log": tg.log, "Log2": tg.log2, "Log10": tg.log10, "Log1p": tg.log1p, "Exp": tg.exp,
    "Exp2": tg.exp2, "Expm1": tg.expm1, "Sqr": tg.square, "Sqrt": tg.sqrt, "Deg2Rad": tg.deg2rad, "Rad2Deg": tg.rad2deg,
    "Cos": tg.cos, "ArcCos": tg.arccos, "Sin": tg.sin, "ArcSin": tg.arcsin, "Tan": tg.tan, "ArcTan": tg.arctan,
    "ArcTan2": tg.arctan2, "Cosh": tg.cosh, "ArcCosh": tg.arccosh, "Sinh": tg.sinh, "ArcSinh": tg.arcsinh,
    "Tanh": tg.tanh, "ArcTanh": tg.arctanh, "Conj": tg.conj, "Erf": tg.erf, "Erfc": tg.erfc, "Erfcx": tg.erfcx,
    "Erfinv": tg.erfinv, "Erfcinv": tg.erfcinv, "Owens_t": tg.owens_t, "Gamma": tg.gamma, "GammaLn": tg.gammaln,
    "NdtriExp": tg.special.ndtri_exp,
    "Psi": tg.digamma, "TriGamma": tg.trigamma, "PolyGamma": tg.polygamma, "GammaInc": tg.gammainc,
    "GammaIncC": tg.gammaincc, "GammaIncInv": tg.gammaincinv, "GammaIncCInv": tg.gammainccinv, "Jv": tg.jv, "J0": tg.j0,
    "J1": tg.j1, "Iv": tg.iv, "I0": tg.i0, "I1": tg.i1, "I0e": tg.i0e, "I1e": tg.i1e, "Ive": tg.ive, "Kve": tg.kve,
    "Sigmoid": tg.sigmoid, "Softplus": tg.softplus, "Log1mexp": tg.log1mexp, "BetaInc": tg.betainc,
    "BetaIncInv": tg.betaincinv, "Hyp2F1": tg.hyp2f1, "OR": tg.bitwise_or, "XOR": tg.bitwise_xor,
    "AND": tg.bitwise_and, "Invert": tg.bitwise_invert,
    "Add": lambda *x: functools.reduce(tg.add, x), "Mul": lambda *x: functools.reduce(tg.multiply, x),
    "Clip": lambda x, low, high: tg.where(x < low, low, tg.where(x > high, high, x)),
    "Second": lambda x, y: tg.broadcast_arrays(x, y)[1],
    "RoundHalfAwayFromZero": lambda x: tg.copysign(tg.trunc(x) + tg.sign(x) * (abs(x - tg.trunc(x)) >= 0.5), x),
    "GammaU": lambda a, x: tg.gammaincc(a, x) * tg.gamma(a), "GammaL": lambda a, x: tg.gammainc(a, x) * tg.gamma(a),
    "XlogX": lambda x: tg.xlogy(x, x), "XlogY0": tg.xlogy,
    "MulWithoutZeros": lambda x, y: tg.where(x == 0, y, tg.where(y == 0, x, x * y)),
    "Complex": tg.complex,
    "ComplexFromPolar": lambda r, angle: tg.complex(r * tg.cos(angle), r * tg.sin(angle)),
}  # fmt: skip
# The operands stay as they are, or are cast to their common dtype.
AS_GIVEN = {
    "LT": tg.less, "GT": tg.greater, "LE": tg.less_equal, "GE": tg.greater_equal, "EQ": tg.equal, "NEQ": tg.not_equal,
    "IsNan": tg.isnan, "IsInf": tg.isinf, "Abs": tg.absolute, "Real": tg.real, "Imag": tg.imag, "Angle": tg.angle,
    "ScalarFromTensor": lambda x: x, "TensorFromScalar": lambda x: x,
}  # fmt: skip
REAL_PARTS = frozenset(("Complex", "ComplexFromPolar"))  # whose operands have the dtype of the result's parts
HALVES = {"complex64": "float32", "complex128": "float64"}


def in_result(function: Any, op: Any, node: Any, *operands: Any) -> Any:
    """A function of operands in the dtype of the node."""
    dtype = node.outputs[0].type.dtype
    if type(op).__name__ in REAL_PARTS:
        dtype = HALVES[dtype]
    return function(*(as_dtype(x, dtype) for x in operands))


def as_given(function: Any, op: Any, node: Any, *operands: Any) -> Any:
    """A function of operands as they are."""
    return function(*operands)


convert.add({name: functools.partial(in_result, function) for name, function in IN_RESULT.items()})
convert.add({name: functools.partial(as_given, function) for name, function in AS_GIVEN.items()})


@convert.register("Switch")
def switch(op: Any, node: Any, condition: Any, x: Any, y: Any) -> Any:
    """x where the condition is not 0, else y."""
    dtype = node.outputs[0].type.dtype
    chosen = condition if condition.type.dtype == "bool" else condition != 0
    return tg.where(chosen, as_dtype(x, dtype), as_dtype(y, dtype))


@convert.register("ScalarLoop", whole=True)
def loop(conversion: Any, node: Any) -> Any:
    """Scalar ops applied again and again: every element for its own number of steps, or until its own end."""
    steps, *operands = tg.broadcast_arrays(*(conversion[v] for v in node.inputs))
    graph, is_while = node.op.fgraph, node.op.is_while
    count = len(graph.outputs) - is_while
    fixed = operands[count:]
    ended = [tg.zeros_like(steps, dtype="bool")] * is_while
    start = (tg.constant(0, dtype=steps.type.dtype), (*operands[:count], *ended))

    def goes_on(i: Any, state: Any) -> Any:
        return tg.logical_and(i < steps, tg.logical_not(state[-1])) if is_while else i < steps

    def step(carry: Any) -> Any:
        i, state = carry
        results = conversion.of_graph(graph, [*state[:count], *fixed])
        return i + 1, tuple(tg.where(goes_on(i, state), new, old) for new, old in zip(results, state, strict=True))

    return tg.while_loop(lambda carry: tg.any(goes_on(*carry)), step, start)[1]
