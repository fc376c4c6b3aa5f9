"""Threefry-2x32 with 20 rounds: the function of a key and a counter that all random numbers are read from.

Source:
    Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3 (2011), section 4.3; its rotations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, message
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.record import binary
from tg.ops.family import Family

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable
    from tg.ops.elementwise.dtype_loops import Kind, Loop

    Array = np.ndarray[Any, Any]

WORD: Final = "uint32"
ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))  # of four rounds, and of the next four
PARITY: Final = 0x1BD11BDA  # what the third word of a key is xored with, so that no key has three words of 0
BLOCK: Final = 8192  # counters of which NumPy's arrays stay in the first cache: 16 ms a million where all at once is 74


def _rotated(x: Any, places: int) -> Any:
    return (x << places) | (x >> (32 - places))


def rounds(k0: Any, k1: Any, x0: Any, x1: Any, rotated: Callable[[Any, int], Any] = _rotated) -> tuple[Any, Any]:
    """The two words that a key's two words make of a counter's.

    Args:
        k0, k1, x0, x1: anything with the operators of uint32, which wrap: arrays, variables, lanes.
        rotated: a word whose bits have moved up by some places, those that fall out coming in below.
    """
    keys = (k0, k1, k0 ^ k1 ^ PARITY)
    x0, x1 = x0 + k0, x1 + k1
    for k in range(5):
        for places in ROTATIONS[k % 2]:
            x0 = x0 + x1
            x1 = rotated(x1, places) ^ x0
        x0, x1 = x0 + keys[(k + 1) % 3], x1 + (keys[(k + 2) % 3] + (k + 1))
    return x0, x1


def mixed(key: Any, counter: Any, to: Callable[[Any, str], Any], run: Callable[..., Any] = rounds) -> Any:
    """`threefry` of anything with the operators of uint64.

    Args:
        to: gives it in another dtype, where it wraps.
        run: takes the words through the `rounds`.
    """
    words = [to(word, WORD) for x in (key, counter) for word in (x >> 32, x)]
    high, low = (to(word, "uint64") for word in run(*words))
    return (high << 32) | low


def _reference(key: Array, counter: Array) -> Array:
    shape = np.broadcast_shapes(key.shape, counter.shape)
    counters = np.broadcast_to(counter, shape).reshape(-1)
    keys = key.reshape(-1) if key.size == 1 else np.broadcast_to(key, shape).reshape(-1)
    bits = np.empty(counters.size, np.uint64)
    for start in range(0, bits.size, BLOCK):
        part = slice(start, start + BLOCK)
        bits[part] = mixed(keys if key.size == 1 else keys[part], counters[part], np.ndarray.astype)
    return bits.reshape(shape)


def _expansion(key: Variable, counter: Variable) -> Variable:
    return mixed(key, counter, cast_variable)  # type: ignore[no-any-return]


def _words(kinds: tuple[Kind, ...]) -> Loop:
    """uint64 of whatever is an integer that has no sign."""
    for kind in kinds:
        if kind is not int and not str(kind).startswith("uint"):
            names = ", ".join(k if isinstance(k, str) else k.__name__ for k in kinds)
            raise DtypeError(message(f"found {names}, needed unsigned integers"))
    return ("uint64", "uint64"), "uint64"


threefry = binary(
    "threefry", _reference, _words,
    "The 64 random bits that a key of 64 bits has at a counter: Threefry-2x32 with 20 rounds.",
    d=(None, None), accuracy=0, cost=10, expansion=_expansion,
)  # fmt: skip

FAMILY = Family(
    "elementwise/random",
    (threefry,),
    internal=(threefry,),
)
