"""Quantization: `QuantizeLinear`, `DequantizeLinear`, and products of integers with sums of 32 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.backend import integer_convolution, integer_products, quantization
from tg_onnx.writing.rules.nn import convolve
from tg_onnx.writing.scope import agree, is_one

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tg_onnx.writing.scope import Scope, Value

SINCE: Final = {"int8": 17, "uint8": 17, "int32": 17, "int16": 21, "uint16": 21}
"""The opset from which on levels of a dtype can be written."""


def _along(x: Value, scale: Value) -> int | None:
    """The axis along which scales differ, -1 for one scale; None where ONNX has no such form."""
    if scale.ndim == 0:
        return -1
    axes = [k for k, n in enumerate(scale.shape) if not is_one(n)]
    if not axes:
        return -1
    if len(axes) > 1 or not agree((scale.shape[axes[0]],), (x.shape[axes[0]],)):
        return None
    return axes[0]


def _flat(w: Scope, v: Value, axis: int) -> Value:
    """A scale or a zero point as a number, or as a vector along an axis."""
    return w.reshape(v, () if axis < 0 else (v.shape[axis],))


def _zero(w: Scope, dtype: str, scale: Value) -> Value | None:
    """Zero points that are 0, shaped as a scale; None where its length is not known."""
    if not all(type(n) is int for n in scale.shape):
        return None
    return w.constant(np.zeros(scale.shape, dtype))


def quantize(op: Any, w: Scope, x: Value, scale: Value, *zero: Value) -> Any:
    """A `QuantizeLinear` to all levels of a dtype, by one scale or one for each entry of an axis."""
    limits = np.iinfo(op.dtype)
    if (op.low, op.high) != (limits.min, limits.max):
        return NotImplemented
    return _quantized(w, x, scale, op.dtype, *zero)


def _quantized(w: Scope, x: Value, scale: Value, dtype: str, *zero: Value) -> Any:
    axis = _along(x, scale)
    if axis is None or x.dtype != "float32" or SINCE.get(dtype, w.opset + 1) > w.opset or dtype == "int32":
        return NotImplemented
    if zero and not agree(zero[0].shape, scale.shape):
        return NotImplemented
    flat = _flat(w, scale, axis)
    level = _flat(w, zero[0], axis) if zero else _zero(w, dtype, flat)
    if level is None:
        return NotImplemented
    attributes = {} if axis < 0 else {"axis": axis}
    return w("QuantizeLinear", x, flat, level, dtype=dtype, shape=w.out.shape, **attributes)


def dequantize(op: Any, w: Scope, q: Value, scale: Value, *zero: Value) -> Any:
    """A `DequantizeLinear`."""
    axis = _along(q, scale)
    fits = scale.dtype == op.dtype == "float32" and SINCE.get(q.dtype, w.opset + 1) <= w.opset
    if axis is None or not fits or (zero and (q.dtype == "int32" or not agree(zero[0].shape, scale.shape))):
        return NotImplemented
    levels = [_flat(w, v, axis) for v in zero]
    attributes = {} if axis < 0 else {"axis": axis}
    return w("DequantizeLinear", q, _flat(w, scale, axis), *levels, dtype=op.dtype, shape=w.out.shape, **attributes)


def fake_quantize(op: Any, w: Scope, x: Value, scale: Value, *zero: Value) -> Any:
    """A `QuantizeLinear` and a `DequantizeLinear`."""
    limits = {(-128, 127): "int8", (0, 255): "uint8"}
    dtype = limits.get((op.low, op.high))
    if dtype is None:
        return NotImplemented
    levels = [w.cast(v, dtype) for v in zero]
    quantized = _quantized(w, x, scale, dtype, *levels)
    if quantized is NotImplemented:
        return NotImplemented
    assert quantized.node is not None
    axis = _along(x, scale)
    attributes = {} if axis is None or axis < 0 else {"axis": axis}
    return w("DequantizeLinear", *(quantized, *quantized.operands[1:]), dtype=x.dtype, shape=x.shape, **attributes)


def integer_matmul(op: Any, w: Scope, x: Value, y: Value) -> Value:
    """A `MatMulInteger`."""
    return w("MatMulInteger", x, y, dtype="int32", shape=w.out.shape)


def integer_convolve(op: Any, w: Scope, x: Value, kernel: Value, *rest: Value) -> Any:
    """A `ConvInteger`."""
    return convolve(op, w, x, kernel, *rest, kind="ConvInteger")


RULES: Final[Mapping[object, Callable[..., Any]]] = {
    quantization.Quantize: quantize,
    quantization.Dequantize: dequantize,
    quantization.FakeQuantize: fake_quantize,
    integer_products.IntegerMatMul: integer_matmul,
    integer_convolution.IntegerConvolution: integer_convolve,
}
