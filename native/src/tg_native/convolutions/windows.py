"""Common parts of loops of convolutions: images with the zeros around them, tables of offsets, what threads share."""

from __future__ import annotations

import abc
import contextlib
import functools
import operator
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from tg.ops.nn.convolved import LEAD
from tg.types import lengths
from tg.types.atoms import key
from tg.types.dtypes import numpy_dtype
from tg_native.convolutions.axes import Held, Phase
from tg_native.convolutions.epilogue import GROUP, IMAGE, Span
from tg_native.kernels.dtypes import item_size
from tg_native.kernels.index import Index, index
from tg_native.kernels.lanes import constant_of
from tg_native.loops.nest import own_memory
from tg_native.loops.repeats import once
from tg_native.loops.terms import Terms
from tg_native.plan.values import count, is_one, is_zero

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.types.lengths import Length
    from tg_native.convolutions.axes import Axis
    from tg_native.convolutions.epilogue import Bound, Epilogue
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Condition, Pointer
    from tg_native.kernels.routine import Block
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Array

IMAGES: Final = 2**20  # bytes of images that are held at once: of a second cache
TAPS: Final = 2**14  # elements of the kernel for which there are offsets at once
ENOUGH: Final = 512  # results for which it is worth it to pack the kernel
FEW_PARTS: Final = 2  # for each thread, where images are held for each of them


class Steps(NamedTuple):
    """Distances between elements of images, as they lie or as they are held; of results and taps along each axis."""

    image: Index
    channel: Index
    results: Sequence[Index]
    taps: Sequence[Index]


class Sources(NamedTuple):
    """A block of images and channels, and where their elements are that results and taps meet.

    Args:
        place: the element that the first ones meet.
        image: the number of the first image.
        images: how many there are.
        is_first: whether its channels are the first ones.
        is_last: whether they are the last ones.
        channels: how many of these there are.
    """

    place: Pointer
    image: Index
    images: Index
    is_first: Condition
    is_last: Condition
    channels: Index
    steps: Steps


class Copies(NamedTuple):
    """Layout of the images that are held, along each axis, and the distances between what is held."""

    axes: Sequence[Held]
    pitches: Sequence[Index]


