"""Rules of sigmoid, softplus and hyperbolic functions: the forms that neither overflow nor cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.arithmetic import absolute, maximum
from tg.ops.elementwise.exponential import exp, log, log1p, sigmoid, softplus
from tg.ops.elementwise.trigonometric import cosh, sinh, tanh
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule

if TYPE_CHECKING:
    from collections.abc import Callable

FORMS: Final[tuple[tuple[str, Callable[..., Any], Callable[..., Any], str], ...]] = (
    (
        "sigmoid_from_quotient",
        lambda x: 1 / (1 + exp(x)),
        lambda x: sigmoid(-x),
        "exp(x) overflows and vanishes; the signs of 1 / (1 + exp(-x)) cancel.",
    ),
    (
        "sigmoid_from_exps",
        lambda x: exp(x) / (1 + exp(x)),
        sigmoid,
        "inf / inf is NaN once exp(x) overflows.",
    ),
    (
        "sigmoid_from_two_exps",
        lambda x, y: exp(x) / (exp(x) + exp(y)),
        lambda x, y: sigmoid(x - y),
        "inf / inf is NaN once exp(x) overflows.",
    ),
    (
        "one_minus_sigmoid",
        lambda x: 1 - sigmoid(x),
        lambda x: sigmoid(-x),
        "1 - sigmoid(x) is 0 for x > 37; sigmoid(-x) is not.",
    ),
    (
        "sigmoid_minus_one",
        lambda x: sigmoid(x) - 1,
        lambda x: -sigmoid(-x),
        "sigmoid(x) - 1 is 0 for x > 37; sigmoid(-x) is not.",
    ),
    (
        "log_of_sigmoid",
        lambda x: log(sigmoid(x)),
        lambda x: -softplus(-x),
        "sigmoid(x) vanishes for very negative x, where its logarithm is x.",
    ),
    (
        "log1p_of_negative_sigmoid",
        lambda x: log1p(-sigmoid(x)),
        lambda x: -softplus(x),
        "1 - sigmoid(x) vanishes for large x, where its logarithm is -x.",
    ),
    (
        "softplus_from_log1p",
        lambda x: log1p(exp(x)),
        softplus,
        "exp(x) overflows where log(1 + exp(x)) is x.",
    ),
    (
        "softplus_minus_argument",
        lambda x: softplus(x) - x,
        lambda x: softplus(-x),
        "The difference has lost every digit of exp(-x) once x > 37.",
    ),
    (
        "argument_minus_softplus",
        lambda x: x - softplus(x),
        lambda x: -softplus(-x),
        "The difference has lost every digit of exp(-x) once x > 37.",
    ),
    (
        "softplus_of_negative_plus_argument",
        lambda x: softplus(-x) + x,
        softplus,
        "The sum has lost every digit of exp(x) once x < -37.",
    ),
    (
        "softplus_from_maximum",
        lambda x: maximum(x, 0) + softplus(-absolute(x)),
        softplus,
        "One op, which does so itself.",
    ),
    (
        "softplus_from_maximum_in_sum",
        lambda x, y: y + maximum(x, 0) + softplus(-absolute(x)),
        lambda x, y: y + softplus(x),
        "One op, which does so itself.",
    ),
    (
        "softplus_from_maximum_in_difference",
        lambda x, y: y - maximum(x, 0) - softplus(-absolute(x)),
        lambda x, y: y - softplus(x),
        "One op, which does so itself.",
    ),
    (
        "exp_of_negative_softplus",
        lambda x: exp(-softplus(x)),
        lambda x: sigmoid(-x),
        "One exponential in place of two and a logarithm.",
    ),
    (
        "exp_of_softplus",
        lambda x: exp(softplus(x)),
        lambda x: exp(x) + 1,
        "One exponential in place of two and a logarithm.",
    ),
    (
        "tanh_from_exps",
        lambda x: (exp(x) - exp(-x)) / (exp(x) + exp(-x)),
        tanh,
        "inf / inf is NaN once an exponential overflows.",
    ),
    (
        "tanh_from_quotient",
        lambda x: sinh(x) / cosh(x),
        tanh,
        "inf / inf is NaN once cosh(x) overflows.",
    ),
    (
        "sinh_from_exps",
        lambda x: (exp(x) - exp(-x)) * 0.5,
        sinh,
        "The difference has lost the digits of a small x.",
    ),
    (
        "sinh_from_exps_over_two",
        lambda x: (exp(x) - exp(-x)) / 2,
        sinh,
        "The difference has lost the digits of a small x.",
    ),
    (
        "cosh_from_exps",
        lambda x: (exp(x) + exp(-x)) * 0.5,
        cosh,
        "One function in place of two.",
    ),
    (
        "cosh_from_exps_over_two",
        lambda x: (exp(x) + exp(-x)) / 2,
        cosh,
        "One function in place of two.",
    ),
)

RULES = tuple(
    rule(name, match=match, replace=replace, phase=STABILIZE, kind=REASSOCIATES, why=why)
    for name, match, replace, why in FORMS
)
