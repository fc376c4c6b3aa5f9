"""The largest of windows by PyTorch's own, where a window cannot lie outside as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from torch.nn import functional

from tg.backend import pooling as t

if TYPE_CHECKING:
    import torch

    from tg.backend import Rule

LARGEST: Final = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}


def max_pool(op: t.MaxPool, x: torch.Tensor, *rest: Any) -> Any:
    """The largest elements and their places; the axes in front are as many channels."""
    axes = len(op.window)
    sizes = [int(n) for n in op.numbers(rest)]
    lead, lengths = x.shape[: x.ndim - axes], x.shape[x.ndim - axes :]
    if axes not in LARGEST or not x.is_floating_point() or 0 in x.shape or 0 in sizes:
        return NotImplemented
    rounded = None
    for ceil in (False, True):
        if [_size(op, k, n, ceil) for k, n in enumerate(lengths)] == sizes:
            rounded = ceil
            break
    if rounded is None or any(b < 0 or 2 * b > k for b, k in zip(op.before, op.window, strict=True)):
        return NotImplemented
    y, places = LARGEST[axes](
        x.reshape(-1, *lengths), op.window, op.strides, op.before, op.dilations, rounded, return_indices=True
    )
    return y.reshape(*lead, *sizes), places.reshape(*lead, *sizes)


def _size(op: t.MaxPool, k: int, n: int, ceil: bool) -> int:
    """How many windows PyTorch has along an axis."""
    stride, before = op.strides[k], op.before[k]
    room = n + 2 * before - (op.window[k] - 1) * op.dilations[k] - 1
    size = (room + (stride - 1) * ceil) // stride + 1
    return size - (ceil and (size - 1) * stride >= n + before)


RULES: Final[dict[object, Rule]] = {t.MaxPool: max_pool}
