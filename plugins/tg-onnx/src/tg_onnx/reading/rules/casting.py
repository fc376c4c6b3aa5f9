"""Conversions between element types, those that tg only stores included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import tg
from tg.backend import is_float
from tg_onnx.reading.elements import element
from tg_onnx.reading.small_floats import rounded
from tg_onnx.reading.values import Value

if TYPE_CHECKING:
    from tg import Variable
    from tg_onnx.reading.elements import Element
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules


def converted(x: Variable, kind: Element, *, saturate: bool = True, mode: str = "nearest") -> Variable:
    """x in the dtype that holds a type, rounded or wrapped to the values that the type has."""
    if kind.is_small_float:
        return rounded(x, kind, saturate=saturate, mode=mode)
    if kind.is_held:
        return _wrapped(x, kind)
    if kind.dtype == "bool":
        return tg.not_equal(x, 0) if x.dtype != "bool" else x
    return tg.cast(x, kind.dtype)


def _wrapped(x: Variable, kind: Element) -> Variable:
    """Integers of two or four bits: toward zero, and the low bits of what is too large."""
    wide = tg.cast(tg.trunc(x) if is_float(x.dtype) else x, "int32")
    low = tg.bitwise_and(wide, 2**kind.bits - 1)
    if kind.dtype == "int8":
        sign = 1 << (kind.bits - 1)
        low = tg.bitwise_xor(low, sign) - sign
    return tg.cast(low, kind.dtype)


def _cast(node: Node) -> Value:
    kind = element(node.attr("to"), node.place)
    return _to(node, kind)


def _cast_like(node: Node) -> Value:
    return _to(node, node.value(1).element)


def _to(node: Node, kind: Element) -> Value:
    if kind is node.value(0).element:
        return node.value(0)
    saturate, mode = bool(node.attr("saturate", 1)), node.attr("round_mode", "up")
    return Value(converted(node[0], kind, saturate=saturate, mode=mode), kind)


def _bit_cast(node: Node) -> Value:
    """The same bits as integers of the other sign; tg does not look at the bits of floats."""
    x, kind = node.value(0), element(node.attr("to"), node.place)
    if kind is x.element:
        return x
    whole = ("int", "uint", "bool")
    if x.element.is_held or kind.is_held or not (x.element.name.startswith(whole) and kind.name.startswith(whole[:2])):
        node.refuse(f"the bits of {x.element.name} as {kind.name}", "integers on both sides")
    return Value(tg.cast(x.variable, kind.dtype), kind)


RULES: Final[Rules] = {
    "BitCast": _bit_cast,
    "Cast": _cast,
    "CastLike": _cast_like,
}
