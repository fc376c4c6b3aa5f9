"""Sizes that XLA would end the process over, refused before it sees them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

ADDRESSABLE: Final = 1 << 47  # bytes: more than any process can address


def affordable(shape: Sequence[int], dtype: Any) -> None:
    """Refuse an array larger than the address space; of symbols nothing is known.

    Raises:
        MemoryError: the array cannot exist.
    """
    if all(isinstance(n, int) for n in shape) and math.prod(shape) * dtype.itemsize > ADDRESSABLE:
        text = f"backend 'jax': no memory for an array of shape {tuple(shape)} and dtype {dtype.name}"
        raise MemoryError(text)
