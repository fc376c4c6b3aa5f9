"""Rules of tails: of erfc and the normal distribution function beside logarithms, and beside the densities below them.

With these come the gradients of logarithms: that of log(ndtr(x)) is a density over a probability, 0 / 0 far out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.graph.facts import facts_of
from tg.graph.nodes import Constant
from tg.graph.traversal import key_of
from tg.ops.elementwise.arithmetic import add, divide, maximum, minimum, multiply, negative, square
from tg.ops.elementwise.comparison import greater, less, where
from tg.ops.elementwise.exponential import exp, log, log1p
from tg.ops.elementwise.special.error import erf, erfc, erfcx
from tg.ops.elementwise.special.normal import inverse_mills, log_ndtr, ndtr, ndtri_exp
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule, rule_of
from tg.rules.elementwise.arithmetic.scalars import exact
from tg.rules.elementwise.exponential.logarithms import log_of_difference
from tg.rules.elementwise.exponential.terms import number, relation
from tg.types.dtypes import is_float

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

    Path = tuple[int, ...]  # which operand of which, from a value on

ROOT_2: Final = 1.4142135623730951
ROOT_HALF: Final = 0.7071067811865476
ROOT_2_PI: Final = 2.5066282746310002
LN2: Final = 0.6931471805599453
FAR: Final = 1.0  # from where on the logarithm of 1 - erf(x) is got from the tail
CLOSE: Final = {"float64": 5e-16, "float32": 3e-7}  # how far apart two constants may be that stand for one number
LARGEST: Final = 1e15  # factors beyond it, or below its reciprocal, are there to scale
DEPTH: Final = 4  # of products in which tails and densities are looked for
TAILS: Final = (erfc, ndtr)
LEAVES: Final = frozenset(fn.op for fn in (*TAILS, exp))
FACTORED: Final = (multiply, divide, negative)
PRODUCTS: Final = frozenset(fn.op for fn in FACTORED)


class Multiple(NamedTuple):
    """A value as a number times another one."""

    base: Variable
    factor: float


def _multiple(v: Variable) -> Multiple:
    """A value without the sign and the constant factors that it has."""
    factor = 1.0
    while True:
        if is_made_by(v, negative):
            v, factor = v.inputs[0], -factor
            continue
        place = 0 if is_made_by(v, multiply) and isinstance(v.inputs[0], Constant) else 1
        c = exact(v.inputs[place]) if is_made_by(v, multiply) or is_made_by(v, divide) else None
        value = 0.0 if c is None else float(c)
        if not 1 / LARGEST < abs(value) < LARGEST:
            return Multiple(v, factor)
        factor = factor / value if is_made_by(v, divide) else factor * value
        v = v.inputs[1 - place]


def _is_close(a: float, b: float, dtype: str) -> bool:
    """Whether two constants are one number but for its rounding; numbers of a half beside one another are two."""
    return a == b or (dtype in CLOSE and abs(a - b) <= CLOSE[dtype] * abs(b))


def _times(v: Variable, factor: float) -> Variable:
    """A multiple of a value; where the factors cancel but for their rounding, its base."""
    base, c = _multiple(v)
    for whole in (1.0, -1.0):
        if _is_close(c * factor, whole, v.type.dtype):
            return base if whole > 0 else negative(base)
    return multiply(v, factor)


@rule_of(log, phase=STABILIZE, kind=REASSOCIATES, below=(erfc, multiply, divide), example=lambda x: log(erfc(x)))
def _log_of_erfc(op: Any, y: Variable) -> Variable | None:
    """log(c erfc(x)) as log(ndtr(-x sqrt(2))) + log(2 c).

    erfc(x) vanishes for x > 27, where its logarithm is about -x**2.
    """
    tail, c = (y, 1.0) if is_made_by(y, erfc) else _multiple(y)
    if not is_made_by(tail, erfc) or c <= 0 or not is_float(y.type.dtype):
        return None
    logarithm = log_ndtr(_times(tail.inputs[0], -ROOT_2))
    return logarithm if c == 0.5 else add(logarithm, math.log(2 * c))


@rule_of(log1p, phase=STABILIZE, kind=REASSOCIATES, below=(erf, negative), example=lambda x: log1p(-erf(x)))
def _log1p_of_erf(op: Any, y: Variable) -> Variable | None:
    """log(1 - erf(x)), or of 1 + erf(x), whose argument has lost its digits where erf is near 1.

    erf(x) is 1 for x > 6, where the logarithm of 1 - erf(x) is about -x**2.
    """
    value, sign = (y.inputs[0], -1) if is_made_by(y, negative) else (y, 1)
    if not is_made_by(value, erf) or not is_float(y.type.dtype):
        return None
    (x,) = value.inputs
    if is_made_by(x, minimum) or is_made_by(x, maximum):  # as it stands in what this rule gives
        return None
    if sign > 0 and "nonnegative" in facts_of(x):  # the limit would go, and the rule begin anew
        return None
    if sign < 0:
        far, near, is_far = maximum(x, FAR / 2), minimum(x, FAR * 2), greater(x, FAR)
    else:
        far, near, is_far = minimum(x, -FAR / 2), maximum(x, -FAR * 2), less(x, -FAR)
    far = add(log_ndtr(_times(far, sign * ROOT_2)), LN2)
    return where(is_far, far, log1p(negative(erf(near)) if sign < 0 else erf(near)))


def _exponent(v: Variable) -> Multiple | None:
    """x and c where a value is exp(c x^2)."""
    if not is_made_by(v, exp):
        return None
    power, c = _multiple(v.inputs[0])
    if is_made_by(power, square):
        x, k = _multiple(power.inputs[0])
        return Multiple(x, c * k * k)
    if not is_made_by(power, multiply):
        return None
    (x, k), (y, m) = map(_multiple, power.inputs)
    return Multiple(x, c * k * m) if key_of(x) == key_of(y) else None


def _scaled(tail: Variable, density: Variable, sign: int) -> Variable | None:
    """A tail at x times e^(x^2), or of the normal distribution e^(x^2/2), where a sign and a density say that."""
    exponent = _exponent(density)
    if exponent is None or not any(is_made_by(tail, fn) for fn in TAILS) or not is_float(tail.type.dtype):
        return None
    (x,) = tail.inputs
    base, k = _multiple(x)
    is_normal = is_made_by(tail, ndtr)
    needed = sign * k * k * (0.5 if is_normal else 1.0)
    if not relation(base, exponent.base) or not _is_close(exponent.factor, needed, x.type.dtype):
        return None
    return multiply(erfcx(_times(x, -ROOT_HALF)), 0.5) if is_normal else erfcx(x)


@rule_of(
    divide,
    multiply,
    phase=STABILIZE,
    kind=REASSOCIATES,
    below=(*TAILS, exp, *FACTORED),
    example=lambda w, x: (w / ndtr(x)) * exp(square(x) * -0.5),
)
def _density_over_tail(op: Any, a: Variable, b: Variable) -> Variable | None:
    """A product or quotient with e^(-x^2) in one operand and 1 / erfc(x) in the other, which is 1 / erfcx(x).

    A density and the tail beyond it vanish together; their quotient does not.
    """
    power = -1 if op is divide.op else 1
    for first, second in ((a, b), (b, a)) if op is multiply.op else ((a, b),):
        for place, density in _leaves(first, 1):
            for other, tail in _leaves(second, -power):
                scaled_tail = _scaled(tail, density, -1)
                if scaled_tail is not None:
                    rest = _put(second, other, number(1, tail))
                    return op.fn(_put(first, place, _ratio(tail, scaled_tail)), rest)  # type: ignore[no-any-return]
        for place, tail in _leaves(first, -1):
            for other, density in _leaves(second, power):
                scaled_tail = _scaled(tail, density, -1)
                if scaled_tail is not None:
                    rest = _put(second, other, number(1, tail))
                    return op.fn(_put(first, place, scaled_tail), rest)  # type: ignore[no-any-return]
    return None


def _ratio(tail: Variable, scaled_tail: Variable) -> Variable:
    """The density over a tail, of which the reciprocal is known: of the normal one the inverse of Mills' ratio."""
    return multiply(inverse_mills(tail.inputs[0]), ROOT_2_PI) if is_made_by(tail, ndtr) else divide(1, scaled_tail)


