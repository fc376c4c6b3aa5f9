"""`x.at[index]`: new variables in which a place is replaced, or combined with values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.nodes import Variable, as_size_variable
from tg.keywords import with_told_methods
from tg.members import missing
from tg.ops.creation import ones_like, zeros
from tg.ops.elementwise.arithmetic import add, divide, maximum, minimum, multiply, negative, power
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import where
from tg.ops.index_positions import repeated
from tg.ops.index_syntax import (
    Part,
    advanced,
    fitting,
    getitem,
    inside_of,
    is_mask,
    parse_index,
    sliced,
    squeeze_axes,
    trailing,
)
from tg.ops.indexing import Scatter, SliceUpdate, read_slices, slice_axis, split_starts
from tg.ops.shape import Concatenate, broadcast_to, expand_dims_at, reshape, squeeze, transpose
from tg.types.dtypes import is_inexact
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, promote, weak_kind, weak_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.types.choices import ReadMode


@final
class IndexedUpdates:
    """The value of `x.at`: `x.at[index]` is a place of x to update."""

    __slots__ = ("variable",)

    def __init__(self, variable: Variable) -> None:
        self.variable = variable

    def __getitem__(self, index: Any) -> Place:
        return Place(self.variable, index)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name)


@final
@with_told_methods
class Place:
    """Some positions of a variable. Its methods give a new variable with the positions changed.

    Integers outside an axis are an error with `mode="raise"`; "clip" takes the nearest position, "wrap" counts on from
    the other end, "fill" reads a fill value and writes nothing, and "promise" reports nothing.
    """

    __slots__ = ("index", "variable")

    def __init__(self, variable: Variable, index: Any) -> None:
        self.variable, self.index = variable, index

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name)

    def get(self, *, mode: ReadMode = "raise", fill_value: Any = 0) -> Variable:
        """The elements at the place."""
        return getitem(self.variable, self.index, mode, fill_value)

    def set(self, value: Any, *, mode: ReadMode = "raise") -> Variable:
        """The variable with the elements at the place replaced; of repeated positions the last in C order stays."""
        return updated(self.variable, self.index, value, None, mode)

    def add(self, value: Any, *, mode: ReadMode = "raise") -> Variable:
        """The variable with `value` added at the place; repeated positions accumulate."""
        return updated(self.variable, self.index, value, add, mode)

    def subtract(self, value: Any, *, mode: ReadMode = "raise") -> Variable:
        """The variable with `value` subtracted at the place; repeated positions accumulate."""
        return updated(self.variable, self.index, negative(value_like(self.variable, value)), add, mode)

    def multiply(self, value: Any, *, mode: ReadMode = "raise") -> Variable:
        """The variable multiplied by `value` at the place; repeated positions accumulate."""
        return updated(self.variable, self.index, value, multiply, mode)

    def divide(self, value: Any, *, mode: ReadMode = "raise") -> Variable:
        """The variable divided by `value` at the place; repeated positions accumulate.

        Raises:
            DtypeError: the variable has no floating or complex dtype.
        """
        x = self.variable
        if not is_inexact(x.type.dtype):
            raise DtypeError(message(f"divide at an index: found {x.type.dtype}, needed a floating or complex dtype"))
        return divide(x, updated(ones_like(x), self.index, value, multiply, mode))

    def power(self, value: Any, *, mode: ReadMode = "raise") -> Variable:
        """The variable raised to `value` at the place; repeated positions accumulate."""
        x = self.variable
        return power(x, updated(ones_like(x), self.index, value, multiply, mode))

    def min(self, value: Any, *, mode: ReadMode = "raise") -> Variable:
        """The variable with the smaller of its elements and `value` at the place."""
        return updated(self.variable, self.index, value, minimum, mode)

    def max(self, value: Any, *, mode: ReadMode = "raise") -> Variable:
        """The variable with the larger of its elements and `value` at the place."""
        return updated(self.variable, self.index, value, maximum, mode)


def updated(x: Variable, index: Any, value: Any, fn: ElementwiseFunction | None, mode: str = "raise") -> Variable:
    """x with the elements at an index replaced by a value, or (with `fn`) combined with it.

    Raises:
        BoundsError: an index outside its axis (mode "raise"), or a mask of another shape.
        DtypeError: x cannot hold the value.
        ShapeError: the value does not broadcast to the place.
    """
    v = value_like(x, value)
    chosen = _where_mask(x, index, v, fn)
    if chosen is not None:
        return chosen
    joined, parts = parse_index(x, index, mode)
    changed = _update(joined, parts, v, fn)
    return changed if joined is x else reshape(changed, x.shape)


def _where_mask(x: Variable, index: Any, v: Variable, fn: ElementwiseFunction | None) -> Variable | None:
    """The update at one mask in front of all axes, of values that have no axis for its positions: no size is asked."""
    entries = [e for e in (index if isinstance(index, tuple) else (index,)) if e is not Ellipsis]
    first = index[0] if isinstance(index, tuple) and index else index
    if len(entries) != 1 or first is Ellipsis or not is_mask(first):
        return None
    mask = as_variable(first)
    rest = x.type.ndim - mask.type.ndim
    if rest < 0:
        return None
    if v.type.ndim == rest + 1 and v.type.shape[0] == 1:
        v = squeeze(v, 0)
    if v.type.ndim > rest:
        return None
    mask = trailing(fitting(mask, x.shape[: mask.type.ndim]), rest)
    return where(mask, broadcast_to(v, x.shape) if fn is None else fn(x, v), x)


def _spread(v: Variable, shape: tuple[Any, ...]) -> Variable:
    """The values repeated over the place that they go to."""
    try:
        return broadcast_to(repeated(v, shape) if v.type.ndim <= len(shape) else v, shape)
    except ShapeError:
        target = TensorType(v.type.dtype, [n if isinstance(n, int) else None for n in shape])
        raise ShapeError(message(f"update: found values {v.type}, needed what broadcasts to {target}")) from None


def _update(x: Variable, parts: Sequence[Part], v: Variable, fn: ElementwiseFunction | None) -> Variable:
    real = [p for p in parts if p.kind != "new"]
    if not any(p.kind == "array" for p in parts):
        changed, inside = _slice_update(x, v, parts, fn), inside_of(parts)
        return changed if inside is None else where(inside, changed, x)
    if any(p.kind == "new" for p in parts):
        raise InputError(message("update: found None among integer arrays, needed an index without new axes"))
    if any(p.kind == "slice" and not p.whole for p in real):
        return _update_inside(x, v, real, fn)
    axes, indices, place = advanced(parts)
    inside = inside_of(parts)
    rank = indices[0].type.ndim
    rest = [n for k, n in zip(range(-x.type.ndim, 0), x.shape, strict=True) if k not in axes]
    shape = (*rest[:place], *indices[0].shape, *rest[place:])
    spread = _spread(v, shape)
    if place:
        n = len(shape)
        spread = transpose(spread, (*range(place, place + rank), *range(place), *range(place + rank, n)))
    if inside is not None:
        return _scatter_inside(Scatter(axes, fn), x, spread, indices, inside)
    return Scatter(axes, fn)(x, spread, *indices)  # type: ignore[no-any-return]


def _scatter_inside(op: Scatter, x: Variable, v: Variable, indices: Sequence[Variable], inside: Variable) -> Variable:
    """A scatter that writes where `inside` holds; the others write behind the end of one axis, which is cut off."""
    axis = op.axes[0]
    n = x.shape[axis]
    room = zeros((*x.shape[: x.type.ndim + axis], 1, *x.shape[x.type.ndim + axis + 1 :]), dtype=x.type.dtype)
    first = where(broadcast_to(inside, indices[0].shape), indices[0], as_size_variable(n))
    return slice_axis(op(Concatenate(axis)(x, room), v, first, *indices[1:]), axis, 0, n)


def _update_inside(x: Variable, v: Variable, real: Sequence[Part], fn: ElementwiseFunction | None) -> Variable:
    """An update at integer arrays and slices: the slice is taken out, updated and put back."""
    inner = sliced(x, real)
    whole = [
        p if p.kind == "array" else Part("slice", 0, n, 1, whole=True) for p, n in zip(real, inner.shape, strict=True)
    ]
    changed = _update(inner, whole, v, fn)
    outer = [Part("slice", 0, n, 1, whole=True) if p.kind == "array" else p for p, n in zip(real, x.shape, strict=True)]
    return _slice_update(x, changed, outer, None)


def _slice_update(x: Variable, v: Variable, parts: Sequence[Part], fn: ElementwiseFunction | None) -> Variable:
    real = [p for p in parts if p.kind != "new"]
    shown = [1 if p.kind == "new" else p.size for p in parts if not p.drop]
    v = _spread(v, tuple(shown))
    v = squeeze_axes(v, [p.kind == "new" for p in parts if not p.drop])
    dropped = tuple(k - len(real) for k, p in enumerate(real) if p.drop)
    v = expand_dims_at(v, dropped) if dropped else v
    if all(p.whole for p in real):
        return v if fn is None else fn(x, v)
    starts, operands = split_starts([p.start for p in real])
    steps = tuple(p.step for p in real)
    if fn is not None and fn is not add:
        v, fn = fn(read_slices(x, [(p.start, p.size, p.step) for p in real]), v), None
    return SliceUpdate(starts, steps, fn)(x, v, *operands)  # type: ignore[no-any-return]


def value_like(x: Variable, value: Any) -> Variable:
    """The value of an update in the dtype of x.

    Raises:
        DtypeError: the cast would lose values.
    """
    kind = weak_kind(value)
    if kind is not None:
        wider = promote(x.type.dtype, kind)
        if wider != x.type.dtype:
            text = f"update: found {value!r}, needed a value that {x.type.dtype} can hold"
            raise DtypeError(message(text, hint=f"x.astype({wider!r}) can hold it"))
        return weak_variable(value, x.type.dtype)
    v = as_variable(value)
    if promote(x.type.dtype, v.type.dtype) != x.type.dtype and not (
        is_inexact(x.type.dtype) and is_inexact(v.type.dtype)
    ):
        hint = f"cast the value to {x.type.dtype}, or the array to {promote(x.type.dtype, v.type.dtype)}"
        raise DtypeError(message(f"update: found {v.type.dtype} for an array of {x.type.dtype}", hint=hint))
    return cast_variable(v, x.type.dtype)
