"""Special functions: each is written with other functions of elements, which is its reference too."""

from tg.ops.elementwise.special import (
    bessel,
    beta,
    cylinder,
    error,
    gamma,
    hypergeometric,
    incomplete,
    normal,
    owens,
    zeta,
)

__all__ = ["bessel", "beta", "cylinder", "error", "gamma", "hypergeometric", "incomplete", "normal", "owens", "zeta"]
