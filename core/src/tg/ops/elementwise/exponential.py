"""Exponentials, logarithms and the functions made of them that need care at the ends of their range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, maximum, multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, isinf, less, less_equal, logical_and, logical_or, where
from tg.ops.elementwise.facts import STRICT_SIGNS, of_logaddexp, of_one
from tg.ops.elementwise.record import binary, floating, in_loop, real_floating, unary
from tg.ops.elementwise.trigonometric import arctanh
from tg.ops.family import Family

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

LN2: Final = 0.6931471805599453


def _sigmoid(x: np.ndarray[Any, Any]) -> Any:
    decay = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, decay) / (1 + decay)


def _softplus(x: np.ndarray[Any, Any]) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _share(x: Any, z: Any) -> Any:
    """The part of x in z = logaddexp(x, y); where z is infinite, 1 if x is +inf, else 0."""
    return where(isinf(z), cast_variable(equal(x, np.inf), z.type.dtype), exp(x - z))


_of_log = of_one(
    rules=((("nonnegative", "not_nan"), ("not_nan",)), (("positive", "finite"), ("finite",))),
)

exp = unary(
    "exp",
    np.exp,
    floating,
    "e to the power x.",
    d=(lambda x, y: y,),
    domain=(-50, 50),
    cost=4.9,
    facts=of_one(
        "nonnegative",
        "no_negative_zero",
        keeps=("not_nan",),
        rules=((("nonnegative",), ("positive",)), (("nonpositive", "not_nan"), ("finite",))),
    ),
)
exp2 = unary(
    "exp2",
    np.exp2,
    floating,
    "2 to the power x.",
    d=(lambda x, y: y * LN2,),
    domain=(-50, 50),
    cost=3.4,
    facts=of_one(
        "nonnegative",
        "no_negative_zero",
        keeps=("not_nan",),
        rules=((("nonnegative",), ("positive",)), (("nonpositive", "not_nan"), ("finite",))),
    ),
)
expm1 = unary(
    "expm1",
    np.expm1,
    floating,
    "exp(x) - 1, exact near 0.",
    d=(lambda x, y: exp(x),),
    domain=(-20, 20),
    cost=4.7,
    facts=of_one(
        keeps=(*STRICT_SIGNS, "not_nan", "no_negative_zero"),
        rules=((("nonpositive", "not_nan"), ("finite",)),),
        zero=True,
    ),
)
log = unary(
    "log",
    np.log,
    floating,
    "The natural logarithm of x.",
    d=(lambda x, y: 1 / x,),
    domain=(1e-6, 1e6),
    cost=5.4,
    facts=_of_log,
)
log2 = unary(
    "log2",
    np.log2,
    floating,
    "The logarithm of x to base 2.",
    d=(lambda x, y: 1.4426950408889634 / x,),
    domain=(1e-6, 1e6),
    cost=5.2,
    facts=_of_log,
)
log10 = unary(
    "log10", np.log10, floating, "The logarithm of x to base 10.", d=(lambda x, y: 0.4342944819032518 / x,),
    domain=(1e-6, 1e6), cost=5.5,
    facts=_of_log,
)  # fmt: skip
log1p = unary(
    "log1p",
    np.log1p,
    floating,
    "log(1 + x), exact near 0.",
    d=(lambda x, y: 1 / (1 + x),),
    domain=(-0.9, 1e6),
    cost=7,
    facts=of_one(
        keeps=(*STRICT_SIGNS, "no_negative_zero"),
        rules=((("nonnegative", "not_nan"), ("not_nan",)), (("nonnegative", "finite"), ("finite",))),
        zero=True,
    ),
)
logaddexp = binary(
    "logaddexp", np.logaddexp, np.logaddexp, "log(exp(x) + exp(y)) without overflow.",
    d=(lambda x, y, z: _share(x, z), lambda x, y, z: _share(y, z)),
    commutative="exact", cost=20.3, facts=of_logaddexp,
)  # fmt: skip
sigmoid = unary(
    "sigmoid",
    _sigmoid,
    real_floating,
    "1 / (1 + exp(-x)) without overflow.",
    d=(lambda x, y: y * (1 - y),),
    cost=7.1,
    facts=of_one("nonnegative", "no_negative_zero", rules=((("not_nan",), ("finite",)),)),
)
softplus = unary(
    "softplus",
    _softplus,
    real_floating,
    "log(1 + exp(x)) without overflow.",
    d=(lambda x, y: sigmoid(x),),
    cost=18.7,
    facts=of_one("nonnegative", "no_negative_zero", keeps=("finite", "not_nan")),
)


def logit(x: Any) -> Variable:
    """log(x / (1 - x)), the inverse of sigmoid; accurate also around 1/2, where it is 0.

    Source:
        scipy.special.logit
    """
    (x,) = in_loop("logit", np.cbrt, x)
    centred = 2 * x - 1
    return where(less(absolute(centred), 0.5), 2 * arctanh(centred), log(x) - log1p(-x))


def log_sigmoid(x: Any) -> Variable:
    """log(sigmoid(x)) without overflow, which is -softplus(-x).

    Source:
        scipy.special.log_expit
    """
    return -softplus(-in_loop("log_sigmoid", np.cbrt, x)[0])


def log1mexp(x: Any) -> Variable:
    """log(1 - exp(x)) for x <= 0, exact near 0 and far below it; NaN above.

    Source:
        M. Mächler, "Accurately computing log(1 - exp(-|a|))", equation 7.
    """
    (x,) = in_loop("log1mexp", np.cbrt, x)
    near = log(expm1(-maximum(x, -LN2)))  # far below, the derivatives of expm1(-x) are infinite
    return where(greater(x, -LN2), x + near, log1p(-exp(x)))


def xlogy(x: Any, y: Any) -> Variable:
    """x * log(y), and 0 where x is 0 and y is not NaN; where y is then not positive the derivatives are 0.

    Source:
        scipy.special.xlogy
    """
    x, y = in_loop("xlogy", np.arctan2, x, y)
    vanishes = logical_and(equal(x, 0), logical_or(less_equal(y, 0), equal(y, np.inf)))
    return multiply(x, log(where(vanishes, 1.0, y)))


def xlog1py(x: Any, y: Any) -> Variable:
    """x * log1p(y), and 0 where x is 0 and y is not NaN; where y is then not above -1 the derivatives are 0.

    Source:
        scipy.special.xlog1py
    """
    x, y = in_loop("xlog1py", np.arctan2, x, y)
    vanishes = logical_and(equal(x, 0), logical_or(less_equal(y, -1), equal(y, np.inf)))
    return multiply(x, log1p(where(vanishes, 0.0, y)))


FAMILY = Family(
    "elementwise/exponential",
    (exp, exp2, expm1, log, log2, log10, log1p, logaddexp, sigmoid, softplus),
    functions=(logit, log_sigmoid, log1mexp, xlogy, xlog1py),
    aliases=(("expit", sigmoid),),
)
