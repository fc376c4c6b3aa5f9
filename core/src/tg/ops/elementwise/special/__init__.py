"""Special functions: each is written with other functions of elements, which is its reference too."""

from tg.ops.elementwise.special import cylinder, error, gamma, hypergeometric, incomplete, owens

__all__ = ["cylinder", "error", "gamma", "hypergeometric", "incomplete", "owens"]
