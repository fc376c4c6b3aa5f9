"""Values that are finite wherever the operands of a program are, by its formulas: *regular* ones.

What is not asked for is 0 in a tangent or a cotangent and stays 0 beside a regular value: nothing has to be chosen. An
exponential is regular though it may overflow and underflow to 0: then what is computed of it is infinite itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.gradient.stable import opened
from tg.graph.facts import facts_of
from tg.graph.nodes import Constant, Variable
from tg.graph.traversal import key_of
from tg.ops.assumptions import Assume, Required
from tg.ops.contraction import MatMul
from tg.ops.control import Call, StopGradient
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
from tg.ops.loops import Cond, Scan, While
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

    from tg.graph.frozen import FrozenGraph

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
OF_FACTS: Final = {
    "finite": REGULAR,
    "nonzero": NONZERO,
    "nonnegative": NONNEGATIVE,
    "nonpositive": NONPOSITIVE,
}
MOST_STEPS: Final = 4  # that the carries of a loop are followed: then nothing is known of them


@final
class Regularity:
    """Facts of the values of one sweep, each found once: whether it is regular, and what sign it has.

    Args:
        leaves: variables of an inner graph.
        known: what is known of them, asked when it is first needed.
    """

    __slots__ = ("_found", "_known", "_leaves", "_stands_for", "_told")

    def __init__(self, leaves: Sequence[Variable] = (), leaf_facts: Callable[[], Sequence[int]] | None = None) -> None:
        self._leaves, self._known = leaves, leaf_facts
        self._stands_for: dict[int, tuple[Variable, Variable]] = {}
        self._told: dict[int, tuple[Variable, Callable[[], int]]] = {}
        self._found: dict[tuple[int, int], tuple[Variable, int]] = {}  # with the variable: its id stays its own

    def same(self, leaf: Variable, v: Variable) -> None:
        """State that what is known of a value is known of a leaf."""
        self._stands_for[id(leaf)] = leaf, v

    def tell(self, leaf: Variable, facts: Callable[[], int]) -> None:
        """State what is known of a leaf, which is asked when it is first needed."""
        self._told[id(leaf)] = leaf, facts

    def has_read(self, leaf: Variable) -> bool:
        """Whether what is known of a leaf was needed."""
        return key_of(leaf) in self._found

    def of(self, v: Variable) -> int:
        """The facts of a value, without recursion."""
        memo = self._found
        if self._known is not None:
            memo.update({key_of(u): (u, fact) for u, fact in zip(self._leaves, self._known(), strict=True)})
            self._known = None
        stack = [v]
        while stack:
            u = stack[-1]
            key, node = key_of(u), u.apply
            if key in memo:
                stack.pop()
                continue
            if node is None and id(u) in self._told:
                memo[key] = u, self._told[id(u)][1]()
                continue
            operands, way = _operands(u, self._stands_for)
            missing = [w for w in operands if key_of(w) not in memo]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            facts = way(node, [memo[key_of(w)][1] for w in operands])
            memo[key] = u, (facts if isinstance(facts, int) else facts[u.index]) | _of_facts(u)
        return memo[key_of(v)][1]

    def of_all(self, values: Sequence[Variable]) -> list[int]:
        """The facts of several values."""
        return [self.of(v) for v in values]

    def of_steps(self, op: Scan | While, inputs: Sequence[Variable]) -> list[int]:
        """The facts of the operands of each step of a loop."""
        return _steps(op, self.of_all(inputs))[0]


def _operands(v: Variable, stands_for: dict[int, tuple[Variable, Variable]]) -> tuple[Sequence[Variable], Way]:
    """The operands by which it is known what a value is, and the way from them to it."""
    if v.apply is not None:
        way = WAYS.get(v.apply.key)
        return ((), _nothing) if way is None else (v.apply.inputs, way)
    if isinstance(v, Constant):
        return (), _written(v)
    pair = stands_for.get(id(v))
    return ((), _is()) if pair is None else (pair[1:], _first)


def _written(c: Constant) -> Way:
    """The facts of a constant that a program writes."""
    facts = c.told("regular", _of_data)
    return lambda node, parts: facts


def _of_data(name: str, c: Constant) -> int:
    data = c.data
    if data.dtype.kind != "f":
        return 0
    facts = 0 if not (data < np.inf).all() else REGULAR if not np.isinf(data).any() else BELOW
    return facts | (FRACTION if (np.abs(data) < 1).all() else 0)


def _nothing(node: Any, parts: Sequence[int]) -> int:
    return 0


def _of_facts(v: Variable) -> int:
    facts = facts_of(v)
    return sum(flag for name, flag in OF_FACTS.items() if name in facts) if facts else 0


# --- functions of elements -------------------------------------------------------------------------------------------


def _all(node: Any, parts: Sequence[int]) -> int:
    """The facts that all operands have."""
    facts = REGULAR | NONZERO | SIGNS | FRACTION
    for part in parts:
        facts &= part
    return facts


def _first(node: Any, parts: Sequence[int]) -> int:
    return parts[0]


def _cast(node: Any, parts: Sequence[int]) -> int:
    (x,), (result,) = node.inputs, node.types
    return parts[0] & ~NONZERO if is_inexact(x.type.dtype) and not is_inexact(result.dtype) else parts[0]


def _is(facts: int = 0, needed: int = REGULAR) -> Way:
    """A function that is finite of finite operands, and of one sign."""
    return lambda node, parts: facts | (REGULAR if _has(_all(node, parts), needed) else 0)


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

    def known(node: Any, parts: Sequence[int]) -> int:
        pairs = zip(node.inputs, reversed(parts), strict=True)
        more = any(p & FRACTION and isinstance(v, Constant) and v.data.size and (v.data >= 1).all() for v, p in pairs)
        return fn(*parts) | (POSITIVE if (more and fn is not _difference) or (more and parts[1] & FRACTION) else 0)

    return known


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
    return _regular(_all(node, parts)) | NONNEGATIVE | (NONZERO if any(p & NONZERO for p in parts) else 0)


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


def _of_graph(graph: FrozenGraph, parts: Sequence[int]) -> list[int]:
    """The facts of the outputs of a graph; kept, as loops within loops ask for the same again and again."""
    whole, key = opened(graph), tuple(parts)
    if key not in whole.regular:
        regularity = Regularity(whole.inputs, lambda: key)
        whole.regular[key] = [*map(regularity.of, whole.outputs)]
    return whole.regular[key]


def _steps(op: Scan | While, parts: Sequence[int]) -> tuple[list[int], list[int]]:
    """The facts of the operands of a step, and of its results."""
    n, operands = op.carries, list(parts[getattr(op, "first", 0) :])
    for _ in range(MOST_STEPS):
        after = _of_graph(op.body, operands)
        common = [a & b for a, b in zip(operands[:n], after[:n], strict=True)]
        if common == operands[:n]:
            return operands, after
        operands[:n] = common
    operands[:n] = [0] * n
    return operands, _of_graph(op.body, operands)


def _scan(node: Any, parts: Sequence[int]) -> list[int]:
    op = node.op
    operands, after = _steps(op, parts)
    return [*operands[: op.carries], *after[op.carries :], *[REGULAR] * (len(node.types) - len(after))]


def _while(node: Any, parts: Sequence[int]) -> list[int]:
    op = node.op
    operands, after = _steps(op, parts)
    traces = [part & ~NONZERO for part in after[op.carries :]]  # of steps that were not made they are 0
    facts = [*operands[: op.carries], REGULAR, *traces]
    return [*facts, *[REGULAR] * (len(node.types) - len(facts))]


def _cond(node: Any, parts: Sequence[int]) -> list[int]:
    op = node.op
    columns = zip(*(_of_graph(graph, parts[1:]) for graph in op.branches), strict=True)
    facts = [_all(node, column) for column in columns]
    return [*facts, *[REGULAR] * (len(node.types) - len(facts))]


def _call(node: Any, parts: Sequence[int]) -> list[int]:
    op = node.op
    facts = _of_graph(op.graph, parts)
    return [*facts, *[REGULAR] * (len(node.types) - len(facts))]


def _normalized(node: Any, parts: Sequence[int]) -> list[int]:
    """Values, means and variances: of finite ones, if something is added to what is divided by."""
    facts = REGULAR if _has(_all(node, parts), REGULAR) else 0
    return [facts if node.op.eps > 0 else 0, facts, facts | NONNEGATIVE]


def _normalized_backwards(node: Any, parts: Sequence[int]) -> int:
    """The cotangents of values, weights and biases: of finite ones, where the variance is not below 0."""
    return REGULAR if node.op.eps > 0 and parts[3] & NONNEGATIVE and _has(_all(node, parts), REGULAR) else 0


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

WAYS: Final[dict[object, Way]] = {
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
    arithmetic.sign: _is(),
    Arange: _is(),
    comparison.where: lambda node, parts: parts[2] if parts[0] & FALSE else _all(node, parts[1:]),
    comparison.equal: _equal,
    **dict.fromkeys((rounding.floor, rounding.ceil, rounding.trunc, rounding.rint), _is()),
    **dict.fromkeys(ODD, lambda node, parts: parts[0] & ~FRACTION),
    **dict.fromkeys(BOUNDED, _is()),
    **dict.fromkeys(ABOVE, _is(POSITIVE)),
    **dict.fromkeys((exponential.sigmoid, normal.ndtr), _is(POSITIVE | FRACTION)),
    **dict.fromkeys((trigonometric.tanh, error.erf), lambda node, parts: parts[0] | FRACTION),
    **dict.fromkeys((exponential.exp, exponential.exp2), _exponential),
    trigonometric.log_cosh: _is(NONNEGATIVE),
    normal.log_ndtr: _is(NONPOSITIVE),
    **dict.fromkeys((exponential.log, exponential.log2, exponential.log10), _logarithm),
    **dict.fromkeys((gamma.gammaln, gamma.digamma, beta.betaln), _of_positive()),
    **dict.fromkeys((gamma.gamma, gamma.trigamma, beta.beta), _of_positive(POSITIVE)),
    zeta.polygamma: lambda node, parts: REGULAR if _has(parts[1], REGULAR | POSITIVE) else 0,
    exponential.log1p: _log1p,
    exponential.xlogy: _weighted(POSITIVE),
    exponential.xlog1py: _weighted(NONNEGATIVE),
    **dict.fromkeys(MOVES, _first),
    Cast: _cast,
    Concatenate: _all,
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
    Share: lambda node, parts: _exponential(node, [_all(node, parts)]),
    Norm: _is(NONNEGATIVE),
    Scan: _scan,
    While: _while,
    Cond: _cond,
    Call: _call,
}
