"""Indexing where values can be looked at: indices that are in range stay as they are, windows are plain narrowings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from tg import add
from tg.backend import indexing
from tg_torch.rules.indexing import gather, scatter, slice_, slice_update, wrap_index
from tg_torch.special.elementwise import EMULATED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule, Site


def _wrap_index(site: Site) -> Rule | None:
    """The indices themselves if they are in range, which one look at the least and the greatest tells."""
    op = site.op
    assert isinstance(op, indexing.WrapIndex)
    if site.operands[0].dtype in EMULATED:
        return None

    def wrapped(i: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        if not i.is_cpu:  # there a look means to wait
            return wrap_index(op, i, n)
        if i.numel():
            low, high = torch.aminmax(i) if i.ndim else (i, i)
            if low.item() < 0 or high.item() >= n.item():
                return wrap_index(op, i, n)
        return i.to(torch.int64)

    return wrapped


def _is_line(site: Site) -> bool:
    """Whether vectors are read or written at a vector of positions, in a dtype that PyTorch computes with."""
    x, *rest = site.operands
    return len(rest) == 1 + isinstance(site.op, indexing.Scatter) and x.ndim == 1 and rest[-1].ndim == 1


def _gather(site: Site) -> Rule | None:
    op = site.op
    assert isinstance(op, indexing.Gather)
    if not _is_line(site) or site.operands[0].dtype in EMULATED:
        return None
    return lambda x, i: x.index_select(0, i) if x.shape[0] else gather(op, x, i)


def _scatter(site: Site) -> Rule | None:
    op = site.op
    assert isinstance(op, indexing.Scatter)
    if not _is_line(site) or op.fn is not add or site.operands[0].dtype in (*EMULATED, "bool"):
        return None
    is_free = 0 in site.dying

    def added(x: torch.Tensor, v: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        if not x.shape[0] or v.shape != i.shape:
            return scatter(op, x, v, i, dying=site.dying)
        return (x if is_free else x.clone()).scatter_add_(0, i, v)

    return added


def _slice(site: Site) -> Rule | None:
    op = site.op
    assert isinstance(op, indexing.Slice)
    if op.steps != (1,):
        return None
    (start,), (size,) = op.starts, op.sizes

    def window(x: torch.Tensor, *rest: Any) -> torch.Tensor:
        first = rest[0].item() if start is None else start
        count = rest[-1] if size is None else size
        last = x.shape[-1] - count
        if last < 0 or count < 0:
            return slice_(op, x, *rest)
        return x.narrow(-1, max(0, min(first, last)), count)

    return window


def _slice_update(site: Site) -> Rule | None:
    op = site.op
    assert isinstance(op, indexing.SliceUpdate)
    x = site.operands[0]
    if op.steps != (1,) or op.fn not in (None, add) or x.dtype in EMULATED:
        return None
    (start,), is_free, is_added = op.starts, 0 in site.dying, op.fn is add

    def written(x: torch.Tensor, v: torch.Tensor, *starts: Any) -> torch.Tensor:
        last = x.shape[-1] - v.shape[-1]
        if last < 0 or v.ndim != x.ndim:
            return slice_update(op, x, v, *starts, dying=site.dying)
        y = x if is_free else x.clone()
        first = starts[0].item() if start is None else start
        old = y.narrow(-1, max(0, min(first, last)), v.shape[-1])
        if is_added:
            old.add_(v)
        else:
            old.copy_(v)
        return y

    return written


SPECIAL: Final[dict[object, Callable[[Site], Rule | None]]] = {
    indexing.WrapIndex: _wrap_index,
    indexing.Gather: _gather,
    indexing.Scatter: _scatter,
    indexing.Slice: _slice,
    indexing.SliceUpdate: _slice_update,
}
