"""Arrays made of nothing but numbers and lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import InputError, message
from tg.graph.nodes import Variable, size_value
from tg.graph.op import Op
from tg.ops.elementwise.arithmetic import add, multiply
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal
from tg.ops.family import Family
from tg.ops.shape import broadcast_to, expand_dims_at, merge_sizes, natural_checks, split_sizes
from tg.types.dtypes import dtype_name
from tg.types.lengths import Length, floor_divide, maximum
from tg.types.lengths import add as add_lengths
from tg.types.lengths import subtract as subtract_lengths
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, promote, weak_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.checks import Check


@final
class Arange(Op):
    """The integers 0, 1, ..., n - 1 as int64; n is the field, or the one operand where the field is None.

    Shapes:
        n () -> y (n)
    """

    length: int | None

    def size_operands(self, count: int) -> range:
        """The length, where it is an operand."""
        return range(count)

    def infer(self, *sizes: int | Length) -> tuple[TensorType, ...]:
        """int64 of that length."""
        return (TensorType("int64", merge_sizes((self.length,), sizes)),)

    def perform(self, *sizes: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """`np.arange`."""
        return (np.arange(int(sizes[0]) if self.length is None else self.length, dtype=np.int64),)

    def checks(self, *inputs: Variable) -> tuple[Check, ...]:
        """The length is at least 0."""
        return natural_checks(self, inputs)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: a length has no derivative."""
        return (None,) * len(inputs)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The same integers for every element of the batch."""
        return (tools.repeat(self(*inputs), size),)


def iota(length: Any) -> Variable:
    """0, 1, ..., length - 1 as int64."""
    (field,), sizes = split_sizes([length])
    return Arange(field)(*sizes)  # type: ignore[no-any-return]


def arange(start: Any, stop: Any = None, step: Any = 1, *, dtype: object = None) -> Variable:
    """Evenly spaced values from start (0 if one argument is given) up to, not including, stop.

    Args:
        start, stop, step: integers, lengths or integer scalar variables; floats if all are numbers.
    Raises:
        InputError: step is 0, or a variable that is not an integer scalar.
    Source:
        numpy.arange
    """
    if stop is None:
        start, stop = 0, start
    if any(isinstance(v, float) for v in (start, stop, step)):
        if not all(isinstance(v, int | float) for v in (start, stop, step)):
            raise InputError(message(f"arange: found {start!r}, {stop!r}, {step!r}, needed integers, or only numbers"))
        return as_variable(np.arange(start, stop, step), None if dtype is None else dtype_name(dtype))
    if not isinstance(step, int) or step == 0:
        raise InputError(message(f"arange: step: found {step!r}, needed an int other than 0"))
    first, last = (size_value(v) if isinstance(v, Variable) else v for v in (start, stop))
    span = subtract_lengths(last, first) if step > 0 else subtract_lengths(first, last)
    count = maximum(0, floor_divide(add_lengths(span, abs(step) - 1), abs(step)))
    values = iota(count)
    if step != 1:
        values = multiply(values, step)
    if not (isinstance(first, int) and first == 0):
        values = add(values, as_variable(first))
    return values if dtype is None else cast_variable(values, dtype_name(dtype))


def full(shape: Any, value: Any, *, dtype: object = None) -> Variable:
    """An array of one repeated value.

    Dtypes:
        that of the value, or `dtype`.
    Source:
        numpy.full
    """
    kind = weak_kind(value)
    wanted = dtype_name(dtype) if dtype is not None else promote(kind) if kind else None
    x = as_variable(value, wanted)
    return broadcast_to(cast_variable(x, wanted) if wanted else x, shape)


def zeros(shape: Any, *, dtype: object = "float64") -> Variable:
    """An array of zeros.

    Source:
        numpy.zeros
    """
    return full(shape, 0, dtype=dtype)


def ones(shape: Any, *, dtype: object = "float64") -> Variable:
    """An array of ones.

    Source:
        numpy.ones
    """
    return full(shape, 1, dtype=dtype)


def full_like(x: Any, value: Any, *, dtype: object = None) -> Variable:
    """An array of one repeated value with the shape of x, and its dtype unless given.

    Source:
        numpy.full_like
    """
    x = as_variable(x)
    return full(x.shape, value, dtype=dtype if dtype is not None else x.type.dtype)


def zeros_like(x: Any, *, dtype: object = None) -> Variable:
    """Zeros with the shape of x, and its dtype unless given.

    Source:
        numpy.zeros_like
    """
    return full_like(x, 0, dtype=dtype)


def ones_like(x: Any, *, dtype: object = None) -> Variable:
    """Ones with the shape of x, and its dtype unless given.

    Source:
        numpy.ones_like
    """
    return full_like(x, 1, dtype=dtype)


def eye(n: Any, m: Any = None, k: int = 0, *, dtype: object = "float64") -> Variable:
    """Ones on the k-th diagonal of an n by m array, zeros elsewhere; m is n unless given.

    Source:
        numpy.eye
    """
    rows, columns = iota(n), iota(n if m is None else m)
    on = equal(expand_dims_at(rows, (-1,)) + k, expand_dims_at(columns, (-2,)))
    return cast_variable(on, dtype_name(dtype))


FAMILY = Family("creation", ops=(Arange,), functions=(arange, full, zeros, ones, full_like, zeros_like, ones_like, eye))
