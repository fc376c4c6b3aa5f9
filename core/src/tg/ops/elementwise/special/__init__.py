"""Special functions: each is written with other functions of elements, which is its reference too."""

from tg.ops.elementwise.special import error, gamma

__all__ = ["error", "gamma"]
