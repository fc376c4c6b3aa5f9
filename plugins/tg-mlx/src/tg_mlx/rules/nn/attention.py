"""Attention by MLX's own, of float32, and on GPUs of halves too: on the processor these are not computed in float32.

Its gradient has no rule: MLX's own is that of the formula too, with the table of all weights.

Deviations from mx.fast.scaled_dot_product_attention: "causal" is there by the last query and key, here by the first;
where no key takes part the result is 0, and not the mean of all values, or NaN.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import attention as t

if TYPE_CHECKING:
    from tg.backend import Rule

RANK: Final = 4  # MLX takes (batch, heads, length, channels) alone


def attention(op: t.Attention, *operands: Any) -> Any:
    """The operands with two leading axes; zeros are the second result, which no rule reads here."""
    q, k, v, *masks = operands
    fits = q.dtype == mx.float32 or (q.dtype in (mx.float16, mx.bfloat16) and mx.default_device() == mx.gpu)
    if not fits or q.ndim > RANK or (q.ndim < RANK - 1 and op.is_grouped):
        return NotImplemented
    rank = q.ndim
    q, k, v, *masks = (x.reshape(*(1,) * (RANK - rank), *x.shape) for x in (q, k, v, *masks))
    q, k, v = _alike(op, q, k, v, *masks)
    mask = _mask(op, q, k, masks)
    scale = op.scale if op.scale is not None else 1 / math.sqrt(q.shape[-1] or 1)
    y = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask=mask)
    if mask is not None and masks:
        takes_part = mask if mask.dtype == mx.bool_ else mask > -math.inf
        y = mx.where(mx.any(takes_part, -1, keepdims=True), y, mx.zeros_like(y))
    y = y.reshape(*y.shape[RANK - rank :])
    return y, mx.zeros(y.shape[:-1], mx.float32)


def _alike(op: t.Attention, q: Any, k: Any, v: Any, *masks: Any) -> list[Any]:
    """Queries, keys and values with the leading axes that they broadcast to; the heads of keys are fewer in groups."""
    batch, heads = (max((x.shape[a] for x in (q, k, v, *masks)), key=lambda n: (n != 1, n)) for a in (0, 1))
    few = k.shape[1] if op.is_grouped else heads
    return [mx.broadcast_to(x, (batch, n, *x.shape[2:])) for x, n in ((q, heads), (k, few), (v, few))]


def _mask(op: t.Attention, q: Any, k: Any, masks: list[Any]) -> Any:
    sees = mx.tri(q.shape[-2], k.shape[-2], dtype=mx.bool_) if op.is_causal else None
    if not masks:
        return sees
    (mask,) = masks
    if sees is None:
        return mask
    return mx.logical_and(mask, sees) if mask.dtype == mx.bool_ else mx.where(sees, mask, -math.inf)


RULES: Final[dict[object, Rule]] = {t.Attention: attention}
