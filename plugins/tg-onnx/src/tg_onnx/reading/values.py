"""`Value`: an ONNX value while a model is read, with what is known of it before the program runs.

Models compute shapes with ordinary nodes (Shape, Gather, Concat, Reshape). So a small integer value remembers its
elements as lengths, ints where they are known, and `reading.lengths` computes with these: a shape that is static in
truth becomes static types, and one with named lengths keeps the names.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

import tg
from tg.backend import Constant, Length, numpy_dtype
from tg_onnx.reading.elements import BY_DTYPE

if TYPE_CHECKING:
    from tg.backend import Variable
    from tg_onnx.reading.elements import Element

MOST_LENGTHS: Final = 256  # elements of a value that are followed one by one
MOST_FOLDED: Final = 2**16  # elements of a value that is computed while a model is read


@final
class Value:
    """A value: a variable, its element type, and where known its elements as an array or as lengths."""

    __slots__ = ("_data", "_lengths", "_variable", "element")
    element: Element

    def __init__(
        self,
        variable: Variable | None = None,
        element: Element | None = None,
        *,
        lengths: np.ndarray[Any, Any] | None = None,
        data: np.ndarray[Any, Any] | None = None,
    ) -> None:
        self._variable = variable
        self._lengths = lengths
        self._data = data
        self.element = element if element is not None else BY_DTYPE["int64" if variable is None else variable.dtype]

    @property
    def variable(self) -> Variable:
        """The variable of tg."""
        if self._variable is None:
            data = self.data
            if data is not None:
                self._variable = tg.constant(data)
            else:
                assert self._lengths is not None
                flat = [tg.cast(tg.as_variable(n), self.element.dtype) for n in self._lengths.flat]
                self._variable = tg.reshape(tg.stack(flat), self._lengths.shape)
        return self._variable

    @property
    def data(self) -> np.ndarray[Any, Any] | None:
        """The elements, if they are known now."""
        if self._data is None:
            if isinstance(self._variable, Constant):
                self._data = self._variable.data
            elif self._lengths is not None and all(isinstance(n, int) for n in self._lengths.flat):
                self._data = self._lengths.astype(numpy_dtype(self.element.dtype))
        return self._data

    @property
    def lengths(self) -> np.ndarray[Any, Any] | None:
        """The elements of a small integer as an array of ints, lengths and scalar variables."""
        if self._lengths is None and self.element.dtype in ("int64", "int32"):
            self._lengths = self._elements()
        return self._lengths

    @property
    def is_constant(self) -> bool:
        """Whether it is a constant of the program, and no weight."""
        return self.data is not None and (self._variable is None or isinstance(self._variable, Constant))

    def _elements(self) -> np.ndarray[Any, Any] | None:
        data = self.data
        if data is not None:
            return as_objects(data) if data.size <= MOST_LENGTHS else None
        v = self.variable
        shape = [n for n in v.type.shape if isinstance(n, int) and n <= MOST_LENGTHS]
        if v.ndim > 1 or len(shape) < v.ndim:
            return None
        wide = tg.cast(v, "int64")
        entries: list[Any] = [wide] if not shape else [wide[k] for k in range(shape[0])]
        return filled(entries, shape)


def as_objects(data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An integer array as one of Python ints."""
    return filled([int(n) for n in data.flat], data.shape)


def filled(entries: list[Any], shape: Any) -> np.ndarray[Any, Any]:
    """An array of objects, whatever arrays they may look like to NumPy."""
    array = np.empty(len(entries), object)
    for k, entry in enumerate(entries):
        array[k] = entry
    return array.reshape(shape)


def is_static(length: object) -> bool:
    """Whether a length is known now."""
    return isinstance(length, int)


def is_length(entry: object) -> bool:
    """Whether an element is an int or a length, and no variable."""
    return isinstance(entry, int | Length)


def folded(variable: Variable) -> Variable:
    """The constant that a variable made of constants is, unless it is large, or what it is computed from."""
    if isinstance(variable, Constant) or None in variable.type.shape or not _is_small(variable):
        return variable
    return tg.constant(tg.evaluate(variable, backend="perform", mode="off"))


def _is_small(variable: Variable) -> bool:
    """Whether a variable, and all that stands between it and constants, has few elements, where lengths are static."""
    pending, met = [variable], {id(variable)}
    while pending:
        v = pending.pop()
        if isinstance(v, Constant):
            continue
        if math.prod(1 if n is None else n for n in v.type.shape) > MOST_FOLDED:
            return False
        pending.extend(u for u in v.inputs if id(u) not in met)
        met.update(map(id, v.inputs))
    return True
