"""Attention and its gradient by PyTorch's own, which on processors and GPUs keep no table of all weights.

On two cores 2048 queries of 2048 keys in 16 heads of 64 take 0.34 s in float32, by softmax between products 1.0 s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from torch.nn import functional

from tg.backend import attention as t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import Rule

RANK: Final = 4
"""The rank for which PyTorch has more than the formula."""
FLASH: Final = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
FLASH_BACKWARD: Final = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def attention(op: t.Attention, *operands: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The operands with two leading axes; beside the result what the gradient on processors needs, or zeros."""
    q, k, v, mask, is_causal = _taken(op, operands)
    if _is_flash(q, k, v):
        y, sums = FLASH(q, k, v, is_causal=is_causal, attn_mask=_added(mask, q), scale=op.scale)
    else:
        y = _of_any(op, q, k, v, mask, is_causal=is_causal)
        sums = torch.zeros(y.shape[:-1], dtype=_working(q), device=q.device)
    lead = _lead(op, operands)
    return y.reshape(*lead, *y.shape[-2:]), sums.reshape(*lead, sums.shape[-1])


def gradient(op: t.AttentionGradient, *operands: torch.Tensor) -> Sequence[torch.Tensor]:
    """By the function that autograd calls on processors, with what the attention left for it; else by autograd."""
    *arguments, y, sums, dy = operands
    q, k, v, mask, is_causal = _taken(op, arguments)
    y, dy = (_in_rows(x.reshape(*q.shape[:-1], x.shape[-1])) for x in (y, dy))
    if _is_flash(q, k, v):
        sums = sums.reshape(q.shape[:-1])
        sums = sums.masked_fill(sums == -torch.inf, torch.finfo(sums.dtype).max / 4)  # no key has a weight
        gradients = FLASH_BACKWARD(dy, q, k, v, y, sums, 0.0, is_causal, attn_mask=_added(mask, q), scale=op.scale)
    else:
        with torch.enable_grad():
            wrt = [x.detach().requires_grad_() for x in (q, k, v)]
            again = _of_any(op, wrt[0], wrt[1], wrt[2], mask, is_causal=is_causal)
            gradients = torch.autograd.grad(again, wrt, dy)
    return [dx.reshape(x.shape) for dx, x in zip(gradients, arguments[:3], strict=True)]


def _lead(op: t.Attention | t.AttentionGradient, operands: Sequence[torch.Tensor]) -> Sequence[int]:
    """The leading axes of the result."""
    q, k, v, *masks = (x.shape[:-2] for x in operands)
    if op.is_grouped:
        k, v = ((*shape[:-1], 1) for shape in (k, v))
    return torch.broadcast_shapes(q, k, v, *masks)  # type: ignore[no-any-return]


def _taken(op: t.Attention | t.AttentionGradient, operands: Sequence[torch.Tensor]) -> tuple[Any, ...]:
    """Queries, keys, values and the mask with two leading axes at least, and whether keys are hidden besides.

    More leading axes are one, and those of all operands but a mask are equal. A mask says too which keys a causal
    query sees.
    """
    lead = _lead(op, operands)
    heads = (*lead[:-1], operands[1].shape[-3]) if op.is_grouped else lead
    q, k, v = (x.expand(*n, *x.shape[-2:]) for x, n in zip(operands[:3], (lead, heads, heads), strict=True))
    masks = operands[3:]
    mask, is_causal = masks[0] if masks else None, op.is_causal
    if mask is not None and is_causal:
        mask, is_causal = _causal(mask, q.shape[-2], k.shape[-2]), False
    if mask is not None:
        mask = mask.expand(*mask.shape[:-2], q.shape[-2], k.shape[-2])
    if q.ndim > RANK:
        if mask is not None:
            mask = mask.expand(*q.shape[:-3], *mask.shape[-3:]).reshape(-1, *mask.shape[-3:])
        q, k, v = (x.reshape(-1, *x.shape[-3:]) for x in (q, k, v))
    places = (None,) * (RANK - q.ndim)
    q, k, v = (_in_rows(x[places]) for x in (q, k, v))
    return q, k, v, None if mask is None else mask[places], is_causal


def _in_rows(x: torch.Tensor) -> torch.Tensor:
    """A tensor in whose rows elements follow one another: the function does not ask."""
    return x if x.stride(-1) == 1 else x.contiguous()


def _causal(mask: torch.Tensor, queries: int, keys: int) -> torch.Tensor:
    sees = torch.ones(queries, keys, dtype=torch.bool, device=mask.device).tril()
    return mask & sees if mask.dtype == torch.bool else torch.where(sees, mask, -torch.inf)


def _is_flash(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> bool:
    """Whether PyTorch's own on processors takes operands: of one number of heads and one length."""
    alike = q.shape[-3] == k.shape[-3] and q.shape[-1] == v.shape[-1]
    return q.device.type == "cpu" and alike and 0 not in q.shape and 0 not in k.shape


def _added(mask: torch.Tensor | None, q: torch.Tensor) -> torch.Tensor | None:
    """A mask as numbers."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=q.dtype, device=q.device).masked_fill_(~mask, -torch.inf)


def _of_any(
    op: t.Attention | t.AttentionGradient,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    mask: torch.Tensor | None,
    *,
    is_causal: bool,
) -> torch.Tensor:
    return functional.scaled_dot_product_attention(
        q, k, v, mask, is_causal=is_causal, scale=op.scale, enable_gqa=op.is_grouped
    )


def _working(x: torch.Tensor) -> torch.dtype:
    return torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype


RULES: Final[dict[object, Rule]] = {t.Attention: attention, t.AttentionGradient: gradient}
