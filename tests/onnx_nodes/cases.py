"""The cases, and the types of their values."""

from __future__ import annotations

import functools
import importlib
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case import node

from tg_onnx.reading.elements import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx import ModelProto, ValueInfoProto


@dataclass(frozen=True)
class Case:
    """A model with inputs and expected outputs by name."""

    name: str
    model: ModelProto
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    rtol: float
    atol: float

    @property
    def types(self) -> set[str]:
        """Names of the types of inputs and outputs."""
        return {type_name(info) for info in (*self.model.graph.input, *self.model.graph.output)}

    @property
    def has_own_types(self) -> bool:
        """Whether tg has all the types of its inputs and outputs."""
        own = {e.name for e in ELEMENTS.values() if not e.is_held}
        return self.types <= own


def type_name(info: ValueInfoProto) -> str:
    """The type of an input or output: an element type's name, or the kind of what is no tensor."""
    which = str(info.type.WhichOneof("value"))
    if which != "tensor_type":
        return which.removesuffix("_type")
    number = info.type.tensor_type.elem_type
    return ELEMENTS[number].name if number in ELEMENTS else TensorProto.DataType.Name(number).lower()


def array(value: Any) -> Any:
    """A value of a case as an array; sequences and None stay."""
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return value if value is None or isinstance(value, list) else np.asarray(value)


@functools.cache
def collect() -> tuple[Case, ...]:
    """All cases; onnx makes them as its modules are imported, which takes half a minute."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(_cases(node.collect_testcases(None)))


def of_modules(*names: str) -> tuple[Case, ...]:
    """The cases of some of onnx's modules, among what others were imported before."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            importlib.import_module(f"{node.__name__}.{name}")
    return tuple(_cases(node._NodeTestCases))


def _cases(tests: list[Any]) -> Iterator[Case]:
    for test in tests:
        ((inputs, outputs),) = test.data_sets
        yield Case(
            test.name,
            test.model,
            {info.name: array(v) for info, v in zip(test.model.graph.input, inputs, strict=True)},
            {info.name: array(v) for info, v in zip(test.model.graph.output, outputs, strict=True)},
            test.rtol,
            test.atol,
        )
