"""What stands in brackets: `x[index]` and `x.at[index]` taken apart and written with the ops of `indexing`.

An index becomes at most one `Slice`, one `Gather` (or `SliceUpdate` and `Scatter`) and changes of shape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.errors import BoundsError, DtypeError, InputError, message
from tg.graph.nodes import Constant, Variable, as_size_variable, size_value
from tg.ops.elementwise.arithmetic import add
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import less, where
from tg.ops.elementwise.record import ElementwiseFunction, align_ranks
from tg.ops.indexing import Gather, Scatter, SliceUpdate, move_front, read_slices, split_starts, wrap_index
from tg.ops.shape import (
    broadcast_to,
    expand_dims_at,
    squeeze,
    transpose,
)
from tg.types.dtypes import is_inexact, is_integer
from tg.types.lengths import Length, floor_divide, is_natural
from tg.types.lengths import add as add_lengths
from tg.types.lengths import broadcast as broadcast_lengths
from tg.types.lengths import maximum as max_length
from tg.types.lengths import minimum as min_length
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, promote, weak_kind, weak_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]

MODES: Final = ("raise", "clip", "promise")


class Part(NamedTuple):
    """What an index says of one axis: a slice (start, size, step), an integer array, or a new axis."""

    kind: str  # "slice", "array", "new"
    start: int | Length | Variable = 0
    size: int | Length = 0
    step: int = 1
    positions: Variable | None = None
    whole: bool = False
    drop: bool = False  # an integer: a slice of one position whose axis goes


def parse_index(x: Variable, index: Any) -> list[Part]:
    """An index taken apart, axis by axis.

    Raises:
        BoundsError: too many indices, or an integer known to be outside.
        InputError: something that is not an index.
    """
    entries = list(index) if isinstance(index, tuple) else [index]
    if sum(1 for e in entries if e is Ellipsis) > 1:
        raise InputError(message("index: found '...' more than once, needed it at most once"))
    consumed = sum(1 for e in entries if e is not None and e is not Ellipsis)
    if consumed > x.type.ndim:
        raise BoundsError(message(f"index: found {consumed} indices, needed at most {x.type.ndim} for {x!r}"))
    if not any(e is Ellipsis for e in entries):
        entries.append(Ellipsis)
    arrays = any(_is_array(e) for e in entries)
    parts: list[Part] = []
    axis = 0
    for e in entries:
        if e is None:
            parts.append(Part("new"))
        elif e is Ellipsis:
            for _ in range(x.type.ndim - consumed):
                parts.append(Part("slice", 0, x.shape[axis], 1, whole=True))
                axis += 1
            consumed = x.type.ndim
        else:
            parts.append(_part(x.shape[axis], e, arrays))
            axis += 1
    return parts


def _is_array(e: Any) -> bool:
    if isinstance(e, Variable):
        return e.type.ndim > 0
    return isinstance(e, list | np.ndarray) and np.ndim(e) > 0


def _part(n: int | Length, e: Any, arrays: bool) -> Part:
    if isinstance(e, slice):
        return _slice_part(n, e)
    if isinstance(e, bool | np.bool_):
        raise InputError(message(f"index: found {e!r}, needed integers, slices, None or ..."))
    if not isinstance(e, Variable | Length | int | np.integer | list | np.ndarray):
        raise InputError(message(f"index: found {e!r}, needed integers, slices, None or ..."))
    i = as_variable(np.asarray(e, np.int64) if isinstance(e, list) and not e else e)
    if i.type.dtype == "bool":
        hint = "tg.where(mask, x, 0) keeps the shape"
        raise InputError(message("index: found a boolean mask, which gives a size that depends on values", hint=hint))
    if not is_integer(i.type.dtype):
        raise DtypeError(message(f"index: found {i.type.dtype}, needed an integer dtype"))
    wrapped = wrap_index(i, n)
    if arrays:
        return Part("array", positions=wrapped)
    return Part("slice", int(wrapped.data) if isinstance(wrapped, Constant) else wrapped, 1, 1, drop=True)


def _slice_part(n: int | Length, e: slice) -> Part:
    """NumPy's rules for the bounds of a slice, in lengths where they are not known."""
    step = 1 if e.step is None else e.step
    if not isinstance(step, int | np.integer) or step == 0:
        raise InputError(message(f"slice: step: found {step!r}, needed an int other than 0"))
    step = int(step)
    if e.start is None and e.stop is None and step == 1:
        return Part("slice", 0, n, 1, whole=True)
    low, high = (0, n) if step > 0 else (-1, subtract_lengths(n, 1))
    start = _bound(e.start, n, low, high, low if step > 0 else high)
    stop = _bound(e.stop, n, low, high, high if step > 0 else low)
    span = subtract_lengths(stop, start) if step > 0 else subtract_lengths(start, stop)
    size = max_length(0, floor_divide(add_lengths(span, abs(step) - 1), abs(step)))
    return Part("slice", start, size, step)


