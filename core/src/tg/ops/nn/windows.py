"""Windows that slide over the last axes of images: how users say where they are, and what they read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.errors import InputError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.graph.nodes import Variable, as_size_variable
from tg.ops.assumptions import required
from tg.ops.creation import iota, zeros
from tg.ops.elementwise.arithmetic import add, floor_divide, multiply, remainder, subtract
from tg.ops.elementwise.comparison import equal, greater_equal, less, logical_and, where
from tg.ops.indexing import Gather, Scatter, SliceUpdate, read_slices
from tg.ops.shape import broadcast_to, expand_dims_at, moveaxis, reshape
from tg.types.lengths import add as add_lengths
from tg.types.lengths import floor_divide as part_of
from tg.types.lengths import minimum as shorter
from tg.types.lengths import multiply as multiply_lengths
from tg.types.lengths import product
from tg.types.lengths import subtract as subtract_lengths
from tg.variables.conversion import as_variable, plain_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.lengths import Length

    Size = int | Length

LAYOUTS: Final = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def places(length: Size, kernel: Size, stride: int, dilation: int, spread: int, before: Any, size: Any) -> Variable:
    """The positions of an axis that windows read, by position of the window and window; its length where none is.

    Shapes:
        -> (kernel, size), int64
    """
    rows = multiply(iota(kernel), np.int64(dilation))
    at = add(expand_dims_at(rows, (-1,)), multiply(iota(size), np.int64(stride)))
    at = subtract(at, as_size_variable(before))
    end = as_size_variable(length)
    is_there = logical_and(greater_equal(at, np.int64(0)), less(at, multiply(end, np.int64(spread))))
    if spread != 1:
        is_there = logical_and(is_there, equal(remainder(at, np.int64(spread)), np.int64(0)))
        at = floor_divide(at, np.int64(spread))
    return where(is_there, at, end)


def gathered(x: Variable, at: Sequence[Variable]) -> Variable:
    """The windows of the last axes at their `places`, and 0 where these are beyond the end.

    Shapes:
        x (a..., l...), at (k, p) for each l -> y (a..., k..., p...)
    """
    if not at:
        return x
    lead, lengths = _with_ends(x.shape, len(at))
    base = zeros((*lead, *lengths), dtype=x.type.dtype)
    wide = SliceUpdate((0,) * len(at), (1,) * len(at))(base, x)
    flat = reshape(wide, (product(lead), product(lengths)))
    rows, index = _grid(product(lead), at, lengths)
    return reshape(Gather((-2, -1))(flat, rows, index), (*lead, *index.shape[1:]))


def added(v: Variable, at: Sequence[Variable], lead: Sequence[Size], shape: Sequence[Size]) -> Variable:
    """The transpose of `gathered`: each place of arrays of a shape has the sum of all that windows read there.

    Shapes:
        v (lead..., k..., p...), at (k, p) for each length of the shape -> y (lead..., shape...)
    """
    _, lengths = _with_ends((*lead, *shape), len(at))
    rows, index = _grid(product(tuple(lead)), at, lengths)
    flat = zeros((product(tuple(lead)), product(lengths)), dtype=v.type.dtype)
    sums = Scatter((-2, -1), add)(flat, reshape(v, index.shape), rows, index)
    whole = reshape(sums, (*lead, *lengths))
    return read_slices(whole, [(0, n, 1) for n in shape])


def _with_ends(shape: Sequence[Size], axes: int) -> tuple[tuple[Size, ...], tuple[Size, ...]]:
    """The axes in front, and the last lengths with one entry more: what is read where a window has none."""
    lead = tuple(shape[: len(shape) - axes])
    return lead, tuple(add_lengths(n, 1) for n in shape[len(lead) :])


def _grid(count: Size, at: Sequence[Variable], lengths: Sequence[Size]) -> tuple[Variable, Variable]:
    """For each of so many arrays, position of a window and window: the array, and the number of the entry in it.

    Shapes:
        -> (count, k..., p...), twice
    """
    axes = len(at)
    index: Variable | None = None
    for k, (one, n) in enumerate(zip(at, lengths, strict=True)):
        others = [j for j in range(axes) if j != k]
        wide = expand_dims_at(one, tuple(sorted(j - 2 * axes for j in (*others, *(axes + j for j in others)))))
        index = wide if index is None else add(multiply(index, as_size_variable(n)), wide)
    assert index is not None
    grid = (count, *index.shape)
    rows = expand_dims_at(iota(count), tuple(range(-2 * axes, 0)))
    return broadcast_to(rows, grid), broadcast_to(index, grid)


class Windows(NamedTuple):
    """Strides, dilations and paddings of the windows of a function, one for each axis."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[Size, ...]
    after: tuple[Size, ...]
    sizes: tuple[Size, ...]


def numbers(value: Any, axes: int, what: str, least: int) -> tuple[int, ...]:
    """One integer for each axis, of one for all or as many as there are.

    Raises:
        InputError: another number of them, or one that is no integer or too small.
    """
    several = tuple(value) if isinstance(value, tuple | list) else (value,) * axes
    integers = tuple(map(plain_integer, several))
    if len(integers) != axes or not all(type(n) is int and n >= least for n in integers):
        raise InputError(
            message(f"{what}: found {value!r}, needed an integer of at least {least}, or one for each of {axes} axes")
        )
    return integers


