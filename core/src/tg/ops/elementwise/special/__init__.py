"""Special functions: each is written with other functions of elements, which is its reference too."""

from tg.ops.elementwise.special import bessel, error, gamma, hypergeometric, incomplete, owens

__all__ = ["bessel", "error", "gamma", "hypergeometric", "incomplete", "owens"]