class Windows(abc.ABC):
    """The function of a convolution in the making: of x (n, g, c, l...) and w (g, o, c, k...).

    For each phase, group, and block of images and channels there are the images with the zeros around them, and tables
    of offsets for taps: elements of the kernel, of each channel, that are met.
    """

    def __init__(
        self,
        site: Site,
        arrays: tuple[Array, Array, Array],
        axes: Sequence[Axis],
        kernel: Kernel,
        epilogue: Epilogue | None = None,
    ) -> None:
        self.site, self.arrays, self.axes, self.kernel, self.body = site, arrays, axes, kernel, kernel.body
        x, w, y = arrays
        self.terms = Terms(site, self.body, y.dtype)
        self.lanes = max(self.body.lanes, 1)
        self.divided = self._divide()
        self.sizes = _sizes(arrays, axes)
        self.places = kernel.read(x), kernel.read(w), kernel.write(y)
        self.ends = None if epilogue is None else epilogue.bound(kernel, self.places[2])
        self.images, self.groups, self.channels, self.outer = map(self.size, ("images", "groups", "channels", "outer"))
        self.strides = [[self._stride(n, (k, axis)) for axis, n in enumerate(v.strides)] for k, v in enumerate(arrays)]
        self.is_held = not all(axis.is_inside and not self.is_apart(axis) for axis in axes)
        if self.is_held:
            plane = count([axis.room(apart=self.is_apart(axis)) for axis in axes])
            room = lengths.maximum(plane, bounded(IMAGES // item_size(x.dtype), [plane, x.shape[0], x.shape[2]]))
            self.sizes["room"] = room
            self.room, self.held = self.size("room"), self.memory(x.dtype, room)
        window = count([axis.most_taps for axis in axes])
        taps = lengths.maximum(window, bounded(TAPS, [window, x.shape[2]]))
        self.tap_places, self.tap_weights = self.memory("int64", taps), self.memory("int64", taps)

    has_lanes_of_channels: ClassVar[bool]

    @abc.abstractmethod
    def is_apart(self, axis: Axis) -> bool:
        """Whether images are held along an axis for each element of the kernel by itself."""

    @abc.abstractmethod
    def add_block(self, phases: Sequence[Phase], sources: Sources, w: Pointer, y: Pointer, ends: Bound | None) -> None:
        """Add up the terms of a block of images and channels of a group, and run the epilogue where they are all."""

    def size(self, role: object) -> Index:
        """A length by what it is the length of: an argument, so that convolutions of other lengths are one function."""
        return self.kernel.length(self.sizes[role], role)

    def _stride(self, stride: int | Length, place: tuple[int, int]) -> int | Index:
        """Distance between elements, as an argument unless that is 0 or 1."""
        return stride if type(stride) is int and _is_short(stride) else self.size(place)

    def form(self) -> tuple[object, ...]:
        """All that the function depends on besides its arguments: where this is equal the text is.

        An epilogue's lengths are no arguments, and those that it has in common with the convolution are not told from
        these: such functions are one where all lengths are equal, as those of repeated blocks are.
        """
        pointers = [v.pointer for v in self.arrays]
        ends = None
        if self.ends is not None:
            pointers += [v.pointer for v in self.ends.epilogue.arrays]
            ends = (*self.ends.epilogue.form(), *((role, key(n)) for role, n in self.sizes.items()))
        return (
            type(self),
            self.lanes,
            self.is_held,
            tuple(v.dtype for v in self.arrays),
            tuple(tuple(n if _is_short(n) else None for n in v.strides) for v in self.arrays),
            tuple((axis.stride, axis.dilation, axis.spread, self.is_apart(axis)) for axis in self.axes),
            tuple(map(pointers.index, pointers)),
            ends,
        )

    def _divide(self) -> str:
        """Axis that threads share, if they do: groups, large images, or outer channels where these are lanes."""
        (images, groups, *_), (_, outer, *window), results = (v.shape for v in self.arrays)
        pixels, lanes = count(results[LEAD:]), self.lanes
        if not is_one(groups):
            axis, unit, space = "groups", 1, [groups, images, outer]
        elif not is_one(images) and not (type(pixels) is int and pixels < ENOUGH):
            axis, unit, space = "images", 1, [images, outer]
        else:
            parts = FEW_PARTS * self.site.threads
            unit = lanes * max(-(-outer // (lanes * parts)), 1) if type(outer) is int else lanes
            axis, space = "outer", [outer, images]
        if axis != "outer" or self.has_lanes_of_channels:
            space = [*space, *window, *results[LEAD:]]
            self.site.divide(self.kernel, space, (), [self.arrays[2].dtype], unit=unit)
        return axis if self.kernel.share is not None else ""

    def memory(self, dtype: str, *shape: int | Length) -> Pointer:
        """Memory for the time of this op, of the running thread alone."""
        return own_memory(self.site, self.kernel, dtype, shape)

    def bounds(self, axis: str, n: Index) -> tuple[Index, Index]:
        """Begin and end of a loop over groups or images, in the part that a call runs."""
        share = self.kernel.share
        return (share.low, share.high) if share is not None and self.divided == axis else (index(self.body, 0), n)

    @staticmethod
    def number(table: Pointer, at: Index | int) -> Index:
        """A number of a table."""
        with table.body.of(0):
            value: Any = table.body.load(table.moved(at))
        return Index(value)

    def product(self, numbers: Iterable[Index]) -> Index:
        """The product of some numbers."""
        return functools.reduce(operator.mul, numbers, index(self.body, 1))

    def sum(self, numbers: Iterable[Index]) -> Index:
        """The sum of some numbers."""
        return functools.reduce(operator.add, numbers, index(self.body, 0))

    def write(self) -> None:
        """Write the whole function, unless one of this form is there, and call it."""
        texts = () if self.ends is None else self.ends.epilogue.numbers[1]
        once(self.site.forms, self.kernel, self.form(), texts, self._write, self.sizes)
        self.site.run(self.kernel)

    def _write(self) -> None:
        kernel, body = self.kernel, self.body
        with contextlib.ExitStack() as stack:
            starts = [
                index(body, 0) if axis.phases == 1 else stack.enter_context(body.loop(0, axis.phases))
                for axis in self.axes
            ]
            phases = [
                Phase.of(kernel, axis, k, start) for k, (axis, start) in enumerate(zip(self.axes, starts, strict=True))
            ]
            group = stack.enter_context(body.loop(*self.bounds("groups", self.groups)))
            x, w, y = (
                kernel.moved(place, [group], [strides[axis]])
                for place, strides, axis in zip(self.places, self.strides, (1, 0, 1), strict=True)
            )
            self._blocks(phases, x, w, y, None if self.ends is None else self.ends.moved(GROUP, group))

    # --- images ------------------------------------------------------------------------------------------------------

    def _blocks(self, phases: Sequence[Phase], x: Pointer, w: Pointer, y: Pointer, ends: Bound | None) -> None:
        """Go through blocks of images and channels of a group."""
        body, strides = self.body, self.strides[0]
        most = index(body, TAPS) // self.product(phase.taps for phase in phases).most(1)
        copies = self._copies(phases) if self.is_held else None
        if copies is None:
            images, channels = self.images.most(1), most.least(self.channels).most(1)
            first, steps = self._as_they_lie(phases)
        else:
            plane = self.product(how.size for how in copies.axes)
            planes = self.room // plane.most(1)
            enough = index(body, ENOUGH) // self.product(phase.results for phase in phases).most(1) + 1
            images = (planes // self.channels.most(1)).most(enough).least(planes).least(self.images).most(1)
            channels = (planes // images).least(most).least(self.channels).most(1)
            first, steps = self._as_held(copies, plane, images)
        begin, end = self.bounds("images", self.images)
        with (
            body.loop(0, ceiling(end - begin, images)) as i,
            body.loop(0, ceiling(self.channels, channels).most(1)) as j,
        ):
            image, channel = begin + i * images, j * channels
            counts = (end - image).least(images), (self.channels - channel).least(channels)
            here = self.kernel.moved(x, [image, channel], [strides[0], strides[2]])
            if copies is not None:
                with body.outlined("held_images"):
                    self._hold(here, copies, counts, steps)
                here = self.held
            self._tabulate_taps(phases, channel, counts[1], steps)
            is_last = channel + counts[1] >= self.channels
            sources = Sources(here.moved(first), image, counts[0], j == 0, is_last, counts[1], steps)
            self.add_block(phases, sources, w, y, ends)

    def _as_they_lie(self, phases: Sequence[Phase]) -> tuple[Index, Steps]:
        """The offset of what the first result and tap meet, and steps from there."""
        image, _, channel, *own = (index(self.body, n) for n in self.strides[0])
        pairs = list(zip(own, phases, strict=True))
        results, taps = ([n * p.axis.step for n, p in pairs], [n * p.reach for n, p in pairs])
        return self.sum(p.place * n for n, p in pairs), Steps(image, channel, results, taps)

    def _copies(self, phases: Sequence[Phase]) -> Copies:
        held = [Held.of(phase, apart=self.is_apart(phase.axis)) for phase in phases]
        return Copies(held, [self.product(how.size for how in held[k + 1 :]) for k in range(len(held))])

    def _as_held(self, copies: Copies, plane: Index, images: Index) -> tuple[Index, Steps]:
        """The offset of what the first result and tap meet, and steps from there."""
        pairs = list(zip(copies.axes, copies.pitches, strict=True))
        results, taps = ([how.result_step * n for how, n in pairs], [how.tap_step * n for how, n in pairs])
        return self.sum(how.first * n for how, n in pairs), Steps(plane, images * plane, results, taps)

    def _hold(self, x: Pointer, copies: Copies, counts: tuple[Index, Index], steps: Steps) -> None:
        """Copy a block of images, with zeros where there is no element."""
        strides = self.strides[0]
        with self.body.loop(0, counts[0]) as image, self.body.loop(0, counts[1]) as channel:
            source = self.kernel.moved(x, [image, channel], [strides[0], strides[2]])
            target = self.held.moved(image * steps.image + channel * steps.channel)
            self._hold_axis(0, source, target, copies, None)

    def _hold_axis(self, k: int, source: Pointer, target: Pointer, copies: Copies, inside: Condition | None) -> None:
        """Copy what lies along an axis and the ones behind it, if the places along the ones before are inside."""
        body, how = self.body, copies.axes[k]
        length, stride = self.size(("length", k)), self.strides[0][LEAD + k]
        with body.loop(0, how.rows) as row:
            start, to = how.place + row * how.row_step, row * how.columns
            if k == len(self.axes) - 1:
                self._hold_row(source, start, how, target.moved(to), inside)
                return
            with body.loop(0, how.columns) as column:
                place = start + column * how.column_step
                there = (place >= 0) & (place < length)
                if inside is not None:
                    there = there & inside
                near = self.kernel.moved(source, [there.choose(place, 0)], [stride])
                self._hold_axis(k + 1, near, target.moved((to + column) * copies.pitches[k]), copies, there)

    def _hold_row(self, source: Pointer, start: Index, how: Held, target: Pointer, inside: Condition | None) -> None:
        """Copy what there is of an image, over zeros."""
        body, axis, length = self.body, self.axes[-1], self.size(("length", len(self.axes) - 1))
        before, behind = (index(body, 0) - start).most(0), (length - start).most(0)
        if axis.step > 1:
            before, behind = ceiling(before, how.column_step), ceiling(behind, how.column_step)
        begin, end = before.least(how.columns), behind.least(how.columns)
        if inside is not None:
            end = inside.choose(end, begin)
        zero, stride = constant_of(body, numpy_dtype(target.dtype).type(0), target.dtype), self.strides[0][-1]

        def clear(block: Block) -> None:
            body.store_row(zero, target.moved(block.first), block)

        def copy(block: Block) -> None:
            value = self.kernel.load(self.kernel.moved(source, [start], [stride]), stride, block)
            body.store_row(value, target.moved(block.first), block)

        with body.when((begin > 0) | (end < how.columns)):
            self.kernel.rounds(index(body, 0), how.columns, clear, twice=True)
        if axis.step == 1:
            self.kernel.rounds(begin, end, copy, twice=True)
            return
        if how.column_step.known is None:
            with body.when(how.column_step == 1):
                self.kernel.rounds(begin, end, copy, twice=True)
        with body.when(how.column_step > 1), body.of(0), body.loop(begin, end) as at:
            place = start + at * how.column_step
            body.store(body.load(self.kernel.moved(source, [place], [stride])), target.moved(at))

    # --- tables ------------------------------------------------------------------------------------------------------

    def _tabulate_taps(self, phases: Sequence[Phase], channel: Index, channels: Index, steps: Steps) -> None:
        """Offsets of the taps of some channels: of what they meet, and of their own."""
        body, strides = self.body, self.strides[1]
        with body.outlined("tabulated_taps"), contextlib.ExitStack() as stack:
            at = stack.enter_context(body.loop(0, channels))
            place, weight = at * steps.channel, (channel + at) * index(body, strides[2])
            for phase, step, stride in zip(phases, steps.taps, strides[LEAD:], strict=True):
                tap = stack.enter_context(body.loop(0, phase.taps))
                at, place = at * phase.taps + tap, place + tap * step
                weight = weight + (phase.tap + tap * phase.axis.apart) * index(body, stride)
            with body.of(0):
                body.store(place.value, self.tap_places.moved(at))
                body.store(weight.value, self.tap_weights.moved(at))

    def taps_of(self, phases: Sequence[Phase], sources: Sources) -> Index:
        """Number of taps of a block of channels."""
        return self.product([sources.channels, *(phase.taps for phase in phases)])

    def spans(self, phases: Sequence[Phase], sources: Sources) -> list[Span]:
        """The results of a block of images."""
        axes = [Span(LEAD + k, p.result, p.axis.phases, p.results) for k, p in enumerate(phases)]
        return [Span(IMAGE, sources.image, 1, sources.images), *axes]

    def targets(self, phases: Sequence[Phase]) -> list[tuple[Index, Index]]:
        """Place of the first result of a phase along each axis, and the distance between its results."""
        strides = (index(self.body, n) for n in self.strides[2][LEAD:])
        return [(phase.result * n, n * phase.axis.phases) for phase, n in zip(phases, strides, strict=True)]


def _is_short(stride: int | Length) -> bool:
    """Whether elements are the same or follow one another, which is part of the function."""
    return is_zero(stride) or is_one(stride)


def _sizes(arrays: tuple[Array, Array, Array], axes: Sequence[Axis]) -> dict[object, int | Length]:
    """Lengths by what they are lengths of: of axes of images and kernels, and strides by array and axis."""
    (images, groups, channels, *_), (_, outer, *_), _ = (v.shape for v in arrays)
    sizes: dict[object, int | Length] = {"images": images, "groups": groups, "channels": channels, "outer": outer}
    sizes.update(((k, axis), n) for k, v in enumerate(arrays) for axis, n in enumerate(v.strides))
    names = ("length", "size", "window", "before", "reach")
    return sizes | {(name, k): getattr(axis, name) for k, axis in enumerate(axes) for name in names}


def bounded(most: int, lengths: Sequence[int | Length]) -> int:
    """The product of some lengths, if it is known and not more than another number."""
    every = count(lengths)
    return min(most, every) if type(every) is int else most


def ceiling(n: Index, part: Index) -> Index:
    """Number of parts, the last of which may be smaller."""
    return (n + (part - 1)) // part
