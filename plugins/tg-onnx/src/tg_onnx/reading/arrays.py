"""Arrays of a model's file: initialisers and attributes, inside the file or beside it.

What a tensor says of itself is not believed: the number of elements is compared with the bytes that are there before
memory is taken, and the name of a file beside the model leads nowhere but into the model's folder.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from onnx import TensorProto

import tg
from tg.backend import message, numpy_dtype

if TYPE_CHECKING:
    from pathlib import Path

    from tg_onnx.reading.elements import Element

TYPED: Final[dict[int, str]] = {
    TensorProto.FLOAT: "float_data",
    TensorProto.COMPLEX64: "float_data",
    TensorProto.DOUBLE: "double_data",
    TensorProto.COMPLEX128: "double_data",
    TensorProto.INT64: "int64_data",
    TensorProto.UINT32: "uint64_data",
    TensorProto.UINT64: "uint64_data",
}  # all other types are in int32_data
MOST_ELEMENTS: Final = 2**40


def array_of(tensor: TensorProto, kind: Element, folder: Path | None) -> np.ndarray[Any, Any]:
    """The array of a tensor, in the dtype that tg holds it in.

    Raises:
        InputError: the file holds fewer or more bytes than the shape needs; a file beside the model is missing, or
            its name leaves the folder.
    """
    place = f"tensor {tensor.name!r}"
    shape = tuple(tensor.dims)
    if any(n < 0 for n in shape) or math.prod(shape) > MOST_ELEMENTS:
        raise tg.InputError(message(f"{place}: found the shape {list(shape)}, needed lengths of at least 0 that fit"))
    count = math.prod(shape)
    if tensor.data_location == TensorProto.EXTERNAL:
        raw = _outside(tensor, -(-count * kind.bits // 8), folder, place)
    elif tensor.HasField("raw_data"):
        raw = bytes(tensor.raw_data)
    else:
        return np.asarray(_typed(tensor, kind, count, place).reshape(shape))
    needed = -(-count * kind.bits // 8)
    if len(raw) != needed:
        raise tg.InputError(message(f"{place}: found {len(raw)} bytes, needed {needed} for {list(shape)} {kind.name}"))
    return _from_bytes(raw, kind, count).reshape(shape)


def _from_bytes(raw: bytes, kind: Element, count: int) -> np.ndarray[Any, Any]:
    if kind.bits < 8:
        return _codes(_unpacked(np.frombuffer(raw, np.uint8), kind.bits)[:count], kind)
    array = np.frombuffer(raw, kind.storage.newbyteorder("<") if kind.storage.kind != "V" else kind.storage)
    return np.array(array, numpy_dtype(kind.dtype))


def _typed(tensor: TensorProto, kind: Element, count: int, place: str) -> np.ndarray[Any, Any]:
    """The array of a tensor whose elements stand in a typed list."""
    field: Any = getattr(tensor, TYPED.get(tensor.data_type, "int32_data"))
    complex_ = kind.dtype.startswith("complex")
    per_byte = 8 // kind.bits if kind.bits < 8 else 1
    needed = 2 * count if complex_ else -(-count // per_byte)
    if len(field) != needed:
        raise tg.InputError(message(f"{place}: found {len(field)} numbers, needed {needed}"))
    if complex_:
        flat = np.array(field, np.float32 if kind.dtype == "complex64" else np.float64)
        return np.asarray(flat.view(numpy_dtype(kind.dtype)))
    if kind.bits < 8:
        return _codes(_unpacked(np.array(field, np.int64).astype(np.uint8), kind.bits)[:count], kind)
    if kind.is_held:
        return np.asarray(np.array(field, np.int64).astype(np.uint8).view(kind.storage), numpy_dtype(kind.dtype))
    if kind.name in ("float16", "bfloat16"):
        return np.asarray(np.array(field, np.int64).astype(np.uint16).view(kind.storage))
    return np.array(field).astype(numpy_dtype(kind.dtype))


def _unpacked(packed: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """Codes of fewer than eight bits, the first in the low bits of each byte."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return np.asarray(((packed[:, None] >> shifts) & np.uint8(2**bits - 1)).reshape(-1))


def _codes(codes: np.ndarray[Any, Any], kind: Element) -> np.ndarray[Any, Any]:
    """The values of codes of fewer than eight bits."""
    if kind.name == "float4e2m1":
        return np.asarray(codes.view(kind.storage), np.float32)
    if kind.dtype == "int8":
        sign = 1 << (kind.bits - 1)
        return ((codes.astype(np.int8) ^ np.int8(sign)) - np.int8(sign)).astype(np.int8)
    return codes.astype(np.uint8)


def _outside(tensor: TensorProto, needed: int, folder: Path | None, place: str) -> bytes:
    """The bytes of a tensor that stands in a file of its own, beside the model."""
    entries = {e.key: e.value for e in tensor.external_data}
    name = entries.get("location", "")
    if folder is None:
        text = f"{place}: found elements in the file {name!r}, and a model without a folder"
        raise tg.InputError(message(f"{text}, needed the path of the model", hint="tg_onnx.load(path) knows it"))
    home = folder.resolve()
    path = (home / name).resolve()
    if not name or "\\" in name or not path.is_relative_to(home) or path == home:
        raise tg.InputError(message(f"{place}: found elements in {name!r}, needed a file in the model's folder"))
    if not path.is_file():
        raise tg.InputError(message(f"{place}: found no file {name!r} in the model's folder, needed one"))
    try:
        offset = int(entries.get("offset", "0"))
        length = int(entries.get("length", needed))
    except ValueError:
        offset, length = -1, -1
    if offset < 0 or length != needed or offset + length > path.stat().st_size:
        text = f"{place}: found {entries} of a file of {path.stat().st_size} bytes"
        raise tg.InputError(message(f"{text}, needed {needed} bytes inside it"))
    with path.open("rb") as file:
        file.seek(offset)
        return bytes(file.read(length))
