"""Joining, splitting and repeating arrays along axes; all of it sugar."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Constant, Variable, size_value
from tg.ops.arranging import atleast_1d, atleast_2d, atleast_3d, broadcast_shapes
from tg.ops.creation import iota, zeros
from tg.ops.cumulative import cumsum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import less, where
from tg.ops.family import Family
from tg.ops.indexing import slice_axis, take
from tg.ops.reduction import reduce_sum, total_min
from tg.ops.shape import Concatenate, broadcast_to, concatenate, expand_dims_at, reshape, squeeze
from tg.ops.sorting import searchsorted
from tg.types.dtypes import is_integer
from tg.types.lengths import LONGEST, Length, add, floor_divide, multiply, product, subtract
from tg.variables.conversion import as_variable, axis_from_end, known_integer, promoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.choices import Ends
    from tg.variables.like import TensorLike

    Shape = tuple[int | Length, ...]


def _all(arrays: Any, change: Any) -> list[Variable]:
    return [change(v) for v in arrays]


def hstack(arrays: Sequence[Any]) -> Variable:
    """Arrays joined along axis 1, vectors along their only one.

    Source:
        numpy.hstack
    """
    parts = _all(arrays, atleast_1d)
    return concatenate(parts, 0 if parts and parts[0].type.ndim == 1 else 1)


def vstack(arrays: Sequence[Any]) -> Variable:
    """Arrays joined along axis 0, vectors as rows.

    Source:
        numpy.vstack
    """
    return concatenate(_all(arrays, atleast_2d), 0)


def dstack(arrays: Sequence[Any]) -> Variable:
    """Arrays joined along axis 2, which vectors and matrices are given.

    Source:
        numpy.dstack
    """
    return concatenate(_all(arrays, atleast_3d), 2)


def column_stack(arrays: Sequence[Any]) -> Variable:
    """Arrays joined along axis 1, vectors as columns.

    Source:
        numpy.column_stack
    """
    parts = _all(arrays, as_variable)
    return concatenate([expand_dims_at(atleast_1d(v), (-1,)) if v.type.ndim < 2 else v for v in parts], 1)


def append(x: TensorLike, values: TensorLike, axis: int | None = None) -> Variable:
    """Values joined to the end of an axis, or of all elements in C order.

    Source:
        numpy.append
    """
    if axis is None:
        return concatenate([reshape(x, (-1,)), reshape(values, (-1,))], 0)
    return concatenate([x, values], axis)


def unstack(x: TensorLike, axis: int = 0) -> tuple[Variable, ...]:
    """The arrays along an axis of known length, without the axis.

    Raises:
        ShapeError: the length is not known.
    Source:
        The array API standard
    """
    x = as_variable(x)
    k = axis_from_end(axis, x.type.ndim, "unstack")
    n = x.type.shape[k]
    if not isinstance(n, int):
        raise ShapeError(message(f"unstack: axis {axis} of {x.type}: found a length that is not known, needed an int"))
    return tuple(squeeze(slice_axis(x, k, i, 1), k) for i in range(n))


def split(x: TensorLike, indices_or_sections: Any, axis: int = 0) -> list[Variable]:
    """The array cut into equal parts along an axis, or before each of several positions.

    Args:
        indices_or_sections: the number of parts, an int; or the positions: ints, lengths or integer scalars.
    Raises:
        ShapeError: the length is no multiple of the number of parts (where it is known).
    Source:
        numpy.split
    """
    x = as_variable(x)
    k = axis_from_end(axis, x.type.ndim, "split")
    n = x.shape[k]
    indices_or_sections = known_integer(indices_or_sections)
    if not _is_count(indices_or_sections):
        return _cut("split", x, k, indices_or_sections)
    parts = _count(indices_or_sections, "split")
    if isinstance(n, int) and n % parts:
        raise ShapeError(message(f"split: found a length of {n}, needed a multiple of {parts}"))
    if isinstance(n, int):
        return [slice_axis(x, k, i * (n // parts), n // parts) for i in range(parts)]
    table = reshape(x, (*x.shape[: x.type.ndim + k], parts, floor_divide(n, parts), *x.shape[x.type.ndim + k + 1 :]))
    return [squeeze(slice_axis(table, k - 1, i, 1), k - 1) for i in range(parts)]


def array_split(x: TensorLike, indices_or_sections: Any, axis: int = 0) -> list[Variable]:
    """As `split`, the first parts one longer where the length is no multiple of their number.

    Source:
        numpy.array_split
    """
    x = as_variable(x)
    k = axis_from_end(axis, x.type.ndim, "array_split")
    indices_or_sections = known_integer(indices_or_sections)
    if not _is_count(indices_or_sections):
        return _cut("array_split", x, k, indices_or_sections)
    parts, n = _count(indices_or_sections, "array_split"), x.shape[k]
    if isinstance(n, int):
        sizes: list[int | Length] = [n // parts + (i < n % parts) for i in range(parts)]
    else:
        sizes = [floor_divide(add(n, parts - 1 - i), parts) for i in range(parts)]
    pieces, start = [], _zero()
    for size in sizes:
        pieces.append(slice_axis(x, k, start, size))
        start = add(start, size)
    return pieces


def _zero() -> int | Length:
    return 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(count: Any, what: str) -> int:
    if count < 1:
        raise InputError(message(f"{what}: found {count} parts, needed at least 1"))
    if count > LONGEST:
        raise InputError(message(f"{what}: found {count} parts, needed at most 2**62"))
    return int(count)


def _cut(what: str, x: Variable, k: int, positions: Any) -> list[Variable]:
    from tg.ops.index_syntax import getitem

    if not (isinstance(positions, tuple | list | range) or getattr(positions, "ndim", 0) == 1):
        hint = "a result for each part is made when the expression is: their number is an int"
        actual = positions.type if isinstance(positions, Variable) else repr(positions)
        raise InputError(
            message(f"{what}: found {actual}, needed a number of parts, or a list of positions", hint=hint)
        )
    bounds = [None, *positions, None]
    before = (slice(None),) * (x.type.ndim + k)
    return [getitem(x, (*before, slice(a, b))) for a, b in itertools.pairwise(bounds)]


def hsplit(x: TensorLike, indices_or_sections: Any) -> list[Variable]:
    """The array cut along axis 1, a vector along its only one.

    Source:
        numpy.hsplit
    """
    x = as_variable(x)
    if x.type.ndim < 1:
        raise ShapeError(message(f"hsplit: found {x.type}, needed at least one axis"))
    return split(x, indices_or_sections, 0 if x.type.ndim == 1 else 1)


def vsplit(x: TensorLike, indices_or_sections: Any) -> list[Variable]:
    """The array cut along axis 0.

    Raises:
        ShapeError: x has less than two axes.
    Source:
        numpy.vsplit
    """
    return _split_of(x, indices_or_sections, 0, 2, "vsplit")


def dsplit(x: TensorLike, indices_or_sections: Any) -> list[Variable]:
    """The array cut along axis 2.

    Raises:
        ShapeError: x has less than three axes.
    Source:
        numpy.dsplit
    """
    return _split_of(x, indices_or_sections, 2, 3, "dsplit")


def _split_of(x: Any, sections: Any, axis: int, rank: int, what: str) -> list[Variable]:
    x = as_variable(x)
    if x.type.ndim < rank:
        raise ShapeError(message(f"{what}: found {x.type}, needed at least {rank} axes"))
    return split(x, sections, axis)


def tile(x: TensorLike, reps: Any) -> Variable:
    """The array repeated as a whole, so often along each axis.

    Args:
        reps: ints, lengths or integer scalars, one for each axis; the shorter of shape and reps has ones in front.
    Source:
        numpy.tile
    """
    x = as_variable(x)
    repeats = [_length(r) for r in (reps if isinstance(reps, tuple | list) else (reps,))]
    counts: Shape = ((1,) * (x.type.ndim - len(repeats))) + tuple(repeats)
    lengths: Shape = ((1,) * (len(counts) - x.type.ndim)) + x.shape
    if all(isinstance(c, int) and c == 1 for c in counts):
        return reshape(x, lengths)
    pairs = list(zip(counts, lengths, strict=True))
    apart = reshape(x, tuple(m for _, n in pairs for m in (1, n)))
    return reshape(broadcast_to(apart, tuple(m for pair in pairs for m in pair)), tuple(multiply(*p) for p in pairs))


def _length(n: Any) -> int | Length:
    return size_value(cast_variable(n, "int64")) if isinstance(n, Variable) else n


def repeat(x: TensorLike, repeats: Any, axis: int | None = None) -> Variable:
    """Each entry along an axis (or each element in C order) repeated.

    Args:
        repeats: an int, a length or an integer scalar for all; or a vector of one for each, whose sum is then a size.
    Raises:
        DtypeError, ShapeError: the repeats are no integers, or no vector, or one is negative.
    Source:
        numpy.repeat
    """
    x = as_variable(x)
    if axis is None:
        return repeat(reshape(x, (-1,)), repeats, 0)
    k = axis_from_end(axis, x.type.ndim, "repeat")
    n = x.shape[k]
    if isinstance(repeats, tuple | list | np.ndarray | Variable) and not (
        isinstance(repeats, Variable | np.ndarray) and not repeats.ndim
    ):
        return _repeated(x, as_variable(repeats), k)
    times = _length(repeats if isinstance(repeats, Variable | Length) else operator.index(repeats))
    front = x.type.ndim + k
    shape = (*x.shape[: front + 1], times, *x.shape[front + 1 :])
    apart = reshape(x, (*x.shape[: front + 1], 1, *x.shape[front + 1 :]))
    return reshape(broadcast_to(apart, shape), (*x.shape[:front], multiply(n, times), *x.shape[front + 1 :]))


def _repeated(x: Variable, repeats: Variable, k: int) -> Variable:
    """The entries repeated by a vector: position j of the result is where the running sum of repeats exceeds j."""
    if repeats.type.ndim != 1 or not is_integer(repeats.type.dtype):
        raise ShapeError(message(f"repeat: found repeats {repeats.type}, needed an integer or a vector of integers"))
    n = x.shape[k]
    if isinstance(repeats, Constant) and isinstance(n, int):
        try:
            return take(x, np.repeat(np.arange(n), repeats.data), k)
        except ValueError as error:
            raise ShapeError(message(f"repeat: {error}: found {repeats.data}, needed {n} of at least 0")) from error
    counts = broadcast_to(cast_variable(repeats, "int64"), (n,))
    total = size_value(where(less(total_min(counts), 0), -1, reduce_sum(counts, (-1,))))
    return take(x, searchsorted(cumsum(counts, 0), iota(total), "right"), k)


def block_diag(*arrays: Any) -> Variable:
    """Matrices along the diagonal of one that is 0 elsewhere; vectors are rows.

    Shapes:
        (n1, m1), (n2, m2) -> (n1 + n2, m1 + m2); leading axes broadcast
    Source:
        scipy.linalg.block_diag
    """
    if not arrays:
        raise ShapeError(message("block_diag: found no arrays, needed at least one"))
    operands, dtype = promoted([as_variable(v) for v in arrays])
    blocks = [cast_variable(atleast_2d(v), dtype) for v in operands]
    batch = broadcast_shapes(*(b.shape[:-2] for b in blocks))
    blocks = [broadcast_to(b, (*batch, *b.shape[-2:])) for b in blocks]
    width: int | Length = 0
    for b in blocks:
        width = add(width, b.shape[-1])
    rows, left = [], _zero()
    for b in blocks:
        n, m = b.shape[-2:]
        right = subtract(subtract(width, left), m)
        sides = [zeros((*batch, n, w), dtype=dtype) for w in (left, right)]
        rows.append(Concatenate(-1)(sides[0], b, sides[1]) if len(blocks) > 1 else b)
        left = add(left, m)
    return Concatenate(-2)(*rows) if len(rows) > 1 else rows[0]


def pack(*arrays: Any, axes: Any = None) -> tuple[Variable, list[Shape]]:
    """Arrays as one vector and the shapes that `unpack` needs; or as one array that keeps some axes.

    Args:
        axes: None joins all; else the axes that all arrays share and that stay: from the front if not negative, from
            the end if negative. The axes between them are joined.
    Shapes:
        (n, m), (k) -> (n m + k); with axes -1: (n, d), (a, b, d) -> (n + a b, d)
    Raises:
        InputError: the axes are not the first or the last ones.
    """
    front, back = _kept_axes(axes)
    operands, dtype = promoted([as_variable(v) for v in arrays])
    pieces, shapes = [], []
    for v in operands:
        rank = v.type.ndim
        if rank < front + back:
            raise ShapeError(message(f"pack: found {v.type}, needed at least {front + back} axes"))
        lengths = v.shape
        middle = lengths[front : rank - back]
        shapes.append(middle)
        pieces.append(reshape(cast_variable(v, dtype), (*lengths[:front], product(middle), *lengths[rank - back :])))
    return concatenate(pieces, front), shapes


def unpack(packed: Any, shapes: Sequence[Any], axes: Any = None) -> list[Variable]:
    """The arrays that `pack` joined, given what it returned and the same axes."""
    x = as_variable(packed)
    front, back = _kept_axes(axes)
    if x.type.ndim != front + back + 1:
        raise ShapeError(message(f"unpack: found {x.type}, needed {front + back + 1} axes"))
    arrays, start = [], _zero()
    for shape in shapes:
        if not isinstance(shape, tuple | list):
            raise InputError(
                message(f"unpack: shapes: found {shape!r}, needed the lengths of an array, as pack gave them")
            )
        count = product(tuple(shape))
        piece = slice_axis(x, -1 - back, start, count)
        arrays.append(reshape(piece, (*x.shape[:front], *shape, *x.shape[x.type.ndim - back :])))
        start = add(start, count)
    return arrays


def _kept_axes(axes: Any) -> tuple[int, int]:
    """The number of axes that stay in front, and the number of those at the end."""
    numbers = sorted([] if axes is None else axes if isinstance(axes, tuple | list) else [axes])
    back, front = [a for a in numbers if a < 0], [a for a in numbers if a >= 0]
    if front != list(range(len(front))) or back != list(range(-len(back), 0)):
        raise InputError(message(f"pack: found axes {axes}, needed the first (0, 1, …) or the last ones (…, -2, -1)"))
    return len(front), len(back)


def trim_zeros(x: TensorLike, trim: Ends = "fb") -> Variable:
    """A vector without the zeros at its front ("f" in `trim`) and its back ("b").

    Source:
        numpy.trim_zeros
    """
    from tg.ops.elementwise.comparison import not_equal, where
    from tg.ops.index_syntax import getitem
    from tg.ops.reduction import total_max, total_min

    x = as_variable(x)
    if x.type.ndim != 1 or set(trim.lower()) - {"f", "b"}:
        raise InputError(message(f"trim_zeros: found {x.type} and {trim!r}, needed a vector and 'f', 'b' or 'fb'"))
    n, place, keep = x.shape[0], iota(x.shape[0]), not_equal(x, 0)
    start = total_min(where(keep, place, n)) if "f" in trim.lower() else None
    stop = total_max(where(keep, place + 1, 0)) if "b" in trim.lower() else None
    return getitem(x, slice(start, stop))


FAMILY = Family(
    "joining",
    functions=(
        hstack,
        vstack,
        dstack,
        column_stack,
        append,
        unstack,
        split,
        array_split,
        hsplit,
        vsplit,
        dsplit,
        tile,
        repeat,
        block_diag,
        pack,
        unpack,
        trim_zeros,
    ),
    aliases=(("concat", concatenate),),
)
