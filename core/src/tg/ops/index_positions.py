"""Positions as an index needs them: those of slices by steps known at run time only, and index arrays in one shape.

A program is compiled for lengths that are not 1 unless an input has them; where an index or what is written at one may
have a *computed* length of 1, that is asked when the program runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.errors import InputError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Variable, as_size_variable, size_value
from tg.ops.assumptions import required
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import absolute, clip, floor_divide, maximum, minimum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, less, not_equal, where
from tg.ops.indexing import take
from tg.ops.shape import broadcast_to
from tg.types.atoms import AxisLength, NamedLength
from tg.types.dtypes import is_integer
from tg.types.lengths import Length, same
from tg.types.requirements import broadcast as broadcast_lengths
from tg.variables.conversion import as_variable, plain_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_STEP: Final = "slice: step: found 0, needed an integer other than 0"


def positions_by_steps(length: int | Length, e: slice) -> Variable:
    """The positions of a slice along an axis, by steps whose sign is not known."""
    n = as_size_variable(length)
    raw_step = cast_variable(as_variable(e.step), "int64")
    step = clip(raw_step, -1 - n, n + 1)  # longer ones lead out of the axis as these do
    up = greater(step, 0)
    low, high = where(up, 0, -1), where(up, n, n - 1)
    start = where(up, low, high) if e.start is None else _clamped(e.start, n, low, high)
    stop = where(up, high, low) if e.stop is None else _clamped(e.stop, n, low, high)
    span, pace = where(up, stop - start, start - stop), absolute(step)
    positions = start + step * iota(maximum(floor_divide(span + pace - 1, pace), 0))
    return required(positions, not_equal(raw_step, 0), (), Descriptor("DomainError", NO_STEP))


def _clamped(bound: Any, n: Variable, low: Variable, high: Variable) -> Variable:
    """A bound of a slice in [low, high], negative ones counted from the end."""
    v = as_variable(plain_integer(bound))
    if v.type.ndim or not is_integer(v.type.dtype):
        raise InputError(message(f"slice: found the bound {bound!r}, needed an integer scalar"))
    v = cast_variable(v, "int64")
    return where(less(v, 0), maximum(v + n, low), minimum(v, high))


def in_one_shape(arrays: Sequence[Variable]) -> list[Variable]:
    """Index arrays of one rank in one shape.

    Raises:
        ShapeError: lengths that do not broadcast; a check where they are known at run time only.
    """
    shape = arrays[0].shape
    for a in arrays[1:]:
        shape = tuple(_common(m, n) for m, n in zip(shape, a.shape, strict=True))
    return [broadcast_to(repeated(a, shape), shape) for a in arrays]


def _common(m: int | Length, n: int | Length) -> int | Length:
    """The length that two lengths of index arrays broadcast to; of computed ones, either of which may be 1, a value."""
    length = broadcast_lengths(m, n, lambda: "index")
    if same(m, n) or not (is_computed(m) or is_computed(n)):
        return length
    return size_value(as_size_variable(length))


def is_computed(n: int | Length) -> bool:
    """Whether a length comes about at run time other than with an input, for which there are programs where it is 1."""
    if not isinstance(n, Length) or isinstance(n.atom, NamedLength):
        return False
    atom = n.atom
    return not (isinstance(atom, AxisLength) and isinstance(atom.owner, Variable) and atom.owner.apply is None)


def repeated(v: Variable, shape: Sequence[int | Length]) -> Variable:
    """The array with axes of computed lengths repeated to those of a shape where they are found to be 1."""
    for k, n in zip(range(-v.type.ndim, 0), shape[len(shape) - v.type.ndim :], strict=True):
        own = v.shape[k]
        if not same(own, n) and is_computed(own):
            size = as_size_variable(own)
            places = iota(where(equal(size, 1), as_size_variable(n), size))
            v = take(v, minimum(places, size - 1), k, mode="promise")
    return v
