"""The index in brackets: `x[index]` taken apart, axis by axis, and read with the ops of `indexing`.

An index becomes at most one `Slice`, one `Gather` and changes of shape. A mask becomes the positions of its true
elements along one axis, that of the axes it covers joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.errors import BoundsError, DomainError, DtypeError, InputError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Constant, Variable, as_size_variable, size_value
from tg.ops.assumptions import required
from tg.ops.elementwise.arithmetic import maximum, minimum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, less, logical_and, where
from tg.ops.elementwise.record import align_ranks
from tg.ops.index_positions import NO_STEP, in_one_shape, positions_by_steps
from tg.ops.indexing import MODES as WRAPPING
from tg.ops.indexing import Gather, Nonzero, inside_axis, move_front, read_slices, take, wrap_index
from tg.ops.shape import expand_dims_at, reshape, specify_shape, squeeze, with_lengths
from tg.types.dtypes import is_integer
from tg.types.lengths import LONGEST, Length, is_natural, product, same
from tg.types.lengths import add as add_lengths
from tg.types.lengths import floor_divide as divide_lengths
from tg.types.lengths import maximum as max_length
from tg.types.lengths import minimum as min_length
from tg.types.lengths import subtract as subtract_lengths
from tg.types.magnitudes import is_exact, magnitude
from tg.variables.conversion import as_variable, holds_variable, plain_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

MODES: Final = (*WRAPPING, "fill")
MASK: Final = "index: a mask of another shape"
FAR: Final = 2**60  # sums of some such numbers fit into int64


class Positions(NamedTuple):
    """Positions along an axis that are known to lie inside it: what a mask says."""

    variable: Variable


class Part(NamedTuple):
    """The part of an index for one axis: a slice (start, size, step), an integer array, or a new axis."""

    kind: str  # "slice", "array", "new"
    start: int | Length | Variable = 0
    size: int | Length = 0
    step: int = 1
    positions: Variable | None = None
    whole: bool = False
    drop: bool = False  # an integer: a slice of one position whose axis goes
    inside: Variable | None = None  # mode "fill": which positions lie inside the axis
    apart: bool = False  # whether "..." stands right before it


def parse_index(x: Variable, index: Any, mode: str = "raise") -> tuple[Variable, list[Part]]:
    """The variable with the axes of each mask joined, and the index taken apart, axis by axis.

    Raises:
        BoundsError: too many indices, an integer known to be outside, or a mask of another shape.
        DomainError: a slice by steps of 0.
        InputError: something that is not an index, or an unknown mode.
    """
    if mode not in MODES:
        raise InputError(message(f"index: found mode {mode!r}, needed one of {', '.join(MODES)}"))
    entries = list(index) if isinstance(index, tuple) else [index]
    if sum(1 for e in entries if e is Ellipsis) > 1:
        raise InputError(message("index: found '...' more than once, needed it at most once"))
    entries = [as_variable(e) if is_mask(e) else e for e in entries]
    consumed = sum(_width(e) for e in entries)
    if consumed > x.type.ndim:
        raise BoundsError(message(f"index: found {consumed} indices, needed at most {x.type.ndim} for {x!r}"))
    if not any(e is Ellipsis for e in entries):
        entries.append(Ellipsis)
    if any(is_mask(e) for e in entries):
        x, entries = _without_masks(x, entries, x.type.ndim - consumed)
        consumed = sum(_width(e) for e in entries)
    arrays = any(_is_array(e) for e in entries)
    parts: list[Part] = []
    axis = 0
    for before, e in zip([None, *entries], entries, strict=False):
        if e is None:
            parts.append(Part("new"))
        elif e is Ellipsis:
            for _ in range(x.type.ndim - consumed):
                parts.append(Part("slice", 0, x.shape[axis], 1, whole=True))
                axis += 1
        else:
            parts.append(_part(x.shape[axis], e, arrays, mode)._replace(apart=before is Ellipsis))
            axis += 1
    return x, parts


def _width(e: Any) -> int:
    """The number of axes of the variable that an entry speaks of."""
    if e is None or e is Ellipsis:
        return 0
    return e.type.ndim if is_mask(e) else 1


def is_mask(e: Any) -> bool:
    """Whether an entry of an index is boolean."""
    if isinstance(e, Variable):
        return e.type.dtype == "bool"
    if isinstance(e, list):
        return bool(e) and not holds_variable(e) and np.asarray(e).dtype == np.bool_
    return isinstance(e, bool | np.bool_) or (isinstance(e, np.ndarray) and e.dtype == np.bool_)


def _without_masks(x: Variable, entries: Sequence[Any], rest: int) -> tuple[Variable, list[Any]]:
    """The variable with the axes of each mask joined (one of length 1 for a 0-d mask), and positions for masks."""
    shape: list[int | Length] = []
    new_entries: list[Any] = []
    axis = 0
    for e in entries:
        width = rest if e is Ellipsis else _width(e)
        if isinstance(e, Constant) and is_mask(e):  # it stays one: its true elements can be counted now
            x = _with_lengths_of(e, x, axis)
        lengths = x.shape[axis : axis + width]
        axis += width
        if is_mask(e):
            new_entries.append(Positions(positions_of(fitting(e, lengths))))
            shape.append(product(lengths))
        else:
            new_entries.append(e)
            shape.extend(lengths)
    joined = any(is_mask(e) and e.type.ndim != 1 for e in entries)
    return (reshape(x, shape) if joined else x), new_entries


def fitting(mask: Variable, lengths: Sequence[int | Length]) -> Variable:
    """The mask, of which it is made sure that it has the lengths of the axes it covers.

    Raises:
        BoundsError: it has others; a check where that is known at run time only.
    """
    for axis, (own, n) in enumerate(zip(mask.shape, lengths, strict=True)):
        mask = _agreeing(mask, axis, own, n)
    return specify_shape(mask, lengths, MASK)


def _with_lengths_of(mask: Constant, x: Variable, axis: int) -> Variable:
    """x, of which it is made sure that it has the lengths of a known mask from an axis on."""
    for k, n in enumerate(mask.data.shape):
        x = _agreeing(x, k, n, x.shape[axis + k])
    return with_lengths(x, {axis + k - x.type.ndim: n for k, n in enumerate(mask.data.shape)}, MASK)


def _agreeing(v: Variable, axis: int, own: int | Length, n: int | Length) -> Variable:
    """v, of which is required that a mask is as long as an axis; what follows from that is `specify_shape`'s."""
    if same(own, n):
        return v
    if isinstance(own, int) and isinstance(n, int):
        raise BoundsError(message(f"{MASK}: axis {axis}: found length {own}, needed {n}"))
    text = f"{MASK}: axis {axis}: lengths differ: {{0}} and {{1}}"
    a, b = as_size_variable(own), as_size_variable(n)
    return required(v, equal(a, b), (a, b), Descriptor("BoundsError", text))


