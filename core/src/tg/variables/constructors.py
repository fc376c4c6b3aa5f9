"""Inputs of expressions: scalars, vectors, matrices and tensors that get their values when a function is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.errors import InputError, ShapeError, message
from tg.graph.dims import is_named
from tg.graph.nodes import Variable
from tg.types.atoms import NamedLength
from tg.types.lengths import Length, of_atom
from tg.types.tensor_type import TensorType
from tg.variables.conversion import float_name
from tg.variables.structure import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    Shape = Sequence[int | Length | None] | int | Length | None


def tensor(name: str | None = None, dtype: object = None, shape: Shape = ()) -> Variable:
    """An input of a dtype and a shape, in which None stands for a length known at run time only.

    Lengths may have names (`tg.dim`), and be made of such: inputs that share a name have equal lengths. A length alone
    is the shape of a vector.

    Args:
        dtype: that of `tg.config(dtype=…)` unless given: float64.
    Raises:
        DtypeError: tg has no such dtype.
        ShapeError: a length is negative, no integer, or that of another variable.
    Example:
        >>> import tg
        >>> tg.tensor("t", dtype="float64", shape=(None, 3)).type
        float64[?, 3]
    """
    return _input("tensor", name, dtype, shape, None)


CONSTANT_HINT: Final = "tg.constant(value) makes a variable of a value; this makes an input"


def _input(what: str, name: str | None, dtype: object, shape: Shape, ndim: int | None) -> Variable:
    if name is not None and not isinstance(name, str):
        raise InputError(message(f"{what}: name: found {short(name)}, needed a string", hint=CONSTANT_HINT))
    lengths = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for n in lengths:
        if not (n is None or is_named(n) or (type(n) is int and n >= 0)):
            raise ShapeError(message(f"{what}: shape: found {n!r}, needed lengths >= 0, named lengths or None"))
    if ndim is not None and len(lengths) != ndim:
        hint = "tg.tensor(name, shape=…) has any number of axes"
        raise ShapeError(message(f"{what}: shape: found {shape!r}, needed {ndim} lengths", hint=hint))
    return Variable(TensorType(float_name(dtype), lengths), name=name)


def dim(name: str) -> Length:
    """A length that has a name: a length like any other, which inputs may share.

    Two lengths of one name are the same. A function checks when it is called that all its inputs agree in them.

    Raises:
        InputError: the name is not a word.
    Example:
        >>> import tg
        >>> n = tg.dim("n")
        >>> x, y = tg.vector("x", shape=(n,)), tg.vector("y", shape=(n,))
        >>> mean = tg.function([x, y], tg.sum(x * y) / n)
        >>> float(mean([1.0, 2.0], [3.0, 4.0]))
        5.5
        >>> mean([1.0, 2.0], [3.0, 4.0, 5.0])
        Traceback (most recent call last):
        tg.errors.ShapeError: dim n: found 2 (x axis 0) and 3 (y axis 0)
        ...
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(message(f"dim: name: found {name!r}, needed a word"))
    return of_atom(NamedLength(name))


def scalar(name: str | None = None, dtype: object = None) -> Variable:
    """An input without axes."""
    return _input("scalar", name, dtype, (), 0)


def vector(name: str | None = None, dtype: object = None, shape: Shape = (None,)) -> Variable:
    """An input with one axis.

    Raises:
        ShapeError: another number of lengths than one.
    """
    return _input("vector", name, dtype, shape, 1)


def matrix(name: str | None = None, dtype: object = None, shape: Shape = (None, None)) -> Variable:
    """An input with two axes.

    Raises:
        ShapeError: another number of lengths than two.
    """
    return _input("matrix", name, dtype, shape, 2)
