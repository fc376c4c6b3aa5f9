"""Exponentials, logarithms and the functions made of them that need care at the ends of their range."""

from __future__ import annotations

from typing import Any

import numpy as np

from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, isinf, where
from tg.ops.elementwise.record import binary, floating, real_floating, unary
from tg.ops.family import Family


def _sigmoid(x: np.ndarray[Any, Any]) -> Any:
    decay = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, decay) / (1 + decay)


def _softplus(x: np.ndarray[Any, Any]) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _share(x: Any, z: Any) -> Any:
    """The part of x in z = logaddexp(x, y); where z is infinite, 1 if x is +inf, else 0."""
    return where(isinf(z), cast_variable(equal(x, np.inf), z.type.dtype), exp(x - z))


exp = unary("exp", np.exp, floating, "e to the power x.", d=(lambda x, y: y,), domain=(-50, 50))
exp2 = unary("exp2", np.exp2, floating, "2 to the power x.", d=(lambda x, y: y * 0.6931471805599453,), domain=(-50, 50))
expm1 = unary("expm1", np.expm1, floating, "exp(x) - 1, exact near 0.", d=(lambda x, y: exp(x),), domain=(-20, 20))
log = unary("log", np.log, floating, "The natural logarithm of x.", d=(lambda x, y: 1 / x,), domain=(1e-6, 1e6))
log2 = unary(
    "log2",
    np.log2,
    floating,
    "The logarithm of x to base 2.",
    d=(lambda x, y: 1.4426950408889634 / x,),
    domain=(1e-6, 1e6),
)
log10 = unary(
    "log10", np.log10, floating, "The logarithm of x to base 10.", d=(lambda x, y: 0.4342944819032518 / x,),
    domain=(1e-6, 1e6),
)  # fmt: skip
log1p = unary(
    "log1p", np.log1p, floating, "log(1 + x), exact near 0.", d=(lambda x, y: 1 / (1 + x),), domain=(-0.9, 1e6)
)
logaddexp = binary(
    "logaddexp", np.logaddexp, np.logaddexp, "log(exp(x) + exp(y)) without overflow.",
    d=(lambda x, y, z: _share(x, z), lambda x, y, z: _share(y, z)),
)  # fmt: skip
sigmoid = unary(
    "sigmoid",
    _sigmoid,
    real_floating,
    "1 / (1 + exp(-x)) without overflow.",
    d=(lambda x, y: y * (1 - y),),
    finite=True,
)
softplus = unary(
    "softplus", _softplus, real_floating, "log(1 + exp(x)) without overflow.", d=(lambda x, y: sigmoid(x),)
)

FAMILY = Family("elementwise/exponential", (exp, exp2, expm1, log, log2, log10, log1p, logaddexp, sigmoid, softplus))