def positions_of(mask: Variable) -> Variable:
    """The positions, in C order, of the true elements of a mask; constant if it is."""
    if isinstance(mask, Constant):
        return Constant(np.flatnonzero(mask.data).astype(np.int64))
    return Nonzero()(reshape(mask, (-1,)) if mask.type.ndim != 1 else mask)  # type: ignore[no-any-return]


def _is_array(e: Any) -> bool:
    if isinstance(e, Variable):
        return e.type.ndim > 0
    return isinstance(e, Positions) or (isinstance(e, list | np.ndarray) and np.ndim(e) > 0)


def _part(n: int | Length, e: Any, arrays: bool, mode: str) -> Part:
    if isinstance(e, slice):
        return _slice_part(n, e)
    if isinstance(e, Positions):
        return Part("array", positions=e.variable)
    e = plain_integer(e)
    if not isinstance(e, Variable | Length | int | list | np.ndarray):
        raise InputError(message(f"index: found {e!r}, needed integers, masks, slices, None or ..."))
    i = as_variable(np.asarray(e, np.int64) if isinstance(e, list) and not e else e)
    if not is_integer(i.type.dtype):
        hint = "i.astype('int64') makes integers of i"
        raise DtypeError(message(f"index: found {i.type.dtype}, needed an integer dtype", hint=hint))
    inside = inside_axis(i, n) if mode == "fill" else None
    wrapped = wrap_index(i, n, "promise" if mode == "fill" else mode)
    if arrays:
        return Part("array", positions=wrapped, inside=inside)
    start = int(wrapped.data) if isinstance(wrapped, Constant) else wrapped
    return Part("slice", start, 1, 1, drop=True, inside=inside)


