"""Threefry-2x32 with 20 rounds in Python's integers, and the words that draws are made of: what bits are held against.

Source:
    Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011), section 4.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

MASK: Final = (1 << 32) - 1
ROTATIONS: Final = (13, 15, 26, 6, 17, 29, 16, 24)


def threefry(key: int, counter: int) -> int:
    """The 64 bits of a key of 64 bits at a counter of 64."""
    schedule = [key >> 32, key & MASK]
    schedule.append(0x1BD11BDA ^ schedule[0] ^ schedule[1])
    x, y = (counter >> 32) + schedule[0] & MASK, counter + schedule[1] & MASK
    for r in range(20):
        x = x + y & MASK
        n = ROTATIONS[r % 8]
        y = (y << n | y >> 32 - n) & MASK ^ x
        if r % 4 == 3:
            s = r // 4 + 1
            x, y = x + schedule[s % 3] & MASK, y + schedule[(s + 1) % 3] + s & MASK
    return x << 32 | y


def number(key: Any) -> int:
    """The two words of a key as one number."""
    return int(key[0]) << 32 | int(key[1])


def words(key: int) -> tuple[int, int]:
    """The two words of a key that is one number."""
    return key >> 32, key & MASK


def bits(key: int, shape: Sequence[int], width: int) -> Any:
    """The bits of a key at the places of an array in C order, of a width."""
    words = [threefry(key, k) for k in range(int(np.prod(shape, dtype=int)))]
    if width < 64:
        words = [((v >> 32) ^ v) & ((1 << width) - 1) for v in words]
    return np.array(words, f"uint{width}").reshape(shape)
