"""Sums, extrema and matrix products of dtypes that PyTorch has itself, and truth values as the bytes that they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg import add, maximum, minimum
from tg.backend import COMPLEX, FLOATS, contraction, reduction
from tg_torch.rules.elementwise.cast import DTYPES
from tg_torch.rules.reduction import OF_BOOL as LOGICAL
from tg_torch.rules.reduction import reduce
from tg_torch.special.elementwise import UNORDERED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule, Site

WHOLE: Final[dict[object, Callable[..., torch.Tensor]]] = {maximum: torch.max, minimum: torch.min}
OF_BOOL: Final[dict[str | None, Callable[..., torch.Tensor]]] = {"any": torch.amax, "all": torch.amin}
LARGE: Final = 4096  # bytes: from here on the greatest is found 5 to 30 times as fast as whether any is true
ALONG: Final[dict[object, Callable[..., torch.Tensor]]] = {maximum: torch.amax, minimum: torch.amin}


def _reduce(site: Site) -> Rule | None:
    (x,), op = site.operands, site.op
    assert isinstance(op, reduction.Reduce)
    is_whole = len(op.axes) == x.ndim
    if x.dtype == "bool":
        return _of_bool(op, is_whole=is_whole)
    if op.fn is add:
        return _sum(x.dtype, op.axes, is_whole=is_whole)
    if op.fn not in WHOLE or x.dtype in UNORDERED:
        return None
    find, axes = (WHOLE[op.fn], ()) if is_whole else (ALONG[op.fn], (op.axes,))
    return lambda x: find(x, *axes) if x.numel() else reduce(op, x)


def _of_bool(op: reduction.Reduce, *, is_whole: bool) -> Rule | None:
    """Whether any or all are true: the greatest or the least byte, each of which is 0 or 1."""
    find = OF_BOOL.get(op.reduction.of_bool)
    if find is None:
        return None
    short, axes = LOGICAL[op.reduction.of_bool], op.axes
    rest = () if is_whole else (axes,)
    return lambda x: short(x, *rest) if x.numel() < LARGE else find(x.view(torch.uint8), axes).view(torch.bool)


def _sum(dtype: str, axes: tuple[int, ...], *, is_whole: bool) -> Rule | None:
    if dtype not in FLOATS and dtype not in COMPLEX:
        if dtype in UNORDERED:
            return None
        target = DTYPES[dtype]
        return lambda x: torch.sum(x, axes, dtype=target)
    return torch.sum if is_whole else lambda x: torch.sum(x, axes)


def _matmul(site: Site) -> Rule | None:
    if any(t.dtype not in FLOATS and t.dtype not in COMPLEX for t in site.operands):
        return None
    rule: Rule = torch.matmul
    return rule


SPECIAL: Final[dict[object, Callable[[Site], Rule | None]]] = {
    reduction.Reduce: _reduce,
    contraction.MatMul: _matmul,
}
