"""GGUF files: weights by their names, and what is said of them, read and written by the `gguf` package."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg import InputError
from tg.backend import message

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

PLAIN: Final = {
    "F16": np.float16, "F32": np.float32, "F64": np.float64,
    "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64,
}  # fmt: skip
"""The types whose elements NumPy has."""

TYPES: Final = {
    "f16": "F16", "bf16": "BF16", "int8": "Q8_0", "q8_0": "Q8_0",
    "q4_0": "Q4_0", "q4_1": "Q4_1", "q5_0": "Q5_0", "q5_1": "Q5_1",
    "q2_K": "Q2_K", "q3_K": "Q3_K", "q4_K": "Q4_K", "q5_K": "Q5_K", "q6_K": "Q6_K",
}  # fmt: skip
"""The types of the backend's option `quantize`, by the names that files have for them."""

ARCHITECTURE: Final = "general.architecture"


@dataclass(frozen=True)
class GGUF:
    """The content of a file: arrays by name, metadata, and the type that each array has in the file.

    Quantised arrays and bfloat16 are float32 here; others are as they are stored.

    Attributes:
        arrays: each under NumPy's lengths, the last of which is the first in the file.
        metadata: numbers, truth values, texts and lists of them, by key.
        types: the name of each array's type, such as "Q8_0".
    """

    arrays: Mapping[str, Array]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)


def read_gguf(path: str | os.PathLike[str]) -> GGUF:
    """The arrays and the metadata of a GGUF file.

    Raises:
        FileNotFoundError: there is no such file.
        InputError: the file is no GGUF file, or ends before its arrays do.
    Example:
        >>> import numpy as np, os, tempfile, tg_ggml
        >>> path = os.path.join(tempfile.mkdtemp(), "weights.gguf")
        >>> tg_ggml.write_gguf(path, {"w": np.eye(2, dtype="float32")}, {"tg.layers": 3})
        >>> file = tg_ggml.read_gguf(path)
        >>> file.arrays["w"].tolist(), file.metadata["tg.layers"], file.types
        ([[1.0, 0.0], [0.0, 1.0]], 3, {'w': 'F32'})
    Source:
        the GGUF specification, version 3
    """
    import gguf

    name = os.fspath(path)
    if not Path(name).is_file():
        raise FileNotFoundError(f"read_gguf: found no file {name!r}")
    try:
        reader = gguf.GGUFReader(name)
        metadata = {k: v.contents() for k, v in reader.fields.items() if not k.startswith("GGUF.")}
        arrays = {one.name: _array(one) for one in reader.tensors}
        types = {one.name: one.tensor_type.name for one in reader.tensors}
    except Exception as error:
        text = f"read_gguf: {name!r}: found {type(error).__name__}: {error}, needed a whole GGUF file"
        raise InputError(message(text)) from error
    return GGUF(arrays, metadata, types)


def _array(tensor: Any) -> Array:
    """The elements of an array of a file, in memory of their own."""
    import gguf

    shape = tuple(int(n) for n in reversed(tensor.shape))
    if tensor.tensor_type.name in PLAIN:
        return np.array(tensor.data).reshape(shape)
    return np.ascontiguousarray(gguf.quants.dequantize(tensor.data, tensor.tensor_type), np.float32).reshape(shape)


def write_gguf(
    path: str | os.PathLike[str],
    arrays: Mapping[str, Any],
    metadata: Mapping[str, Any] | None = None,
    types: str | Mapping[str, str] | None = None,
) -> None:
    """Write arrays and metadata to a GGUF file, float32 ones quantised where a type is said.

    The bytes are those that ggml makes of the rows of an array. A file that is there is replaced when all is written.

    Args:
        metadata: numbers, truth values, texts and lists of them, by key; "general.architecture" is "tg" unless given.
        types: one for all arrays that it fits, or by name: those of the option `quantize`; others stay as they are.
    Raises:
        InputError: an array or a value that a file does not hold, or a type named for an array whose rows it does not
            fit.
    """
    import gguf

    plan = {name: _stored(name, np.asarray(array), types) for name, array in arrays.items()}
    about = dict(metadata or {})
    writer = gguf.GGUFWriter(None, str(about.pop(ARCHITECTURE, "tg")))
    for key, value in about.items():
        writer.add_key_value(key, *_value(key, value))
    for name, (data, kind, shape) in plan.items():
        raw = None if kind is None else gguf.GGMLQuantizationType[kind]
        writer.add_tensor(name, data, raw_shape=shape, raw_dtype=raw)
    target = Path(os.fspath(path))
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        writer.write_header_to_file(Path(temporary))
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _stored(name: str, array: Array, types: str | Mapping[str, str] | None) -> tuple[Array, str | None, Any]:
    """The bytes of an array, the type they are of, and the lengths in them; the array itself where it stays.

    Raises:
        InputError: the type does not fit.
    """
    wanted = types if isinstance(types, str) or types is None else types.get(name)
    if wanted is not None and wanted not in TYPES:
        text = f"write_gguf: type of {name!r}: found {wanted!r}, needed one of {', '.join(TYPES)}"
        raise InputError(message(text))
    reason = _misfit(array, wanted)
    if reason and isinstance(types, Mapping) and wanted is not None:
        raise InputError(message(f"write_gguf: {wanted} of {name!r}: {reason}"))
    if wanted is None or reason:
        if array.dtype not in [np.dtype(one) for one in PLAIN.values()]:
            names = ", ".join(np.dtype(one).name for one in PLAIN.values())
            raise InputError(message(f"write_gguf: {name!r}: found {array.dtype}, needed one of {names}"))
        return np.ascontiguousarray(array), None, None
    from tg_ggml import weights

    data = weights.quantized(array, weights.TYPES[wanted]).reshape(*array.shape[:-1], -1)
    return data, TYPES[wanted], data.shape


def _misfit(array: Array, wanted: str | None) -> str:
    """Why an array is not stored in a type; "" if it is."""
    if wanted is None:
        return ""
    import ggml

    from tg_ggml import weights

    if array.dtype != np.float32:
        return f"found {array.dtype}, needed float32"
    block = int(ggml.ggml_blck_size(weights.TYPES[wanted]))
    if array.ndim == 0 or array.size == 0 or array.shape[-1] % block:
        return f"found the shape {array.shape}, needed rows of a multiple of {block}"
    return ""


def _value(key: str, value: Any) -> tuple[Any, ...]:
    """A value of metadata with its type, and of a list that of its elements.

    Raises:
        InputError: a value that a file does not hold.
    """
    import gguf

    kinds = gguf.GGUFValueType
    if isinstance(value, bool | np.bool_):
        return bool(value), kinds.BOOL
    if isinstance(value, int | np.integer):
        return int(value), kinds.INT64
    if isinstance(value, float | np.floating):
        return float(value), kinds.FLOAT64
    if isinstance(value, str):
        return value, kinds.STRING
    if isinstance(value, list | tuple) and value:
        elements = [_value(key, one) for one in value]
        if len({kind for _, kind, *_ in elements}) == 1 and elements[0][1] != kinds.ARRAY:
            return [one for one, *_ in elements], kinds.ARRAY, elements[0][1]
    text = (
        f"write_gguf: metadata {key!r}: found {value!r}, needed a number, a truth value, a text or a list of one kind"
    )
    raise InputError(message(text))
