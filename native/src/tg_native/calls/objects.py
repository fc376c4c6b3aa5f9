"""Layout of objects in this Python and this NumPy, for compiled entries, which read and make them without headers.

A backend's entry in machine code is bound to a table of addresses, `bound()`, and knows `HEAD`. What it takes for
granted is looked at twice: by reading what must be there, and by calls of a probe, `works`. Where anything is otherwise
there is no such entry, and calls go through Python.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import struct
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from tg.errors import TgError
from tg.graph.frozen import FrozenGraph
from tg.link.signature import Signature
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType
from tg.variables.structure import LEAF, Structure
from tg_native.calls.interface import interface_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg_native.calls.interface import Interface

T = TypeVar("T")

HEAD: Final = object.__basicsize__  # bytes; the last eight are the type
FUNCTIONS: Final = (
    *("Py_IncRef", "Py_DecRef", "PyTuple_GetItem", "PyBytes_AsString", "PyObject_Vectorcall", "PyCFunction_NewEx"),
    *("PyErr_Clear", "PyErr_Occurred", "PyEval_SaveThread", "PyEval_RestoreThread", "PyFloat_AsDouble"),
    "PyLong_AsLongLongAndOverflow",
    *("PyList_New", "PyList_SetItem", "PyTuple_New", "PyTuple_SetItem", "PyDict_New", "PyDict_SetItem"),
    "PyCapsule_New",
)
NUMPY_FUNCTIONS: Final = {  # and one variable, by their places, which never change
    "PyArray_NewFromDescr": 94,
    "PyArray_EquivTypes": 182,
    "PyDataMem_SetHandler": 304,
    "PyDataMem_GetHandler": 305,
    "PyDataMem_DefaultHandler": 306,
}
PROBED: Final = interface_of(FrozenGraph(2, [TensorType("float64", (None, 3)), TensorType("float32")], [], [], [0, 1]))


@functools.cache
def bound() -> Mapping[str, int]:
    """The addresses that an entry is bound to, by name: objects, functions of Python, functions of NumPy.

    Raises:
        AttributeError, ImportError: one of them is not there.
    """
    addresses = {"ndarray": id(np.ndarray), "float": id(float), "int": id(int), "True": id(True), "False": id(False)}
    for name in FUNCTIONS:
        addresses[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    capsule = importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    address = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, None)
    table = ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))
    addresses.update((name, table[place] or 0) for name, place in NUMPY_FUNCTIONS.items())
    return MappingProxyType(addresses)


def is_layout_known() -> bool:
    """Whether arrays have their fields where entries read them: after the head data, rank, lengths, …, dtype, flags."""
    probe = np.zeros((2, 3))[:, 1:]
    raw = ctypes.string_at(id(probe), np.ndarray.__basicsize__)
    if len(raw) < HEAD + 52:
        return False
    (kind,) = struct.unpack_from("=q", raw, HEAD - 8)
    data, rank, lengths, strides, base, dtype, flags = struct.unpack_from("=qi4xqqqqi", raw, HEAD)
    return (
        (kind, data, rank) == (id(np.ndarray), probe.ctypes.data, 2)
        and (base, dtype, flags) == (id(probe.base), id(probe.dtype), probe.flags.num)
        and struct.unpack("=2q", ctypes.string_at(lengths, 16)) == probe.shape
        and struct.unpack("=2q", ctypes.string_at(strides, 16)) == probe.strides
    )


@functools.cache
def scalar_type(dtype: str) -> int:
    """The address of the NumPy scalar type of a dtype, 0 unless its value stands right after an object's head."""
    kind = numpy_dtype(dtype)
    for number in (1, 0, 113):
        array = np.array(number).astype(kind)
        scalar = array[()]
        if type(scalar) is not kind.type or type(scalar).__basicsize__ < HEAD + kind.itemsize:
            return 0
        if ctypes.string_at(id(scalar) + HEAD, kind.itemsize) != array.tobytes():
            return 0
    return id(kind.type)


def tried(opener: Callable[[], T], make: Callable[[T, Interface, Signature, int], Callable[..., Any]]) -> T | None:
    """Maker of entries; None where objects, arrays or scalars are not as it expects them.

    Args:
        make: makes with it what `works` calls.
    """
    try:
        maker = opener() if is_layout_known() else None
    except (OSError, TgError, AttributeError, ImportError):
        return None
    return maker if maker is not None and works(functools.partial(make, maker)) else None


def works(make: Callable[[Interface, Signature, int], Callable[..., Any]]) -> bool:
    """Whether calls through an entry give what they must.

    Args:
        make: makes the function of a program that copies 48 bytes of its first input, a float64[?, 3], to the first
            output, the 4 bytes of its second, a float32, to the second, and gives the int64 at an address.
    """
    x, wanted, code = np.arange(6.0).reshape(2, 3), np.array(1.5, np.float32), np.zeros(1, np.int64)

    def general(*args: Any, **kwargs: Any) -> str:
        return f"declined {len(args)} {sorted(kwargs)}"

    signature = Signature(general, Structure((tuple, None, (LEAF, LEAF))))
    call = make(PROBED, signature, code.ctypes.data)
    for number in (wanted, wanted[()]):
        if not all(map(_is_copy, call(x, number), (x, wanted))):
            return False
    declined = (call(x.T, wanted), call(x), call(x, y=1.5), call([[1.0]], 1.5), call(x[:1], wanted), call(x, 1j))
    if declined != tuple(f"declined {words}" for words in ("2 []", "1 []", "1 ['y']", "2 []", "2 []", "2 []")):
        return False
    code[0] = 1
    return bool(call(x, wanted) == "declined 2 []")


def _is_copy(copy: Any, array: np.ndarray[Any, Any]) -> bool:
    is_array = type(copy) is np.ndarray and copy.dtype is array.dtype and copy.flags.num == array.copy().flags.num
    return is_array and np.array_equal(copy, array) and not np.shares_memory(copy, array)
