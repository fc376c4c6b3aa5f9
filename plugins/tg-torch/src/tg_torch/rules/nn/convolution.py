"""Convolutions by PyTorch's own: straight, transposed, or as the gradient of weights, whichever it is.

Deviation from PyTorch: integers have none, and halves are computed in float32 and rounded once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from torch.nn import functional

from tg.backend import convolution as t

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import Rule

STRAIGHT: Final = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
TRANSPOSED: Final = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}
BACKWARD: Final = torch.ops.aten.convolution_backward
HALVES: Final = (torch.float16, torch.bfloat16)


def convolution(op: t.Convolution, x: torch.Tensor, w: torch.Tensor, *rest: Any) -> Any:
    """By the library where it has so many axes and the dtype."""
    if len(op.strides) not in STRAIGHT or not (x.is_floating_point() or x.is_complex()):
        return NotImplemented
    before, sizes = ([int(n) for n in field] for field in op.numbers(rest))
    shape = (x.shape[0], x.shape[1], w.shape[1], *sizes)
    if 0 in x.shape or 0 in w.shape or 0 in shape:
        return x.new_zeros(shape)
    if x.dtype in HALVES:
        return _by_library(op, x.float(), w.float(), before, sizes).to(x.dtype).reshape(shape)
    return _by_library(op, x, w, before, sizes).reshape(shape)


def _by_library(
    op: t.Convolution, x: torch.Tensor, w: torch.Tensor, before: list[int], sizes: Sequence[int]
) -> torch.Tensor:
    kernel = w.shape[t.LEAD :]
    spans = [(n - 1) * abs(d) for n, d in zip(kernel, op.dilations, strict=True)]
    if any(s > 1 for s in op.spread) or _is_turned(op, kernel):
        if all(s == 1 for s in op.strides):
            return _transposed(op, x, w, before, spans, sizes)
        x = _spread(x, op.spread)
    backwards = [d < 0 for d in op.dilations]
    w = _flipped(w, backwards)
    lows = [b + span if back else b for b, span, back in zip(before, spans, backwards, strict=True)]
    dilations = [abs(d) for d in op.dilations]
    if 0 < x.stride(0) < x.stride(2):  # channels lie as samples do: a gradient of weights has exchanged them
        return _of_weights(op, x, w, lows, dilations, sizes)
    x, padding = _with_own_padding(x, lows, kernel, sizes, op.strides, dilations)
    return STRAIGHT[len(lows)](_merged(x, 1), _merged(w, 0), None, op.strides, padding, dilations, x.shape[1])


def _is_turned(op: t.Convolution, kernel: Sequence[int]) -> bool:
    """Whether a kernel is read backwards along each axis that it has, as the gradient of images reads it."""
    directions = {d < 0 for n, d in zip(kernel, op.dilations, strict=True) if n > 1}
    return directions == {True}


def _with_own_padding(
    x: torch.Tensor,
    lows: Sequence[int],
    kernel: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[torch.Tensor, list[int]]:
    """Images and the zeros that PyTorch is to put at both ends: what it cannot is done to the images."""
    spans = [(n - 1) * d for n, d in zip(kernel, dilations, strict=True)]
    own = x.shape[t.LEAD :]
    rows = zip(lows, own, spans, strides, sizes, strict=True)
    if all(low >= 0 and n + 2 * low - span - 1 in range((m - 1) * s, m * s) for low, n, span, s, m in rows):
        return x, [*lows]
    lengths = [(m - 1) * s + 1 + span for m, s, span in zip(sizes, strides, spans, strict=True)]
    return _padded(x, lows, lengths), [0] * len(lows)


def _transposed(
    op: t.Convolution,
    x: torch.Tensor,
    w: torch.Tensor,
    before: Sequence[int],
    spans: Sequence[int],
    sizes: Sequence[int],
) -> torch.Tensor:
    """A convolution of images that are spread: the transpose of one with strides, of a kernel read backwards."""
    forwards = [d > 0 for d in op.dilations]
    w = _flipped(w, forwards).transpose(1, 2)
    padding = [span * ahead - b for b, span, ahead in zip(before, spans, forwards, strict=True)]
    whole = [(n - 1) * u + 1 + span for n, u, span in zip(x.shape[t.LEAD :], op.spread, spans, strict=True)]
    more = [size + 2 * p - n for size, p, n in zip(sizes, padding, whole, strict=True)]
    dilations = [abs(d) for d in op.dilations]
    least = [max(pair) for pair in zip(op.spread, dilations, strict=True)]
    own = min(padding) >= 0 and all(0 <= m < n for m, n in zip(more, least, strict=True))
    none = [0] * len(sizes)
    y = TRANSPOSED[len(sizes)](
        _merged(x, 1), _merged(w, 0), None, op.spread, padding if own else none, more if own else none, x.shape[1],
        dilations,
    )  # fmt: skip
    return y if own else _padded(y, [-p for p in padding], sizes)


def _of_weights(
    op: t.Convolution,
    x: torch.Tensor,
    w: torch.Tensor,
    lows: Sequence[int],
    dilations: Sequence[int],
    sizes: Sequence[int],
) -> torch.Tensor:
    """A convolution as the gradient of weights: channels are the batch, strides and dilations change their parts."""
    n, groups = x.shape[:2]
    x, padding = _with_own_padding(x, lows, sizes, w.shape[t.LEAD :], dilations, op.strides)
    images, slopes = _merged(x.movedim(0, 2).movedim(1, 0), 1), _merged(w.movedim(2, 0), 1)
    kernel = x.new_empty((groups * w.shape[1], n, *sizes))  # of which the shape counts alone; repeated, it is copied
    none, wanted = [0] * len(sizes), (False, True, False)
    _, gradient, _ = BACKWARD(slopes, images, kernel, None, dilations, padding, op.strides, False, none, groups, wanted)
    return gradient.reshape(groups, w.shape[1], n, *sizes).movedim(2, 0)


def _merged(v: torch.Tensor, axis: int) -> torch.Tensor:
    return v.flatten(axis, axis + 1)


def _flipped(w: torch.Tensor, turned: Sequence[bool]) -> torch.Tensor:
    axes = [t.LEAD + k for k, back in enumerate(turned) if back and w.shape[t.LEAD + k] > 1]
    return w.flip(axes) if axes else w


def _spread(x: torch.Tensor, steps: Sequence[int]) -> torch.Tensor:
    """x with zeros between its entries."""
    lengths = [(n - 1) * u + 1 for n, u in zip(x.shape[t.LEAD :], steps, strict=True)]
    result = x.new_zeros((*x.shape[: t.LEAD], *lengths))
    result[(..., *(slice(None, None, u) for u in steps))] = x
    return result


def _padded(x: torch.Tensor, lows: Sequence[int], lengths: Sequence[int]) -> torch.Tensor:
    """So many entries of the last axes, `low` of them before the first, zeros outside."""
    first = x.ndim - len(lows)
    own = x.shape[first:]
    begins = [min(max(-low, 0), n) for low, n in zip(lows, own, strict=True)]
    ends = [max(min(length - low, n), begin) for low, length, n, begin in zip(lows, lengths, own, begins, strict=True)]
    taken = x[(..., *map(slice, begins, ends))]
    pads: list[int] = []
    for low, length, begin, end in reversed([*zip(lows, lengths, begins, ends, strict=True)]):
        ahead = min(max(low + begin, 0), length - (end - begin))
        pads += [ahead, length - (end - begin) - ahead]
    return functional.pad(taken, pads) if any(pads) else taken


RULES: Final[dict[object, Rule]] = {t.Convolution: convolution}
