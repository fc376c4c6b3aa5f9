"""Arrays of other libraries as NumPy's, and NumPy's as theirs, in the same memory where both allow it.

NumPy has no bfloat16 of its own, so its side of DLPack refuses what is one. A capsule of such an array is told as
int16, and the other way round: the bytes are the same.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any, Final, final

import numpy as np

from tg.errors import InputError, message
from tg.types.dtypes import numpy_dtype
from tg.variables.structure import short

BFLOAT: Final = (4, 16)  # DLPack's number of the kind, and bits
SIGNED: Final = 0
CPU: Final = (1, 0)
CODE: Final = 20  # bytes before the kind in a DLTensor: data 8, device 8, rank 4
VERSION: Final = 32  # bytes before the DLTensor in a capsule with a version: version 8, context 8, deleter 8, flags 8
NAMESPACES: Final = {"jax": "jax.numpy", "mlx": "mlx.core"}  # the others are packages of the name

_api: Final = ctypes.pythonapi
_api.PyCapsule_GetName.restype, _api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def as_numpy(value: Any) -> np.ndarray[Any, Any]:
    """An array of any library as NumPy's.

    Raises:
        TypeError, ValueError, RuntimeError: as `np.asarray`, where neither it nor DLPack can read the value.
    """
    try:
        return np.asarray(value)
    except (TypeError, ValueError, RuntimeError):
        if not _is_here(value):
            raise
        try:
            return _read(value)
        except BufferError:
            pass
        raise


def _is_here(value: Any) -> bool:
    """Whether DLPack can have the value from the memory of the processor; a tracer is no array yet."""
    try:
        return hasattr(value, "__dlpack__") and tuple(value.__dlpack_device__()) == CPU
    except (AttributeError, BufferError, RuntimeError, TypeError):
        return False


def _read(value: Any) -> np.ndarray[Any, Any]:
    capsule = value.__dlpack__()
    kind = _kind(capsule)
    if (kind[0], kind[1]) != BFLOAT:
        array: np.ndarray[Any, Any] = np.from_dlpack(_Lent(capsule))
        return array
    kind[0] = SIGNED
    bits: np.ndarray[Any, Any] = np.from_dlpack(_Lent(capsule))
    return bits.view(numpy_dtype("bfloat16"))


def to_library(array: np.ndarray[Any, Any], library: Any, *, copy: bool | None) -> Any:
    """A NumPy array as one of a library.

    Args:
        library: a namespace of the array API, with `from_dlpack`.
        copy: True: in memory of its own; None: in the same memory if the library can read it there; False: only so.
    Raises:
        InputError: it would have to be copied.
    """
    if library is np:
        return array.copy() if copy else array
    source = _aligned(array) if copy else array
    result = library.from_dlpack(_Lent(_capsule(source)))
    if copy is False and array.size and _address(result) != array.ctypes.data:
        text = f"to: {library.__name__} copies this array of {array.dtype.name}{list(array.shape)}, found copy=False"
        raise InputError(message(text, hint="JAX needs memory at a multiple of 64 bytes, MLX copies always"))
    return result


def namespace(library: Any) -> Any:
    """The namespace of a library: itself, or that of its name.

    Raises:
        InputError: it is none, or not installed.
    """
    name = library if isinstance(library, str) else getattr(library, "__name__", "")
    try:
        module = importlib.import_module(NAMESPACES.get(name, name)) if name in (library, *NAMESPACES) else library
    except ImportError as error:
        raise InputError(message(f"to: {name} is not installed")) from error
    if not hasattr(module, "from_dlpack"):
        hint = '"numpy", "torch", "jax" and "mlx" are some, or the modules torch, jax.numpy, mlx.core'
        raise InputError(message(f"to: found {short(library)}, needed a library of arrays", hint=hint))
    return module


def _aligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy at a multiple of 64 bytes, as JAX needs it."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    result: np.ndarray[Any, Any] = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


def _capsule(array: np.ndarray[Any, Any]) -> Any:
    if array.dtype != numpy_dtype("bfloat16"):
        return _writable(array).__dlpack__()
    capsule = _writable(array.view(np.int16)).__dlpack__()
    _kind(capsule)[0] = BFLOAT[0]
    return capsule


def _writable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same memory: NumPy gives no capsule of an array that is not to be written."""
    return array if array.flags.writeable else np.asarray(_Memory(array))


def _kind(capsule: Any) -> Any:
    """The bytes of a capsule that say what its elements are: the kind, and the bits."""
    return (ctypes.c_uint8 * 2).from_address(_tensor(capsule) + CODE)


def _tensor(capsule: Any) -> int:
    name = _api.PyCapsule_GetName(capsule)
    pointer: int = _api.PyCapsule_GetPointer(capsule, name)
    return pointer + (VERSION if name == b"dltensor_versioned" else 0)


def _address(value: Any) -> int | None:
    capsule = value.__dlpack__()  # as long as which the record is there
    return ctypes.c_void_p.from_address(_tensor(capsule)).value


@final
class _Lent:
    """A capsule, to a library that reads it."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU


@final
class _Memory:
    """The memory of an array, without its flag that it is not to be written."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}