@rule_of(
    multiply,
    phase=STABILIZE,
    kind=REASSOCIATES,
    below=(exp, *FACTORED),
    example=lambda x: exp(square(ndtri_exp(x)) * 0.5) * exp(x),
)
def _slope_of_quantile(op: Any, *operands: Variable) -> Variable | None:
    """e^(y^2/2) in one operand and e^x in the other, where x is the logarithm of the probability up to y.

    exp(y**2 / 2) overflows where the probability up to y vanishes; their product is about 1 / |y|.
    """
    for first, second in (operands, operands[::-1]) if op is multiply.op else (operands,):
        for place, a in _leaves(first, 1):
            for other, b in _leaves(second, 1):
                slope = _slope(a, b)
                if slope is not None:
                    rest = _put(second, other, number(1, b))
                    return op.fn(_put(first, place, slope), rest)  # type: ignore[no-any-return]
    return None


def _slope(a: Variable, b: Variable) -> Variable | None:
    """The product of two exponentials, where they are these."""
    for density, power in ((a, b), (b, a)):
        exponent = _exponent(density)
        if exponent is None or exponent.factor != 0.5 or not is_made_by(exponent.base, ndtri_exp):
            continue
        if is_made_by(power, exp) and power.inputs[0] is exponent.base.inputs[0]:
            return _of_quantile(exponent.base)
    return None


