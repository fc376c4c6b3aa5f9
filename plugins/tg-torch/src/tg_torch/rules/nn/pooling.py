"""The largest of windows by PyTorch's own, where a window cannot lie outside as a whole.

Deviation from PyTorch: of several NaN in a window its place is that of the last, of equal numbers the first.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.nn import functional

from tg.backend import pooling as t
from tg_torch.place import RUN, Place

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule

LARGEST: Final = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}


def max_pool(op: t.MaxPool, x: torch.Tensor, *rest: Any, context: Place = RUN) -> Any:
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
    pool = functools.partial(
        LARGEST[axes], kernel_size=op.window, stride=op.strides, padding=op.before, dilation=op.dilations,
        ceil_mode=rounded, return_indices=True,
    )  # fmt: skip
    images = x.reshape(-1, *lengths)
    y, places = pool(images)
    if context.is_traced or math.isnan(y.max().item()):  # a 300th of the time that the windows take
        places = _first(pool, images, y, places)
    return y.reshape(*lead, *sizes), places.reshape(*lead, *sizes)


def _first(pool: Callable[..., Any], images: torch.Tensor, y: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """The places, of NaN those of the first in its window: of the first True among numbers."""
    _, of_nan = pool(torch.isnan(images).to(images.dtype))
    return torch.where(torch.isnan(y), of_nan, places)


def _size(op: t.MaxPool, k: int, n: int, ceil: bool) -> int:
    """Number of windows that PyTorch has along an axis."""
    stride, before = op.strides[k], op.before[k]
    room = n + 2 * before - (op.window[k] - 1) * op.dilations[k] - 1
    size = (room + (stride - 1) * ceil) // stride + 1
    return size - (ceil and (size - 1) * stride >= n + before)


RULES: Final[dict[object, Rule]] = {t.MaxPool: max_pool}
