"""Arrays that end, or begin, where memory begins that nobody may touch: whoever does is ended by the system."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

PAGE = mmap.PAGESIZE
NOTHING_ALLOWED = 0

_protect = ctypes.CDLL(None, use_errno=True).mprotect
_protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def guarded(array, *, at_end=True, shift=0):
    """A contiguous copy directly before a forbidden page, or after one; `shift` bytes away from it."""
    size = array.nbytes + shift
    pages = max(1, -(-size // PAGE))
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (0, pages + 1):
        if _protect(address + page * PAGE, PAGE, NOTHING_ALLOWED):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = PAGE + (pages * PAGE - size if at_end else shift)
    found = np.ndarray(array.shape, array.dtype, memory, start)
    found[...] = array
    return found


def layouts(array):
    """The same elements in guarded memory, in every way that a caller can lay them out."""
    yield guarded(array)
    yield guarded(array, at_end=False)
    if array.dtype.itemsize > 1:
        yield guarded(array, shift=1)  # not aligned
    if array.ndim:
        yield guarded(array[::-1])[::-1]
        spread = np.zeros((max(0, 2 * len(array) - 1), *array.shape[1:]), array.dtype)
        spread[::2] = array
        yield guarded(spread)[::2]
        yield guarded(spread[::-1], at_end=False)[::-2]
    if array.ndim > 1:
        yield guarded(array.T).T
        yield guarded(array[..., ::-1].T).T[..., ::-1]
    if array.size and (array == array.flat[0]).all():
        yield np.broadcast_to(guarded(array.flat[:1]).reshape(()), array.shape)
