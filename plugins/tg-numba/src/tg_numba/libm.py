"""The functions of the C library's mathematics, and those that the processor has itself, for generated code.

Called by name on float32, float64, complex64 and complex128; complex64 is computed in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

PROCESSOR: Final = {"ceil": 1, "copysign": 2, "fabs": 1, "floor": 1, "rint": 1, "sqrt": 1, "trunc": 1}
REAL: Final = {
    **dict.fromkeys(
        (
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "cbrt",
            "cos",
            "cosh",
            "erf",
            "erfc",
            "exp",
            "exp2",
            "expm1",
            "lgamma",
            "log",
            "log10",
            "log1p",
            "log2",
            "sin",
            "sinh",
            "tan",
            "tanh",
            "tgamma",
        ),
        1,
    ),
    **dict.fromkeys(["atan2", "fmod", "hypot", "nextafter", "pow"], 2),
}
COMPLEX: Final = {
    **dict.fromkeys(
        (
            "cacos",
            "cacosh",
            "casin",
            "casinh",
            "catan",
            "catanh",
            "ccos",
            "ccosh",
            "cexp",
            "clog",
            "csin",
            "csinh",
            "csqrt",
            "ctan",
            "ctanh",
        ),
        1,
    ),
    "cpow": 2,
}

DOUBLE: Final = ir.DoubleType()
PAIR: Final = ir.LiteralStructType([DOUBLE, DOUBLE])


def _processor(name: str) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        declared = ir.FunctionType(kind, [kind] * len(arguments))
        function = builder.module.declare_intrinsic(f"llvm.{name}", [kind], declared)
        return builder.call(function, arguments)

    return _typed(name, PROCESSOR[name], write)


def _real(name: str) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = context.get_value_type(signature.return_type)
        symbol = name + ("f" if signature.return_type == types.float32 else "")
        declared = ir.FunctionType(kind, [kind] * len(arguments))
        function = cgutils.get_or_insert_function(builder.module, declared, symbol)
        function.attributes.add("nounwind")
        return builder.call(function, arguments)

    return _typed(name, REAL[name], write)


def _complex(name: str) -> Any:
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        declared = ir.FunctionType(PAIR, [DOUBLE, DOUBLE] * len(arguments))
        function = cgutils.get_or_insert_function(builder.module, declared, name)
        function.attributes.add("nounwind")
        parts: list[Any] = []
        for value, kind in zip(arguments, signature.args, strict=True):
            wide = context.make_complex(builder, types.complex128, context.cast(builder, value, kind, types.complex128))
            parts += [wide.real, wide.imag]
        found = builder.call(function, parts)
        made = context.make_complex(builder, types.complex128)
        made.real, made.imag = (builder.extract_value(found, k) for k in (0, 1))
        return context.cast(builder, made._getvalue(), types.complex128, signature.return_type)

    return _typed(name, COMPLEX[name], write)


def _typed(name: str, arity: int, write: Callable[[Any, Any, Any, Any], Any]) -> Any:
    """The function as generated code calls it: operands of one dtype, which the result has."""
    if arity == 1:

        def one(typing: Any, x: Any) -> Any:
            return x(x), write

        one.__name__ = name
        return intrinsic(one)

    def two(typing: Any, x: Any, y: Any) -> Any:
        return x(x, y), write

    two.__name__ = name
    return intrinsic(two)


FUNCTIONS: Final[dict[str, Any]] = {
    **{name: _processor(name) for name in PROCESSOR},
    **{name: _real(name) for name in REAL},
    **{name: _complex(name) for name in COMPLEX},
}

atan2, cexp, clog, copysign, cos, cpow = (FUNCTIONS[f] for f in ("atan2", "cexp", "clog", "copysign", "cos", "cpow"))
exp, expm1, fabs, floor, fmod = (FUNCTIONS[f] for f in ("exp", "expm1", "fabs", "floor", "fmod"))
hypot, log, log1p, rint, sin = (FUNCTIONS[f] for f in ("hypot", "log", "log1p", "rint", "sin"))
