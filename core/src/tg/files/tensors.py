"""Arrays of model files in the format of safetensors, each at a multiple of 64 bytes.

A member begins with the length of its header, eight bytes, the lowest first; then the header, JSON, filled up with
spaces; then the arrays. As the format allows no holes, what fills up to 64 bytes is an array as well, "_64.0" and so
on. The format has no complex128: complex arrays are pairs of real numbers along a last axis.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import FileError, message
from tg.files.archive import ALIGNMENT
from tg.functions.convert import are_bools
from tg.types.dtypes import dtype_name, numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Array = np.ndarray[Any, Any]

NAMES: Final = {
    "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
    "uint32": "U32", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
}  # fmt: skip
DTYPES: Final = {name: dtype for dtype, name in NAMES.items()}
REAL: Final = {"complex64": "float32", "complex128": "float64"}
FILLING: Final = re.compile(r"_64\.\d+")
MOST_AXES: Final = 32
LARGEST_HEADER: Final = 1 << 25
MAPPED: Final = 1 << 16  # bytes from which on an array stays in the file; smaller ones are copied


def packed(arrays: Mapping[str, Array]) -> tuple[list[bytes | memoryview], int]:
    """The parts of a member that holds arrays, and their size together."""
    header: dict[str, Any] = {}
    parts: list[bytes | memoryview] = []
    end = 0
    for k, (name, array) in enumerate(arrays.items()):
        real = _as_real(np.asarray(array, order="C"))
        start, end = end, end + real.nbytes
        header[name] = {"dtype": NAMES[dtype_name(real.dtype)], "shape": list(real.shape), "data_offsets": [start, end]}
        parts.append(real.reshape(-1).view(np.uint8).data if real.size else b"")
        filling = -end % ALIGNMENT
        if filling:
            header[f"_64.{k}"] = {"dtype": "U8", "shape": [filling], "data_offsets": [end, end + filling]}
            parts.append(bytes(filling))
            end += filling
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=True).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    return [len(text).to_bytes(8, "little") + text, *parts], 8 + len(text) + end


def _as_real(array: Array) -> Array:
    """An array, a complex one as pairs of real numbers."""
    real = REAL.get(dtype_name(array.dtype))
    return array if real is None else array.reshape(-1).view(numpy_dtype(real)).reshape(*array.shape, 2)


def unpacked(member: memoryview, where: str) -> dict[str, Array]:
    """The arrays of a member by name, which nobody writes: large ones are views of it.

    Raises:
        FileError: it is not in this format, or says that it has more than it has.
    """
    if len(member) < 8:
        raise _refusal(where, f"found {len(member)} bytes, needed a header")
    length = int.from_bytes(member[:8], "little")
    if length > min(len(member) - 8, LARGEST_HEADER):
        raise _refusal(
            where, f"found a header of {length} bytes, needed at most {min(len(member) - 8, LARGEST_HEADER)}"
        )
    try:
        header = json.loads(bytes(member[8 : 8 + length]))
    except (ValueError, RecursionError) as error:
        raise _refusal(where, f"found a header that is no JSON: {error}") from error
    if not isinstance(header, dict):
        raise _refusal(where, f"found a header that is a {type(header).__name__}, needed names")
    header.pop("__metadata__", None)
    return dict(_arrays(member[8 + length :], header, where))


def _arrays(data: memoryview, header: Mapping[str, Any], where: str) -> Iterator[tuple[str, Array]]:
    end = 0
    for name, entry in sorted(header.items(), key=lambda pair: _first(pair, where)):
        dtype, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
        kind = DTYPES.get(dtype) if isinstance(dtype, str) else None
        is_shape = isinstance(shape, list) and len(shape) <= MOST_AXES and all(type(n) is int and n >= 0 for n in shape)
        if kind is None or not is_shape:
            raise _refusal(where, f"{name[:80]}: found {str(dtype)[:20]} {str(shape)[:80]}, needed a dtype and lengths")
        size = math.prod(shape) * numpy_dtype(kind).itemsize
        if start != end or stop - start != size or stop > len(data):
            raise _refusal(where, f"{name[:80]}: found bytes {start} to {stop}, needed {end} to {end + size}")
        end = stop
        if not FILLING.fullmatch(name):
            yield name, _array(data[start:stop], kind, shape)
    if end != len(data):
        raise _refusal(where, f"found {len(data)} bytes of arrays, needed {end}")


def _first(pair: tuple[str, Any], where: str) -> tuple[int, int]:
    """The bytes at which an array begins and ends, for sorting."""
    name, entry = pair
    offsets = entry.get("data_offsets") if isinstance(entry, dict) and {"dtype", "shape"} <= entry.keys() else None
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(n) is int and n >= 0 for n in offsets):
        raise _refusal(where, f"{name[:80]}: found {str(entry)[:80]}, needed dtype, shape and data_offsets")
    return offsets[0], offsets[1]


def _array(data: memoryview, kind: str, shape: list[int]) -> Array:
    dtype = numpy_dtype(kind)
    array: Array = np.frombuffer(data, np.uint8).view(dtype).reshape(shape) if len(data) else np.empty(shape, dtype)
    if array.nbytes < MAPPED or not array.flags.aligned:
        array = array.copy()
    if kind == "bool" and not are_bools(array):
        array = np.asarray(array.view(np.uint8) != 0)
    array.flags.writeable = False
    return array


def in_dtype(array: Array | None, dtype: str, where: str) -> Array:
    """An array that a member has for a value of a dtype: of a complex one the pairs put together.

    Raises:
        FileError: it is missing, or of another dtype.
    """
    if array is None:
        raise _refusal(where, "found no array of this name")
    real = REAL.get(dtype)
    if dtype_name(array.dtype) != (real or dtype) or (real and array.shape[-1:] != (2,)):
        raise _refusal(where, f"found {dtype_name(array.dtype)}{list(array.shape)}, needed {dtype}")
    if real is None:
        return array
    together: Array = array.reshape(-1).view(numpy_dtype(dtype)).reshape(array.shape[:-1])
    return together


def _refusal(where: str, fact: str) -> FileError:
    return FileError(message(f"load: {where}: {fact}"))
