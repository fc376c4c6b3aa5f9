"""Rules of logarithms: of powers and sums, and formulas that lose the digits of what is near 0 or 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.facts import holds
from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import (
    absolute,
    add,
    divide,
    maximum,
    minimum,
    multiply,
    negative,
    power,
    sqrt,
    square,
)
from tg.ops.elementwise.comparison import equal, greater, where
from tg.ops.elementwise.exponential import (
    LN2,
    exp,
    expm1,
    log,
    log1mexp,
    log1mexp_in_pieces,
    log1p,
    log2,
    log10,
    logaddexp,
    logit,
    per_expm1,
    softplus,
)
from tg.ops.elementwise.trigonometric import cosh, log_cosh, log_of_cosh, sech, sinh
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import CANONICALIZE, DIFFERENTIATE, NAN_UNSAFE, REASSOCIATES, SPECIALIZE, STABILIZE
from tg.rewrite.rule import equations, rule, rule_of
from tg.rules.elementwise.exponential.terms import (
    is_number,
    log_of_sum,
    logs_of_sum,
    stripped,
)
from tg.types.dtypes import is_float, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

LOGARITHMS: Final = (log, log2, log10)
OVERFLOWS: Final = "Infinite where exp(x) overflows or vanishes."


@rule_of(*LOGARITHMS, phase=STABILIZE, kind=REASSOCIATES, below=(power,), example=lambda x: log(x**6))
def _log_of_power(op: Any, y: Variable) -> Variable | None:
    """log(x**c) as c * log(x), of |x| where c is even.

    The power overflows and vanishes where its logarithm does not.
    """
    if not is_float(y.type.dtype):
        return None
    x, c = y.inputs
    if not isinstance(c, Constant) or c.data.size != 1:
        return None
    value = float(c.data.reshape(()))
    if not np.isfinite(value) or value == 0 or (value < 0 and value % 2 == 1 and not _is_no_negative_zero(x)):
        return None
    fn: Any = op
    return multiply(fn(absolute(x) if value % 2 == 0 else x), c)


@rule_of(*LOGARITHMS, phase=STABILIZE, kind=REASSOCIATES, below=(square,), example=lambda x: log(square(x)))
def _log_of_square(op: Any, y: Variable) -> Variable | None:
    """The square overflows and vanishes where its logarithm does not."""
    fn: Any = op
    return multiply(2, fn(absolute(y.inputs[0]))) if is_float(y.type.dtype) else None


@rule_of(*LOGARITHMS, phase=SPECIALIZE, kind=REASSOCIATES, below=(sqrt,), example=lambda x: log(sqrt(x)))
def _log_of_root(op: Any, y: Variable) -> Variable | None:
    """A product is faster than a root."""
    fn: Any = op
    return multiply(0.5, fn(y.inputs[0])) if is_float(y.type.dtype) else None


@rule_of(*LOGARITHMS, kind=REASSOCIATES, below=(divide,), example=lambda x: log(1 / x))
def _log_of_reciprocal(op: Any, y: Variable) -> Variable | None:
    """log(1 / x) as -log(x). A change of sign is cheaper than a quotient, which overflows for the smallest x."""
    fn: Any = op
    if not is_float(y.type.dtype) or not is_number(y.inputs[0], 1):
        return None
    return negative(fn(y.inputs[1])) if _is_no_negative_zero(y.inputs[1]) else None


def _is_no_negative_zero(x: Variable) -> bool:
    """Whether no element is -0.0, of whose reciprocal, -inf, the logarithm is NaN."""
    return holds(x, "no_negative_zero") or holds(x, "nonzero")


@rule_of(log, phase=STABILIZE, kind=REASSOCIATES, below=(add,), example=lambda x, y: log(exp(x) + exp(y)))
def _logaddexp_from_logs(op: Any, y: Variable) -> Variable | None:
    """log(exp(x) + exp(y) + ...), where a term may be a number.

    exp(x) overflows and vanishes where the result does not.
    """
    if not is_float(y.type.dtype):
        return None
    logs = logs_of_sum(y)
    return log_of_sum(logs) if logs else None


def _has_bound(x: Variable) -> bool:
    """Whether a value is limited by a number, as what follows from these rules is."""
    x, _ = stripped(x)
    return any(is_made_by(x, fn) and any(isinstance(u, Constant) for u in x.inputs) for fn in (minimum, maximum))


def _log_of_expm1(x: Variable) -> Variable:
    """log(exp(x) - 1), whose exponential overflows where the logarithm is x."""
    return where(greater(x, 1), x + log1p(-exp(-maximum(x, 0.5))), log(expm1(minimum(x, 2))))


def log_of_difference(x: Variable, y: Variable) -> Variable:
    """log(exp(x) - exp(y)); nothing is subtracted where y is -inf."""
    kind = numpy_dtype(y.type.dtype).type
    return where(equal(y, kind(-np.inf)), x, x + log1mexp(y - x))


def _log1p_of_minus_exp(x: Variable) -> Variable:
    """log(1 - exp(x)), of a difference that has lost its digits where x is near 0."""
    return where(greater(x, -LN2), x + log(expm1(minimum(-x, 1))), log1p(-exp(minimum(x, -0.5))))


RULES = (
    rule(
        "log_of_one_plus",
        match=lambda x: log(1 + x),
        replace=log1p,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="log(1 + x) has lost every digit of x once |x| < eps.",
    ),
    rule(
        "log_of_one_minus",
        match=lambda x: log(1 - x),
        replace=lambda x: log1p(-x),
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="log(1 - x) has lost every digit of x once |x| < eps.",
    ),
    rule(
        "exp_minus_one",
        match=lambda x: exp(x) - 1,
        replace=expm1,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="exp(x) - 1 has lost every digit of x once |x| < eps.",
    ),
    rule(
        "one_minus_exp",
        match=lambda x: 1 - exp(x),
        replace=lambda x: -expm1(x),
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="1 - exp(x) has lost every digit of x once |x| < eps.",
    ),
    rule(
        "expm1_plus_one",
        match=lambda x: expm1(x) + 1,
        replace=exp,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="expm1(x) + 1 has lost the digits of a small exp(x).",
    ),
    rule(
        "log1mexp_from_log",
        match=lambda x: log(-expm1(x)),
        replace=log1mexp_in_pieces,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="1 - exp(x) rounds to 1 for x < -37, where its logarithm is -exp(x).",
    ),
    rule(
        "log1mexp_from_log1p",
        match=lambda x: log1p(-exp(x)),
        replace=_log1p_of_minus_exp,
        phase=STABILIZE,
        kind=REASSOCIATES,
        when=lambda x: holds(x, "nonpositive") and not _has_bound(x),
        why="exp(x) rounds to 1 near 0, where log(1 - exp(x)) is log(-x).",
    ),
    rule(
        "log_of_expm1",
        match=lambda x: log(expm1(x)),
        replace=_log_of_expm1,
        phase=STABILIZE,
        kind=REASSOCIATES,
        when=lambda x: not (_has_bound(x) or is_made_by(x, negative)),
        why="exp(x) overflows where log(exp(x) - 1) is x.",
    ),
    rule(
        "logdiffexp",
        match=lambda x, y: log(exp(x) - exp(y)),
        replace=log_of_difference,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="Both exponentials overflow, or vanish, where the logarithm of their difference is near x.",
    ),
    rule(
        "logit_from_quotient",
        match=lambda x: log(x / (1 - x)),
        replace=logit,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="The logarithm of a quotient near 1 has lost the digits of x around 1/2.",
    ),
    _logaddexp_from_logs,
    rule(
        "logaddexp_from_maximum",
        match=lambda x, y: maximum(x, y) + softplus(-absolute(x - y)),
        replace=logaddexp,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="One op, which does so itself.",
    ),
    rule(
        "log_of_cosh",
        match=lambda x: log(cosh(x)),
        replace=log_of_cosh,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="cosh(x) overflows where its logarithm is |x| - log(2), and is 1 where that is x**2 / 2.",
    ),
    _log_of_square,
    _log_of_power,
    _log_of_root,
    _log_of_reciprocal,
    *equations(
        CANONICALIZE,
        NAN_UNSAFE,
        (
            ("log_of_exp", lambda x: log(exp(x)), lambda x: x, OVERFLOWS),
            ("log1p_of_expm1", lambda x: log1p(expm1(x)), lambda x: x, OVERFLOWS),
            ("exp_of_log", lambda x: exp(log(x)), lambda x: x, "NaN where x is below 0."),
        ),
    ),
)

FORMS = (
    *(
        rule(
            name,
            match=match,
            replace=replace,
            phase=DIFFERENTIATE,
            kind=REASSOCIATES,
            when=lambda c, x: not is_made_by(c, sinh),  # tanh(x) is a form of its own
            why="The square of cosh(x) overflows, by which a quotient's slope is divided.",
        )
        for name, match, replace in (
            ("sech_from_quotient", lambda c, x: c / cosh(x), lambda c, x: c * sech(x)),
            ("sech_squared_from_quotient", lambda c, x: c / square(cosh(x)), lambda c, x: c * square(sech(x))),
        )
    ),
    rule(
        "per_expm1_from_quotient",
        match=lambda c, x: c / expm1(x),
        replace=per_expm1,
        phase=DIFFERENTIATE,
        kind=REASSOCIATES,
        why="The square of expm1(x) overflows, by which a quotient's slope is divided.",
    ),
    rule(
        "log1mexp_whole",
        match=lambda x: log(-expm1(x)),
        replace=log1mexp,
        phase=DIFFERENTIATE,
        kind=REASSOCIATES,
        why="A formula in pieces has kinks where they meet.",
    ),
    rule(
        "log1mexp_from_log1p_of_exp",
        match=lambda x: log1p(-exp(x)),
        replace=log1mexp,
        phase=DIFFERENTIATE,
        kind=REASSOCIATES,
        why="exp(x) rounds to 1 near 0; a formula in pieces has kinks where they meet.",
    ),
    rule(
        "log1mexp_from_log_of_expm1",
        match=lambda x: log(expm1(x)),
        replace=lambda x: x + log1mexp(-x),
        phase=DIFFERENTIATE,
        kind=REASSOCIATES,
        why="exp(x) overflows where log(exp(x) - 1) is x; a formula in pieces has kinks where they meet.",
    ),
    rule(
        "log_cosh_from_log",
        match=lambda x: log(cosh(x)),
        replace=log_cosh,
        phase=DIFFERENTIATE,
        kind=REASSOCIATES,
        why="cosh(x) overflows, and what is stable has |x|, whose slope has a kink.",
    ),
)
