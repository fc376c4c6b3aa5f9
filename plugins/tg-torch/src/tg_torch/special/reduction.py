"""Sums, extrema and matrix products of dtypes that PyTorch has itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg import add, maximum, minimum
from tg.backend import COMPLEX, FLOATS, contraction, reduction
from tg_torch.rules.elementwise.cast import DTYPES
from tg_torch.rules.reduction import reduce
from tg_torch.special.elementwise import UNORDERED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule, Site

WHOLE: Final[dict[object, Callable[..., torch.Tensor]]] = {maximum: torch.max, minimum: torch.min}
ALONG: Final[dict[object, Callable[..., torch.Tensor]]] = {maximum: torch.amax, minimum: torch.amin}


def _reduce(site: Site) -> Rule | None:
    (x,), op = site.operands, site.op
    assert isinstance(op, reduction.Reduce)
    is_whole = len(op.axes) == x.ndim
    if op.fn is add and x.dtype != "bool":
        return _sum(x.dtype, op.axes, is_whole=is_whole)
    if op.fn not in WHOLE or x.dtype in UNORDERED or x.dtype == "bool":
        return None
    find, axes = (WHOLE[op.fn], ()) if is_whole else (ALONG[op.fn], (op.axes,))
    return lambda x: find(x, *axes) if x.numel() else reduce(op, x)


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
