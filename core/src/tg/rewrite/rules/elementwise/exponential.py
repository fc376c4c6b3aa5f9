"""Rules of exponentials and logarithms: formulas that lose digits or overflow, by those that do not."""

from __future__ import annotations

from tg.ops.elementwise.arithmetic import absolute, sqrt, square
from tg.ops.elementwise.exponential import exp, expm1, log, log1p, logaddexp, sigmoid, softplus
from tg.rewrite.phases import CANONICALIZE, NAN_UNSAFE, REASSOCIATES, SPECIALIZE, STABILIZE
from tg.rewrite.rule import rule

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
        "minus_one_plus_exp",
        match=lambda x: exp(x) + -1,
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
        "sigmoid_from_quotient",
        match=lambda x: 1 / (1 + exp(x)),
        replace=lambda x: sigmoid(-x),
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="exp(x) overflows and vanishes; the signs of 1 / (1 + exp(-x)) cancel.",
    ),
    rule(
        "sigmoid_from_exps",
        match=lambda x: exp(x) / (1 + exp(x)),
        replace=sigmoid,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="inf / inf is NaN once exp(x) overflows.",
    ),
    rule(
        "one_minus_sigmoid",
        match=lambda x: 1 - sigmoid(x),
        replace=lambda x: sigmoid(-x),
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="1 - sigmoid(x) is 0 for x > 37; sigmoid(-x) is not.",
    ),
    rule(
        "log_of_sigmoid",
        match=lambda x: log(sigmoid(x)),
        replace=lambda x: -softplus(-x),
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="sigmoid(x) vanishes for very negative x, where its logarithm is x.",
    ),
    rule(
        "log1p_of_negative_sigmoid",
        match=lambda x: log1p(-sigmoid(x)),
        replace=lambda x: -softplus(x),
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="1 - sigmoid(x) vanishes for large x, where its logarithm is -x.",
    ),
    rule(
        "softplus_from_log1p",
        match=lambda x: log1p(exp(x)),
        replace=softplus,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="exp(x) overflows where log(1 + exp(x)) is x.",
    ),
    rule(
        "logaddexp_from_logs",
        match=lambda x, y: log(exp(x) + exp(y)),
        replace=logaddexp,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="exp(x) overflows and vanishes where the result does not.",
    ),
    rule(
        "log_of_square",
        match=lambda x: log(square(x)),
        replace=lambda x: 2 * log(absolute(x)),
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="The square overflows and vanishes where its logarithm does not.",
    ),
    rule(
        "log_of_root",
        match=lambda x: log(sqrt(x)),
        replace=lambda x: 0.5 * log(x),
        phase=SPECIALIZE,
        kind=REASSOCIATES,
        why="A product is faster than a root.",
    ),
    rule(
        "log_of_exp",
        match=lambda x: log(exp(x)),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="Infinite where exp(x) overflows or vanishes.",
    ),
    rule(
        "exp_of_log",
        match=lambda x: exp(log(x)),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="NaN where x is below 0.",
    ),
)