def _bound(value: Any, n: int | Length, low: int | Length, high: int | Length, default: int | Length) -> int | Length:
    """A bound of a slice clamped to [low, high], negative ones counted from the end."""
    if value is None:
        return default
    v: int | Length
    if isinstance(value, Variable):
        if value.type.ndim or not is_integer(value.type.dtype):
            raise InputError(message(f"slice: found the bound {value!r}, needed an integer scalar"))
        v = size_value(cast_variable(value, "int64"))
    elif type(value) is Length:
        v = value
    elif isinstance(value, int | np.integer) and not isinstance(value, bool):
        v = int(value)
    else:
        raise InputError(message(f"slice: found the bound {value!r}, needed an integer"))
    if isinstance(v, int):
        v = v if v >= 0 else add_lengths(n, v)
    elif not is_natural(v):
        value = as_size_variable(v)
        v = size_value(where(less(value, 0), add(value, as_size_variable(n)), value))
    return max_length(low, min_length(v, high))


def getitem(x: Any, index: Any) -> Variable:
    """x[index] for integers, slices, None, `...`, integer arrays and integer variables, as NumPy has it.

    Raises:
        BoundsError: an index outside its axis.
        InputError: a boolean mask, or what is no index.
    """
    x = as_variable(x)
    parts = parse_index(x, index)
    y = _sliced(x, [p for p in parts if p.kind != "new"])
    if any(p.kind == "array" for p in parts):
        axes, indices, place = _advanced(parts)
        rank = indices[0].type.ndim
        y = Gather(axes)(y, *indices)
        return _new_axes(move_front(y, rank, place) if place else y, parts, rank)
    dropped = squeeze_axes(y, [p.drop for p in parts if p.kind != "new"])
    kept = [p.kind == "new" for p in parts if not p.drop]
    axes = tuple(k - len(kept) for k, new in enumerate(kept) if new)
    return expand_dims_at(dropped, axes) if axes else dropped


def squeeze_axes(x: Variable, drop: Sequence[bool]) -> Variable:
    """X without the axes marked in `drop`."""
    axes = tuple(k - len(drop) for k, d in enumerate(drop) if d)
    return squeeze(x, axes) if axes else x


def _sliced(x: Variable, parts: Sequence[Part]) -> Variable:
    """X with the slices of `parts` taken; axes with integer arrays stay whole."""
    full = [p.kind == "array" or p.whole for p in parts]
    if all(full):
        return x
    first = full.index(False)
    pairs = zip(parts[first:], x.shape[first:], strict=True)
    return read_slices(x, [(0, n, 1) if p.kind == "array" else (p.start, p.size, p.step) for p, n in pairs])


def _advanced(parts: Sequence[Part]) -> tuple[tuple[int, ...], list[Variable], int]:
    """The axes of x that have index arrays, the arrays in one shape, and where their axes go in the result."""
    real = [p for p in parts if p.kind != "new"]
    axes = tuple(k - len(real) for k, p in enumerate(real) if p.kind == "array")
    arrays = [p.positions for p in real if p.positions is not None]
    aligned = align_ranks(
        [expand_dims_at(a, tuple(range(-_rank(arrays), 0))) if a.type.ndim == 0 else a for a in arrays]
    )
    shape = aligned[0].shape
    for a in aligned[1:]:
        shape = tuple(broadcast_lengths(m, n, lambda: "index") for m, n in zip(shape, a.shape, strict=True))
    indices = [broadcast_to(a, shape) for a in aligned]
    positions = [k for k, p in enumerate(parts) if p.kind == "array"]
    adjacent = positions == list(range(positions[0], positions[-1] + 1))
    place = sum(1 for p in parts[: positions[0]] if p.kind == "slice") if adjacent else 0
    return axes, indices, place


def _rank(arrays: Sequence[Variable]) -> int:
    return max(a.type.ndim for a in arrays)


def _new_axes(y: Variable, parts: Sequence[Part], rank: int) -> Variable:
    """Axes inserted where the index has None."""
    if not any(p.kind == "new" for p in parts):
        return y
    positions = [k for k, p in enumerate(parts) if p.kind == "array"]
    adjacent = positions == list(range(positions[0], positions[-1] + 1))
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


