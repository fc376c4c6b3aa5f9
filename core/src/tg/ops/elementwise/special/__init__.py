"""Special functions: each is written with other functions of elements, which is its reference too."""

from tg.ops.elementwise.special import bessel, beta, error, gamma, normal, zeta

__all__ = ["bessel", "beta", "error", "gamma", "normal", "zeta"]
