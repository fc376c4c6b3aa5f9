"""Exponentials, logarithms and the functions made of them that need care at the ends of their range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.keywords import explained
from tg.ops.elementwise.arithmetic import absolute, broadcast_with, kink, maximum, multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, isinf, less, less_equal, logical_and, logical_or, where
from tg.ops.elementwise.dtype_loops import floating, real_floating
from tg.ops.elementwise.facts import STRICT_SIGNS, of_logaddexp, of_one
from tg.ops.elementwise.record import ElementwiseFunction, binary, in_loop, unary
from tg.ops.elementwise.trigonometric import arctanh, tanh
from tg.ops.family import Family
from tg.types.dtypes import is_complex

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import TensorLike

LN2: Final = 0.6931471805599453


def _exp2_slope(x: Any, y: Any) -> Any:
    """2**x log(2), which is in range where 2**x itself is just not any more."""
    if is_complex(x.type.dtype):
        return y * LN2
    return where(equal(y, np.inf), exp2(x - 1) * (2 * LN2), y * LN2)


def _sigmoid(x: np.ndarray[Any, Any]) -> Any:
    decay = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, decay) / (1 + decay)


def _sigmoid_slope(x: np.ndarray[Any, Any]) -> Any:
    decay = np.exp(-np.abs(x))
    return decay / ((1 + decay) * (1 + decay))


def _softplus(x: np.ndarray[Any, Any]) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _share(x: Any, y: Any) -> Any:
    """The part of x in logaddexp(x, y); of two infinities of one sign 1 if they are positive, else 0."""
    alike = logical_and(isinf(x), equal(x, y))
    return where(alike, cast_variable(equal(x, np.inf), x.type.dtype) + kink(x), sigmoid(x - y))


def _product(logarithm: Any) -> Any:
    def product(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Any:
        return np.where((x == 0) & ~np.isnan(y), np.zeros((), x.dtype), x * logarithm(y))

    return product


def _vanishes(x: Any, y: Any, end: float) -> Variable:
    """Whether x is 0 where a logarithm of y that is infinite or NaN would spoil the product."""
    return logical_and(equal(x, 0), logical_or(less_equal(y, end), equal(y, np.inf)))


def _quotient(x: Any, y: Any) -> Variable:
    """x / y, and where both are 0 a 0 that holds for x = 0 alone."""
    return where(logical_and(equal(x, 0), equal(y, 0)), kink(x), x / y)


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
exp2: ElementwiseFunction = unary(
    "exp2",
    np.exp2,
    floating,
    "2 to the power x.",
    d=(_exp2_slope,),
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
per_expm1: ElementwiseFunction = binary(
    "per_expm1", lambda x, y: x / np.expm1(y), real_floating,
    "x / (exp(y) - 1), as it is written: of its slopes none is divided by the square of exp(y) - 1.",
    d=(lambda x, y, z: per_expm1(1, y), lambda x, y, z: per_expm1(z, -y)), domain=(-10, 10), cost=6,
    expansion=lambda x, y: x / expm1(y), only_derives=True,
)  # fmt: skip
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
    d=(lambda x, y, z: _share(x, y), lambda x, y, z: _share(y, x)),
    commutative="exact", cost=20.3, facts=of_logaddexp,
    slope_accuracy=lambda x, y: 16 + np.abs(x - y),  # the exponential multiplies the rounding of x - y
)  # fmt: skip
sigmoid: ElementwiseFunction = unary(
    "sigmoid",
    _sigmoid,
    real_floating,
    "1 / (1 + exp(-x)) without overflow.",
    d=(lambda x, y: sigmoid_slope(x),),
    cost=7.1,
    facts=of_one("nonnegative", "no_negative_zero", rules=((("not_nan",), ("finite",)),)),
)
sigmoid_slope: ElementwiseFunction = unary(
    "sigmoid_slope", _sigmoid_slope, real_floating, "sigmoid(x) * sigmoid(-x), the derivative of sigmoid.",
    d=(lambda x, y: -(y * tanh(0.5 * x)),), cost=15, expansion=lambda x: sigmoid(x) * sigmoid(-x), only_derives=True,
    facts=of_one("nonnegative", "no_negative_zero", rules=((("not_nan",), ("finite",)),)),
)  # fmt: skip
softplus = unary(
    "softplus",
    _softplus,
    real_floating,
    "log(1 + exp(x)) without overflow.",
    d=(lambda x, y: sigmoid(x),),
    cost=18.7,
    facts=of_one("nonnegative", "no_negative_zero", keeps=("finite", "not_nan")),
)


xlogy = binary(
    "xlogy", _product(np.log), floating,
    "x * log(y), and 0 where x is 0 and y is not NaN; the derivative by y is 0 where both are 0, that by x log(y).",
    d=(lambda x, y, z: log(y), lambda x, y, z: _quotient(x, y)), cost=6.4,
    expansion=lambda x, y: multiply(x, log(where(_vanishes(x, y, 0), 1.0, y))), only_derives=True,
)  # fmt: skip
xlog1py = binary(
    "xlog1py", _product(np.log1p), floating,
    "x * log1p(y), and 0 where x is 0 and y is not NaN; its derivative by y is 0 for y = -1 too, that by x log1p(y).",
    d=(lambda x, y, z: log1p(y), lambda x, y, z: _quotient(x, 1 + y)), cost=8,
    expansion=lambda x, y: multiply(x, log1p(where(_vanishes(x, y, -1), 0.0, y))), only_derives=True,
)  # fmt: skip


def logit(x: TensorLike) -> Variable:
    """log(x / (1 - x)), the inverse of sigmoid; accurate also around 1/2, where it is 0.

    Source:
        scipy.special.logit
    """
    (x,) = in_loop("logit", np.cbrt, x)
    centred = 2 * x - 1
    return where(less(absolute(centred), 0.5), 2 * arctanh(centred), log(x) - log1p(-x))


@explained
def log_sigmoid(x: TensorLike) -> Variable:
    """log(sigmoid(x)) without overflow, which is -softplus(-x).

    Source:
        scipy.special.log_expit
    """
    return -softplus(-in_loop("log_sigmoid", np.cbrt, x)[0])


def log1mexp_in_pieces(x: Variable) -> Variable:
    """log(1 - exp(x)) as M. Mächler writes it, "Accurately computing log(1 - exp(-|a|))", equation 7."""
    near = log(expm1(-maximum(x, -LN2)))  # far below, the derivatives of expm1(-x) are infinite
    return where(greater(x, -LN2), x + near, log1p(-exp(x)))


def _log1mexp(x: Any) -> Any:
    far = np.log1p(-np.exp(x))
    return np.where(x > -LN2, np.log(-np.expm1(np.maximum(x, -1))), far)


log1mexp = unary(
    "log1mexp", _log1mexp, np.cbrt, "log(1 - exp(x)) for x <= 0, exact near 0 and far below it; NaN above.",
    d=(lambda x, y: exp(x) / expm1(x),), domain=(-700, -1e-300), cost=20.3,
    expansion=log1mexp_in_pieces, only_derives=True,
)  # fmt: skip


matern_3_2: ElementwiseFunction = binary(
    "matern_3_2", lambda r, u: np.array(np.broadcast_arrays((1 + r) * np.exp(-r), u)[0]), real_floating,
    "(1 + r) exp(-r) of a length r, where u is the square of r: the slope is one by u alone, and smooth at 0.",
    d=(None, lambda r, u, y: -0.5 * exp(-r)), accuracy=8, cost=6,
    expansion=lambda r, u: broadcast_with(u, (1 + r) * exp(-r)), only_derives=True,
)  # fmt: skip
matern_5_2: ElementwiseFunction = binary(
    "matern_5_2", lambda r, u: (1 + r + u / 3) * np.exp(-r), real_floating,
    "(1 + r + u/3) exp(-r) of a length r, where u is the square of r: the slope is one by u alone, and smooth at 0.",
    d=(None, lambda r, u, y: matern_3_2(r, u) / -6), accuracy=8, cost=7,
    expansion=lambda r, u: (1 + r + u / 3) * exp(-r), only_derives=True,
)  # fmt: skip


FAMILY = Family(
    "elementwise/exponential",
    (
        exp,
        exp2,
        expm1,
        per_expm1,
        log,
        log2,
        log10,
        log1p,
        logaddexp,
        log1mexp,
        sigmoid,
        sigmoid_slope,
        softplus,
        xlogy,
        xlog1py,
        matern_3_2,
        matern_5_2,
    ),
    functions=(logit, log_sigmoid),
    aliases=(("expit", sigmoid),),
    internal=(
        per_expm1,
        sigmoid_slope,
    ),
)
