"""Orders along an axis: stable, NaN last, as `torch.sort` has them.

Deviations from PyTorch: complex numbers are ordered as NumPy orders them, NaN can be searched for, and many unsigned
integers are sorted too, by signed ones in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import sorting as t

if TYPE_CHECKING:
    from tg.backend import Rule

LEAST: Final = -(2**63)
UNSIGNED: Final = (torch.uint16, torch.uint32)


def arg_sort(op: t.ArgSort, x: torch.Tensor) -> torch.Tensor:
    """The positions that sort; complex numbers by real, then imaginary part, those with a NaN behind all others."""
    if x.is_complex():
        return _order_of_complex(x, op.axis)
    return torch.sort(_signed(x), dim=op.axis, stable=True).indices


def _signed(x: torch.Tensor) -> torch.Tensor:
    """Numbers in the same order, of a dtype whose sort has several threads too."""
    if x.dtype is torch.uint64:
        return x.view(torch.int64) ^ LEAST
    return x.to(torch.int64) if x.dtype in UNSIGNED else x


def _order_of_complex(x: torch.Tensor, axis: int) -> torch.Tensor:
    """By the least important key first: every sort keeps the order of those before it."""
    unknown = torch.isnan(x.real).to(torch.uint8) * 2 + torch.isnan(x.imag).to(torch.uint8)
    order = torch.sort(x.imag, dim=axis, stable=True).indices
    for key in (x.real, unknown):
        order = order.gather(axis, torch.sort(key.gather(axis, order), dim=axis, stable=True).indices)
    return order


def sort(op: t.Sort, x: torch.Tensor) -> torch.Tensor:
    """The elements in ascending order."""
    if x.is_complex():
        return x.gather(op.axis, _order_of_complex(x, op.axis))
    if x.dtype is torch.uint64:
        return (torch.sort(_signed(x), dim=op.axis, stable=True).values ^ LEAST).view(torch.uint64)
    return torch.sort(_signed(x), dim=op.axis, stable=True).values.to(x.dtype)


def search_sorted(op: t.SearchSorted, a: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """By way of the ranks among all elements, in which NaN and complex numbers have a place."""
    flat, n = v.reshape(-1), a.shape[0]
    left = op.side == "left"
    order = arg_sort(t.ArgSort(-1), torch.cat([flat, a] if left else [a, flat]))
    own = order >= flat.shape[0] if left else order < n
    before = torch.empty_like(order).index_copy_(0, order, torch.cumsum(own, 0))
    first = 0 if left else n
    return before[first : first + flat.shape[0]].reshape(v.shape)


RULES: Final[dict[object, Rule]] = {t.ArgSort: arg_sort, t.Sort: sort, t.SearchSorted: search_sorted}
