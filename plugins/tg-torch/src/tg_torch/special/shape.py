"""Views whose axes are known before any array is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule, Site


def _transpose(site: Site) -> Rule | None:
    (x,), op = site.operands, site.op
    assert isinstance(op, shape.Transpose)
    order = tuple(k % x.ndim for k in op.order(x.ndim))
    of_two: Rule = torch.t
    return of_two if order == (1, 0) else lambda x: torch.permute(x, order)


def _expand_dims(site: Site) -> Rule | None:
    op = site.op
    assert isinstance(op, shape.ExpandDims)
    if len(op.axes) != 1:
        return None
    axis = op.axes[0]
    return lambda x: x.unsqueeze(axis)


def _squeeze(site: Site) -> Rule | None:
    op = site.op
    assert isinstance(op, shape.Squeeze)
    if len(op.axes) != 1:
        return None
    axis = op.axes[0]
    return lambda x: x.squeeze(axis)


SPECIAL: Final[dict[object, Callable[[Site], Rule | None]]] = {
    shape.Transpose: _transpose,
    shape.ExpandDims: _expand_dims,
    shape.Squeeze: _squeeze,
}