def _of_quantile(y: Variable) -> Variable:
    """e^(y^2/2) times the probability up to y."""
    return multiply(erfcx(multiply(y, -ROOT_HALF)), 0.5)


def _leaves(v: Variable, power: int, depth: int = DEPTH) -> list[tuple[Path, Variable]]:
    """The tails and exponentials among a value's factors, or for a power of -1 its divisors, and where they stand."""
    node = v.apply
    if node is None:
        return []
    if node.op in LEAVES:
        return [((), v)] if power > 0 else []
    if not depth or node.op not in PRODUCTS:
        return []
    leaves = []
    for k, u in enumerate(node.inputs):
        of_u = -power if k and node.op is divide.op else power
        leaves += [((k, *path), leaf) for path, leaf in _leaves(u, of_u, depth - 1)]
    return leaves


def _put(v: Variable, path: Path, new: Variable) -> Variable:
    """A value with another factor at a place."""
    if not path:
        return new
    node: Any = v.apply
    operands = list(node.inputs)
    operands[path[0]] = _put(operands[path[0]], path[1:], new)
    return node.op.fn(*operands)  # type: ignore[no-any-return]


def _factors(v: Variable) -> list[tuple[Variable | None, Variable]]:
    """A value, and what multiplies it: nothing, or where it is a product each of its factors and the other one."""
    factors: list[tuple[Variable | None, Variable]] = [(None, v)]
    if is_made_by(v, multiply):
        x, y = v.inputs
        factors += [(x, y), (y, x)]
    return factors


@rule_of(
    multiply,
    divide,
    phase=STABILIZE,
    kind=REASSOCIATES,
    below=(*TAILS, exp, multiply),
    example=lambda x: exp(square(x)) * erfc(x),
)
def _scaled_tail(op: Any, a: Variable, b: Variable) -> Variable | None:
    """w erfc(x) e^(x^2), as a product or a quotient by e^(-x^2).

    erfc(x) vanishes where exp(x**2) overflows; their product, erfcx(x), is about 1 / x.
    """
    if op is divide.op:
        pairs = [(w, tail, b) for w, tail in _factors(a)]
    else:
        some = [(w, v, u) for x, u in ((a, b), (b, a)) for w, v in _factors(x)]
        pairs = [(w, *pair) for w, v, u in some for pair in ((v, u), (u, v))]
    for w, tail, density in pairs:
        scaled_tail = _scaled(tail, density, -1 if op is divide.op else 1)
        if scaled_tail is not None:
            return scaled_tail if w is None else multiply(w, scaled_tail)
    return None


def _log_between(x: Variable, y: Variable) -> Variable:
    """log(ndtr(x) - ndtr(y)), of both taken from the nearer end."""
    turned = greater(y, 0)
    upper, lower = log_ndtr(where(turned, -y, x)), log_ndtr(where(turned, -x, y))
    return log_of_difference(upper, lower)


RULES = (
    rule(
        "log_of_ndtr",
        match=lambda x: log(ndtr(x)),
        replace=log_ndtr,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="ndtr(x) vanishes for x < -38, where its logarithm is about -x**2 / 2.",
    ),
    rule(
        "log_of_ndtr_difference",
        match=lambda x, y: log(ndtr(x) - ndtr(y)),
        replace=_log_between,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="Both chances are 1 for x > 8, or vanish for x < -38, where their difference has a logarithm.",
    ),
    rule(
        "log1p_of_negative_ndtr",
        match=lambda x: log1p(-ndtr(x)),
        replace=lambda x: log_ndtr(-x),
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="1 - ndtr(x) vanishes for x > 8, where its logarithm is about -x**2 / 2.",
    ),
    _log_of_erfc,
    _log1p_of_erf,
    _scaled_tail,
    _density_over_tail,
    _slope_of_quantile,
)
