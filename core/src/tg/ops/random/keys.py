"""Keys, and the bits that they have: those of `jax.random`, bit for bit.

A key is two words of 32 bits. With T the function Threefry of a key and a counter, each of 64 bits, the bits of the
element at place i in C order are T(key, i), or of narrower ones the low bits of T's two words, xored; the i-th key that
a key is split into is T(key, i), and so is the one that has i folded in.

Source:
    jax.random with `jax_threefry_partitionable` and `jax_enable_x64`, as of JAX 0.10.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, RangeError, ShapeError, message
from tg.ops.creation import iota
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.random import threefry
from tg.ops.family import Family
from tg.ops.random.parameters import drawn_shape, packed_key
from tg.ops.shape import reshape, stack
from tg.types.dtypes import dtype_name, is_integer
from tg.types.lengths import product
from tg.variables.conversion import as_variable, constant, known_integer

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.random.parameters import Shape
    from tg.variables.like import KeyLike, ShapeLike, TensorLike

WIDTHS: Final = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
WORD: Final = 1 << 32


def key(seed: Any) -> Variable:
    """The key of a seed: uint32[2], the seed's 64 bits in two's complement, the high ones first.

    Args:
        seed: an integer, or an integer scalar variable: a function that has it as an input is not compiled again for
            another seed.
    Raises:
        DtypeError: the seed is no integer.
        RangeError: it has more than 64 bits.
        ShapeError: it is no scalar.
    Source:
        jax.random.key. One of int32 that is negative has the key of the same number in int64.
    Example:
        >>> import tg
        >>> tg.random.key(42).eval()
        array([ 0, 42], dtype=uint32)
    """
    number = known_integer(seed)
    if type(number) is int:
        if not -(1 << 63) <= number < 1 << 64:
            raise RangeError(message(f"key: found the seed {number}, needed one of 64 bits"))
        return constant(np.array([number >> 32 & WORD - 1, number & WORD - 1], np.uint32))
    return _unpacked(cast_variable(_whole_number("key", "the seed", number), "uint64"))


def split(key: KeyLike, n: TensorLike = 2) -> Variable:
    """Keys that have nothing in common with each other, nor with the key, which is not to be used again.

    Args:
        n: how many, or their shape.
    Shapes:
        key (2) -> (n, 2), or (*n, 2)
    Source:
        jax.random.split
    Example:
        >>> import tg
        >>> tg.random.split(tg.random.key(0)).eval()
        array([[1797259609, 2579123966],
               [ 928981903, 3453687069]], dtype=uint32)
    """
    return _unpacked(_at_places(packed_key("split", key), drawn_shape(n)))


def fold_in(key: KeyLike, data: Any) -> Variable:
    """The key that a key has for a number, such as that of a step.

    Args:
        data: an integer of 32 bits; of a variable, the low 32 bits count.
    Shapes:
        key (2) -> (2)
    Raises:
        RangeError: data is known, and is not in [0, 2^32).
    Source:
        jax.random.fold_in
    """
    number = known_integer(data)
    if type(number) is int:
        if not 0 <= number < WORD:
            raise RangeError(message(f"fold_in: found {number}, needed an integer of 32 bits"))
        counter: Variable = constant(number, "uint64")
    else:
        counter = cast_variable(cast_variable(_whole_number("fold_in", "data", number), "uint32"), "uint64")
    return _unpacked(threefry(packed_key("fold_in", key), counter))


def bits(key: KeyLike, shape: ShapeLike = (), dtype: object = "uint64") -> Variable:
    """Unsigned integers all of whose bits are random.

    Raises:
        DtypeError: dtype is no unsigned integer.
    Source:
        jax.random.bits
    Example:
        >>> import tg
        >>> tg.random.bits(tg.random.key(0), (3,), "uint8").eval()
        array([167, 146,  40], dtype=uint8)
    """
    wanted = dtype_name(dtype)
    if wanted not in WIDTHS:
        raise DtypeError(message(f"bits: dtype: found {wanted}, needed an unsigned integer"))
    return drawn_bits(packed_key("bits", key), drawn_shape(shape), wanted)


def own_bits(packed: Variable, shape: Shape) -> Variable:
    """The 64 bits that each element of a draw has as its own, of a key that is one uint64."""
    return _at_places(packed, shape)


def drawn_bits(packed: Variable, shape: Shape, dtype: str) -> Variable:
    """The bits of a key that is one uint64."""
    return of_width(_at_places(packed, shape), dtype)


def of_width(whole: Variable, dtype: str) -> Variable:
    """Fewer random bits of 64."""
    return whole if dtype == "uint64" else cast_variable(whole ^ whole >> 32, dtype)


def _at_places(packed: Variable, shape: Shape) -> Variable:
    """The bits that a key has at the place of each element of an array, counted in C order."""
    if shape == ():
        return threefry(packed, constant(0, "uint64"))
    bits = threefry(packed, cast_variable(iota(product(shape)), "uint64"))
    return bits if len(shape) == 1 else reshape(bits, shape)


def split_packed(packed: Variable) -> tuple[Variable, Variable]:
    """The two keys that a key is split into, all of them one uint64."""
    first, second = (threefry(packed, constant(k, "uint64")) for k in range(2))
    return first, second


def _unpacked(packed: Variable) -> Variable:
    return stack([cast_variable(packed >> 32, "uint32"), cast_variable(packed, "uint32")], -1)


def _whole_number(what: str, which: str, value: Any) -> Variable:
    """An integer scalar."""
    number = as_variable(value)
    if not is_integer(number.type.dtype):
        raise DtypeError(message(f"{what}: found {which} {number.type}, needed an integer"))
    if number.type.ndim:
        raise ShapeError(message(f"{what}: found {which} {number.type}, needed a scalar"))
    return number


FAMILY = Family("random/keys", functions=(key, split, fold_in, bits), module="random")
