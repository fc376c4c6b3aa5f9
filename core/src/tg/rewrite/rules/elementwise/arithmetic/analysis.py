"""What rules of arithmetic ask of values: whether they are finite, who makes them, and what a constant amounts to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.facts import holds
from tg.graph.nodes import Constant
from tg.rewrite.rule import FLOATING, INTEGER
from tg.types.dtypes import is_integer, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

REAL: Final = FLOATING | INTEGER
SIGNED_INTEGER: Final = frozenset(("int8", "int16", "int32", "int64"))
SIGNED: Final = FLOATING | SIGNED_INTEGER


def is_finite(v: Variable) -> bool:
    """Whether no element can be infinite or NaN, whatever the inputs of the graph are."""
    return holds(v, "finite")


def is_not_negative(v: Variable) -> bool:
    """Whether no element can be below 0 (NaN may occur); -0.0 does not occur either."""
    return holds(v, "nonnegative") and holds(v, "no_negative_zero")


def is_nonnegative(v: Variable) -> bool:
    """Whether no element can be below 0; NaN and -0.0 may occur."""
    return holds(v, "nonnegative")


def is_finite_and_nonzero(v: Variable) -> bool:
    """Whether v / v is 1 in every element."""
    return is_finite(v) and holds(v, "nonzero")


def is_scalar_constant(v: Variable) -> bool:
    """Whether a value is a constant of one element, which combines with others at no cost."""
    return isinstance(v, Constant) and v.data.size == 1


def number_of(v: Any) -> int | float:
    """The value of a real scalar constant as a Python number."""
    data = v.data.reshape(())
    return int(data) if data.dtype.kind in "iu" else float(data)


def constant(value: float, dtype: str) -> Constant | None:
    """A 0-d constant; None where a float is not a normal number of the dtype or 0. Integers wrap."""
    if is_integer(dtype):
        bits = numpy_dtype(dtype).itemsize * 8
        wrapped = int(value) & ((1 << bits) - 1)
        if dtype.startswith("int") and wrapped >> (bits - 1):
            wrapped -= 1 << bits
        return Constant(np.array(wrapped, numpy_dtype(dtype)))
    with np.errstate(all="ignore"):
        data = np.array(value).astype(numpy_dtype(dtype))
    return Constant(data) if is_normal(data, value) else None


def is_normal(data: Any, value: float) -> bool:
    """Whether a rounded value neither overflowed nor vanished nor lost digits to underflow."""
    size = abs(float(data))
    return bool(np.isfinite(size)) and (size >= _least(data.dtype) or value == 0)


def _least(dtype: np.dtype[Any]) -> float:
    """The least normal number of a dtype; bfloat16 has the exponents of float32."""
    return float(np.finfo(dtype if dtype.kind == "f" else np.float32).tiny)


def beside(c: Constant, x: Variable, result: Variable) -> Constant:
    """A 0-d constant as an operand beside x, with the axes that x lacks for the rank of the result."""
    rank = result.type.ndim
    return c if x.type.ndim == rank else Constant(c.data.reshape((1,) * rank))


def nearest(value: int, dtype: str) -> int:
    """An integer as near to 0 as can be, equal to a given one modulo the width of a dtype."""
    span = 1 << (numpy_dtype(dtype).itemsize * 8)
    rest = value % span
    return rest - span if rest > span // 2 else rest
