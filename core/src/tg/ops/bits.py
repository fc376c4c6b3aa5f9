"""Bits of bytes: truth values packed eight to a byte, and unpacked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import DtypeError, InputError, message
from tg.ops.creation import zeros
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.elementwise.bitwise import bitwise_and, right_shift
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import not_equal
from tg.ops.family import Family
from tg.ops.indexing import slice_axis
from tg.ops.reduction import sum
from tg.ops.shape import concatenate, expand_dims_at, moveaxis, ravel, reshape
from tg.types.dtypes import is_integer
from tg.types.lengths import add, floor_divide, maximum, subtract
from tg.types.lengths import multiply as multiply_lengths
from tg.variables.conversion import as_variable, axis_from_end

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import BitOrder
    from tg.variables.like import TensorLike


def _places(what: str, bitorder: str) -> np.ndarray[Any, Any]:
    """The place of each bit in a byte."""
    if bitorder not in ("big", "little"):
        raise InputError(message(f"{what}: bitorder: found {bitorder!r}, needed 'big' or 'little'"))
    places = np.arange(8, dtype=np.uint8)
    return places[::-1].copy() if bitorder == "big" else places


def _at_the_end(what: str, x: Variable, axis: int | None) -> tuple[Variable, int]:
    if axis is None or x.type.ndim == 0:
        return ravel(x), -1
    k = axis_from_end(axis, x.type.ndim, what)
    return moveaxis(x, k, -1), k


def packbits(x: TensorLike, axis: int | None = None, bitorder: BitOrder = "big") -> Variable:
    """The truth values of integers or bool, eight to a byte along an axis (or in C order), 0 behind the end.

    Shapes:
        x (..., n, ...) -> (..., ceil(n / 8), ...)
    Dtypes:
        uint8
    Raises:
        DtypeError: x is neither bool nor of integers.
        InputError: another order of bits.
    Source:
        numpy.packbits
    """
    x = as_variable(x)
    places = _places("packbits", bitorder)
    if not (is_integer(x.type.dtype) or x.type.dtype == "bool"):
        raise DtypeError(message(f"packbits: found {x.type.dtype}, needed bool or integers"))
    rows, k = _at_the_end("packbits", x, axis)
    n = rows.shape[-1]
    count = floor_divide(add(n, 7), 8)
    missing = subtract(multiply_lengths(8, count), n)
    bits = cast_variable(not_equal(rows, 0), "uint8")
    bits = concatenate([bits, zeros((*rows.shape[:-1], missing), "uint8")], -1)
    groups = reshape(bits, (*rows.shape[:-1], count, 8))
    return moveaxis(sum(multiply(groups, np.uint8(1) << places), -1, "uint8"), -1, k)


def unpackbits(x: TensorLike, axis: int | None = None, count: Any = None, bitorder: BitOrder = "big") -> Variable:
    """The bits of bytes as numbers 0 and 1, along an axis or in C order.

    Args:
        count: how many of them there shall be, filled up with 0; if it is negative, all but so many.
    Shapes:
        x (..., n, ...) -> (..., 8 n, ...)
    Dtypes:
        uint8
    Raises:
        DtypeError: x is not uint8.
        InputError: another order of bits.
    Source:
        numpy.unpackbits
    """
    x = as_variable(x)
    places = _places("unpackbits", bitorder)
    if x.type.dtype != "uint8":
        raise DtypeError(message(f"unpackbits: found {x.type.dtype}, needed uint8"))
    rows, k = _at_the_end("unpackbits", x, axis)
    bits = bitwise_and(right_shift(expand_dims_at(rows, (-1,)), places), np.uint8(1))
    total = multiply_lengths(8, rows.shape[-1])
    y = reshape(bits, (*rows.shape[:-1], total))
    if count is not None:
        wanted = add(total, count) if isinstance(count, int) and count < 0 else count
        missing = maximum(subtract(wanted, total), 0)
        y = slice_axis(concatenate([y, zeros((*rows.shape[:-1], missing), "uint8")], -1), -1, 0, wanted)
    return moveaxis(y, -1, k)


FAMILY = Family("bits", functions=(packbits, unpackbits))
