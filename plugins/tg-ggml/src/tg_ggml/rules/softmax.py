"""Softmax by ggml's own, of rows; along another axis of transposed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import ggml as g
import numpy as np

from tg.backend import softmax as t
from tg_ggml.tensors import Tensor, current, transpose

if TYPE_CHECKING:
    from tg.backend import Rule


def softmax(op: t.Softmax, x: Tensor) -> Any:
    """exp(x) / sum(exp(x)) along an axis."""
    if x.dtype != np.float32:
        return NotImplemented
    if not x.size:
        return x
    order = [*range(x.ndim)]
    order[op.axis], order[-1] = order[-1], order[op.axis]
    moved = transpose(x, order)
    return transpose(Tensor(moved.shape, node=g.ggml_soft_max(current().ctx, moved.rows())), order)


RULES: Final[dict[object, Rule]] = {t.Softmax: softmax}
