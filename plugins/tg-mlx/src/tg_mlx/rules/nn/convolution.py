"""Convolutions as products of matrices: MLX's own takes some thirty times as long on processors.

Windows are a view of the padded images, which is copied into columns.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import MatMul
from tg.backend import convolution as t
from tg_mlx.rules.contraction import matmul

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import Rule


def convolution(op: t.Convolution, x: Any, w: Any, *rest: Any) -> Any:
    """A product of the kernels with the columns of each image, group by group."""
    before, sizes = ([int(n) for n in field] for field in op.numbers(rest))
    n, groups, channels = x.shape[: t.LEAD]
    outer, kernel = w.shape[1], w.shape[t.LEAD :]
    if 0 in x.shape or 0 in w.shape or 0 in sizes:
        return mx.zeros((n, groups, outer, *sizes), x.dtype)
    x = _spread(x, op.spread)
    backwards = [d < 0 for d in op.dilations]
    spans = [(k - 1) * abs(d) for k, d in zip(kernel, op.dilations, strict=True)]
    lows = [b + span if back else b for b, span, back in zip(before, spans, backwards, strict=True)]
    lengths = [(size - 1) * s + 1 + span for size, s, span in zip(sizes, op.strides, spans, strict=True)]
    count = channels * math.prod(kernel)
    columns = _windows(op, _padded(x, lows, lengths), kernel, sizes).reshape(n, groups, count, math.prod(sizes))
    rows = _flipped(w, backwards).reshape(groups, outer, count)
    return matmul(MatMul(), mx.broadcast_to(rows, (n, *rows.shape)), columns).reshape(n, groups, outer, *sizes)


def _windows(op: t.Convolution, x: Any, kernel: Sequence[int], sizes: Sequence[int]) -> Any:
    """A view of padded images by batch, group, channel, position in the window and window."""
    steps = [math.prod(x.shape[k + 1 :]) for k in range(x.ndim)]
    own = steps[t.LEAD :]
    inner = [step * abs(d) for step, d in zip(own, op.dilations, strict=True)]
    outer = [step * s for step, s in zip(own, op.strides, strict=True)]
    shape = (*x.shape[: t.LEAD], *kernel, *sizes)
    return mx.as_strided(mx.contiguous(x), shape, (*steps[: t.LEAD], *inner, *outer))


def _flipped(w: Any, turned: Sequence[bool]) -> Any:
    return w[(..., *(slice(None, None, -1 if back else 1) for back in turned))] if any(turned) else w


def _spread(x: Any, steps: Sequence[int]) -> Any:
    """x with zeros between its entries."""
    if all(u == 1 for u in steps):
        return x
    lengths = [(n - 1) * u + 1 for n, u in zip(x.shape[t.LEAD :], steps, strict=True)]
    result = mx.zeros((*x.shape[: t.LEAD], *lengths), x.dtype)
    result[(..., *(slice(None, None, u) for u in steps))] = x
    return result


def _padded(x: Any, lows: Sequence[int], lengths: Sequence[int]) -> Any:
    """So many entries of the last axes, `low` of them before the first, zeros outside."""
    begins, ends, pads = [], [], []
    for low, length, n in zip(lows, lengths, x.shape[t.LEAD :], strict=True):
        begin = min(max(-low, 0), n)
        end = max(min(length - low, n), begin)
        ahead = min(max(low + begin, 0), length - (end - begin))
        begins.append(begin)
        ends.append(end)
        pads.append((ahead, length - (end - begin) - ahead))
    return mx.pad(x[(..., *map(slice, begins, ends))], [(0, 0)] * t.LEAD + pads)


RULES: Final[dict[object, Rule]] = {t.Convolution: convolution}
