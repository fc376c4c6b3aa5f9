"""Rows of a table for indices, and encodings of positions: sines, rotations of pairs of features, slopes of scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import BoundsError, DtypeError, InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Constant, as_size_variable
from tg.ops.assumptions import required
from tg.ops.control import StopGradient
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import add, divide, minimum, multiply, subtract
from tg.ops.elementwise.cast import cast_variable, widened
from tg.ops.elementwise.comparison import equal, greater_equal, less, logical_and, logical_or, where
from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.trigonometric import cos, sin
from tg.ops.family import Family
from tg.ops.indexing import Gather, slice_axis, wrap_index
from tg.ops.reduction import total_max, total_min
from tg.ops.shape import concatenate, expand_dims_at, reshape, squeeze, stack
from tg.ops.statistics import as_floating
from tg.types.dtypes import dtype_name, in_float32, is_complex, is_float, is_integer, numpy_dtype
from tg.types.lengths import same
from tg.variables.conversion import as_variable, constant, float_name, known_integer

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.lengths import Length
    from tg.variables.like import TensorLike

OUTSIDE = Descriptor("BoundsError", "embedding: index {0} is outside of the table: needed one from 0 to below {1}")


def embedding(indices: TensorLike, weight: TensorLike, padding_idx: int | None = None) -> Variable:
    """The rows of a table of weights at indices; the row at `padding_idx` is read and gets no gradient.

    Args:
        indices: integers from 0 on: negative ones do not count from the end.
        padding_idx: a row, counted from the end if negative; none unless given.
    Shapes:
        indices (...), weight (n, d) -> (..., d)
    Raises:
        BoundsError: an index is outside of the table, now or when the program runs, or `padding_idx` is.
        DtypeError: the indices are no integers.
        ShapeError: the weights are no matrix.
    Source:
        torch.nn.functional.embedding
    Example:
        >>> import tg
        >>> tg.nn.embedding([1, 0, 1], [[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
        [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]
    """
    i, table = as_variable(indices), as_variable(weight)
    if not is_integer(i.type.dtype):
        raise DtypeError(message(f"embedding: indices: found {i.type}, needed integers"))
    if table.type.ndim != 2:
        raise ShapeError(message(f"embedding: weight: found {table.type}, needed two axes"))
    y = Gather((-2,))(table, wrap_index(_inside(i, table), table.shape[0], "promise"))
    if padding_idx is None:
        return y  # type: ignore[no-any-return]
    padding = row_of("embedding: padding_idx", padding_idx, table.type.shape[0])
    row = padding if padding >= 0 else cast_variable(as_size_variable(table.shape[0] + padding), "int64")
    is_padding = equal(cast_variable(i, "int64"), row)
    return where(expand_dims_at(is_padding, (-1,)), StopGradient()(y), y)


def row_of(what: str, value: Any, n: Any) -> int:
    """A row of a table, as it is given; that of a table of a known length is counted from its beginning.

    Raises:
        BoundsError: there is no such row.
        InputError: it is no integer.
    """
    row = known_integer(value)
    if type(row) is not int:
        raise InputError(message(f"{what}: found {value!r}, needed an integer"))
    if type(n) is not int:
        return row
    if not -n <= row < n:
        raise BoundsError(message(f"{what}: found {row}, needed one of {n} rows"))
    return row % n


def _inside(i: Variable, table: Variable) -> Variable:
    """Indices that are made sure to lie in the table."""
    n, least = table.type.shape[0], 0
    if isinstance(i, Constant) and n is not None:
        outside = i.data[(i.data < least) | (i.data >= n)]
        if outside.size:
            raise OUTSIDE.build([int(outside.flat[0]), int(n)])
        return i
    rows = as_size_variable(table.shape[0])
    signed = cast_variable(minimum(i, np.iinfo(np.int64).max) if i.type.dtype == "uint64" else i, "int64")
    low, high = total_min(signed), total_max(signed)
    fine = logical_and(greater_equal(low, least), less(high, rows))
    if i.type.ndim:
        fine = logical_or(fine, less(high, low))  # of no indices the least is the largest number of the dtype
    return required(i, fine, (where(less(low, least), low, high), rows), OUTSIDE)


def sinusoidal_encoding(
    positions: TensorLike, features: int, base: float = 10000.0, *, interleaved: bool = True, dtype: object = None
) -> Variable:
    """Sines and cosines of positions p times base^(-2 j / features), for j from 0 to below features / 2.

    Args:
        positions: integers, or numbers in between.
        features: how many, an even number.
        interleaved: whether each sine stands before its cosine; else all sines stand before all cosines.
    Shapes:
        positions (...) -> (..., features)
    Dtypes:
        `dtype`, that of the positions, or float64 for integers. Of halves all is computed in float32.
    Raises:
        InputError: an odd number of features, or none.
    Source:
        Vaswani et al., Attention Is All You Need, 2017, section 3.5; not interleaved, that of tensor2tensor.
    Example:
        >>> import tg
        >>> tg.nn.sinusoidal_encoding([0, 1], 2).eval().round(3).tolist()
        [[0.0, 1.0], [0.841, 0.54]]
    """
    what = "sinusoidal_encoding"
    p = as_floating(positions)
    wanted = p.type.dtype if dtype is None else dtype_name(dtype)
    if not is_float(wanted):
        raise DtypeError(message(f"{what}: dtype: found {wanted}, needed a real floating one"))
    angles = _angles(cast_variable(p, in_float32(wanted)), _even(what, features), base)
    parts = [sin(angles), cos(angles)]
    y = _interleaved(*parts) if interleaved else concatenate(parts, -1)
    return cast_variable(y, wanted)


def _even(what: str, features: Any) -> int:
    n = known_integer(features)
    if type(n) is not int or n < 0 or n % 2:
        raise InputError(message(f"{what}: features: found {features!r}, needed an even number"))
    return n


def _angles(positions: Variable, features: int | Length, base: float) -> Variable:
    """Positions times each frequency; frequencies are computed in float64 and rounded once."""
    dtype = positions.type.dtype
    if type(features) is int:
        scales = base ** (-np.arange(0, features, 2) / max(features, 1))
        frequencies: Variable = constant(scales.astype(numpy_dtype(dtype)))
    else:
        places, count = cast_variable(iota(features // 2), "float64"), as_size_variable(features)
        powers = exp(divide(multiply(places, -2 * math.log(base)), cast_variable(count, "float64")))
        frequencies = cast_variable(powers, dtype)
    return multiply(expand_dims_at(positions, (-1,)), frequencies)


def _interleaved(first: Variable, second: Variable) -> Variable:
    """Elements of both in turn, along the last axis."""
    both = stack([first, second], -1)
    return reshape(both, (*both.shape[:-2], 2 * both.shape[-2]))


def rotary(
    x: TensorLike,
    positions: TensorLike | None = None,
    base: float = 10000.0,
    *,
    features: int | None = None,
    interleaved: bool = False,
) -> Variable:
    """Pairs of features rotated by their position p times base^(-2 j / features), j being the pair.

    Args:
        positions: they broadcast to x without its last axis; 0, 1, ... along its last axis but one unless given.
        features: how many are rotated, the first ones, an even number; all unless given.
        interleaved: whether a pair is of neighbours, as in RoFormer and GPT-J; else pair j has the features j and
            j + features / 2, as in GPT-NeoX and Llama.
    Shapes:
        x (..., t, d), positions (...) -> (..., t, d)
    Dtypes:
        that of x, float64 for integers. Of halves all is computed in float32, and rounded once.
    Raises:
        InputError: the features are an odd number, or more than there are.
        ShapeError: x has no axis, or none for the positions that are not given; an odd number of features that shows
            when the program runs.
    Source:
        Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021, equation 34.
    Example:
        >>> import tg
        >>> tg.nn.rotary([[1.0, 0.0], [1.0, 0.0]]).eval().round(3).tolist()
        [[1.0, 0.0], [0.54, 0.841]]
    """
    x = as_floating(x)
    if is_complex(x.type.dtype):
        raise DtypeError(message(f"rotary: x: found {x.type}, needed a real dtype"))
    least = 1 if positions is not None else 2
    if x.type.ndim < least:
        raise ShapeError(message(f"rotary: x: found {x.type}, needed at least {least} axes"))
    whole = x.shape[-1]
    n = whole if features is None else _even("rotary", features)
    if type(n) is int and type(whole) is int:
        if n % 2:
            raise InputError(message(f"rotary: x: found {x.type}, needed a last axis of even length, or features="))
        if n > whole:
            text = f"rotary: features: found {n}, needed at most {whole}, the length of the last axis"
            raise InputError(message(text))
    wide = widened(x)
    p = as_variable(iota(x.shape[-2]) if positions is None else positions)
    angles = _angles(cast_variable(p, wide.type.dtype), n, base)
    y = _turned(slice_axis(wide, -1, 0, n), cos(angles), sin(angles), interleaved=interleaved)
    if features is not None and not same(n, whole):
        y = concatenate([y, slice_axis(wide, -1, n, whole - n)], -1)
    return cast_variable(y, x.type.dtype)


def _turned(x: Variable, c: Variable, s: Variable, *, interleaved: bool) -> Variable:
    """Pairs of features rotated by angles of these cosines and sines."""
    half = x.shape[-1] // 2
    pairs = reshape(x, (*x.shape[:-1], half, 2) if interleaved else (*x.shape[:-1], 2, half))
    axis = -1 if interleaved else -2
    a, b = (squeeze(slice_axis(pairs, axis, k, 1), axis) for k in range(2))
    first = subtract(multiply(a, c), multiply(b, s))
    second = add(multiply(b, c), multiply(a, s))
    return reshape(stack([first, second], axis), (*first.shape[:-1], x.shape[-1]))


def alibi_slopes(heads: int, dtype: object = None) -> Variable:
    """The slope of each head, 2^(-8 k / heads) for k from 1 on, by which a score falls with the distance of its key.

    For a number of heads that is no power of 2 the slopes are those of the power below it, and then every other one of
    the power above.

    Shapes:
        -> (heads)
    Raises:
        InputError: the number of heads is no integer above 0.
    Source:
        Press et al., Train Short, Test Long: Attention with Linear Biases, 2022, and its published code.
    Example:
        >>> import tg
        >>> slopes, t = tg.nn.alibi_slopes(2), tg.arange(3)
        >>> bias = -slopes[:, None, None] * tg.abs(t[:, None] - t)
        >>> bias[0, 2].eval().tolist()
        [-0.125, -0.0625, -0.0]
    """
    n = known_integer(heads)
    if type(n) is not int or n < 1:
        raise InputError(message(f"alibi_slopes: heads: found {heads!r}, needed an integer above 0"))
    power = 2 ** math.floor(math.log2(n))
    below = [2.0 ** (-8 * k / power) for k in range(1, power + 1)]
    between = [2.0 ** (-4 * k / power) for k in range(1, 2 * power + 1, 2)]
    return constant(np.array((below + between)[:n]).astype(numpy_dtype(float_name(dtype))))


FAMILY = Family(
    "nn/encodings",
    functions=(embedding, sinusoidal_encoding, rotary, alibi_slopes),
    module="nn",
)