def _slice_part(n: int | Length, e: slice) -> Part:
    """NumPy's rules for the bounds of a slice, in lengths where they are not known."""
    step = _known_step(e.step)
    if not isinstance(step, int):
        hint = "x[start:stop:step] reads by such steps; what is written needs positions"
        raise InputError(message(f"slice: step: found {e.step!r}, needed an int", hint=hint))
    step = max(-_beyond(n), min(step, _beyond(n)))
    if e.start is None and e.stop is None and step == 1:
        return Part("slice", 0, n, 1, whole=True)
    low, high = (0, n) if step > 0 else (-1, subtract_lengths(n, 1))
    start = _bound(e.start, n, low, high, low if step > 0 else high)
    stop = _bound(e.stop, n, low, high, high if step > 0 else low)
    span = subtract_lengths(stop, start) if step > 0 else subtract_lengths(start, stop)
    size = max_length(0, divide_lengths(add_lengths(span, abs(step) - 1), abs(step)))
    return Part("slice", start, size, step)


def _known_step(step: Any) -> int | Length:
    """The step of a slice as a number, where it is known now.

    Raises:
        DomainError: it is 0.
        InputError: it is no integer.
    """
    if step is None:
        return 1
    if isinstance(step, Variable) and step.type.ndim == 0 and is_integer(step.type.dtype):
        step = size_value(cast_variable(step, "int64"))
    step = plain_integer(step)
    if not isinstance(step, int | Length) or isinstance(step, bool):
        raise InputError(message(f"slice: step: found {step!r}, needed an integer"))
    if isinstance(step, Length):
        return step
    if step == 0:
        raise DomainError(message(NO_STEP))
    return step


def _stepped(x: Variable, index: Any) -> tuple[Variable, Any]:
    """The variable read by the slices whose steps are known at run time only, and the index of the rest."""
    entries = list(index) if isinstance(index, tuple) else [index]
    moving = [isinstance(e, slice) and not isinstance(_known_step(e.step), int) for e in entries]
    if not any(moving):
        return x, index
    widths = [_width(as_variable(e)) if is_mask(e) else _width(e) for e in entries]
    axis = 0
    for k, e in enumerate(entries):
        if moving[k] and axis < x.type.ndim:
            x = take(x, positions_by_steps(x.shape[axis], e), axis, mode="promise")
            entries[k] = slice(None)
        axis += x.type.ndim - sum(widths) if e is Ellipsis else widths[k]
    return x, tuple(entries)


def _beyond(n: int | Length) -> int:
    """A number of positions that leaves an axis, so that larger ones need not be told from it."""
    return FAR if magnitude(n) <= FAR else LONGEST


def _bound(value: Any, n: int | Length, low: int | Length, high: int | Length, default: int | Length) -> int | Length:
    """A bound of a slice clamped to [low, high], negative ones counted from the end."""
    if value is None:
        return default
    v: int | Length
    value = plain_integer(value)
    if isinstance(value, Variable):
        if value.type.ndim or not is_integer(value.type.dtype):
            raise InputError(message(f"slice: found the bound {value!r}, needed an integer scalar"))
        v = size_value(cast_variable(value, "int64"))
    elif type(value) is Length or (isinstance(value, int) and not isinstance(value, bool)):
        v = value
    else:
        raise InputError(message(f"slice: found the bound {value!r}, needed an integer"))
    if isinstance(v, int):
        if abs(v) >= _beyond(n):
            return high if v > 0 else low
        v = v if v >= 0 else add_lengths(n, v)
    elif not (is_natural(v) and is_exact(v)):
        value = value if isinstance(value, Variable) else as_size_variable(v)
        value = cast_variable(value, "int64")
        size = as_size_variable(n)  # what is far outside of the axis is no further outside than sums of lengths can be
        v = size_value(where(less(value, 0), maximum(value + size, -1), minimum(value, size)))
    return max_length(low, min_length(v, high))


