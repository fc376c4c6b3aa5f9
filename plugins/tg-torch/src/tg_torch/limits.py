"""Sizes that no memory holds, refused with Python's error before PyTorch raises one of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

ADDRESSABLE: Final = 1 << 47  # bytes: more than any process can address


def affordable(shape: Sequence[int], dtype: torch.dtype) -> None:
    """Refuse an array larger than the address space.

    Raises:
        MemoryError: the array cannot exist.
    """
    if math.prod(shape) * dtype.itemsize > ADDRESSABLE:
        text = f"backend 'torch': no memory for an array of shape {tuple(shape)} and dtype {dtype}"
        raise MemoryError(text)
