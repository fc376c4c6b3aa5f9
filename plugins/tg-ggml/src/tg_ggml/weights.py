"""Weights: constants in memory of ggml's own, as they are or quantised, one for all programs that read them."""

from __future__ import annotations

import ctypes
import math
import threading
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import ggml as g
import numpy as np

from tg_ggml.tensors import KINDS, current, extents, packed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_ggml.tensors import Tensor

    Array = np.ndarray[Any, Any]

TYPES: Final = {
    "f16": g.GGML_TYPE_F16, "bf16": g.GGML_TYPE_BF16,
    "int8": g.GGML_TYPE_Q8_0, "q8_0": g.GGML_TYPE_Q8_0,
    "q4_0": g.GGML_TYPE_Q4_0, "q4_1": g.GGML_TYPE_Q4_1, "q5_0": g.GGML_TYPE_Q5_0, "q5_1": g.GGML_TYPE_Q5_1,
    "q2_K": g.GGML_TYPE_Q2_K, "q3_K": g.GGML_TYPE_Q3_K, "q4_K": g.GGML_TYPE_Q4_K, "q5_K": g.GGML_TYPE_Q5_K,
    "q6_K": g.GGML_TYPE_Q6_K,
}  # fmt: skip
"""The types that weights can be quantised to, by the names of the option."""

LEAST: Final = 64  # bytes of a buffer


@final
class Weight:
    """A tensor of ggml in a buffer of its own; the array it was made of stays alive, so that its address is its own."""

    __slots__ = ("__weakref__", "array", "bytes", "node")

    def __init__(self, array: Array, kind: int) -> None:
        self.array = array
        source = np.ascontiguousarray(array)
        size = int(g.ggml_tensor_overhead()) * 2
        ctx = g.ggml_init(g.ggml_init_params(mem_size=size, mem_buffer=None, no_alloc=True))
        self.node = g.ggml_new_tensor_4d(ctx, kind, *extents(packed(array.shape)))
        self.bytes = int(g.ggml_nbytes(self.node))
        backend = _backend()
        buffer = g.ggml_backend_buft_alloc_buffer(
            g.ggml_backend_get_default_buffer_type(backend), max(self.bytes, LEAST)
        )
        if not buffer:
            g.ggml_free(ctx)
            raise MemoryError(f"backend 'ggml': no memory for weights of {self.bytes} bytes")
        weakref.finalize(self, _free, ctx, buffer)
        g.ggml_backend_tensor_alloc(buffer, self.node, g.ggml_backend_buffer_get_base(buffer))
        stored = source if KINDS[array.dtype.name] == kind else quantized(source, kind)
        if stored.nbytes:
            g.ggml_backend_tensor_set(self.node, stored.ctypes.data_as(ctypes.c_void_p), 0, stored.nbytes)


def _free(ctx: Any, buffer: Any) -> None:
    g.ggml_backend_buffer_free(buffer)
    g.ggml_free(ctx)


def _backend() -> Any:
    """ggml's processor, by which buffers are made."""
    with _LOCK:
        if not _BACKENDS:
            _BACKENDS.append(g.ggml_backend_cpu_init())
        return _BACKENDS[0]


_LOCK: Final = threading.RLock()
_BACKENDS: Final[list[Any]] = []
_WEIGHTS: Final[weakref.WeakValueDictionary[tuple[Any, ...], Weight]] = weakref.WeakValueDictionary()


def _weight(array: Array, kind: int) -> Weight:
    """The weight of an array: one for each address, layout and type, as long as a program reads it."""
    key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str, kind)
    with _LOCK:
        weight = _WEIGHTS.get(key)
        if weight is None:
            weight = _WEIGHTS[key] = Weight(array, kind)
        return weight


def plain(array: Array) -> Weight:
    """An array in the type of its dtype."""
    return _weight(array, KINDS[array.dtype.name])


def quantized(array: Array, kind: int) -> Array:
    """The bytes of float32 rows in a type of ggml, by ggml's own functions.

    Shapes:
        array (..., k), with k a multiple of the type's block -> bytes (n)
    """
    columns = array.shape[-1]
    rows = array.size // max(columns, 1)
    stored = np.empty(rows * int(g.ggml_row_size(kind, columns)), np.uint8)
    source = np.ascontiguousarray(array, np.float32)
    g.ggml_quantize_chunk(
        kind,
        source.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
        stored.ctypes.data_as(ctypes.c_void_p),
        0,
        rows,
        columns,
        None,
    )
    return stored


@dataclass(frozen=True, slots=True)
class Use:
    """One reading of a factor: what reads it, its shape, the type it has there, and why it is not another."""

    reader: str
    shape: tuple[int, ...]
    stored: str  # the option's name, or float32
    bytes: int
    reason: str = ""

    def __str__(self) -> str:
        lengths = ", ".join(map(str, self.shape))
        text = f"{self.reader} float32[{lengths}]: {self.stored}, {self.bytes} bytes"
        return f"{text}; {self.reason}" if self.reason else text


def factor(reader: str, x: Tensor, dims: Sequence[int]) -> Any:
    """A factor of a product under other lengths, rows behind: quantised if it is a constant and the options say so.

    What becomes of it is written down in the trace.
    """
    trace = current()
    wanted = trace.options.quantize
    if wanted is None:
        return x.dims(dims)
    reason = _reason(x, dims, wanted)
    if reason:
        trace.uses.append(Use(reader, x.shape, "float32", 4 * x.size, reason))
        return x.dims(dims)
    assert x.data is not None
    weight = _weight(x.data.reshape(dims), TYPES[wanted])
    trace.weights.append(weight)
    trace.uses.append(Use(reader, x.shape, wanted, weight.bytes))
    return weight.node


def _reason(x: Tensor, dims: Sequence[int], wanted: str) -> str:
    """Why a factor is not quantised; "" if it is."""
    if x.data is None:
        return "not quantised: its values are computed in each call"
    block = int(g.ggml_blck_size(TYPES[wanted]))
    if dims[-1] % block:
        return f"not quantised: found rows of {dims[-1]}, needed a multiple of {block}"
    if math.prod(dims) == 0:
        return "not quantised: found no elements"
    return ""
