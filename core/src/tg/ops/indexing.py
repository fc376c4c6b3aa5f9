"""Reading and writing parts of arrays: slices, integer indices, and updates at an index.

Index normalisation is an op of its own, `WrapIndex`; `Gather` and `Scatter` take only its result. No mode ever reads or
writes outside an array: what a check will refuse is clamped first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import BoundsError, DtypeError, InputError, ShapeError, message
from tg.graph.checks import Check, Descriptor
from tg.graph.facts import NONE, elements_of, facts_of
from tg.graph.nodes import Constant, Variable, as_size_variable, size_value
from tg.graph.op import Op
from tg.ops.elementwise.arithmetic import add, minimum, remainder
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater_equal, less, logical_and, logical_or, where
from tg.ops.elementwise.positions import zeros_beside
from tg.ops.family import Family
from tg.ops.length_checks import natural_checks
from tg.ops.reduction import total_max, total_min
from tg.ops.reductions import REDUCTIONS
from tg.ops.shape import (
    expand_dims_at,
    known_shape,
    merge_sizes,
    moveaxis,
    reshape,
    split_sizes,
    transpose,
)
from tg.types.dtypes import is_float, is_integer, is_unsigned
from tg.types.lengths import Length, same
from tg.types.lengths import subtract as subtract_lengths
from tg.types.requirements import require_same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, axes_from_end, axis_from_end, need_axes, plain_integer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.ops.reductions import Reduction
    from tg.types.choices import ReadMode
    from tg.variables.like import Integers, TensorLike

    Array = np.ndarray[Any, Any]

BOUNDS_HINT: Final = 'negative indices count from the end; tg.take(x, i, axis, mode="clip") takes the nearest element'
MODES: Final = ("raise", "clip", "wrap", "promise")


@final
class WrapIndex(Op):
    """Indices into an axis of length n made int64 and in range: negative ones count from the end.

    Shapes:
        i (...), n () -> j (...), int64
    Raises:
        BoundsError: mode "raise" and an index outside [-n, n); mode "clip", which takes the nearest position (and 0
            for negative ones), and an index into no elements. "promise" reports nothing. All clamp.
    """

    mode: str

    def infer(self, i: TensorType, n: TensorType) -> tuple[TensorType, ...]:
        """int64 of the shape of i."""
        if not is_integer(i.dtype):
            raise DtypeError(message(f"index: found {i.dtype}, needed an integer dtype"))
        return (TensorType("int64", i.shape),)

    def perform(self, i: Array, n: Array) -> tuple[Array, ...]:
        """Wrapped and clamped to [0, n)."""
        wide = np.minimum(i, np.iinfo(np.int64).max).astype(np.int64) if i.dtype == np.uint64 else i.astype(np.int64)
        wrapped = wide if self.mode == "clip" else np.where(wide < 0, wide + n, wide)
        return (np.asarray(np.maximum(np.minimum(wrapped, n - 1), 0)),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Every index lies in [-n, n)."""
        i, n = inputs
        if self.mode == "clip":
            return _some_to_choose(i, n)
        if self.mode != "raise":
            return ()
        if isinstance(i, Constant) and isinstance(n, Constant) and i.data.size:
            size = int(n.data)
            if -size <= int(i.data.min()) and int(i.data.max()) < size:
                return ()
        low, high = (_as_signed(total(i) if i.shape else i) for total in (total_min, total_max))
        fine = logical_and(greater_equal(low, -n), less(high, n))
        if is_unsigned(i.type.dtype):
            fine = logical_or(fine, less(high, low))  # of no indices the least is the largest value
        worst = where(less(low, -n), low, high) if i.shape else low
        text = "index {0} is out of bounds for an axis of length {1}"
        return (Check(fine, (worst, n), Descriptor("BoundsError", text, BOUNDS_HINT)),)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """A position is not below 0."""
        return (("nonnegative",),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: indices have no derivative."""
        return (None, None)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """Each index is wrapped alone; the length is one for all."""
        tools.need_unbatched(self, batched[1:], "a length")
        return (self(*inputs),)


def _some_to_choose(i: Variable, n: Variable) -> tuple[Check, ...]:
    """There is an element to take, unless there are no indices."""
    if isinstance(n, Constant) and int(n.data) > 0:
        return ()
    fine = logical_or(greater_equal(n, 1), equal(as_size_variable(i.size), 0))
    text = "index: found an axis of length {0}, needed at least one element to take"
    return (Check(fine, (n,), Descriptor("BoundsError", text)),)


def _as_signed(i: Variable) -> Variable:
    """An index as int64; one that int64 cannot hold is outside of any axis, and stays so."""
    if i.type.dtype == "uint64":
        i = minimum(i, np.iinfo(np.int64).max)
    return cast_variable(i, "int64")


def wrap_index(i: Any, n: Any, mode: str = "raise") -> Variable:
    """Indices into an axis of length n, int64 and in range.

    Raises:
        BoundsError: an index known now is outside; one known at run time is a check.
        InputError: an unknown mode.
    """
    if mode not in MODES:
        raise InputError(message(f"index: found mode {mode!r}, needed one of {', '.join(MODES)}"))
    i = as_variable(plain_integer(i))
    if mode == "wrap":
        i, mode = _counted_on(i, n), "promise" if isinstance(n, int) and n > 0 else "raise"
    if isinstance(i, Constant) and isinstance(n, int) and is_integer(i.type.dtype):
        outside = i.data[(i.data < -n) | (i.data >= n)] if i.data.size else i.data
        if mode == "raise" and outside.size:
            text = f"index {outside.flat[0]} is out of bounds for an axis of length {n}"
            raise BoundsError(message(text, hint=BOUNDS_HINT))
        return Constant(WrapIndex(mode).perform(i.data, np.asarray(n))[0])
    return WrapIndex(mode)(i, as_size_variable(n))  # type: ignore[no-any-return]


def _counted_on(i: Variable, n: int | Length) -> Variable:
    """Indices modulo a length."""
    if not is_integer(i.type.dtype):
        raise DtypeError(message(f"index: found {i.type.dtype}, needed an integer dtype"))
    wide = "uint64" if i.type.dtype == "uint64" else "int64"
    return remainder(cast_variable(i, wide), cast_variable(as_size_variable(n), wide))


@final
class Slice(Op):
    """Every `steps[k]`-th position from `starts[k]`, `sizes[k]` of them, along the last axes; axes in front stay whole.

    What is None in `starts` and `sizes` is an operand: first the starts, then the sizes, int64 scalars. Starts are
    clamped so that nothing outside is read. That so many positions lie within the array is for whoever makes the op to
    see to, as `x[...]` does: a shape error may come first, so neither types nor checks ask for it.

    Shapes:
        x (..., n1, ..., nk) -> y (..., sizes)
    """

    starts: tuple[int | None, ...]
    sizes: tuple[int | None, ...]
    steps: tuple[int, ...]

    def size_operands(self, count: int) -> range:
        """The sizes; starts are ordinary operands, so that moving a window is no new program."""
        return range(1 + self.starts.count(None), count)

    def infer(self, x: TensorType, *rest: Any) -> tuple[TensorType, ...]:
        """The sizes in place of the last lengths."""
        k = len(self.sizes)
        _need_windows("slice", len(x.shape), len(rest), self.starts, self.sizes, self.steps)
        sizes = merge_sizes(self.sizes, rest[self.starts.count(None) :])
        return (TensorType(x.dtype, (*x.shape[: len(x.shape) - k], *sizes)),)

    def checks(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> tuple[Check, ...]:
        """Sizes are at least 0."""
        return natural_checks(inputs[1 + self.starts.count(None) :])

    def place(self, shape: Sequence[int], rest: Sequence[Any]) -> tuple[Any, ...]:
        """The NumPy slices, with clamped starts, for an array of a known shape."""
        count = self.starts.count(None)
        starts = known_shape(self.starts, rest[:count])
        sizes = known_shape(self.sizes, rest[count:])
        return window(shape, starts, sizes, self.steps)

    def perform(self, x: Array, *rest: Array) -> tuple[Array, ...]:
        """A copy of the slice."""
        place: Any = (..., *self.place(x.shape, rest))
        return (x[place].copy(),)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The elements that are read."""
        return (elements_of(inputs[0]),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangent put into zeros."""
        from tg.ops.creation import zeros_like

        (dy,) = cotangents
        rest = inputs[1:]
        if dy is None:
            return (None,) * len(inputs)
        starts = rest[: self.starts.count(None)]
        base = zeros_like(inputs[0], dtype=dy.type.dtype)
        return (SliceUpdate(self.starts, self.steps, add)(base, dy, *starts), *(None for _ in rest))

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """Axes in front stay whole; where windows move along the batch their elements are gathered."""
        x, *rest = inputs
        if not any(batched[1:]):
            return (self(*inputs),)
        from tg.ops.moving_windows import MovingWindows

        count = self.starts.count(None)
        starts = _merged_starts(self.starts, rest[:count], batched[1:])
        sizes = merge_sizes(self.sizes, [size_value(v) for v in rest[count:]])
        windows = MovingWindows(size, x.shape[1:] if batched[0] else x.shape, starts, sizes, self.steps)
        return (windows.read(x, batched[0]),)


def _need_windows(what: str, ndim: int, count: int, *fields: tuple[int | None, ...]) -> None:
    """Refuse fields of different lengths, or for other numbers of axes and operands than there are.

    Raises:
        ShapeError: the fields differ, or are for more axes.
        InputError: there are more operands, or fewer, than entries that are None.
    """
    counts = [len(field) for field in fields]
    if len(set(counts)) > 1:
        raise ShapeError(message(f"{what}: fields differ: found {', '.join(map(str, counts))} entries"))
    if ndim < counts[0]:
        raise ShapeError(message(f"{what}: found {ndim} axes, needed at least {counts[0]}"))
    if count != (needed := sum(field.count(None) for field in fields)):
        raise InputError(message(f"{what}: found {count} starts and sizes, needed {needed}"))


def window(
    shape: Sequence[int], starts: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
) -> tuple[slice, ...]:
    """NumPy slices of stated sizes for the last axes of an array, with starts clamped into it."""
    slices = []
    lengths = shape[len(shape) - len(sizes) :]
    for n, start, size, step in zip(lengths, starts, sizes, steps, strict=True):
        span = (size - 1) * step
        if size <= 0:
            slices.append(slice(0, 0))
            continue
        if abs(span) >= n:
            raise BoundsError(message(f"slice: found {size} positions by {step}, needed them within a length of {n}"))
        first = max(0, -span, min(start, n - 1 - max(0, span)))
        stop = first + span + (1 if span >= 0 else -1)
        # That of one position may be of any size, and libraries have steps of 32 bits; a symbol is not asked.
        slices.append(slice(first, stop if stop >= 0 else None, step if type(span) is not int or span else 1))
    return tuple(slices)


def update_facts(fn: ElementwiseFunction | None, x: Variable, v: Variable) -> frozenset[str]:
    """The facts of x some elements of which are replaced by, or combined with, those of v."""
    facts = elements_of(x, v)
    if fn is None or REDUCTIONS[fn].is_extreme:
        return facts
    if REDUCTIONS[fn].kind not in ("sum", "product"):
        return NONE
    return facts & {"nonnegative", "whole"} if is_float(x.type.dtype) else NONE


@final
class SliceUpdate(Op):
    """x with the positions of a slice replaced by v, or with v combined into them by `fn` (add).

    Shapes:
        x (..., n1, ..., nk), v (..., sizes) -> y as x; operands after v are the starts that are None
    """

    scatters = True

    starts: tuple[int | None, ...]
    steps: tuple[int, ...]
    fn: ElementwiseFunction | None = None  # None: replace

    def infer(self, x: TensorType, v: TensorType, *starts: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        if x.dtype != v.dtype or len(x.shape) != len(v.shape):
            raise ShapeError(message(f"slice update: found {v} for {x}, needed the dtype and rank of the array"))
        _need_windows("slice update", len(x.shape), len(starts), self.starts, self.steps)
        for k in range(len(x.shape) - len(self.steps)):
            require_same(x.shape[k], v.shape[k], lambda: "slice update: leading axes")
        return (x,)

    def perform(self, x: Array, v: Array, *starts: Array) -> tuple[Array, ...]:
        """A copy of x, written."""
        first = known_shape(self.starts, starts)
        place: Any = (..., *window(x.shape, first, v.shape[v.ndim - len(self.steps) :], self.steps))
        y = x.copy()
        y[place] = v if self.fn is None else self.fn.reference(y[place], v)
        return (y,)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The facts that both share, if elements are replaced; of sums what rounding leaves."""
        return (update_facts(self.fn, *inputs[:2]),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """To x all (without the written part, if replaced), to v the slice."""
        from tg.ops.creation import zeros_like

        (_, v, *starts), (dy,) = inputs, cotangents
        if dy is None:
            return (None,) * len(inputs)
        field, sizes = split_sizes(v.shape[v.type.ndim - len(self.steps) :])
        dv = Slice(self.starts, field, self.steps)(dy, *starts, *sizes)
        dx = dy if self.fn is not None else self(dy, zeros_like(v, dtype=dy.type.dtype), *starts)
        return (dx, dv, *(None for _ in starts))

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """Array and values both carry the batch; where windows move along it their elements are scattered."""
        x, v = (tools.lead(u, b, size) for u, b in zip(inputs[:2], batched[:2], strict=True))
        if not any(batched[2:]):
            return (self(x, v, *inputs[2:]),)
        from tg.ops.moving_windows import MovingWindows

        starts = _merged_starts(self.starts, inputs[2:], batched[2:])
        windows = MovingWindows(size, x.shape[1:], starts, v.shape[v.type.ndim - len(self.steps) :], self.steps)
        return (windows.write(x, v, self.fn),)


def _merged_starts(
    field: Sequence[int | None], operands: Sequence[Variable], batched: Sequence[bool]
) -> list[tuple[int | Variable, bool]]:
    """The starts of windows, and which of them carry the batch."""
    rest = iter(zip(operands, batched, strict=False))
    return [next(rest) if start is None else (start, False) for start in field]


@final
class Gather(Op):
    """The elements of x at integer positions along `axes`, one index array for each axis, all of one shape.

    Shapes:
        x (..., n_axis, ...), i (k...) for each axis -> y (k..., the other axes of x in order)
    Source:
        numpy advanced indexing, with the index axes always in front
    """

    gathers = True

    axes: tuple[int, ...]

    def infer(self, x: TensorType, *indices: TensorType) -> tuple[TensorType, ...]:
        """The shape of the indices, then the lengths of the other axes."""
        front = _index_shape(self, x, indices, self.axes)
        n = len(x.shape)
        rest = [d for k, d in zip(range(-n, 0), x.shape, strict=True) if k not in self.axes]
        return (TensorType(x.dtype, (*front, *rest)),)

    def perform(self, x: Array, *indices: Array) -> tuple[Array, ...]:
        """NumPy's indexing; zeros where an axis has no elements, which a check refuses."""
        moved = np.moveaxis(x, self.axes, range(len(self.axes)))
        if indices[0].size and 0 in moved.shape[: len(self.axes)]:
            return (np.zeros((*indices[0].shape, *moved.shape[len(self.axes) :]), x.dtype),)
        return (
            np.ascontiguousarray(moved[tuple(indices)]).reshape((*indices[0].shape, *moved.shape[len(self.axes) :])),
        )

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """The elements that are read."""
        return (elements_of(inputs[0]),)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """The cotangent added into zeros at the positions."""
        from tg.ops.creation import zeros_like

        (x, *indices), (dy,) = inputs, cotangents
        if dy is None:
            return (None,) * len(inputs)
        return (Scatter(self.axes, add)(zeros_like(x, dtype=dy.type.dtype), dy, *indices), *(None for _ in indices))

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """The array's batch ends up behind the index axes and is moved to the front; that of indices stands there."""
        x, *indices = inputs
        if not any(batched[1:]):
            return (moveaxis(self(*inputs), indices[0].type.ndim, 0),)
        indices = [tools.lead(i, b, size) for i, b in zip(indices, batched[1:], strict=True)]
        if not batched[0]:
            return (self(x, *indices),)
        from tg.ops.moving_windows import rows

        return (Gather((-x.type.ndim, *self.axes))(x, rows(indices[0]), *indices),)


def _index_shape(op: Op, x: TensorType, indices: Sequence[TensorType], axes: tuple[int, ...]) -> tuple[Any, ...]:
    if not indices or len(indices) != len(axes):
        raise ShapeError(message(f"{op.name}: found {len(indices)} indices for axes {axes} of {x}"))
    need_axes(op.name, axes, len(x.shape))
    front = indices[0].shape
    for t in indices:
        if t.dtype != "int64" or len(t.shape) != len(front):
            raise DtypeError(message(f"{op.name}: found an index {t}, needed int64 indices of one shape"))
        front = tuple(require_same(a, b, lambda: f"{op.name}: indices") for a, b in zip(front, t.shape, strict=True))
    return front


@final
class Scatter(Op):
    """x with the elements at integer positions along `axes` replaced by v, or with v combined into them by `fn`.

    `fn` has a record in `tg.ops.reductions` with a derivative for this, of core add, multiply, minimum and maximum, and
    combines all values of a position that repeats; replacing keeps the last in C order.

    Shapes:
        x (..., n_axis, ...), v (k..., the other axes), i (k...) for each axis -> y as x
    Raises:
        InputError: `fn` is another function.
    Source:
        numpy.ufunc.at and assignment to an advanced index
    """

    scatters = True

    axes: tuple[int, ...]
    fn: ElementwiseFunction | None = None  # None: replace

    @property
    def reduction(self) -> Reduction | None:
        """The record, None if elements are replaced."""
        return None if self.fn is None else REDUCTIONS[self.fn]

    def infer(self, x: TensorType, v: TensorType, *indices: TensorType) -> tuple[TensorType, ...]:
        """The type of x; v must have the shape that `Gather` would give."""
        if self.fn is not None and self.fn not in (combiners := scattered_by()):
            *names, last = (fn.name for fn in combiners)
            raise InputError(message(f"scatter: found {self.fn.name}, needed {', '.join(names)} or {last}"))
        front = _index_shape(self, x, indices, self.axes)
        n = len(x.shape)
        rest = [d for k, d in zip(range(-n, 0), x.shape, strict=True) if k not in self.axes]
        wanted = (*front, *rest)
        if v.dtype != x.dtype or len(v.shape) != len(wanted):
            raise ShapeError(message(f"scatter: found values {v} for {x}, needed its dtype and {len(wanted)} axes"))
        for a, b in zip(v.shape, wanted, strict=True):
            require_same(a, b, lambda: "scatter: values")
        return (x,)

    def perform(self, x: Array, v: Array, *indices: Array) -> tuple[Array, ...]:
        """A copy of x, written position by position."""
        y = x.copy()
        moved = np.moveaxis(y, self.axes, range(len(self.axes)))
        if v.size == 0 or y.size == 0:
            return (y,)
        if self.reduction is None:
            moved[tuple(indices)] = v
        else:
            self.reduction.perform_at(moved, tuple(indices), v)
        return (y,)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """Facts that both share, if elements are replaced or compared; of sums and products what rounding leaves."""
        x, v, *indices = inputs
        names = update_facts(self.fn, x, v)
        if self.axes == (-2, -1):
            names |= facts_of(x) & zeros_beside(*indices)
        return (names,)

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Any, cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """To x and v what became of their elements: see `scatter_pullback`."""
        from tg.ops.scatter_pullback import scatter_pullback

        (dy,) = cotangents
        if dy is None:
            return (None,) * len(inputs)
        x, v, *indices = inputs
        return (*scatter_pullback(tools, self, x, v, indices, outputs[0], dy), *(None for _ in indices))

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """Array and values carry the batch; unless indices do that of the values goes behind the index axes."""
        x, v = (tools.lead(u, b, size) for u, b in zip(inputs[:2], batched[:2], strict=True))
        if not any(batched[2:]):
            return (self(x, moveaxis(v, 0, inputs[2].type.ndim), *inputs[2:]),)
        indices = [tools.lead(i, b, size) for i, b in zip(inputs[2:], batched[2:], strict=True)]
        from tg.ops.moving_windows import rows

        return (Scatter((-x.type.ndim, *self.axes), self.fn)(x, v, rows(indices[0]), *indices),)


def scattered_by() -> list[ElementwiseFunction]:
    """The functions that `Scatter` combines by."""
    return [fn for fn, reduction in REDUCTIONS.items() if reduction.scatter_pullback is not None]


@final
class Nonzero(Op):
    """The positions of the true elements of a mask, ascending; how many there are is known at run time only.

    The length of the result is data-dependent: it is the result's own, counts as different from 1, and equal
    applications share it.

    Shapes:
        mask (n) -> y (k), int64, with k at most n
    Source:
        numpy.flatnonzero
    """

    def infer(self, mask: TensorType) -> tuple[TensorType, ...]:
        """A vector of int64 of unknown length."""
        if mask.dtype != "bool" or len(mask.shape) != 1:
            raise DtypeError(message(f"nonzero: found {mask}, needed a vector of bool"))
        return (TensorType("int64", (0 if same(mask.shape[0], 0) else None,)),)

    def perform(self, mask: Array) -> tuple[Array, ...]:
        """`np.flatnonzero`."""
        return (np.flatnonzero(mask).astype(np.int64),)

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """A position is not below 0."""
        return (("nonnegative",),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: positions have no derivative."""
        return (None,)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """Refused: the masks of a batch have different numbers of true elements."""
        hint = "an argument size= gives results of one length; tg.where chooses elements"
        tools.need_unbatched(self, batched, "a number of true elements", hint)
        return (self(*inputs),)


def move_front(y: Variable, rank: int, place: int) -> Variable:
    """The first `rank` axes moved behind the next `place`."""
    n = y.type.ndim
    return transpose(y, (*range(rank, rank + place), *range(rank), *range(rank + place, n)))


def inside_axis(i: Variable, n: int | Length) -> Variable:
    """The mask of indices that lie in [-n, n)."""
    length = as_size_variable(n)
    if is_unsigned(i.type.dtype):
        return less(cast_variable(i, "uint64"), cast_variable(length, "uint64"))
    i = cast_variable(i, "int64")
    return logical_and(greater_equal(i, -length), less(i, length))


def take(
    x: TensorLike, indices: TensorLike, axis: int | None = None, *, mode: ReadMode = "raise", fill_value: TensorLike = 0
) -> Variable:
    """The elements of x at integer positions along an axis, or in C order.

    Args:
        mode: "raise"; "clip" (the nearest element), "wrap" (modulo the length), "fill" (`fill_value` where an index is
            outside) or "promise" (no report). Nothing outside x is read in any.
    Raises:
        BoundsError: mode "raise" and an index outside the axis.
    Source:
        numpy.take
    """
    x = as_variable(x)
    if axis is None:
        return take(reshape(x, (-1,)), indices, 0, mode=mode, fill_value=fill_value)
    k = axis_from_end(axis, x.type.ndim, "take")
    i = wrap_index(indices, x.shape[k], "promise" if mode == "fill" else mode)
    y: Variable = Gather((k,))(x, i)
    if mode == "fill":
        inside = inside_axis(as_variable(indices), x.shape[k])
        behind = tuple(range(1 - x.type.ndim, 0)) if i.type.ndim else ()
        inside = expand_dims_at(inside, behind) if behind else inside
        y = where(inside, y, as_variable(fill_value, y.type.dtype))
    place = k + x.type.ndim
    return move_front(y, i.type.ndim, place) if place and i.type.ndim else y


def read_slices(x: Variable, windows: Sequence[tuple[int | Length | Variable, int | Length, int]]) -> Variable:
    """The positions (start, size, step) along the last axes."""
    starts, operands = split_starts([start for start, _, _ in windows])
    field, sizes = split_sizes([size for _, size, _ in windows])
    return Slice(starts, field, tuple(step for _, _, step in windows))(x, *operands, *sizes)  # type: ignore[no-any-return]


def split_starts(starts: Sequence[int | Length | Variable]) -> tuple[tuple[int | None, ...], list[Variable]]:
    """Starts as the field and the operands of an op: ints in the field, None and an int64 scalar for the others."""
    field = tuple(start if isinstance(start, int) else None for start in starts)
    moving = [cast_variable(as_size_variable(start), "int64") for start in starts if not isinstance(start, int)]
    return field, moving


def slice_axis(x: Variable, axis: int, start: int | Length, size: int | Length) -> Variable:
    """`size` positions from `start` along one axis, counted from the end."""
    return read_slices(x, [(start, size, 1), *((0, n, 1) for n in x.shape[x.type.ndim + axis + 1 :])])


def flip(x: TensorLike, axis: Integers | None = None) -> Variable:
    """The order of elements reversed along axes (all by default).

    Source:
        numpy.flip
    """
    v = as_variable(x)
    axes = axes_from_end(axis, v.type.ndim, "flip")
    if not axes:
        return v
    last = range(axes[0], 0)
    return read_slices(v, [_reversed(v.shape[k]) if k in axes else (0, v.shape[k], 1) for k in last])


def _reversed(n: int | Length) -> tuple[int | Length, int | Length, int]:
    """All of an axis from its end: start, size and step."""
    return (subtract_lengths(n, 1), n, -1)


FAMILY = Family(
    "indexing",
    ops=(WrapIndex, Slice, SliceUpdate, Gather, Scatter, Nonzero),
    functions=(take, flip),
)
