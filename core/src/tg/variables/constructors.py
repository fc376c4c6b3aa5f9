"""Inputs of expressions: scalars, vectors, matrices and tensors that get their values when a function is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Variable
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence


def tensor(name: str | None = None, dtype: object = "float64", shape: Sequence[int | None] = ()) -> Variable:
    """An input of a dtype and a shape, in which None stands for a length known at run time only.

    Raises:
        DtypeError: tg has no such dtype.
        ShapeError: a length is negative or no integer.
    Example:
        >>> import tg
        >>> tg.tensor("t", dtype="float64", shape=(None, 3)).type
        float64[?, 3]
    """
    if name is not None and not isinstance(name, str):
        raise InputError(message(f"tensor: name: found {name!r}, needed a string"))
    for n in shape:
        if n is not None and (not isinstance(n, int) or isinstance(n, bool) or n < 0):
            raise ShapeError(message(f"tensor: shape: found {n!r}, needed lengths >= 0 or None"))
    return Variable(TensorType(dtype, tuple(shape)), name=name)


def scalar(name: str | None = None, dtype: object = "float64") -> Variable:
    """An input without axes."""
    return tensor(name, dtype, ())


def vector(name: str | None = None, dtype: object = "float64", shape: Sequence[int | None] = (None,)) -> Variable:
    """An input with one axis."""
    return tensor(name, dtype, shape)


def matrix(name: str | None = None, dtype: object = "float64", shape: Sequence[int | None] = (None, None)) -> Variable:
    """An input with two axes."""
    return tensor(name, dtype, shape)
