"""Levels of four bits, two in a byte.

Four bits are levels and storage, no dtype of arrays: NumPy has one byte for each of them (ml_dtypes), and so had every
backend. `tg.quantize(dtype="int4")` gives int8 within the limits, and `pack_int4` puts two into a byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import DtypeError, message
from tg.ops.elementwise.arithmetic import subtract
from tg.ops.elementwise.bitwise import bitwise_and, bitwise_or, bitwise_xor, left_shift, right_shift
from tg.ops.elementwise.cast import cast_variable
from tg.ops.family import Family
from tg.ops.padding import pad
from tg.ops.shape import expand_dims_at, moveaxis, reshape
from tg.types.lengths import multiply as multiply_lengths
from tg.variables.conversion import as_variable, axis_from_end

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import FourBits
    from tg.variables.like import TensorLike


def pack_int4(q: TensorLike, axis: int = -1) -> Variable:
    """The last four bits of levels, two in a byte along an axis: the first of two in the low half.

    Shapes:
        q (..., n, ...) -> y (..., (n + 1) // 2, ...); of an odd n the last half is 0
    Dtypes:
        int8 or uint8 -> uint8
    Raises:
        DtypeError: other levels.
    Example:
        >>> import numpy as np, tg
        >>> tg.pack_int4(tg.constant(np.array([1, -1, 7], "int8"))).eval()
        array([241,   7], dtype=uint8)
    Source:
        ONNX, the int4 of TensorProto
    """
    q = as_variable(q)
    if q.type.dtype not in ("int8", "uint8"):
        raise DtypeError(message(f"pack_int4: found {q.type.dtype}, needed int8 or uint8"))
    place = axis_from_end(axis, q.type.ndim, "pack_int4")
    bits = moveaxis(bitwise_and(cast_variable(q, "uint8"), np.uint8(15)), place, -1)
    n = bits.shape[-1]
    is_even = type(n) is int and n % 2 == 0
    whole = bits if is_even else pad(bits, ((0, 0),) * (bits.type.ndim - 1) + ((0, 1),))
    low, high = bits[..., ::2], whole[..., 1::2]
    return moveaxis(bitwise_or(low, left_shift(high, np.uint8(4))), -1, place)


def unpack_int4(x: TensorLike, dtype: FourBits = "int4", axis: int = -1, *, length: Any = None) -> Variable:
    """The levels of four bits that bytes hold, two in each, as `pack_int4` puts them there.

    Args:
        dtype: "int4" gives int8 from -8 to 7, "uint4" uint8 from 0 to 15.
        length: of the axis of the result: all by default, which is an even number.
    Shapes:
        x (..., m, ...) -> q (..., 2 m, ...), or `length` in place of 2 m
    Raises:
        DtypeError: bytes that are not uint8, or another dtype of levels.
    Example:
        >>> import numpy as np, tg
        >>> tg.unpack_int4(tg.constant(np.array([241, 7], "uint8")), length=3).eval()
        array([ 1, -1,  7], dtype=int8)
    Source:
        ONNX, the int4 of TensorProto
    """
    x = as_variable(x)
    if x.type.dtype != "uint8":
        raise DtypeError(message(f"unpack_int4: found {x.type.dtype}, needed uint8"))
    if dtype not in ("int4", "uint4"):
        raise DtypeError(message(f"unpack_int4: dtype: found {dtype!r}, needed 'int4' or 'uint4'"))
    place = axis_from_end(axis, x.type.ndim, "unpack_int4")
    pairs = expand_dims_at(moveaxis(x, place, -1), (-1,))
    halves = reshape(np.array([0, 4], np.uint8), (1,) * (pairs.type.ndim - 1) + (2,))
    q = bitwise_and(right_shift(pairs, halves), np.uint8(15))
    if dtype == "int4":
        q = subtract(cast_variable(bitwise_xor(q, np.uint8(8)), "int8"), np.int8(8))
    q = reshape(q, (*q.shape[:-2], multiply_lengths(q.shape[-2], 2)))
    return moveaxis(q if length is None else q[..., :length], -1, place)


FAMILY = Family("four_bits", functions=(pack_int4, unpack_int4))
