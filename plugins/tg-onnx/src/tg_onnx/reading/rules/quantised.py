"""Quantised values: ONNX's linear forms, whole products of integers, and weights of few bits by blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.backend import is_float
from tg_onnx.reading.elements import BY_DTYPE, element
from tg_onnx.reading.rules.casting import converted
from tg_onnx.reading.rules.convolution import convolved
from tg_onnx.reading.values import Value

if TYPE_CHECKING:
    from tg import Variable
    from tg_onnx.reading.elements import Element
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules


def _spread(node: Node, v: Variable, x: Variable) -> Variable:
    """Scales or zero points for each element: one for all, one along an axis, or one for each block along it."""
    axis, block = node.attr("axis", 1), node.attr("block_size", 0)
    if v.ndim == 0 or (v.ndim == 1 and v.type.shape == (1,) and not block):
        return tg.reshape(v, ())
    axis = axis % x.ndim
    if block:
        return tg.repeat(v, block, axis)[tuple(slice(0, n) for n in x.shape)]
    return tg.reshape(v, (-1,) + (1,) * (x.ndim - axis - 1)) if v.ndim == 1 else v


def _dequantize(node: Node) -> Value:
    """(x - zero point) times scale, in float32 or wider, in the type of the scale or `output_dtype`."""
    x, scale = node[0], node[1]
    number = node.attr("output_dtype", 0)
    kind = element(number, node.place) if number else node.value(1).element
    wide = "float64" if scale.dtype == "float64" else "float32"
    difference = tg.cast(x, wide)
    if node.has(2):
        difference = difference - tg.cast(_spread(node, node[2], x), wide)
    return Value(tg.cast(difference * tg.cast(_spread(node, scale, x), wide), kind.dtype), kind)


def _quantize(node: Node) -> Value:
    """x / scale, rounded to even, plus the zero point, between the ends of the type."""
    x = node[0]
    number = node.attr("output_dtype", 0)
    kind = BY_DTYPE["uint8"] if not number else element(number, node.place)
    if node.has(2):
        kind = node.value(2).element
    wide = _working(node, x)
    quotient = tg.cast(x, wide) / tg.cast(_spread(node, node[1], x), wide)
    zero = tg.cast(_spread(node, node[2], x), quotient.dtype) if node.has(2) else None
    saturate = bool(node.attr("saturate", 1))
    return Value(_saturated(quotient, zero, kind, saturate=saturate), kind)


def _working(node: Node, x: Variable) -> str:
    """The dtype of the quotient: the attribute `precision`, else that of the scale, float32 at least."""
    number = node.attr("precision", 0)
    if number:
        return element(number, node.place).dtype
    return "float64" if x.dtype == "float64" else "float32"


def _saturated(x: Variable, zero: Variable | None, kind: Element, *, saturate: bool = True) -> Variable:
    if kind.is_small_float:
        return converted(x if zero is None else x + zero, kind, saturate=saturate)
    low, high = _ends(kind)
    rounded = tg.rint(x)
    rounded = rounded if zero is None else rounded + zero
    return tg.cast(tg.clip(rounded, float(low), float(high)), kind.dtype)


def _ends(kind: Element) -> tuple[int, int]:
    """The least and greatest value of an integer type."""
    if kind.dtype.startswith("u"):
        return 0, 2**kind.bits - 1
    return -(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1) - 1


def _whole(x: Variable, zero: Variable | None, axis: int) -> Variable:
    """x less its zero point, as int32; zero points of one axis stand along it."""
    wide = tg.cast(x, "int32")
    if zero is None:
        return wide
    zero = tg.cast(zero, "int32")
    if zero.ndim == 1 and zero.type.shape != (1,):
        zero = tg.reshape(zero, (-1,) + (1,) * (-axis - 1))
    return wide - (tg.reshape(zero, ()) if zero.type.shape == (1,) else zero)


def _product(x: Variable, y: Variable, x_zero: Variable | None, y_zero: Variable | None) -> Variable:
    """The product of 8-bit matrices less their zero points, one number or one for each row or column, in int32."""
    zeros = [v if v is None or v.type.shape != (1,) else tg.reshape(v, ()) for v in (x_zero, y_zero)]
    return tg.integer_matmul(x, y, *zeros)


def _matmul_integer(node: Node) -> Variable:
    return _product(node[0], node[1], node.get(2), node.get(3))


def _conv_integer(node: Node) -> Variable:
    x, w = node[0], node[1]
    return convolved(node, _whole(x, node.get(2), -1), _whole(w, node.get(3), -w.ndim), None)


def _qlinear_matmul(node: Node) -> Value:
    product = _product(node[0], node[3], node[2], node[5])
    scale = _rows(node[1], -2) * _rows(node[4], -1) / _rows(node[6], -2)
    return _requantized(node, product, scale, 7)


def _rows(scale: Variable, axis: int) -> Variable:
    """Scales of rows or columns where there are several."""
    if scale.ndim == 1 and scale.type.shape != (1,):
        return tg.reshape(scale, (-1,) + (1,) * (-axis - 1))
    return tg.reshape(scale, ()) if scale.type.shape == (1,) else scale


def _qlinear_conv(node: Node) -> Value:
    x, w = node[0], node[3]
    bias = tg.cast(node[8], "int32") if node.has(8) else None
    total = convolved(node, _whole(x, node[2], -1), _whole(w, node[5], -w.ndim), bias)
    scale = node[1] * _rows(node[4], -(w.ndim - 1)) / node[6]
    return _requantized(node, total, scale, 7)


def _requantized(node: Node, total: Variable, scale: Variable, k: int) -> Value:
    """Sums in int32 as numbers of the result's scale, whose zero point is operand k."""
    kind = node.value(k).element
    scaled = tg.cast(total, "float32") * tg.cast(scale, "float32")
    return Value(_saturated(scaled, tg.cast(_rows(node[k], -2), "float32"), kind), kind)