def padding_pairs(padding: Any, axes: int, what: str) -> tuple[tuple[int, int], ...]:
    """The entries before and after each axis: of a number for all, a number for each axis, or a pair for each.

    Raises:
        InputError: anything else.
    """
    several = tuple(padding) if isinstance(padding, tuple | list) else (padding,) * axes
    pairs = tuple(tuple(n) if isinstance(n, tuple | list) else (n, n) for n in several)
    integers = tuple(tuple(map(plain_integer, pair)) for pair in pairs)
    if len(integers) != axes or not all(len(p) == 2 and all(type(n) is int and n >= 0 for n in p) for p in integers):
        text = (
            f"{what}: padding: found {padding!r}, needed numbers of at least 0, one or a pair for each of {axes} axes"
        )
        raise InputError(message(text, hint='"same" keeps lengths, and "valid" is 0'))
    return integers


def windows_of(
    what: str,
    lengths: Sequence[Size],
    kernel: Sequence[Size],
    stride: Any,
    padding: Any,
    dilation: Any,
    *,
    ceil_mode: bool = False,
) -> tuple[Windows, list[tuple[Variable, Variable]]]:
    """The windows of images, and pairs of what has to be at least 0 and the length of an image, where that is unknown.

    Args:
        ceil_mode: whether a last window may reach beyond the end, if it begins before it.
    Raises:
        InputError: a stride or a dilation below 1, a padding that is none, or "same" with a stride.
        ShapeError: a window is larger than the padded image.
    """
    axes = len(lengths)
    strides = numbers(stride, axes, f"{what}: stride", 1)
    dilations = numbers(dilation, axes, f"{what}: dilation", 1)
    spans = [multiply_lengths(subtract_lengths(k, 1), d) for k, d in zip(kernel, dilations, strict=True)]
    if padding == "same":
        if any(s != 1 for s in strides):
            raise InputError(message(f'{what}: padding: found "same" with the stride {stride!r}, needed a stride of 1'))
        halves = [part_of(span, 2) for span in spans]
        rest = [subtract_lengths(span, half) for span, half in zip(spans, halves, strict=True)]
        return Windows(strides, dilations, tuple(halves), tuple(rest), tuple(lengths)), []
    pairs = padding_pairs(0 if padding == "valid" else padding, axes, what)
    sizes: list[Size] = []
    unknown = []
    for n, span, s, (a, b) in zip(lengths, spans, strides, pairs, strict=True):
        room = subtract_lengths(add_lengths(n, a + b - 1), span)
        if type(room) is int and room < 0:
            assert type(n) is int
            text = f"{what}: windows: found one of {add_lengths(span, 1)} in an image of {n + a + b}, needed it to fit"
            raise ShapeError(message(text, hint="padding= makes images larger"))
        if type(room) is not int:
            unknown.append((as_size_variable(room), as_size_variable(n)))
        most = room if s == 1 else part_of(add_lengths(room, s - 1) if ceil_mode else room, s)
        begun = part_of(add_lengths(n, a - 1), s)  # windows that begin before the end
        sizes.append(add_lengths(shorter(most, begun) if ceil_mode and s != 1 else most, 1))
    before, after = (tuple(pair[k] for pair in pairs) for k in (0, 1))
    return Windows(strides, dilations, before, after, tuple(sizes)), unknown


def fitting(what: str, x: Variable, unknown: Sequence[tuple[Variable, Variable]]) -> Variable:
    """x, of which it is made sure that windows fit into it."""
    text = f"{what}: windows: found one that is larger than an image of {{0}} and its padding, needed it to fit"
    for room, length in unknown:
        failure = Descriptor("ShapeError", text, "padding= makes images larger")
        x = required(x, greater_equal(room, np.int64(0)), (length,), failure)
    return x


class Images(NamedTuple):
    """Images with channels in front of the axes of windows, and how they were given."""

    x: Variable
    is_one: bool  # without a batch
    is_last: bool  # channels behind

    def back(self, y: Variable) -> Variable:
        """A result in the layout of what was given."""
        y = moveaxis(y, 1, -1) if self.is_last else y
        return y[0] if self.is_one else y


def images_of(what: str, x: Any, axes: int, layout: str | None) -> Images:
    """An operand of images in their layout.

    Raises:
        InputError: an unknown layout.
        ShapeError: another number of axes than images have.
    """
    first, last = LAYOUTS[axes]
    if layout not in (None, first, last):
        raise InputError(message(f"{what}: layout: found {layout!r}, needed {first!r} or {last!r}"))
    v = as_variable(x)
    if v.type.ndim not in (axes + 1, axes + 2):
        text = f"{what}: ranks: x has {v.type.ndim} axes, needed {axes + 2} ({layout or first}), or {axes + 1}"
        raise ShapeError(message(text, ("x", repr(v))))
    is_one = v.type.ndim == axes + 1
    v = expand_dims_at(v, (-v.type.ndim - 1,)) if is_one else v
    return Images(moveaxis(v, -1, 1) if layout == last else v, is_one, layout == last)
