"""Attention by ggml's own, of float32, which keeps no table of weights.

ggml wants keys and values with the batch of the queries, and has a mask of numbers in float16 alone: one of bool and
the causal one are written so, exactly. Masks of numbers are added in float32 by the op's expansion.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import ggml as g
import numpy as np

from tg.backend import attention as t
from tg_ggml.host import hosted
from tg_ggml.tensors import Tensor, constant, current, expand, loose, reshape, transpose

if TYPE_CHECKING:
    from tg.backend import Rule

    Array = np.ndarray[Any, Any]

RANK: Final = 4  # batch, heads, length, channels


def attention(op: t.Attention, *operands: Tensor) -> Any:
    """The operands with two leading axes; zeros are the second result, which no rule reads here."""
    q, k, v, *masks = operands
    if q.dtype != np.float32 or any(m.dtype != bool for m in masks) or (op.is_grouped and q.ndim > RANK):
        return NotImplemented
    t_, s, d, e = q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]
    heads = (1,) if op.is_grouped else ()
    lead = np.broadcast_shapes(
        q.shape[:-2],
        *((x.shape[:-3] + heads if op.is_grouped else x.shape[:-2]) for x in (k, v)),
        *(m.shape[:-2] for m in masks),
    )
    shape = (*lead, t_, e)
    sums = constant(np.zeros(shape[:-1], np.float32))
    if not math.prod(shape):
        return Tensor(shape), Tensor(shape[:-1])
    if s == 0 or d == 0:
        return NotImplemented
    batch, count = (lead[:-1], lead[-1]) if lead else ((), 1)
    many = math.prod(batch)
    few = k.shape[-3] if op.is_grouped else count
    queries = _arranged(q, (*lead, t_, d), (many, count, t_, d))
    keys = _arranged(k, (*batch, *([few] if lead else ()), s, d), (many, few, s, d))
    values = _arranged(v, (*batch, *([few] if lead else ()), s, e), (many, few, s, e))
    mask = _mask(op, masks, lead, (many, count, t_, s))
    scale = op.scale if op.scale is not None else 1 / math.sqrt(d)
    node = g.ggml_flash_attn_ext(current().ctx, loose(queries), loose(keys), loose(values), mask, scale, 0.0, 0.0)
    means = Tensor((many, t_, count, e), node=node)  # ggml has the heads behind the queries
    return reshape(transpose(means, (0, 2, 1, 3)), shape), sums


def _arranged(x: Tensor, full: tuple[int, ...], shape: tuple[int, ...]) -> Tensor:
    """An operand repeated along the leading axes; one that is transposed stays so where it has the rank already."""
    x = expand(x, full)
    return x if x.shape == shape else reshape(x, shape)


def _mask(op: t.Attention, masks: list[Tensor], lead: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """0 where a key takes part, -inf elsewhere, in float16; None where all do."""
    if not masks and not op.is_causal:
        return None
    t_, s = shape[-2:]
    causal = np.tril(np.ones((t_, s), bool)) if op.is_causal else np.ones((1, 1), bool)

    def numbers(*arrays: Array) -> Array:
        chosen = causal
        for one in arrays:
            chosen = chosen & one
        wide = np.broadcast_to(chosen, (*lead, t_, s) if arrays else (t_, s))
        return np.where(wide, np.float16(0), np.float16(-np.inf)).reshape(shape if arrays else (1, 1, t_, s))

    size = shape if masks else (1, 1, t_, s)
    return hosted(numbers, masks, size, "float16").node


RULES: Final[dict[object, Rule]] = {t.Attention: attention}
