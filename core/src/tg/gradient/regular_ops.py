"""Facts of a result from those of its operands: whether it is regular, and its sign. A table by function and op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.facts import facts_of
from tg.graph.nodes import Constant, Variable
from tg.graph.traversal import key_of
from tg.ops.assumptions import Assume, Required
from tg.ops.contraction import MatMul
from tg.ops.control import StopGradient
from tg.ops.creation import Arange
from tg.ops.cumulative import Accumulate
from tg.ops.elementwise import (
    arithmetic,
    comparison,
    exponential,
    rounding,
    trigonometric,
)
from tg.ops.elementwise import complex as of_complex
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.special import bessel, beta, error, gamma, normal, zeta
from tg.ops.indexing import Gather, Scatter, Slice, SliceUpdate
from tg.ops.nn.normalization import BatchNorm, BatchNormGradient
from tg.ops.norm import Norm
from tg.ops.reduction import Reduce
from tg.ops.shape import Named
from tg.ops.shape_ops import Concatenate, ExpandDims, Squeeze, Transpose
from tg.ops.sized_ops import BroadcastTo, Reshape, SpecifyShape, SumTo
from tg.ops.softmax import LogSoftmax, LogSumExp, Share, Softmax
from tg.ops.sorting import Sort
from tg.ops.updating import Updating
from tg.types.dtypes import is_inexact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Way = Callable[[Any, Sequence[int]], int | list[int]]

BELOW: Final = 16  # regular, or the -inf that a program writes, of which the exponential is 0
REGULAR: Final = 1 | BELOW
NONZERO: Final = 2
NONNEGATIVE: Final = 4
NONPOSITIVE: Final = 8
FRACTION: Final = 32  # between -1 and 1, neither of them
FALSE: Final = 64  # of a condition
POSITIVE: Final = NONZERO | NONNEGATIVE
SIGNS: Final = NONNEGATIVE | NONPOSITIVE


def all_of(node: Any, parts: Sequence[int]) -> int:
    """The facts that all operands have."""
    facts = REGULAR | NONZERO | SIGNS | FRACTION
    for part in parts:
        facts &= part
    return facts


def first_of(node: Any, parts: Sequence[int]) -> int:
    """The facts of the first operand: the result is made of its elements."""
    return parts[0]


def _cast(node: Any, parts: Sequence[int]) -> int:
    (x,), (result,) = node.inputs, node.types
    return parts[0] & ~NONZERO if is_inexact(x.type.dtype) and not is_inexact(result.dtype) else parts[0]


def regular_if(facts: int = 0, needed: int = REGULAR) -> Way:
    """A function that is finite of finite operands, and of one sign."""
    return lambda node, parts: facts | (REGULAR if _has(all_of(node, parts), needed) else 0)


def _of_positive(facts: int = 0) -> Way:
    """A function that is finite of finite positive operands, and then what is said."""
    return lambda node, parts: facts | REGULAR if all(_has(p, REGULAR | POSITIVE) for p in parts) else 0


def _has(part: int, facts: int) -> bool:
    return part & facts == facts


def _opposite(part: int) -> int:
    signs = (NONPOSITIVE if part & NONNEGATIVE else 0) | (NONNEGATIVE if part & NONPOSITIVE else 0)
    return _regular(part) | (part & (NONZERO | FRACTION)) | signs


def _sum(a: int, b: int) -> int:
    signs = a & b & SIGNS
    return (a & b & REGULAR) | signs | ((a | b) & NONZERO if signs else 0)


def _product(a: int, b: int) -> int:
    signs = NONNEGATIVE if a & b & SIGNS else NONPOSITIVE if a & _opposite(b) & SIGNS else 0
    return _regular(a & b) | (a & b & (NONZERO | FRACTION)) | signs


def _regular(part: int) -> int:
    return REGULAR if _has(part, REGULAR) else 0


def _quotient(a: int, b: int) -> int:
    facts = _product(a, b) & SIGNS
    if _has(b, REGULAR):
        facts |= a & NONZERO
    return facts | _regular(a) if _has(b, REGULAR | NONZERO) else facts


def _exponential(node: Any, parts: Sequence[int]) -> int:
    if not parts[0] & BELOW:
        return NONNEGATIVE
    return REGULAR | NONNEGATIVE | (NONZERO if _has(parts[0], REGULAR) else 0)


def _logarithm(node: Any, parts: Sequence[int]) -> int:
    if not _has(parts[0], REGULAR | NONNEGATIVE):
        return 0
    return REGULAR if parts[0] & NONZERO else BELOW


def _power(node: Any, parts: Sequence[int]) -> int:
    x, y = parts
    if not _has(x & y, REGULAR):
        return 0
    if _has(x, POSITIVE):
        return REGULAR | POSITIVE
    if not y & NONNEGATIVE:
        return 0
    if x & NONNEGATIVE:
        return REGULAR | NONNEGATIVE
    exponent = node.inputs[1]
    is_even = isinstance(exponent, Constant) and not (exponent.data % 2).any()
    return REGULAR | (NONNEGATIVE if is_even else 0) if "whole" in facts_of(exponent) else 0


def _equal(node: Any, parts: Sequence[int]) -> int:
    """No regular value is infinite."""
    pairs = zip(node.inputs, reversed(parts), strict=True)
    return (
        FALSE if any(isinstance(v, Constant) and np.isinf(v.data).all() and _has(p, REGULAR) for v, p in pairs) else 0
    )


def _absolute(node: Any, parts: Sequence[int]) -> int:
    return _regular(parts[0]) | (parts[0] & NONZERO) | NONNEGATIVE


def _root(node: Any, parts: Sequence[int]) -> int:
    return _absolute(node, parts) if parts[0] & NONNEGATIVE else 0


def _log1p(node: Any, parts: Sequence[int]) -> int:
    if parts[0] & NONNEGATIVE:
        return _absolute(node, parts)
    return REGULAR if _has(parts[0], REGULAR | FRACTION) else 0


def _beside_one(fn: Callable[[int, int], int]) -> Way:
    """A sum or a difference: 1 and a fraction are more than 0."""

    def facts(node: Any, parts: Sequence[int]) -> int:
        pairs = zip(node.inputs, reversed(parts), strict=True)
        more = any(p & FRACTION and isinstance(v, Constant) and v.data.size and (v.data >= 1).all() for v, p in pairs)
        return fn(*parts) | (POSITIVE if (more and fn is not _difference) or (more and parts[1] & FRACTION) else 0)

    return facts


def _difference(a: int, b: int) -> int:
    return _sum(a, _opposite(b))


def _maximum(node: Any, parts: Sequence[int]) -> int:
    a, b = parts
    facts = (a & b) | ((a | b) & NONNEGATIVE) | (POSITIVE if _has(a, POSITIVE) or _has(b, POSITIVE) else 0)
    return facts | (REGULAR if a & b & BELOW and _regular(a | b) else 0)


def _minimum(node: Any, parts: Sequence[int]) -> int:
    a, b = map(_opposite, parts)
    return _opposite(_maximum(node, (a, b)))


def _length(node: Any, parts: Sequence[int]) -> int:
    return _regular(all_of(node, parts)) | NONNEGATIVE | (NONZERO if any(p & NONZERO for p in parts) else 0)


def _weighted(needed: int) -> Way:
    """x log y, or x log(1 + y)."""
    return lambda node, parts: REGULAR if _has(parts[0], REGULAR) and _has(parts[1], REGULAR | needed) else 0


# --- other ops -------------------------------------------------------------------------------------------------------


def _reduced(node: Any, parts: Sequence[int]) -> int:
    """Of elements that meet; an axis without elements has sums of 0, whose inverses are infinite anyway."""
    fn, (x,) = getattr(node.op, "fn", None), parts[:1]
    if fn is arithmetic.add and _marks_extremes(node.inputs[0]):
        return REGULAR | POSITIVE
    if fn in (arithmetic.maximum, arithmetic.minimum, arithmetic.add):
        return x if fn is not arithmetic.add else _added(node, parts)
    if fn is arithmetic.multiply:
        return _regular(x) | (x & POSITIVE)
    return 0


def _marks_extremes(v: Variable) -> bool:
    """Whether it is 1 where elements are the largest or the smallest of their row, else 0: some are."""
    equal = v.apply.inputs[0].apply if v.apply is not None and type(v.apply.op) is Cast else None
    if equal is None or equal.key is not comparison.equal:
        return False
    x, most = equal.inputs
    below = most.apply.inputs[0].apply if most.apply is not None and type(most.apply.op) is ExpandDims else None
    if below is None or type(below.op) is not Reduce or below.op.fn not in (arithmetic.maximum, arithmetic.minimum):
        return False
    return key_of(below.inputs[0]) == key_of(x)


def _added(node: Any, parts: Sequence[int]) -> int:
    return parts[0] & (REGULAR | NONZERO | SIGNS if parts[0] & SIGNS else REGULAR)  # many fractions are none


def _matrices(node: Any, parts: Sequence[int]) -> int:
    facts = _product(*parts)
    return _added(node, [facts])


def _below(node: Any, parts: Sequence[int]) -> int:
    return parts[0] & REGULAR


def _update(node: Any, parts: Sequence[int]) -> int:
    fn, (base, v) = getattr(node.op, "fn", None), parts[:2]
    if fn is None:
        return base & v
    return _sum(base, v) & ~NONZERO if fn is arithmetic.add else 0


def _normalized(node: Any, parts: Sequence[int]) -> list[int]:
    """Values, means and variances: of finite ones, if something is added to what is divided by."""
    facts = REGULAR if _has(all_of(node, parts), REGULAR) else 0
    return [facts if node.op.eps > 0 else 0, facts, facts | NONNEGATIVE]


def _normalized_backwards(node: Any, parts: Sequence[int]) -> int:
    """The cotangents of values, weights and biases: of finite ones, where the variance is not below 0."""
    return REGULAR if node.op.eps > 0 and parts[3] & NONNEGATIVE and _has(all_of(node, parts), REGULAR) else 0


ODD: Final = (
    exponential.expm1,
    trigonometric.sinh,
    trigonometric.arcsinh,
    trigonometric.arctan,
    arithmetic.cbrt,
    bessel.i1,
    bessel.i1e,
    of_complex.conjugate,
)  # finite, and of the sign of the operand
BOUNDED: Final = (
    trigonometric.sin,
    trigonometric.cos,
    trigonometric.sinc,
    bessel.j0,
    bessel.j1,
    of_complex.real,
    of_complex.imag,
    exponential.logaddexp,
)  # finite of whatever is finite
ABOVE: Final = (
    exponential.softplus,
    exponential.sigmoid_slope,
    trigonometric.cosh,
    trigonometric.sech,
    trigonometric.sech_squared,
    normal.inverse_mills,
    error.erfc,
    error.erfcx,
    bessel.i0,
    bessel.i0e,
)  # finite and positive
MOVES: Final = (
    ExpandDims,
    Reshape,
    Squeeze,
    Transpose,
    Slice,
    Gather,
    BroadcastTo,
    SpecifyShape,
    Named,
    Assume,
    Required,
    Updating,
    StopGradient,
    Sort,
)

OF_OPS: Final[dict[object, Way]] = {
    arithmetic.add: _beside_one(_sum),
    arithmetic.subtract: _beside_one(_difference),
    arithmetic.multiply: lambda node, parts: _product(*parts),
    arithmetic.asked_where: lambda node, parts: parts[1],
    arithmetic.masked_product: lambda node, parts: _product(*parts[2:]) & ~NONZERO,
    arithmetic.divide: lambda node, parts: _quotient(*parts),
    exponential.per_expm1: lambda node, parts: _quotient(parts[0], parts[1] & ~FRACTION),
    arithmetic.reciprocal: lambda node, parts: _quotient(REGULAR | POSITIVE, parts[0]),
    arithmetic.negative: lambda node, parts: _opposite(parts[0]),
    arithmetic.square: _absolute,
    arithmetic.absolute: _absolute,
    arithmetic.power: _power,
    arithmetic.sqrt: _root,
    arithmetic.maximum: _maximum,
    arithmetic.minimum: _minimum,
    arithmetic.hypot: _length,
    arithmetic.radius: _length,
    arithmetic.sign: regular_if(),
    Arange: regular_if(),
    comparison.where: lambda node, parts: parts[2] if parts[0] & FALSE else all_of(node, parts[1:]),
    comparison.equal: _equal,
    **dict.fromkeys((rounding.floor, rounding.ceil, rounding.trunc, rounding.rint), regular_if()),
    **dict.fromkeys(ODD, lambda node, parts: parts[0] & ~FRACTION),
    **dict.fromkeys(BOUNDED, regular_if()),
    **dict.fromkeys(ABOVE, regular_if(POSITIVE)),
    **dict.fromkeys((exponential.sigmoid, normal.ndtr), regular_if(POSITIVE | FRACTION)),
    **dict.fromkeys((trigonometric.tanh, error.erf), lambda node, parts: parts[0] | FRACTION),
    **dict.fromkeys((exponential.exp, exponential.exp2), _exponential),
    trigonometric.log_cosh: regular_if(NONNEGATIVE),
    normal.log_ndtr: regular_if(NONPOSITIVE),
    **dict.fromkeys((exponential.log, exponential.log2, exponential.log10), _logarithm),
    **dict.fromkeys((gamma.gammaln, gamma.digamma, beta.betaln), _of_positive()),
    **dict.fromkeys((gamma.gamma, gamma.trigamma, beta.beta), _of_positive(POSITIVE)),
    zeta.polygamma: lambda node, parts: REGULAR if _has(parts[1], REGULAR | POSITIVE) else 0,
    exponential.log1p: _log1p,
    exponential.xlogy: _weighted(POSITIVE),
    exponential.xlog1py: _weighted(NONNEGATIVE),
    **dict.fromkeys(MOVES, first_of),
    Cast: _cast,
    Concatenate: all_of,
    SliceUpdate: _update,
    Scatter: _update,
    Reduce: _reduced,
    Accumulate: _reduced,
    SumTo: _added,
    BatchNorm: _normalized,
    BatchNormGradient: _normalized_backwards,
    MatMul: _matrices,
    LogSumExp: _below,
    LogSoftmax: _below,
    Softmax: _exponential,
    Share: lambda node, parts: _exponential(node, [all_of(node, parts)]),
    Norm: regular_if(NONNEGATIVE),
}
