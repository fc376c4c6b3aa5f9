"""Rules of sigmoid, softplus and hyperbolic functions: the forms that neither overflow nor cancel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import absolute, maximum, multiply, negative, square, subtract
from tg.ops.elementwise.exponential import exp, expm1, log, log1mexp, log1p, sigmoid, softplus
from tg.ops.elementwise.trigonometric import cosh, sinh, tanh
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import DIFFERENTIATE, REASSOCIATES, SPECIALIZE, STABILIZE
from tg.rewrite.rule import equations, rule, rule_of
from tg.types.dtypes import is_float

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable

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
        "tanh_from_exp",
        lambda x: expm1(x) / (1 + exp(x)),
        lambda x: tanh(x * 0.5),
        "inf / inf is NaN once exp(x) overflows.",
    ),
    (
        "logistic_density",
        lambda x: exp(x) / square(1 + exp(x)),
        lambda x: sigmoid(x) * sigmoid(-x),
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
        "one_plus_tanh",
        lambda x: tanh(x) + 1,
        lambda x: sigmoid(x * 2) * 2,
        "tanh(x) + 1 is 0 for x < -19; sigmoid(2 x) is not.",
    ),
    (
        "one_minus_tanh",
        lambda x: 1 - tanh(x),
        lambda x: sigmoid(x * -2) * 2,
        "1 - tanh(x) is 0 for x > 19; sigmoid(-2 x) is not.",
    ),
    (
        "sigmoid_from_tanh",
        lambda x: tanh(x) * 0.5 + 0.5,
        lambda x: sigmoid(x * 2),
        "The sum is 0 for x < -19; sigmoid(2 x) is not.",
    ),
    (
        "sigmoid_from_half_of_tanh",
        lambda x: tanh(x) / 2 + 0.5,
        lambda x: sigmoid(x * 2),
        "The sum is 0 for x < -19; sigmoid(2 x) is not.",
    ),
    (
        "log_of_sigmoid",
        lambda x: log(sigmoid(x)),
        lambda x: -softplus(-x),
        "sigmoid(x) vanishes for very negative x, where its logarithm is x.",
    ),
    (
        "log_of_sigmoid_difference",
        lambda x, y: log(sigmoid(x) - sigmoid(y)),
        lambda x, y: log1mexp(y - x) - softplus(-x) - softplus(y),
        "Both are 1 for x > 37, or vanish, where their difference has a logarithm.",
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
        "sinh_from_exps_over_two",
        lambda x: (exp(x) - exp(-x)) / 2,
        sinh,
        "The difference has lost the digits of a small x.",
    ),
)

OF_DERIVATIVES: Final = (  # elsewhere signs have moved outwards before
    rule(
        "tanh_from_falling_exp",
        match=lambda x: -expm1(x) / (1 + exp(x)),
        replace=lambda x: -tanh(x * 0.5),
        phase=DIFFERENTIATE,
        kind=REASSOCIATES,
        why="inf / inf is NaN once exp(x) overflows.",
    ),
)


@rule_of(multiply, phase=SPECIALIZE, kind=REASSOCIATES, below=(sigmoid,), example=lambda x: sigmoid(x) * sigmoid(-x))
def _logistic_density_by_one_exp(op: Any, first: Variable, second: Variable) -> Variable | None:
    """sigmoid(x) * sigmoid(-x). One exponential and one quotient in place of two."""
    if not (is_made_by(first, sigmoid) and is_made_by(second, sigmoid)) or not is_float(first.type.dtype):
        return None
    x = first.inputs[0]
    if not _are_opposite(x, second.inputs[0]):
        return None
    power = exp(-absolute(x))
    return power / square(1 + power)


def _are_opposite(x: Variable, y: Variable) -> bool:
    if is_made_by(x, negative) or is_made_by(y, negative):
        return any(is_made_by(u, negative) and u.inputs[0] is v for u, v in ((x, y), (y, x)))
    if is_made_by(x, subtract) and is_made_by(y, subtract):
        return x.inputs[0] is y.inputs[1] and x.inputs[1] is y.inputs[0]
    if not (is_made_by(x, multiply) and is_made_by(y, multiply)) or x.inputs[0] is not y.inputs[0]:
        return False
    a, b = x.inputs[1], y.inputs[1]
    return isinstance(a, Constant) and isinstance(b, Constant) and bool(np.all(a.data == -b.data))


RULES = (
    *equations(STABILIZE, REASSOCIATES, FORMS),
    rule(
        "product_with_sigmoid",
        match=lambda x, y: y / (1 + exp(x)),
        replace=lambda x, y: y * sigmoid(-x),
        when=lambda x, y: not (is_made_by(y, negative) and is_made_by(y.inputs[0], expm1)),  # that is tanh
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="What y grows to where exp(x) overflows is not 0 / inf.",
    ),
    _logistic_density_by_one_exp,
)
