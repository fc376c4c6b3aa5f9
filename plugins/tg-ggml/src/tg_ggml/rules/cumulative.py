"""Running sums of float32; other running results are gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import ggml as g
import numpy as np

from tg import add
from tg.backend import cumulative as t
from tg_ggml.tensors import Tensor, current, transpose

if TYPE_CHECKING:
    from tg.backend import Rule


def accumulate(op: t.Accumulate, x: Tensor) -> Any:
    """The running sum along the last axis, to which another one is moved."""
    if op.fn is not add or x.dtype != np.float32:
        return NotImplemented
    if not x.size:
        return x
    axis = op.axis + x.ndim
    order = [*range(x.ndim)]
    order[axis], order[-1] = order[-1], order[axis]
    moved = transpose(x, order)
    rows = moved.dims((x.size // moved.shape[-1], moved.shape[-1]))
    return transpose(Tensor(moved.shape, node=g.ggml_cumsum(current().ctx, rows)), order)


RULES: Final[dict[object, Rule]] = {t.Accumulate: accumulate}