@final
class IndexedUpdates:
    """What `x.at` is: `x.at[index]` is a place of x to update."""

    __slots__ = ("variable",)

    def __init__(self, variable: Variable) -> None:
        self.variable = variable

    def __getitem__(self, index: Any) -> Place:
        return Place(self.variable, index)


@final
class Place:
    """Some positions of a variable. Its methods give a new variable with the positions changed."""

    __slots__ = ("index", "variable")

    def __init__(self, variable: Variable, index: Any) -> None:
        self.variable, self.index = variable, index

    def get(self) -> Variable:
        """The elements at the place."""
        return getitem(self.variable, self.index)

    def set(self, value: Any) -> Variable:
        """The variable with the elements at the place replaced; of repeated positions the last in C order stays."""
        return _update(self.variable, self.index, value, None)

    def add(self, value: Any) -> Variable:
        """The variable with `value` added at the place; repeated positions accumulate."""
        return _update(self.variable, self.index, value, add)


def _update(x: Variable, index: Any, value: Any, fn: ElementwiseFunction | None) -> Variable:
    parts = parse_index(x, index)
    v = _value_like(x, value)
    real = [p for p in parts if p.kind != "new"]
    if not any(p.kind == "array" for p in parts):
        return _slice_update(x, v, parts, fn)
    sliced = [p for p in real if p.kind == "slice" and not p.whole]
    if sliced:
        return _update_inside(x, v, parts, fn)
    axes, indices, place = _advanced(parts)
    rank = indices[0].type.ndim
    rest = [n for k, n in zip(range(-x.type.ndim, 0), x.shape, strict=True) if k not in axes]
    shape = (*rest[:place], *indices[0].shape, *rest[place:])
    spread = broadcast_to(_without_new(v, parts), shape)
    if place:
        n = len(shape)
        spread = transpose(spread, (*range(place, place + rank), *range(place), *range(place + rank, n)))
    return Scatter(axes, fn)(x, spread, *indices)  # type: ignore[no-any-return]


def _without_new(v: Variable, parts: Sequence[Part]) -> Variable:
    if any(p.kind == "new" for p in parts):
        raise InputError(message("update: found None among integer arrays, needed an index without new axes"))
    return v


def _update_inside(x: Variable, v: Variable, parts: Sequence[Part], fn: ElementwiseFunction | None) -> Variable:
    """An update at integer arrays and slices: the slice is taken out, updated and put back."""
    real = [p for p in parts if p.kind != "new"]
    inner = _sliced(x, real)
    index = tuple(p.positions if p.kind == "array" else slice(None) for p in real)
    changed = _update(inner, index, v, fn)
    outer = [Part("slice", 0, n, 1, whole=True) if p.kind == "array" else p for p, n in zip(real, x.shape, strict=True)]
    return _slice_update(x, changed, outer, None)


def _slice_update(x: Variable, v: Variable, parts: Sequence[Part], fn: ElementwiseFunction | None) -> Variable:
    real = [p for p in parts if p.kind != "new"]
    shown = [1 if p.kind == "new" else p.size for p in parts if not p.drop]
    v = broadcast_to(v, tuple(shown))
    v = squeeze_axes(v, [p.kind == "new" for p in parts if not p.drop])
    dropped = tuple(k - len(real) for k, p in enumerate(real) if p.drop)
    v = expand_dims_at(v, dropped) if dropped else v
    if all(p.whole for p in real):
        return v if fn is None else fn(x, v)
    starts, operands = split_starts([p.start for p in real])
    return SliceUpdate(starts, tuple(p.step for p in real), fn)(x, v, *operands)  # type: ignore[no-any-return]


def _value_like(x: Variable, value: Any) -> Variable:
    """The value of an update in the dtype of x.

    Raises:
        DtypeError: the cast would lose values.
    """
    kind = weak_kind(value)
    if kind is not None:
        if promote(x.type.dtype, kind) != x.type.dtype:
            raise DtypeError(message(f"update: found {value!r}, needed a value that {x.type.dtype} can hold"))
        return weak_variable(value, x.type.dtype)
    v = as_variable(value)
    if promote(x.type.dtype, v.type.dtype) != x.type.dtype and not (
        is_inexact(x.type.dtype) and is_inexact(v.type.dtype)
    ):
        hint = f"cast the value to {x.type.dtype}, or the array to {promote(x.type.dtype, v.type.dtype)}"
        raise DtypeError(message(f"update: found {v.type.dtype} for an array of {x.type.dtype}", hint=hint))
    return cast_variable(v, x.type.dtype)
