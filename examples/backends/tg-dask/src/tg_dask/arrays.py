"""Lazy arrays: from NumPy's and back, and computed; what a node makes is a part of dask's graph and no array yet."""

from contextlib import contextmanager
from contextvars import ContextVar

import dask
import dask.array as da
import numpy as np

CHUNKS = ContextVar("CHUNKS", default="auto")
CALLER = "synchronous"  # the scheduler: in the caller's thread, where `np.errstate` holds


@contextmanager
def scope(options):
    """What a program runs inside: the length of chunks, and no warnings of NumPy about values."""
    token = CHUNKS.set(options.chunks or "auto")
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        CHUNKS.reset(token)


def to_native(array):
    """A copy of a NumPy array, in chunks."""
    return da.from_array(np.array(array), chunks=CHUNKS.get(), name=False)


def to_numpy(array):
    """What a lazy array comes to."""
    return np.asarray(array.compute(scheduler=CALLER) if isinstance(array, da.Array) else array)


def argument(value):
    """An input as a lazy array. The copy is what makes it so that the caller may change the input."""
    return value if isinstance(value, da.Array) else to_native(value)


def copy(array):
    """A lazy array is never written, and `ready` gives each output memory of its own."""
    return array


def ready(outputs):
    """All outputs in one computation: what they have in common is computed once."""
    return tuple(map(to_native, dask.compute(*outputs, scheduler=CALLER)))


def whole(function, shape, dtype, *operands):
    """A lazy array that a function of NumPy arrays makes of its operands, each put together from its chunks."""
    made = dask.delayed(function, pure=False)(*operands)
    return da.from_delayed(made, tuple(shape), dtype=np.dtype(dtype), name=None)
