"""Comparison, logic and choice.

Deviations from PyTorch: unsigned integers are compared by their bits, int64 with uint64 exactly, and complex numbers by
real, then imaginary part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import comparison as t
from tg_torch.unsigned import as_dtype, ordered, signed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule

    Comparison = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def equal(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Whether x == y; operands of two dtypes are an int64 and a uint64, here and below."""
    if x.dtype == y.dtype:
        return torch.eq(signed(x), signed(y))
    return (x.view(torch.int64) == y.view(torch.int64)) & (x.view(torch.int64) >= 0)


def not_equal(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Whether x != y."""
    return torch.ne(signed(x), signed(y)) if x.dtype == y.dtype else ~equal(x, y)


def less(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Whether x < y."""
    if x.is_complex():
        return _lexicographic(torch.lt, torch.lt, x, y)
    if x.dtype == y.dtype:
        return torch.lt(ordered(x), ordered(y))
    a, b = x.view(torch.int64), y.view(torch.int64)
    return (b < 0) | (a < b) if x.dtype == torch.int64 else (a >= 0) & (a < b)


def less_equal(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Whether x <= y."""
    if x.is_complex():
        return _lexicographic(torch.lt, torch.le, x, y)
    return torch.le(ordered(x), ordered(y)) if x.dtype == y.dtype else ~less(y, x)


def greater(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Whether x > y."""
    return less(y, x)


def greater_equal(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Whether x >= y."""
    return less_equal(y, x)


def where(condition: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Elements that the condition chooses."""
    return as_dtype(torch.where(condition, signed(x), signed(y)), x.dtype)


def _lexicographic(first: Comparison, second: Comparison, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    is_number = ~(torch.isnan(x.imag) | torch.isnan(y.imag))
    return (first(x.real, y.real) & is_number) | ((x.real == y.real) & second(x.imag, y.imag))


RULES: Final[dict[object, Rule]] = {
    t.equal: equal,
    t.not_equal: not_equal,
    t.less: less,
    t.less_equal: less_equal,
    t.greater: greater,
    t.greater_equal: greater_equal,
    t.logical_and: torch.logical_and,
    t.logical_or: torch.logical_or,
    t.logical_xor: torch.logical_xor,
    t.logical_not: torch.logical_not,
    t.isnan: torch.isnan,
    t.isinf: torch.isinf,
    t.isfinite: torch.isfinite,
    t.signbit: torch.signbit,
    t.where: where,
}
