"""Calls of a function of LAPACK for each matrix of a batch.

Matrices lie in a stack: an array (count, columns, rows), each matrix column by column as Fortran has them. A call gets
flags (bytes), integers, stacks (the matrix of the call is passed), and `Shared` memory that all calls use in turn.
"""

from __future__ import annotations

import ctypes
import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.errors import DtypeError
from tg.lapack.library import lapack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array = np.ndarray[Any, Any]

_LETTERS = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


class Shared(NamedTuple):
    """Memory that every call of a batch gets: what one writes there, the next may overwrite."""

    array: Array


@dataclass(frozen=True)
class Batch:
    """The leading dimensions of a function's arrays, and the letter and dtypes of its calls."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def real(self) -> np.dtype[Any]:
        """The dtype of magnitudes."""
        return np.zeros((), self.dtype).real.dtype

    @property
    def is_complex(self) -> bool:
        return self.dtype.kind == "c"

    def stack(self, x: Array) -> Array:
        """A copy of matrices, broadcast to the batch: (count, columns, rows)."""
        columns = np.broadcast_to(x, (*self.shape, *x.shape[-2:])).swapaxes(-1, -2)
        return np.array(columns, self.dtype, order="C").reshape(self.count, *columns.shape[-2:])

    def stack_vectors(self, x: Array, dtype: np.dtype[Any] | None = None) -> Array:
        """A copy of vectors, broadcast to the batch: (count, length)."""
        wide = np.broadcast_to(x, (*self.shape, *x.shape[-1:]))
        return np.array(wide, dtype or self.dtype, order="C").reshape(self.count, *x.shape[-1:])

    def empty(self, *lengths: int, dtype: np.dtype[Any] | None = None) -> Array:
        """Memory for results, (count, *lengths), zeroed: calls that are left out leave zeros."""
        return np.zeros((self.count, *lengths), dtype or self.dtype)

    def info(self) -> Array:
        """The `info` of calls that had nothing to do."""
        return np.zeros(self.shape, np.int32)

    def matrices(self, stack: Array) -> Array:
        """A stack as an array of matrices again."""
        return stack.reshape((*self.shape, *stack.shape[1:])).swapaxes(-1, -2)

    def vectors(self, stack: Array, dtype: type[np.generic] | None = None) -> Array:
        """A stack of vectors, or of numbers, with the dimensions of the batch."""
        return stack.reshape((*self.shape, *stack.shape[1:])).astype(dtype or stack.dtype, copy=False)

    def each(self, name: str, *arguments: bytes | int | Array | Shared | None, only_first: bool = False) -> Array:
        """Calls a function, named without its letter, for every matrix; what each gave as `info`, its last argument."""
        info = self.empty(dtype=integer())
        _call(_LETTERS[self.dtype.name] + name, 1 if only_first else self.count, *arguments, info)
        return self.vectors(info, np.int32)

    def with_work(self, dtypes: Sequence[np.dtype[Any]], run: Callable[..., Array]) -> Array:
        """The result of `run(only_first, *(memory, length))` with memory as long as it says when the lengths are -1."""
        probes = [Shared(np.zeros(1, dtype)) for dtype in dtypes]
        run(True, *((probe, -1) for probe in probes))
        lengths = [max(1, _length(probe.array[0])) for probe in probes]
        works = [Shared(np.empty(length, dtype)) for length, dtype in zip(lengths, dtypes, strict=True)]
        return run(False, *zip(works, lengths, strict=True))


def batch_of(name: str, *arrays: Array, ranks: Sequence[int] = ()) -> Batch:
    """The batch of some arrays of matrices, or of the ranks that are given, all of one dtype that LAPACK has."""
    dtype = arrays[0].dtype
    if dtype.name not in _LETTERS or any(x.dtype != dtype for x in arrays):
        names = ", ".join(dict.fromkeys(x.dtype.name for x in arrays))
        msg = f"{name}: dtypes: {names}, needed one of {', '.join(_LETTERS)} for all"
        raise DtypeError(msg)
    inner = ranks or [2] * len(arrays)
    shapes = (x.shape[: x.ndim - rank] for x, rank in zip(arrays, inner, strict=True))
    return Batch(np.broadcast_shapes(*shapes), dtype)


def integer() -> np.dtype[Any]:
    """The dtype of LAPACK's integers."""
    return np.dtype(f"int{lapack().int_width}")


def _length(answer: Any) -> int:
    """A length that LAPACK answers as a number of its dtype; one of float32 may have been rounded down."""
    if isinstance(answer, np.integer):
        return int(answer)
    return math.ceil(np.nextafter(answer.real, np.inf, dtype=answer.real.dtype)) if answer.real > 0 else 0


@functools.cache
def _function(name: str) -> Any:
    return ctypes.CFUNCTYPE(None)(lapack().address(name))  # a call of it releases the GIL


def _call(name: str, count: int, *arguments: bytes | int | Array | Shared | None) -> None:
    owners: list[object] = []  # what the addresses point to
    places: list[ctypes.c_void_p] = []
    moving: list[tuple[ctypes.c_void_p, int, int]] = []
    for argument in arguments:
        address, step = _place(argument, owners)
        places.append(ctypes.c_void_p(address))
        if step:
            moving.append((places[-1], address, step))
    flags = sum(isinstance(argument, bytes) for argument in arguments)
    lengths = [ctypes.c_size_t(1)] * flags if lapack().has_lengths else []
    function = _function(name)
    for k in range(count):
        for place, address, step in moving:
            place.value = address + k * step
        function(*places, *lengths)


def _place(argument: bytes | int | Array | Shared | None, owners: list[object]) -> tuple[int, int]:
    """The address of an argument for the first matrix, and the distance to the next one's, in bytes."""
    if argument is None:
        return 0, 0
    if isinstance(argument, bytes):
        argument = Shared(np.frombuffer(argument, np.uint8))
    elif isinstance(argument, int):
        argument = Shared(np.array([argument], integer()))
    array, is_shared = (argument.array, True) if isinstance(argument, Shared) else (argument, False)
    assert array.flags.c_contiguous
    owners.append(array)
    return array.ctypes.data, 0 if is_shared else array.strides[0]
