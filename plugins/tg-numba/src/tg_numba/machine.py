"""What generated code does that Python has no words for: pointers, memory, choosing without branching.

Arrays come as the objects that they are: their pointer and lengths stand at the places that NumPy's C interface has
promised since its beginning, so nothing is unpacked, counted or boxed for an array in a call.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from tg_numba.native import ItemWord, Word, both, compiled
from tg_numba.text import WORDS

HEAD: Final = object.__basicsize__  # bytes of a Python object before its own fields
POINTER: Final = 8
DIMENSIONS: Final = HEAD + 2 * POINTER  # PyArrayObject: data, nd, dimensions, ...
ALIGNMENT: Final = 64
ROW_MAJOR: Final = 101
AS_IS: Final = 111
TRANSPOSED: Final = 112

data = Word("data")  # of an array: the pointer to its first element
dim = Word("dim", literal=True)  # of an array: a length
at = Word("at")  # the pointer to elements at an address, or where another pointer points to
shift = Word("shift")  # the pointer some elements further on
address = Word("address")  # that a pointer holds
frame = Word("frame", literal=True)  # memory of the running function
select = Word("select")  # one of two values, both of which have been computed
pair = Word("pair")  # the complex number of two parts
real = Word("real")
imag = Word("imag")
like = Word("like")  # a number in the dtype of another
gemm = Word("gemm")
lesser = Word("lesser")
greater = Word("greater")
_malloc = Word("malloc")
_free = Word("free")
ITEMS: Final = {word: ItemWord(word) for word in WORDS.values()}
i64 = ITEMS["i64"]


# --- memory ----------------------------------------------------------------------------------------------------------


@compiled
def times(size: Any, length: Any) -> Any:
    """The product of a size and a length; -1 where it is too large to count."""
    if size < 0 or length < 0:
        return -1
    if length > 0 and size > (1 << 62) // length:
        return -1
    return size * length


@compiled
def take(arena: Any, size: Any) -> Any:
    """The address of memory that is released with the arena at the latest; 0 if there is none.

    The memory of an arena is a ring: before the start of each piece stand the one before, the one after, and what
    was allocated.
    """
    if size < 0:
        return 0
    base = _malloc(size + 2 * ALIGNMENT)
    if base == 0:
        return 0
    start = ((base + 2 * ALIGNMENT - 1) // ALIGNMENT) * ALIGNMENT
    head = at(start - 24, i64)
    first = arena[0]
    head[0] = 0
    head[1] = first
    head[2] = base
    if first != 0:
        at(first - 24, i64)[0] = start
    arena[0] = start
    return start


@compiled
def drop(arena: Any, start: Any) -> Any:
    """Give a piece of memory back."""
    head = at(start - 24, i64)
    before, after = head[0], head[1]
    if before == 0:
        arena[0] = after
    else:
        at(before - 24, i64)[1] = after
    if after != 0:
        at(after - 24, i64)[0] = before
    _free(head[2])
    return 0


@compiled
def leave(arena: Any, code: Any) -> Any:
    """Release all memory of an arena; the code."""
    start = arena[0]
    while start != 0:
        head = at(start - 24, i64)
        start = head[1]
        _free(head[2])
    arena[0] = 0
    return code


# --- lengths ---------------------------------------------------------------------------------------------------------


@compiled
def length_min(a: Any, b: Any) -> Any:
    """The smaller."""
    return lesser(a, b)


@compiled
def length_max(a: Any, b: Any) -> Any:
    """The larger."""
    return greater(a, b)


@compiled
def length_broadcast(a: Any, b: Any) -> Any:
    """What two lengths broadcast to."""
    return b if a == 1 else a


@compiled
def length_floor(a: Any, b: Any) -> Any:
    """The quotient rounded down; 0 for a divisor of 0."""
    if b == 0:
        return 0
    if b == -1:
        return -a
    return a // b


@compiled
def length_mod(a: Any, b: Any) -> Any:
    """The remainder with the sign of the divisor; 0 for a divisor of 0."""
    return 0 if b in (0, -1) else a % b


# --- the words of generated code -------------------------------------------------------------------------------------

INSTRUCTIONS: Final = (data, dim, at, shift, address, frame, select, pair, real, imag, like, lesser, greater)
COMPILED: Final = (
    times, take, drop, leave, length_min, length_max, length_broadcast, length_floor, length_mod,
)  # fmt: skip


@functools.cache
def element_scope() -> dict[str, Any]:
    """What loop nests can use: no function of it is longer than a few instructions."""
    return {**ITEMS, **{word.__name__: word for word in INSTRUCTIONS}}


@functools.cache
def graph_scope() -> dict[str, Any]:
    """What the functions of graphs can use."""
    return {**element_scope(), **{f.function.__name__: both(f)[1] for f in COMPILED}}
