"""The operators of eager arrays: the short way by dtypes and shapes that were met before, else the namespace's call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.eager.array import Array, _new

if TYPE_CHECKING:
    from collections.abc import Callable

BINARY: Final = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
COMPARISONS: Final = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
UNARY: Final = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}
NUMBERS: Final = (bool, int, float, complex, np.ndarray, np.generic)  # what an operator takes besides arrays


def _binary(name: str) -> Callable[[Array, Any], Any]:
    def method(self: Array, other: Any, /) -> Any:
        xp = self._xp
        if type(other) is Array:
            a, b = self._value, other._value
            run = xp._quick.get((name, a.dtype, a.shape, b.dtype, b.shape))
            if run is not None and other._xp is xp:
                result = _new(Array)
                result._value, result._xp = run(a, b), xp
                return result
        elif not isinstance(other, NUMBERS):
            return NotImplemented
        return xp._operate(name, self, other)

    return method


def _reflected(name: str) -> Callable[[Array, Any], Any]:
    def method(self: Array, other: Any, /) -> Any:
        if type(other) is not Array and not isinstance(other, NUMBERS):
            return NotImplemented
        return self._xp._operate(name, other, self)

    return method


def _in_place(name: str) -> Callable[[Array, Any], Any]:
    def method(self: Array, other: Any, /) -> Any:
        if type(other) is not Array and not isinstance(other, NUMBERS):
            return NotImplemented
        self._value = self._xp._in_place(name, self, other)._value
        return self

    return method


def _unary(name: str) -> Callable[[Array], Any]:
    def method(self: Array, /) -> Any:
        return self._xp._call(name, (self,), {})

    return method


def bind() -> None:
    """Give the class of arrays its operators."""
    for short, name in (BINARY | COMPARISONS).items():
        _set(short, _binary(name))
    for short, name in BINARY.items():
        _set(f"r{short}", _reflected(name))
        _set(f"i{short}", _in_place(name))
    for short, name in UNARY.items():
        _set(short, _unary(name))


def _set(short: str, method: Any) -> None:
    method.__name__ = f"__{short}__"
    method.__qualname__ = f"Array.__{short}__"
    setattr(Array, method.__name__, method)


bind()
