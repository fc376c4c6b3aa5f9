"""Gaps of the ggml backend: it computes networks in float32, and integers as far as positions and conditions go."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from tg import NoRuleError, add
from tg.backend import (
    DTYPES,
    LU,
    QR,
    SVD,
    Cholesky,
    Eig,
    Eigh,
    Gap,
    Schur,
    SolveTriangular,
    arithmetic,
    bitwise,
    complex,
    contraction,
    cumulative,
    exponential,
    indexing,
    loops,
    rounding,
    sorting,
    trigonometric,
)
from tg_ggml import own

if TYPE_CHECKING:
    from collections.abc import Sequence

CLAIMED: Final = frozenset({"bool", "int64", "float32"})
EXACT: Final = frozenset({"bool", "int64"})
FUNCTIONS: Final = (
    *(arithmetic.power, arithmetic.cbrt, arithmetic.hypot, arithmetic.copysign, arithmetic.nextafter),
    *(bitwise.bitwise_and, bitwise.bitwise_or, bitwise.bitwise_xor, bitwise.bitwise_invert),
    *(bitwise.left_shift, bitwise.right_shift),
    *(complex.complex, complex.real, complex.imag, complex.conjugate),
    *(exponential.exp2, exponential.log2, exponential.log10, exponential.logaddexp),
    *(trigonometric.tan, trigonometric.arcsin, trigonometric.arccos, trigonometric.arctan, trigonometric.arctan2),
    *(trigonometric.sinh, trigonometric.cosh, trigonometric.arcsinh, trigonometric.arccosh, trigonometric.arctanh),
    trigonometric.sinc,
)
INACCURATE: Final = (exponential.expm1, exponential.log1p, exponential.softplus)
LINALG: Final = (Cholesky, LU, QR, Schur, Eig, Eigh, SVD, SolveTriangular)


def _is_no_sum(op: Any, types: Sequence[Any]) -> bool:
    """Whether a running result is another one than a sum."""
    return op.fn is not add


def _never(op: object, reason: str, dtypes: frozenset[str] | None = None, when: Any = None) -> Gap:
    return Gap(op, dtypes, when, "never", NoRuleError, reason)


GAPS: Final[tuple[Gap, ...]] = (
    _never(None, "ggml computes in float32", frozenset(DTYPES) - CLAIMED),
    *(_never(fn, "ggml has no such function") for fn in FUNCTIONS),
    *(_never(fn, "ggml computes it by a difference that has no digits near 0") for fn in INACCURATE),
    *(
        _never(fn, "ggml has no such function", frozenset({"float32"}))
        for fn in (arithmetic.floor_divide, arithmetic.remainder)
    ),
    _never(rounding.rint, "ggml rounds halves away from 0"),
    _never(contraction.MatMul, "ggml multiplies matrices of floating numbers", EXACT),
    _never(cumulative.Accumulate, "ggml has running sums of floating numbers", EXACT),
    _never(cumulative.Accumulate, "ggml has running sums alone", None, _is_no_sum),
    _never(indexing.Scatter, "ggml writes whole rows, and adds none that repeat"),
    _never(indexing.Nonzero, "ggml has no lengths that depend on values; with size= there is room for a stated number"),
    *(_never(op, "a graph of ggml has no loops and no branches") for op in (loops.Scan, loops.While, loops.Cond)),
    _never(sorting.ArgSort, "ggml's order of equal elements is not stable"),
    *(_never(op, "ggml has no factorisations of matrices") for op in LINALG),
    Gap(own.Relu, None, None, "upstream", None, "ggml's relu makes 0 of NaN", math.inf),
    Gap(own.Largest, None, None, "upstream", None, "ggml's windows take no notice of NaN", math.inf),
)