def _matmul_bits(node: Node) -> Variable:
    """x times the transpose of weights of 2, 4 or 8 bits, which have a scale and a zero point for each block."""
    x, packed, scales = node[0], node[1], node[2]
    inner, outer = node.attr("K"), node.attr("N")
    bits, block = node.attr("bits", 4), node.attr("block_size")
    if bits not in (2, 4, 8):
        node.refuse(f"weights of {bits} bits", "2, 4 or 8")
    blocks = -(-inner // block)
    codes = tg.reshape(unpacked(packed, bits), (outer, blocks, block))
    wide = "float32" if x.dtype in ("float16", "bfloat16") else x.dtype
    zero: Any = float(2 ** (bits - 1))
    if node.has(3):
        zero = _zero_points(node[3], outer, blocks, bits, wide)
    weights = (tg.cast(codes, wide) - zero) * tg.reshape(tg.cast(scales, wide), (outer, blocks, 1))
    matrix = tg.reshape(weights, (outer, blocks * block))[:, :inner]
    if node.has(4):
        node.refuse("an order of groups (g_idx)", "blocks in order")
    y = tg.matmul(tg.cast(x, wide), tg.transpose(matrix))
    return tg.cast(y + tg.cast(node[5], wide) if node.has(5) else y, x.dtype)


def _zero_points(zero: Variable, outer: int, blocks: int, bits: int, dtype: str) -> Variable:
    if is_float(zero.dtype):
        return tg.reshape(tg.cast(zero, dtype), (outer, blocks, 1))
    codes = tg.reshape(unpacked(zero, bits), (outer, -1))[:, :blocks]
    return tg.cast(tg.expand_dims(codes, 2), dtype)


def unpacked(packed: Variable, bits: int) -> Variable:
    """Codes of few bits from bytes, the first in the low bits, along a new last axis."""
    shifts = tg.constant(np.arange(0, 8, bits, dtype=np.uint8))
    return tg.bitwise_and(tg.right_shift(tg.expand_dims(packed, -1), shifts), np.uint8(2**bits - 1))


RULES: Final[Rules] = {
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantize,
    "MatMulInteger": _matmul_integer,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "QuantizeLinear": _quantize,
}
MICROSOFT: Final[Rules] = {"MatMulNBits": _matmul_bits}
