"""Arranging axes and elements: moving, adding, joining and splitting axes, turning and rolling; all of it sugar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import InputError, ShapeError, message
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.ops.elementwise.arithmetic import remainder
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.record import align_ranks
from tg.ops.family import Family
from tg.ops.indexing import flip, read_slices, slice_axis
from tg.ops.shape import Concatenate, broadcast_to, expand_dims, expand_dims_at, reshape, squeeze, transpose
from tg.types.lengths import Length, product
from tg.types.lengths import remainder as remainder_length
from tg.types.lengths import subtract as subtract_lengths
from tg.types.requirements import broadcast as broadcast_lengths
from tg.variables.conversion import as_variable, axes_from_end, axis_from_end, known_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.choices import Indexing, Order
    from tg.variables.like import Integers, ShapeLike, TensorLike

    Shape = tuple[int | Length, ...]


def shape(x: TensorLike) -> Shape:
    """The lengths of the axes: ints where they are known, symbolic lengths where not.

    Source:
        numpy.shape
    """
    return as_variable(x).shape


def size(x: TensorLike, axis: Integers | None = None) -> int | Length:
    """The number of elements, or of those along axes.

    Source:
        numpy.size
    """
    x = as_variable(x)
    return product(tuple(x.shape[k] for k in axes_from_end(axis, x.type.ndim, "size")))


def ndim(x: TensorLike) -> int:
    """The number of axes.

    Source:
        numpy.ndim
    """
    return as_variable(x).type.ndim


def permute_dims(x: TensorLike, axes: Sequence[int]) -> Variable:
    """The axes of x permuted.

    Source:
        The array API standard; numpy.transpose
    """
    return transpose(x, axes)


def flatten(x: TensorLike, order: Order = "C") -> Variable:
    """The elements of x along one axis, in C order, or with order "F" the first axis fastest.

    Source:
        numpy.ndarray.flatten
    """
    if order not in ("C", "F"):
        raise InputError(message(f"flatten: order: found {order!r}, needed 'C' or 'F'"))
    return reshape(x if order == "C" else transpose(x), (-1,))


def atleast_1d(*arrays: Any) -> Any:
    """Each array with at least one axis.

    Source:
        numpy.atleast_1d
    """
    return _each(arrays, lambda v: v if v.type.ndim else expand_dims(v, 0))


def atleast_2d(*arrays: Any) -> Any:
    """Each array with at least two axes: new ones in front.

    Source:
        numpy.atleast_2d
    """
    return _each(arrays, lambda v: v if v.type.ndim >= 2 else expand_dims(v, tuple(range(2 - v.type.ndim))))


def atleast_3d(*arrays: Any) -> Any:
    """Each array with at least three axes: (n) becomes (1, n, 1), and (n, m) becomes (n, m, 1).

    Source:
        numpy.atleast_3d
    """
    places = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _each(arrays, lambda v: expand_dims(v, places[v.type.ndim]) if v.type.ndim in places else v)


def _each(arrays: Sequence[Any], change: Any) -> Any:
    results = tuple(change(as_variable(v)) for v in arrays)
    return results[0] if len(results) == 1 else results


def broadcast_shapes(*shapes: Any) -> Shape:
    """The shape that shapes broadcast to; lengths may be ints or symbolic.

    Raises:
        ShapeError: two known lengths differ and neither is 1.
    Source:
        numpy.broadcast_shapes
    """
    tuples = [tuple(s) if isinstance(s, tuple | list) else (s,) for s in shapes]
    rank = max((len(s) for s in tuples), default=0)
    total: Shape = (1,) * rank
    for s in tuples:
        padded = (*(1,) * (rank - len(s)), *(size_value(n) if isinstance(n, Variable) else n for n in s))
        pairs = zip(total, padded, strict=True)
        total = tuple(broadcast_lengths(m, n, lambda: "broadcast_shapes") for m, n in pairs)
    return total


def broadcast_arrays(*arrays: Any) -> tuple[Variable, ...]:
    """The arrays repeated to the shape that they broadcast to.

    Raises:
        ShapeError: lengths differ and neither is 1.
    Source:
        numpy.broadcast_arrays
    """
    variables = align_ranks([as_variable(v) for v in arrays])
    if not variables:
        return ()
    target = broadcast_shapes(*(v.shape for v in variables))
    return tuple(broadcast_to(v, target) for v in variables)


def join_dims(x: TensorLike, start_axis: int = 0, n_axes: int | None = None) -> Variable:
    """`n_axes` neighbouring axes from `start_axis` on (all of them by default) joined into one, in C order.

    Shapes:
        x (a, n, m, b), start_axis 1, n_axes 2 -> y (a, n * m, b); with n_axes 0 a new axis of length 1
    Raises:
        ShapeError: x has no such axes.
    """
    x = as_variable(x)
    rank = x.type.ndim
    first = rank if start_axis == rank else axis_from_end(start_axis, rank, "join_dims") + rank
    count = rank - first if n_axes is None else n_axes
    if not 0 <= count <= rank - first:
        raise ShapeError(message(f"join_dims: found {count} axes from {first}, needed at most {rank - first}"))
    lengths = x.shape
    return reshape(x, (*lengths[:first], product(lengths[first : first + count]), *lengths[first + count :]))


def split_dims(x: TensorLike, shape: ShapeLike, axis: int = 0) -> Variable:
    """One axis split into several lengths, in C order; one of them may be -1.

    Shapes:
        x (a, n * m, b), shape (n, m), axis 1 -> y (a, n, m, b); with an empty shape an axis of length 1 is dropped
    Raises:
        ShapeError: the product of the lengths is another one.
    """
    x = as_variable(x)
    k = axis_from_end(axis, x.type.ndim, "split_dims") + x.type.ndim
    wanted = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    if not wanted:
        return squeeze(x, k)
    own = x.shape
    if any(type(n) is int and n == -1 for n in wanted):
        rest = product(tuple(size_value(n) if isinstance(n, Variable) else n for n in wanted if not _is_free(n)))
        from tg.types.lengths import floor_divide

        wanted = tuple(floor_divide(own[k], rest) if _is_free(n) else n for n in wanted)
    return reshape(x, (*own[:k], *wanted, *own[k + 1 :]))


def _is_free(n: Any) -> bool:
    return type(n) is int and n == -1


def roll(x: TensorLike, shift: Any, axis: Any = None) -> Variable:
    """The elements moved along axes (or in C order), those pushed out at one end coming in at the other.

    Args:
        shift: an int, an integer scalar, or one for each axis.
    Raises:
        InputError: there are other numbers of shifts and axes.
    Source:
        numpy.roll
    """
    x = as_variable(x)
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, 0), x.shape)
    axes = list(axis) if isinstance(axis, tuple | list) else [axis]
    shifts = list(shift) if isinstance(shift, tuple | list) else [shift] * len(axes)
    axes = axes * len(shifts) if len(axes) == 1 else axes
    if len(shifts) != len(axes):
        raise InputError(message(f"roll: found {len(shifts)} shifts for {len(axes)} axes, needed one for each"))
    rolled: Variable = x
    for by, a in zip(shifts, axes, strict=True):
        rolled = _rolled(rolled, by, axis_from_end(a, rolled.type.ndim, "roll"))
    return rolled


def _rolled(x: Variable, shift: Any, k: int) -> Variable:
    n = x.shape[k]
    by = size_value(cast_variable(shift, "int64")) if isinstance(shift, Variable) else shift
    if isinstance(by, int):
        moved = remainder_length(by, n)
        if isinstance(moved, int) and moved == 0:
            return x
        rest = subtract_lengths(n, moved)
        pieces = slice_axis(x, k, rest, moved), slice_axis(x, k, 0, rest)
        return Concatenate(k)(*pieces)  # type: ignore[no-any-return]
    start: Variable = as_size_variable(n) - remainder(as_size_variable(by), as_size_variable(n))
    behind: list[tuple[int | Length | Variable, int | Length, int]] = [
        (0, m, 1) for m in x.shape[x.type.ndim + k + 1 :]
    ]
    window = [(start, n, 1), *behind]
    return read_slices(Concatenate(k)(x, x), window)


def fliplr(x: TensorLike) -> Variable:
    """The order of the columns (axis 1) reversed.

    Source:
        numpy.fliplr
    """
    return flip(x, 1)


def flipud(x: TensorLike) -> Variable:
    """The order of the rows (axis 0) reversed.

    Source:
        numpy.flipud
    """
    return flip(x, 0)


def rot90(x: TensorLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Variable:
    """x turned by k quarter turns in the plane of two axes, from the first towards the second.

    Raises:
        ShapeError: the axes are not two different ones of x.
    Source:
        numpy.rot90
    """
    x, k = as_variable(x), known_integer(k)
    if isinstance(k, bool) or not isinstance(k, int):
        raise InputError(message(f"rot90: k: found {k!r}, needed an integer"))
    if len(axes) != 2:
        raise ShapeError(message(f"rot90: found axes {tuple(axes)}, needed two"))
    a, b = (axis_from_end(v, x.type.ndim, "rot90") for v in axes)
    if a == b:
        raise ShapeError(message(f"rot90: found axes {tuple(axes)}, needed two different ones"))
    order = list(range(-x.type.ndim, 0))
    order[a], order[b] = order[b], order[a]
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (a, b))
    return transpose(flip(x, b), order) if turns == 1 else flip(transpose(x, order), b)


def meshgrid(*arrays: Any, indexing: Indexing = "xy", sparse: bool = False) -> tuple[Variable, ...]:
    """The coordinates of a grid, one array for each vector.

    Shapes:
        (n), (m) -> (m, n) with indexing "xy", (n, m) with "ij"; further axes follow
    Args:
        sparse: leave the axes along which an array repeats at length 1.
    Raises:
        InputError: another indexing.
    Source:
        numpy.meshgrid
    """
    if indexing not in ("xy", "ij"):
        raise InputError(message(f"meshgrid: indexing: found {indexing!r}, needed 'xy' or 'ij'"))
    vectors = [reshape(v, (-1,)) for v in arrays]
    count = len(vectors)
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[0], places[1] = 1, 0
    spread = [
        expand_dims_at(v, tuple(b for b in range(-count, 0) if b != place - count)) if count > 1 else v
        for v, place in zip(vectors, places, strict=True)
    ]
    return tuple(spread) if sparse else broadcast_arrays(*spread)


FAMILY = Family(
    "arranging",
    functions=(
        shape,
        size,
        ndim,
        permute_dims,
        flatten,
        atleast_1d,
        atleast_2d,
        atleast_3d,
        broadcast_shapes,
        broadcast_arrays,
        join_dims,
        split_dims,
        roll,
        fliplr,
        flipud,
        rot90,
        meshgrid,
    ),
)  # fmt: skip