def getitem(x: Any, index: Any, mode: str = "raise", fill: Any = 0) -> Variable:
    """x[index] for integers, slices, None, `...`, integer arrays, masks and integer variables, as NumPy has it.

    Raises:
        BoundsError: an index outside its axis (mode "raise").
        ShapeError: a mask of another shape.
        InputError: what is no index.
    """
    x, parts = parse_index(*_stepped(as_variable(x), index), mode)
    y = sliced(x, [p for p in parts if p.kind != "new"])
    inside = inside_of(parts)
    if any(p.kind == "array" for p in parts):
        axes, indices, place = advanced(parts)
        rank = indices[0].type.ndim
        y = Gather(axes)(y, *indices)
        y = _filled(y, inside, rank, fill)
        return _new_axes(move_front(y, rank, place) if place else y, parts, rank)
    dropped = _filled(squeeze_axes(y, [p.drop for p in parts if p.kind != "new"]), inside, 0, fill)
    is_new = [p.kind == "new" for p in parts if not p.drop]
    axes = tuple(k - len(is_new) for k, new in enumerate(is_new) if new)
    return expand_dims_at(dropped, axes) if axes else dropped


def inside_of(parts: Sequence[Part]) -> Variable | None:
    """Whether all indices lie inside their axes, in the shape of the indices; None where that is not asked."""
    masks = [p.inside for p in parts if p.inside is not None]
    if not masks:
        return None
    total = masks[0]
    for other in masks[1:]:
        total = logical_and(total, other)
    return total


def _filled(y: Variable, inside: Variable | None, rank: int, fill: Any) -> Variable:
    """The elements read, with `fill` where an index was outside; the axes of the indices are the first `rank`."""
    if inside is None:
        return y
    return where(trailing(inside, y.type.ndim - rank), y, as_variable(fill, y.type.dtype))


def trailing(v: Variable, count: int) -> Variable:
    """v with `count` axes of length 1 behind its own."""
    return expand_dims_at(v, tuple(range(-count, 0))) if count and v.type.ndim else v


def squeeze_axes(x: Variable, drop: Sequence[bool]) -> Variable:
    """x without the axes marked in `drop`."""
    axes = tuple(k - len(drop) for k, d in enumerate(drop) if d)
    return squeeze(x, axes) if axes else x


def sliced(x: Variable, parts: Sequence[Part]) -> Variable:
    """x with the slices of `parts` taken; axes with integer arrays stay whole."""
    full = [p.kind == "array" or p.whole for p in parts]
    if all(full):
        return x
    first = full.index(False)
    pairs = zip(parts[first:], x.shape[first:], strict=True)
    return read_slices(x, [(0, n, 1) if p.kind == "array" else (p.start, p.size, p.step) for p, n in pairs])


def advanced(parts: Sequence[Part]) -> tuple[tuple[int, ...], list[Variable], int]:
    """The axes of x that have index arrays, the arrays in one shape, and where their axes go in the result."""
    real = [p for p in parts if p.kind != "new"]
    axes = tuple(k - len(real) for k, p in enumerate(real) if p.kind == "array")
    arrays = [p.positions for p in real if p.positions is not None]
    rank = max(a.type.ndim for a in arrays)
    aligned = align_ranks([expand_dims_at(a, tuple(range(-rank, 0))) if a.type.ndim == 0 else a for a in arrays])
    indices = in_one_shape(aligned) if len(aligned) > 1 else aligned
    positions, adjacent = _neighbours(parts)
    place = sum(1 for p in parts[: positions[0]] if p.kind == "slice") if adjacent else 0
    return axes, indices, place


def _neighbours(parts: Sequence[Part]) -> tuple[list[int], bool]:
    """The places of the index arrays, and whether nothing stands between them: "..." does, also where it is no axis."""
    positions = [k for k, p in enumerate(parts) if p.kind == "array"]
    together = positions == list(range(positions[0], positions[-1] + 1))
    return positions, together and not any(parts[k].apart for k in positions[1:])


def _new_axes(y: Variable, parts: Sequence[Part], rank: int) -> Variable:
    """Axes inserted where the index has None."""
    if not any(p.kind == "new" for p in parts):
        return y
    _, adjacent = _neighbours(parts)
    layout: list[str] = [] if adjacent else ["index"] * rank
    done = not adjacent
    for p in parts:
        if p.kind == "array":
            if not done:
                layout.extend(["index"] * rank)
                done = True
        else:
            layout.append(p.kind)
    axes = tuple(k - len(layout) for k, kind in enumerate(layout) if kind == "new")
    return expand_dims_at(y, axes)
