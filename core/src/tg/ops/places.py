"""Positions as values: one index for each row, choices among arrays, and several indices as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Constant, Variable, as_size_variable, size_value
from tg.ops.assumptions import required
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import add, floor_divide, maximum, minimum, multiply, remainder
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater_equal
from tg.ops.family import Family
from tg.ops.index_updates import value_like
from tg.ops.indexing import Gather, Scatter, wrap_index
from tg.ops.reduction import total_min
from tg.ops.shape import broadcast_to, expand_dims_at, reshape, stack
from tg.types.lengths import Length, product
from tg.types.requirements import broadcast as broadcast_lengths
from tg.variables.conversion import as_variable, axis_from_end, promoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.choices import IndexMode, Order, PutMode
    from tg.variables.like import ShapeLike, TensorLike

COMBINERS = {"set": None, "add": add, "multiply": multiply, "min": minimum, "max": maximum}


def _rows(x: Variable, indices: Any, k: int, mode: str, what: str) -> list[Variable]:
    """The position along every axis, for positions along axis k and all along the others, in one shape."""
    i = wrap_index(indices, x.shape[k], mode)
    ndim = x.type.ndim
    if i.type.ndim != ndim:
        raise ShapeError(message(f"{what}: found indices of {i.type.ndim} axes, needed {ndim}"))
    positions = [
        i if a == k else expand_dims_at(iota(x.shape[a]), tuple(b for b in range(-ndim, 0) if b != a))
        for a in range(-ndim, 0)
    ]
    shape: tuple[int | Length, ...] = i.shape
    for v in positions:
        shape = tuple(broadcast_lengths(m, n, lambda: what) for m, n in zip(shape, v.shape, strict=True))
    return [broadcast_to(v, shape) for v in positions]


def take_along_axis(
    x: TensorLike, indices: TensorLike, axis: int | None = -1, *, mode: IndexMode = "raise"
) -> Variable:
    """The elements of x at one position along an axis for each place of `indices`.

    Shapes:
        x (..., n, ...), indices (..., m, ...), which broadcast apart from the axis -> y (..., m, ...)
    Args:
        axis: None takes both in C order.
        mode: "raise", "clip", "wrap" or "promise".
    Raises:
        BoundsError: mode "raise" and an index outside the axis.
    Source:
        numpy.take_along_axis
    """
    x = as_variable(x)
    if axis is None:
        return take_along_axis(reshape(x, (-1,)), reshape(indices, (-1,)), 0, mode=mode)
    k = axis_from_end(axis, x.type.ndim, "take_along_axis")
    places = _rows(x, indices, k, mode, "take_along_axis")
    return Gather(tuple(range(-x.type.ndim, 0)))(x, *places)  # type: ignore[no-any-return]


def put_along_axis(
    x: TensorLike,
    indices: TensorLike,
    values: TensorLike,
    axis: int | None = -1,
    *,
    combine: PutMode = "set",
    mode: IndexMode = "raise",
) -> Variable:
    """A new array: x with values at one position along an axis for each place of `indices`.

    Args:
        axis: None takes x in C order; the result has its shape.
        combine: "set" (the last one stays), "add", "multiply", "min" or "max".
        mode: "raise", "clip", "wrap" or "promise".
    Raises:
        BoundsError: mode "raise" and an index outside the axis.
        DtypeError: x cannot hold the values.
    Source:
        numpy.put_along_axis, which writes into x
    """
    x = as_variable(x)
    if combine not in COMBINERS:
        raise InputError(message(f"put_along_axis: found combine {combine!r}, needed one of {', '.join(COMBINERS)}"))
    if axis is None:
        flat = put_along_axis(reshape(x, (-1,)), reshape(indices, (-1,)), values, 0, combine=combine, mode=mode)
        return reshape(flat, x.shape)
    k = axis_from_end(axis, x.type.ndim, "put_along_axis")
    places = _rows(x, indices, k, mode, "put_along_axis")
    v = broadcast_to(value_like(x, values), places[0].shape)
    return Scatter(tuple(range(-x.type.ndim, 0)), COMBINERS[combine])(x, v, *places)  # type: ignore[no-any-return]


def choose(indices: TensorLike, choices: Sequence[Any], *, mode: IndexMode = "raise") -> Variable:
    """At each place the element of the array with the number that `indices` has there; all broadcast.

    Args:
        mode: "raise", "clip", "wrap" or "promise".
    Raises:
        BoundsError: mode "raise" and a number that no array has; none is negative.
    Source:
        numpy.choose
    """
    from tg.ops.arranging import broadcast_arrays

    operands, dtype = promoted(list(choices)) if len(choices) else ([], "")  # at once: a Python scalar is weak
    first, *arrays = broadcast_arrays(indices, *(cast_variable(v, dtype) for v in operands))
    if not arrays:
        raise ShapeError(message("choose: found no arrays, needed at least one"))
    table, first = stack(arrays, 0), _from_the_start(first, mode, "choose")
    elements = take_along_axis(table, expand_dims_at(first, (-table.type.ndim,)), 0, mode=mode)
    return reshape(elements, first.shape)


def ravel_multi_index(
    multi_index: Sequence[Any], dims: Sequence[Any], mode: str | Sequence[str] = "raise", order: Order = "C"
) -> Variable:
    """Positions in an array of shape `dims`, given one index for each axis, as positions in C (or F) order.

    Args:
        mode: "raise", "clip", "wrap" or "promise"; or one for each axis.
    Raises:
        BoundsError: mode "raise" and an index outside its axis; negative ones are.
    Source:
        numpy.ravel_multi_index
    """
    lengths = _lengths(dims, "ravel_multi_index")
    indices = list(multi_index)
    modes = [mode] * len(lengths) if isinstance(mode, str) else list(mode)
    if len(indices) != len(lengths) or len(modes) != len(lengths):
        text = f"found {len(indices)} indices and {len(modes)} modes, needed {len(lengths)}"
        raise ShapeError(message(f"ravel_multi_index: {text}"))
    total: Any = as_variable(0)
    pairs = list(zip(indices, lengths, modes, strict=True))
    for i, n, m in pairs if _is_c(order, "ravel_multi_index") else reversed(pairs):
        total = total * as_size_variable(n) + wrap_index(_from_the_start(i, m, "ravel_multi_index"), n, m)
    return total  # type: ignore[no-any-return]


def unravel_index(
    indices: TensorLike, shape: ShapeLike, order: Order = "C", *, mode: IndexMode = "raise"
) -> tuple[Variable, ...]:
    """Positions in C (or F) order in an array of a shape as one int64 index for each axis.

    Args:
        mode: "raise", "clip", "wrap" or "promise".
    Raises:
        BoundsError: mode "raise" and a position outside the array; negative ones are.
    Source:
        numpy.unravel_index
    """
    lengths = _lengths(shape if isinstance(shape, tuple | list) else (shape,), "unravel_index")
    rest = wrap_index(_from_the_start(indices, mode, "unravel_index"), product(lengths), mode)
    coordinates: list[Variable] = []
    turned = lengths[::-1] if _is_c(order, "unravel_index") else lengths
    for k, n in enumerate(turned):
        last = k == len(turned) - 1
        coordinates.append(rest if last else remainder(rest, as_size_variable(n)))
        rest = rest if last else floor_divide(rest, as_size_variable(n))
    return tuple(coordinates[::-1] if turned is not lengths else coordinates)


def _from_the_start(indices: Any, mode: str, what: str) -> Variable:
    """Indices of which none may count from the end."""
    i: Variable = as_variable(indices)
    if mode != "raise" or not i.type.dtype.startswith("int") or (isinstance(i, Constant) and not i.data.size):
        return i
    least = as_variable(i.data.min()) if isinstance(i, Constant) else total_min(i)
    fine = as_variable(least.data >= 0) if isinstance(least, Constant) else greater_equal(least, 0)
    text = f"{what}: found the index {{0}}, needed one of at least 0"
    return required(i, fine, (least,), Descriptor("BoundsError", text))


def _lengths(shape: Sequence[Any], what: str) -> tuple[int | Length, ...]:
    if not len(shape):
        raise ShapeError(message(f"{what}: found no lengths, needed at least one"))
    return tuple(size_value(cast_variable(n, "int64")) if isinstance(n, Variable) else n for n in shape)


def _is_c(order: str, what: str) -> bool:
    if order not in ("C", "F"):
        raise InputError(message(f"{what}: order: found {order!r}, needed 'C' or 'F'"))
    return order == "C"


FAMILY = Family("places", functions=(take_along_axis, put_along_axis, choose, ravel_multi_index, unravel_index))
