"""Rules of logarithms of the gamma function, of factorials and of the beta function, and of their gradients.

Where the gamma function is below 0, or has no value, its logarithm is NaN; gammaln(x) is that of its size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.graph.facts import facts_of
from tg.ops.elementwise.arithmetic import absolute, add
from tg.ops.elementwise.comparison import equal, greater, less, where
from tg.ops.elementwise.exponential import log
from tg.ops.elementwise.special.beta import beta, betaln
from tg.ops.elementwise.special.gamma import factorial, gamma, gammaln, gammasgn
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

NAN: Final = float("nan")
INFINITY: Final = float("inf")


def _log_of_gamma(x: Variable) -> Variable:
    """The logarithm, to which NaN is added where there is none: so its derivative is digamma(x) there too."""
    logarithm = gammaln(x)
    if facts_of(x) >= {"nonnegative", "no_negative_zero"}:
        return logarithm
    return add(logarithm, _nan_unless(greater(gammasgn(x), 0.0), x))


def _nan_unless(condition: Variable, x: Variable) -> Variable:
    kind = x.type.numpy_dtype.type
    return where(condition, kind(0), kind(NAN))


def _log_of_size(x: Variable) -> Variable:
    logarithm = gammaln(x)
    if "nonnegative" in facts_of(x):
        return logarithm
    return add(logarithm, _nan_unless(equal(gammasgn(x), gammasgn(x)), x))


def _log_of_factorial(x: Variable) -> Variable:
    logarithm = gammaln(add(x, 1.0))
    return logarithm if "nonnegative" in facts_of(x) else where(less(x, 0.0), -INFINITY, logarithm)


def _are_nonnegative(x: Variable, y: Variable) -> bool:
    return "nonnegative" in facts_of(x) & facts_of(y)


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
)
