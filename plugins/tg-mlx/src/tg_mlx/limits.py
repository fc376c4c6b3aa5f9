"""Sizes that MLX cannot express, refused before it sees them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

LONGEST: Final = (1 << 31) - 1  # MLX counts the positions along an axis in 32 bits
ADDRESSABLE: Final = 1 << 47  # bytes: more than any process can address


def affordable(shape: Sequence[int], dtype: Any) -> None:
    """Refuse an array larger than the address space, or an axis longer than MLX can have.

    Raises:
        MemoryError: the array cannot exist.
    """
    if math.prod(shape) * dtype.size > ADDRESSABLE or any(n > LONGEST for n in shape):
        name = str(dtype).rpartition(".")[2]
        text = f"backend 'mlx': no memory for an array of shape {tuple(shape)} and dtype {name}"
        raise MemoryError(text)
