"""Values that are made of numbers and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.backend import is_float, numpy_dtype
from tg_onnx.reading.arrays import array_of
from tg_onnx.reading.elements import BY_DTYPE, element
from tg_onnx.reading.values import MOST_FOLDED, Value

if TYPE_CHECKING:
    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules

NUMBERS: Final = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}


def _constant(node: Node) -> Value:
    for name, dtype in NUMBERS.items():
        number = node.attr(name)
        if number is not None:
            return Value(None, BY_DTYPE[dtype], data=np.array(number, dtype))
    tensor = node.attr("value")
    if tensor is None:
        node.refuse(f"a constant of {', '.join(node.attributes) or 'nothing'}", "a dense tensor of numbers")
    kind = element(tensor.data_type, node.place)
    return Value(None, kind, data=array_of(tensor, kind, node.scope.reader.folder))


def _constant_of_shape(node: Node) -> Value:
    tensor = node.attr("value")
    kind = BY_DTYPE["float32"] if tensor is None else element(tensor.data_type, node.place)
    fill: Any = 0 if tensor is None else array_of(tensor, kind, node.scope.reader.folder).reshape(-1)[0]
    shape = tuple(node.sizes(0, "a shape"))
    number = np.array(fill, numpy_dtype(kind.dtype))
    return Value(tg.full(shape, tg.constant(number), kind.dtype), kind)


def _range(node: Node) -> Variable:
    start, stop, step = node.value(0), node.value(1), node.value(2)
    if start.lengths is not None and stop.lengths is not None and step.lengths is not None:
        (a,), (b,), (c,) = start.lengths.flat, stop.lengths.flat, step.lengths.flat
        return tg.arange(a, b, c)
    dtype = node[0].dtype
    numbers: list[Any] = [v.data.reshape(())[()] for v in (start, stop, step) if v.data is not None]
    if len(numbers) == 3 and (float(numbers[1]) - float(numbers[0])) / float(numbers[2]) <= MOST_FOLDED:
        entries = numbers if is_float(dtype) else [int(n) for n in numbers]  # whose differences a narrow dtype lacks
        return tg.constant(np.arange(*entries).astype(dtype))
    a, b, c = (tg.reshape(v.variable, ()) for v in (start, stop, step))
    difference = b - a if is_float(dtype) else tg.cast(b, "int64") - tg.cast(a, "int64")
    count = tg.maximum(tg.cast(tg.ceil(tg.cast(difference, "float64") / tg.cast(c, "float64")), "int64"), 0)
    return a + tg.cast(tg.arange(count), dtype) * c


def _eye_like(node: Node) -> Value:
    x = node[0]
    kind = element(node.attr("dtype"), node.place) if node.attr("dtype") is not None else node.value(0).element
    return Value(tg.eye(x.shape[0], x.shape[1], node.attr("k", 0), dtype=kind.dtype), kind)


def _no_training(node: Node) -> bool:
    """Whether operand 2 says that a dropout lets everything through."""
    if not node.has(2):
        return True
    return not bool(node.static(2, "the mode of training").reshape(()))


def _dropout(node: Node) -> list[Variable]:
    """x itself: a model that is read is one that answers."""
    x = node[0]
    if node.since >= 12 and not _no_training(node):
        ratio = float(node.static(1, "the ratio").reshape(())) if node.has(1) else 0.5
        if ratio != 0:
            node.refuse("dropout in training", "one that lets everything through",
                        "tg.nn.dropout draws masks from a key")  # fmt: skip
    dtype = "bool" if node.since >= 10 else x.dtype
    return [x, tg.ones(x.shape, dtype)][: node.outputs]


RULES: Final[Rules] = {
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Dropout": _dropout,
    "EyeLike": _eye_like,
    "Range": _range,
}
