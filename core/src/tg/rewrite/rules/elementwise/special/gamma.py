"""Rules of logarithms of the gamma function, of factorials and of the beta function, and of their gradients.

Where the gamma function is below 0, or has no value, its logarithm is NaN; gammaln(x) is that of its size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.graph.facts import facts_of
from tg.ops.elementwise.arithmetic import absolute, add, divide, gate, multiply, sign
from tg.ops.elementwise.comparison import equal, greater, isnan, less, where
from tg.ops.elementwise.exponential import log
from tg.ops.elementwise.special.beta import beta, betaln
from tg.ops.elementwise.special.gamma import digamma, factorial, gamma, gammaln, gammasgn
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import CANONICALIZE, REASSOCIATES, STABILIZE
from tg.rewrite.rule import node_rule, rule
from tg.rewrite.rules.elementwise.exponential.terms import is_number
from tg.rewrite.rules.elementwise.exponential.zeros import number
from tg.types.dtypes import is_float

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

GROWING: Final = (gamma, factorial, beta)
NAN: Final = float("nan")
INFINITY: Final = float("inf")


def _log_of_gamma(x: Variable) -> Variable:
    """The logarithm, to which NaN is added where there is none: so its derivative is digamma(x) there too."""
    found = gammaln(x)
    if facts_of(x) >= {"nonnegative", "no_negative_zero"}:
        return found
    return add(found, _nan_unless(greater(gammasgn(x), 0.0), x))


def _nan_unless(condition: Variable, x: Variable) -> Variable:
    kind = x.type.numpy_dtype.type
    return where(condition, kind(0), kind(NAN))


def _log_of_size(x: Variable) -> Variable:
    found = gammaln(x)
    if "nonnegative" in facts_of(x):
        return found
    return add(found, _nan_unless(equal(gammasgn(x), gammasgn(x)), x))


def _log_of_factorial(x: Variable) -> Variable:
    found = gammaln(add(x, 1.0))
    return found if "nonnegative" in facts_of(x) else where(less(x, 0.0), -INFINITY, found)


def _are_nonnegative(x: Variable, y: Variable) -> bool:
    return "nonnegative" in facts_of(x) & facts_of(y)


class Over(NamedTuple):
    """w / y, or gate(w, 1 / y), which is 0 where w is, though y be NaN."""

    w: Variable
    y: Variable
    is_gated: bool

    def times(self, d: Variable) -> Variable:
        """w d, where d is NaN whenever y is."""
        if is_number(self.w, 1):
            return d
        found = gate(self.w, d)
        return found if self.is_gated else where(isnan(d), d, found)


def _logarithmic_derivative(node: Apply, outputs: Any) -> Variable | None:
    """gate(w / y, y d) as gate(w, d), and gate(y d, w / y) as gate(d, w); of factorials d is 0 below 0."""
    first, second = node.inputs
    return _without_both(first, second) if is_float(first.type.dtype) else None


def _without_both(first: Variable, second: Variable) -> Variable | None:
    if is_made_by(first, where):  # a derivative that is chosen to be 0 gates as 0 does
        condition, zero, inner = first.inputs
        found = _without_both(inner, second) if is_number(zero, 0) else None
        return None if found is None else where(condition, zero, found)
    if (over := _over_growing(first)) is not None:
        if second is over.y:
            return over.times(where(isnan(second), second, number(1, second)))
        if is_made_by(second, where):
            condition, zero, inner = second.inputs
            d = _without(inner, over.y) if is_number(zero, 0) else None
            return None if d is None else where(condition, zero, over.times(d))
        d = _without(second, over.y)
        return None if d is None else over.times(d)
    growing = _over_growing(second)
    d = None if growing is None or growing.is_gated else _without(first, growing.y)
    return None if d is None or growing is None else gate(d, growing.w)


def _over_growing(v: Variable) -> Over | None:
    """What a value is that is divided by one of the functions, or by its size and multiplied by its sign."""
    found = _over(v)
    if found is None and is_made_by(v, gate) and is_made_by(v.inputs[1], sign):
        (y,) = v.inputs[1].inputs
        found = _over(v.inputs[0])
        found = found._replace(y=y) if found is not None and _is_size(found.y, y) else None
    return found if found is not None and any(is_made_by(found.y, fn) for fn in GROWING) else None


def _over(v: Variable) -> Over | None:
    if is_made_by(v, divide):
        return Over(v.inputs[0], v.inputs[1], is_gated=False)
    if is_made_by(v, gate) and is_made_by(v.inputs[1], divide) and is_number(v.inputs[1].inputs[0], 1):
        return Over(v.inputs[0], v.inputs[1].inputs[1], is_gated=True)
    return None


def _is_size(v: Variable, y: Variable) -> bool:
    return is_made_by(v, absolute) and v.inputs[0] is y


def _without(product: Variable, y: Variable) -> Variable | None:
    """The other factor of a product with y, which is a derivative: it is NaN whenever y is."""
    if not is_made_by(product, multiply):
        return None
    a, b = product.inputs
    return b if a is y else a if b is y else None


RULES = (
    rule(
        "log_of_gamma",
        match=lambda x: log(gamma(x)),
        replace=_log_of_gamma,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="gamma(x) overflows for x > 171, and has lost the digits of its logarithm about 1 and 2.",
    ),
    rule(
        "log_of_absolute_gamma",
        match=lambda x: log(absolute(gamma(x))),
        replace=_log_of_size,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="gamma(x) overflows for x > 171, and has lost the digits of its logarithm about 1 and 2.",
    ),
    rule(
        "log_of_factorial",
        match=lambda x: log(factorial(x)),
        replace=_log_of_factorial,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="The factorial of 171 is infinite; its logarithm is not.",
    ),
    rule(
        "log_of_beta",
        match=lambda x, y: log(beta(x, y)),
        replace=betaln,
        phase=STABILIZE,
        kind=REASSOCIATES,
        when=_are_nonnegative,  # elsewhere it may be below 0: which it is depends on how x + y is rounded
        why="beta(x, y) vanishes for large x and y; its logarithm does not.",
    ),
    node_rule(
        "gradient_of_log_of_gamma",
        keys=(gate,),
        apply=_logarithmic_derivative,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="The function cancels in the derivative of its logarithm, where it may overflow or vanish.",
        example=lambda w, x: gate(w / gamma(x), gamma(x) * digamma(x)),
        below=(divide, multiply, gate, where, gamma, factorial, beta),
    ),
)
