"""Convolutions: tiles of some results of some outer channels, which add up what tables of offsets say.

Images are copied with zeros around them, some megabytes at a time, unless no window has any. The kernel is packed so
that outer channels are lanes. Where there are few of these, results that follow one another are. Kernels of one pixel
are products of matrices.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import operator
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, final

from tg.graph.frozen import ValueSlot
from tg.ops.contraction import MatMul
from tg.ops.nn import convolution as t
from tg.types import lengths
from tg.types.dtypes import is_complex, numpy_dtype
from tg.types.lengths import ScalarValue, of_atom
from tg.types.tensor_type import TensorType
from tg_native.kernels.dtypes import item_size
from tg_native.kernels.index import Index, index
from tg_native.kernels.lanes import constant_of, parts, transposed
from tg_native.kernels.routine import Block
from tg_native.loops.nest import LINE
from tg_native.loops.pointwise import in_float32
from tg_native.loops.terms import Terms
from tg_native.loops.windows import Axis, Held, Phase
from tg_native.plan.values import Array, collapsed, count, is_one, is_row_major
from tg_native.rules.contraction import matmul

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Condition, Pointer
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Value

FEW: Final = 4  # outer channels, of fewer of which no lanes are made
IMAGES: Final = 2**20  # bytes of images that are held at once: of a second cache
TAPS: Final = 2**14  # elements of the kernel for which there are offsets at once
CHUNK: Final = 2**14  # bytes of the kernel that are packed at once: half of a first cache
RESULTS: Final = 1008  # results for which there are offsets at once
ENOUGH: Final = 512  # of them, for which it is worth it to pack the kernel
VECTORS: Final = 4  # of outer channels in a tile
REGISTERS: Final = {64: 24}  # of sums, by the bytes of vectors
FEWER: Final = 12  # where these are shorter; and results of a tile at most
SIDE: Final = 8  # of a square of elements that is turned: windows of 9 are frequent
TURNED: Final = frozenset(("float32", "float64"))
FEW_PARTS: Final = 2  # for each thread, where images are held for each of them
ABREAST: Final = 4  # vectors of results, where these are lanes


def convolution(op: t.Convolution, site: Site) -> Value:
    """A product where each result meets one pixel, else loops."""
    x, w = (site.memory(v) for v in site.inputs[:2])
    axes = _axes(op, site, x, w)
    if all(axis.is_plain for axis in axes):
        return _product(site, x, w)
    y, outer = site.allocate_as_read(0), w.shape[1]
    few = type(outer) is int and outer < FEW
    (_Rows if few else _Tiles)(site, (x, w, y), axes).write()
    return y


def _axes(op: t.Convolution, site: Site, x: Array, w: Array) -> list[Axis]:
    """The axes of windows."""
    given = iter(site.node.inputs[2:])
    before = [of_atom(ScalarValue(ValueSlot(next(given)))) if n is None else n for n in op.before]
    sizes = site.types[0].shape[t.LEAD :]
    fields = zip(x.shape[t.LEAD :], w.shape[t.LEAD :], sizes, before, op.strides, op.dilations, op.spread, strict=True)
    return [Axis(*each) for each in fields]


def _product(site: Site, x: Array, w: Array) -> Array:
    """A matrix product for each group of each image."""
    y = site.allocate_as_read(0)
    if not y.is_contiguous:
        site.copy(_product(site.given(site.inputs, site.types), x, w), y)
        return y
    pixels = count(y.shape[t.LEAD :])
    space = collapsed(x.shape[t.LEAD :], [x.strides[t.LEAD :]])
    if len(space.shape) > 1:
        x = site.contiguous(x)
        space = collapsed(x.shape[t.LEAD :], [x.strides[t.LEAD :]])
    images = x.viewed((*x.shape[: t.LEAD], pixels), (*x.strides[: t.LEAD], space.strides[0][0] if space.shape else 1))
    results = y.viewed((*y.shape[: t.LEAD], pixels), (*y.strides[: t.LEAD], 1))
    inner = site.part([results], [TensorType(y.dtype, results.shape)])
    inner.inputs = [w.viewed(w.shape[: t.LEAD], w.strides[: t.LEAD]), images]
    matmul(MatMul(), inner)
    return y


class _Steps(NamedTuple):
    """How far apart elements of images are, as they lie or as they are held; of results and taps along each axis."""

    image: Index
    channel: Index
    results: Sequence[Index]
    taps: Sequence[Index]


class _Sources(NamedTuple):
    """A block of images and channels, and where their elements are that results and taps meet.

    Args:
        place: the element that the first ones meet.
        image: the number of the first image.
        images: how many there are.
        is_first: whether its channels are the first ones.
        channels: how many of these there are.
    """

    place: Pointer
    image: Index
    images: Index
    is_first: Condition
    channels: Index
    steps: _Steps


class _Copies(NamedTuple):
    """How images are held along each axis, and how far apart what is held is."""

    axes: Sequence[Held]
    pitches: Sequence[Index]


class _Windows(abc.ABC):
    """The function of a convolution in the making: of x (n, g, c, l...) and w (g, o, c, k...).

    For each phase, group, and block of images and channels there are the images with the zeros around them, and tables
    of offsets for taps: elements of the kernel, of each channel, that are met.
    """

    def __init__(self, site: Site, arrays: tuple[Array, Array, Array], axes: Sequence[Axis], kernel: Kernel) -> None:
        self.site, self.arrays, self.axes, self.kernel, self.body = site, arrays, axes, kernel, kernel.body
        x, w, y = arrays
        self.terms = Terms(site, self.body, y.dtype)
        kernel.takes_lengths = True
        self.lanes = max(self.body.lanes, 1)
        self.divided = self._divide()
        self.places = kernel.read(x), kernel.read(w), kernel.write(y)
        self.images, self.groups, self.channels = map(kernel.length, x.shape[: t.LEAD])
        self.outer = kernel.length(w.shape[1])
        self.is_held = not all(axis.is_inside and not self.is_apart(axis) for axis in axes)
        if self.is_held:
            plane = count([axis.room(apart=self.is_apart(axis)) for axis in axes])
            room = lengths.maximum(plane, _bounded(IMAGES // item_size(x.dtype), [plane, x.shape[0], x.shape[2]]))
            self.room, self.held = kernel.length(room), self.memory(x.dtype, room)
        window = count([axis.most_taps for axis in axes])
        taps = lengths.maximum(window, _bounded(TAPS, [window, x.shape[2]]))
        self.tap_places, self.tap_weights = self.memory("int64", taps), self.memory("int64", taps)

    has_lanes_of_channels: ClassVar[bool]

    @abc.abstractmethod
    def is_apart(self, axis: Axis) -> bool:
        """Whether images are held along an axis for each element of the kernel by itself."""

    @abc.abstractmethod
    def add_block(self, phases: Sequence[Phase], sources: _Sources, w: Pointer, y: Pointer) -> None:
        """Add up the terms of a block of images and channels of a group."""

    def _divide(self) -> str:
        """What threads share, if they do: groups, images that are large, or outer channels where these are lanes."""
        (images, groups, *_), (_, outer, *window), results = (v.shape for v in self.arrays)
        pixels, lanes = count(results[t.LEAD :]), self.lanes
        if not is_one(groups):
            axis, unit, space = "groups", 1, [groups, images, outer]
        elif not is_one(images) and not (type(pixels) is int and pixels < ENOUGH):
            axis, unit, space = "images", 1, [images, outer]
        else:
            parts = FEW_PARTS * self.site.threads
            unit = lanes * max(-(-outer // (lanes * parts)), 1) if type(outer) is int else lanes
            axis, space = "outer", [outer, images]
        if axis != "outer" or self.has_lanes_of_channels:
            space = [*space, *window, *results[t.LEAD :]]
            self.site.divide(self.kernel, space, (), [self.arrays[2].dtype], unit=unit)
        return axis if self.kernel.share is not None else ""

    def memory(self, dtype: str, *shape: int | Length) -> Pointer:
        """Memory for the time of this op: for each thread some of its own, not closer than a line of the cache."""
        share = self.kernel.share
        if share is None:
            return self.kernel.write(self.site.temporary(dtype, shape))
        size = lengths.add(count(shape), LINE // item_size(dtype))
        place = self.kernel.write(self.site.temporary(dtype, (share.threads, size)))
        return place.moved(share.slot * self.kernel.length(size))

    def bounds(self, axis: str, n: Index) -> tuple[Index, Index]:
        """Where a loop over groups or images begins and ends, in the part that a call runs."""
        share = self.kernel.share
        return (share.low, share.high) if share is not None and self.divided == axis else (index(self.body, 0), n)

    def number(self, table: Pointer, at: Index) -> Index:
        """A number of a table."""
        with self.body.of(0):
            found: Any = self.body.load(table.moved(at))
        return Index(found)

    def product(self, numbers: Iterable[Index]) -> Index:
        """The product of some numbers."""
        return functools.reduce(operator.mul, numbers, index(self.body, 1))

    def sum(self, numbers: Iterable[Index]) -> Index:
        """The sum of some numbers."""
        return functools.reduce(operator.add, numbers, index(self.body, 0))

    def write(self) -> None:
        """Write the whole function and call it."""
        kernel, body = self.kernel, self.body
        with contextlib.ExitStack() as stack:
            starts = [
                index(body, 0) if axis.phases == 1 else stack.enter_context(body.loop(0, axis.phases))
                for axis in self.axes
            ]
            phases = [Phase.of(kernel, axis, start) for axis, start in zip(self.axes, starts, strict=True)]
            group = stack.enter_context(body.loop(*self.bounds("groups", self.groups)))
            x, w, y = (
                kernel.moved(place, [group], [v.strides[axis]])
                for place, v, axis in zip(self.places, self.arrays, (1, 0, 1), strict=True)
            )
            self._blocks(phases, x, w, y)
        self.site.run(kernel)

    # --- images ------------------------------------------------------------------------------------------------------

    def _blocks(self, phases: Sequence[Phase], x: Pointer, w: Pointer, y: Pointer) -> None:
        """Go through blocks of images and channels of a group."""
        body, strides = self.body, self.arrays[0].strides
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
            first, steps = self._as_held(copies, plane, channels)
        begin, end = self.bounds("images", self.images)
        with (
            body.loop(0, _ceiling(end - begin, images)) as i,
            body.loop(0, _ceiling(self.channels, channels).most(1)) as j,
        ):
            image, channel = begin + i * images, j * channels
            counts = (end - image).least(images), (self.channels - channel).least(channels)
            here = self.kernel.moved(x, [image, channel], [strides[0], strides[2]])
            if copies is not None:
                self._hold(here, copies, counts, steps)
                here = self.held
            self._tabulate_taps(phases, channel, counts[1], steps)
            sources = _Sources(here.moved(first), image, counts[0], j == 0, counts[1], steps)
            self.add_block(phases, sources, w, y)

    def _as_they_lie(self, phases: Sequence[Phase]) -> tuple[Index, _Steps]:
        """The offset of what the first result and tap meet, and steps from there."""
        image, _, channel, *own = map(self.kernel.length, self.arrays[0].strides)
        pairs = list(zip(own, phases, strict=True))
        results, taps = ([n * p.axis.step for n, p in pairs], [n * p.axis.reach for n, p in pairs])
        return self.sum(p.place * n for n, p in pairs), _Steps(image, channel, results, taps)

    def _copies(self, phases: Sequence[Phase]) -> _Copies:
        held = [Held.of(phase, apart=self.is_apart(phase.axis)) for phase in phases]
        return _Copies(held, [self.product(how.size for how in held[k + 1 :]) for k in range(len(held))])

    def _as_held(self, copies: _Copies, plane: Index, channels: Index) -> tuple[Index, _Steps]:
        """The offset of what the first result and tap meet, and steps from there."""
        pairs = list(zip(copies.axes, copies.pitches, strict=True))
        results, taps = ([how.result_step * n for how, n in pairs], [how.tap_step * n for how, n in pairs])
        return self.sum(how.first * n for how, n in pairs), _Steps(channels * plane, plane, results, taps)

    def _hold(self, x: Pointer, copies: _Copies, counts: tuple[Index, Index], steps: _Steps) -> None:
        """Copy a block of images, with zeros where there is no element."""
        strides = self.arrays[0].strides
        with self.body.loop(0, counts[0]) as image, self.body.loop(0, counts[1]) as channel:
            source = self.kernel.moved(x, [image, channel], [strides[0], strides[2]])
            target = self.held.moved(image * steps.image + channel * steps.channel)
            self._hold_axis(0, source, target, copies, None)

    def _hold_axis(self, k: int, source: Pointer, target: Pointer, copies: _Copies, inside: Condition | None) -> None:
        """Copy what lies along an axis and the ones behind it, if the places along the ones before are inside."""
        body, axis, how = self.body, self.axes[k], copies.axes[k]
        length, stride = self.kernel.length(axis.length), self.arrays[0].strides[t.LEAD + k]
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
        """Zeros, what there is of an image, and zeros."""
        body, axis = self.body, self.axes[-1]
        before, behind = (index(body, 0) - start).most(0), (self.kernel.length(axis.length) - start).most(0)
        if axis.step > 1:
            before, behind = _ceiling(before, how.column_step), _ceiling(behind, how.column_step)
        begin, end = before.least(how.columns), behind.least(how.columns)
        if inside is not None:
            end = inside.choose(end, begin)
        with body.of(0):
            zero = constant_of(body, numpy_dtype(source.dtype).type(0), source.dtype)
            with body.loop(0, begin) as at:
                body.store(zero, target.moved(at))
            with body.loop(begin, end) as at:
                place = start + at * how.column_step
                body.store(body.load(self.kernel.moved(source, [place], self.arrays[0].strides[-1:])), target.moved(at))
            with body.loop(end, how.columns) as at:
                body.store(zero, target.moved(at))

    # --- tables ------------------------------------------------------------------------------------------------------

    def _tabulate_taps(self, phases: Sequence[Phase], channel: Index, channels: Index, steps: _Steps) -> None:
        """Offsets of the taps of some channels: of what they meet, and of their own."""
        kernel, body, strides = self.kernel, self.body, self.arrays[1].strides
        with contextlib.ExitStack() as stack:
            at = stack.enter_context(body.loop(0, channels))
            place, weight = at * steps.channel, (channel + at) * kernel.length(strides[2])
            for phase, step, stride in zip(phases, steps.taps, strides[t.LEAD :], strict=True):
                tap = stack.enter_context(body.loop(0, phase.taps))
                at, place = at * phase.taps + tap, place + tap * step
                weight = weight + (phase.tap + tap * phase.axis.apart) * kernel.length(stride)
            with body.of(0):
                body.store(place.value, self.tap_places.moved(at))
                body.store(weight.value, self.tap_weights.moved(at))

    def taps_of(self, phases: Sequence[Phase], sources: _Sources) -> Index:
        """How many taps there are of a block of channels."""
        return self.product([sources.channels, *(phase.taps for phase in phases)])

    def targets(self, phases: Sequence[Phase]) -> list[tuple[Index, Index]]:
        """Where the first result of a phase is along each axis, and how far its results are apart."""
        strides = map(self.kernel.length, self.arrays[2].strides[t.LEAD :])
        return [(phase.result * n, n * phase.axis.phases) for phase, n in zip(phases, strides, strict=True)]


@final
class _Tiles(_Windows):
    """Outer channels are lanes: some results at once, for each of which an element of an image meets all of them."""

    has_lanes_of_channels = True

    def __init__(self, site: Site, arrays: tuple[Array, Array, Array], axes: Sequence[Axis]) -> None:
        x, w, y = arrays
        vectors = VECTORS // 2 if is_complex(y.dtype) else VECTORS
        if site.threads > 1 and is_one(x.shape[0]):
            vectors //= 2  # of which threads are to have some each
        super().__init__(site, arrays, axes, site.kernel([y.dtype], vectors, w.shape[1]))
        self.width, size = self.body.lanes, self.body.machine.vector_bytes
        vectors = max(self.lanes * item_size(self.terms.working) // size, 1)
        self.rows = min(REGISTERS.get(size, FEWER) // vectors, FEWER)
        self.side = _side(self.kernel, y.dtype, self.lanes)
        self.whole = Block(index(self.body, 0))
        self.chunk = max(CHUNK // (self.lanes * item_size(y.dtype)), 1)
        results = _bounded(RESULTS, [y.shape[0], *(axis.most_results for axis in axes)])
        results = -(-results // self.rows) * self.rows
        working = self.terms.working
        self.packed, self.sums = self.memory(working, self.chunk, self.lanes), self.memory(working, results, self.lanes)
        self.result_places, self.result_targets = self.memory("int64", results), self.memory("int64", results)

    def is_apart(self, axis: Axis) -> bool:
        return False

    def add_block(self, phases: Sequence[Phase], sources: _Sources, w: Pointer, y: Pointer) -> None:
        taps, sizes = self.taps_of(phases, sources), [sources.images, *(phase.results for phase in phases)]
        total = self.product(sizes)
        with self.body.loop(0, total, RESULTS) as start:
            some = (total - start).least(RESULTS)
            self._tabulate_results(phases, sources, sizes, start, some)

            def write(block: Block) -> None:
                self._sums(sources.place, w, block, taps, some)
                self._store(y, block, some, sources.is_first)

            self.kernel.blocks(self.arrays[1].shape[1], write, asks=True, first=self.divided == "outer")

    def _tabulate_results(
        self, phases: Sequence[Phase], sources: _Sources, sizes: Sequence[Index], start: Index, some: Index
    ) -> None:
        """Offsets of some results: of what the first tap meets, and of their own; as many as whole tiles have."""
        body, steps = self.body, (sources.steps.image, *sources.steps.results)
        image = self.kernel.length(self.arrays[2].strides[0])
        targets = [(sources.image * image, image), *self.targets(phases)]

        def step(at: Index, *last: Lanes) -> list[Lanes]:
            here = [*map(Index, last)]
            meets = self.sum(p * n for p, n in zip(here, steps, strict=True))
            target = self.sum(first + p * n for p, (first, n) in zip(here, targets, strict=True))
            body.store(meets.value, self.result_places.moved(at))
            body.store(target.value, self.result_targets.moved(at))
            return [p.value for p in _next(here, sizes)]

        with body.of(0):
            body.fold(0, some, 1, [p.value for p in _position(start, sizes)], step)
            last = self.number(self.result_places, some - 1)
            with body.loop(some, _ceiling(some, index(body, self.rows)) * self.rows) as at:
                body.store(last.value, self.result_places.moved(at))

    def _sums(self, x: Pointer, w: Pointer, block: Block, taps: Index, results: Index) -> None:
        """The sums of some results for a block of outer channels, in memory."""
        body, lanes = self.body, self.lanes
        with body.loop(0, _ceiling(results, index(body, self.rows)) * self.rows) as at:
            body.store_row(self.terms.zero(), self.sums.moved(at * lanes), self.whole)
        with body.loop(0, taps, self.chunk) as start:
            some = (taps - start).least(self.chunk)
            self._pack(w, block, start, some)
            with body.loop(0, results, self.rows) as at:
                self._tile(x, at, start, some)

    def _pack(self, w: Pointer, block: Block, start: Index, some: Index) -> None:
        """The elements of the kernel of some taps, for a block of outer channels."""
        body, run = self.body, self._run()
        if run is None:
            with body.loop(0, some) as at:
                self._pack_one(w, block, start, at)
            return

        def step(last: Lanes) -> list[Lanes]:
            at = Index(last)
            left = run - _position(start + at, [run])[0]
            return body.either(
                left.least(some - at) >= self.side,
                lambda: [self._pack_square(w, block, start, at).value],
                lambda: [self._pack_one(w, block, start, at).value],
            )

        with body.of(0):
            body.while_loop([index(body, 0).value], lambda at: Index(at) < some, step)

    def _run(self) -> Index | None:
        """How many taps follow one another in the kernel, if squares of them and of outer channels are turned."""
        shape, strides = self.arrays[1].shape[2:], self.arrays[1].strides[2:]
        if not self.side or any(axis.apart > 1 for axis in self.axes) or not is_row_major(shape[1:], strides[1:]):
            return None
        run = count(shape if is_row_major(shape, strides) else shape[1:])
        return None if type(run) is int and run < self.side else self.kernel.length(run).most(1)

    def _pack_one(self, w: Pointer, block: Block, start: Index, at: Index) -> Index:
        """Pack a tap; gives the next one."""
        body, stride = self.body, self.arrays[1].strides[1]
        with body.of(self.width):
            place = w.moved(self.number(self.tap_weights, start + at))
            value = self.terms.wide(self.kernel.load(place, stride, block))
            body.store_row(value, self.packed.moved(at * self.lanes), self.whole)
        return at + 1

    def _pack_square(self, w: Pointer, block: Block, start: Index, at: Index) -> Index:
        """Pack as many taps as the side of a square has, which follow one another; gives the next one."""
        body, stride, last = self.body, self.arrays[1].strides[1:2], self.outer - 1
        place = w.moved(self.number(self.tap_weights, start + at))
        with body.loop(0, self.lanes, self.side) as lane, body.of(self.side):
            outer = [(block.first + lane + k).least(last) for k in range(self.side)]
            rows: list[Any] = [body.load_row(self.kernel.moved(place, [k], stride), self.whole) for k in outer]
            for k, value in enumerate(transposed(rows)):
                body.store_row(value, self.packed.moved((at + k) * self.lanes + lane), self.whole)
        return at + self.side

    def _tile(self, x: Pointer, at: Index, start: Index, some: Index) -> None:
        """Add the terms of some taps to as many results as a tile has."""
        body, terms, whole = self.body, self.terms, self.whole
        sums = [self.sums.moved((at + r) * self.lanes) for r in range(self.rows)]
        places = [x.moved(self.number(self.result_places, at + r)) for r in range(self.rows)]

        def step(tap: Index, *last: Lanes) -> list[Lanes]:
            offset = self.number(self.tap_places, start + tap)
            element = body.load_row(self.packed.moved(tap * self.lanes), whole)
            factors = [terms.wide(body.load(place.moved(offset))) for place in places]
            pairs = zip(terms.values(last), factors, strict=True)
            return parts([terms.fused(total, factor, element) for total, factor in pairs])

        found = body.fold(0, some, 1, parts([body.load_row(place, whole) for place in sums]), step)
        for value, place in zip(terms.values(found), sums, strict=True):
            body.store_row(value, place, whole)

    def _store(self, y: Pointer, block: Block, results: Index, is_first: Condition) -> None:
        """Write the sums of a block of outer channels, or add them to those of other channels."""
        inside = index(self.body, self.lanes) if block.inside is None else block.inside
        for condition, more in ((is_first, False), (~is_first, True)):
            with self.body.when(condition), self.body.of(0):
                if self.side:
                    self._store_squares(y, block.first, inside, results, more=more)
                else:
                    zero = index(self.body, 0)
                    self._store_part(y, block.first, (zero, inside), (zero, results), more=more)

    def _store_squares(self, y: Pointer, first: Index, inside: Index, results: Index, *, more: bool) -> None:
        """Write squares of outer channels and results, and what is left of both one by one."""
        body, side = self.body, self.side
        with body.loop(0, inside, side) as lane, body.loop(0, results, side) as at:
            is_whole = (at + side <= results) & (lane + side <= inside)
            with body.when(is_whole):
                targets = [self.number(self.result_targets, at + k) for k in range(side)]
                follow = targets[-1] - targets[0] == side - 1
                with body.when(follow):
                    self._store_turned(y, first + lane, at, lane, targets[0], more=more)
                with body.when(~follow), body.loop(lane, lane + side) as one:
                    for k, target in enumerate(targets):
                        self._store_one(self._target(y, first + one, target), at + k, one, more=more)
            with body.when(~is_whole):
                ends = (lane, (lane + side).least(inside)), (at, (at + side).least(results))
                self._store_part(y, first, *ends, more=more)

    def _store_turned(self, y: Pointer, outer: Index, at: Index, lane: Index, target: Index, *, more: bool) -> None:
        """Write a square of results that follow one another."""
        body, side = self.body, range(self.side)
        with body.of(self.side):
            rows: list[Any] = [body.load_row(self.sums.moved((at + k) * self.lanes + lane), self.whole) for k in side]
            for k, value in enumerate(transposed(rows)):
                place = self._target(y, outer + k, target)
                total = self.terms.sum(value, body.load_row(place, self.whole)) if more else value
                body.store_row(total, place, self.whole)

    def _store_part(
        self, y: Pointer, first: Index, lanes: tuple[Index, Index], results: tuple[Index, Index], *, more: bool
    ) -> None:
        """Write some results of some outer channels one by one."""
        with self.body.loop(*lanes) as lane, self.body.loop(*results) as at:
            place = self._target(y, first + lane, self.number(self.result_targets, at))
            self._store_one(place, at, lane, more=more)

    def _store_one(self, place: Pointer, at: Index, lane: Index, *, more: bool) -> None:
        """Write one sum."""
        value = self.body.load(self.sums.moved(at * self.lanes + lane))
        if more:
            value = self.terms.sum(value, self.terms.wide(self.body.load(place)))
        self.body.store(value.to(self.terms.dtype), place)

    def _target(self, y: Pointer, outer: Index, offset: Index) -> Pointer:
        return self.kernel.moved(y, [outer], self.arrays[2].strides[2:3]).moved(offset)


@final
class _Rows(_Windows):
    """Results along the last axis are lanes, for one outer channel at a time."""

    has_lanes_of_channels = False

    def __init__(self, site: Site, arrays: tuple[Array, Array, Array], axes: Sequence[Axis]) -> None:
        x, *_, y = arrays
        self.apart = axes[-1] if axes[-1].step > 1 else None
        vectors = 1 if is_complex(y.dtype) else ABREAST
        super().__init__(site, arrays, axes, site.kernel([y.dtype], vectors, axes[-1].most_results))
        self.stride = 1 if self.is_held else x.strides[-1]
        self.row = self.memory(y.dtype, self.lanes) if axes[-1].phases > 1 or not is_one(y.strides[-1]) else None

    def is_apart(self, axis: Axis) -> bool:
        return axis is self.apart

    def add_block(self, phases: Sequence[Phase], sources: _Sources, w: Pointer, y: Pointer) -> None:
        kernel, taps = self.kernel, self.taps_of(phases, sources)
        strides, targets = self.arrays[2].strides, self.targets(phases)
        lengths = [sources.images, self.outer, *(phase.results for phase in phases[:-1])]
        with contextlib.ExitStack() as stack:
            image, outer, *at = (stack.enter_context(self.body.loop(0, n)) for n in lengths)
            x = sources.place.moved(image * sources.steps.image)
            y = kernel.moved(y, [sources.image + image, outer], [strides[0], strides[2]])
            for p, step, (first, apart) in zip(at, sources.steps.results, targets, strict=False):
                x, y = x.moved(p * step), y.moved(first + p * apart)
            y, w = y.moved(targets[-1][0]), kernel.moved(w, [outer], self.arrays[1].strides[1:2])

            def write(block: Block) -> None:
                self._store(self._sum(x, w, y, block, taps, sources.is_first), y, block)

            if self.row is None:
                kernel.blocks(self.axes[-1].size, write, twice=True)
                return
            with self.body.loop(0, phases[-1].results, self.lanes) as first:
                write(kernel.some(first, phases[-1].results))

    @property
    def _apart(self) -> int | Length:
        """How far results of a row are apart."""
        return lengths.multiply(self.arrays[2].strides[-1], self.axes[-1].phases)

    def _sum(self, x: Pointer, w: Pointer, y: Pointer, block: Block, taps: Index, is_first: Condition) -> Elements:
        """The sums of a block of results, those of channels before among them."""
        body, terms = self.body, self.terms

        def step(tap: Index, *last: Lanes) -> list[Lanes]:
            element = self.kernel.load(x.moved(self.number(self.tap_places, tap)), self.stride, block)
            factor = terms.wide(body.load(w.moved(self.number(self.tap_weights, tap))))
            (total,) = terms.values(last)
            return parts([terms.fused(total, factor, terms.wide(element))])

        first = body.either(
            is_first,
            lambda: parts([terms.zero()]),
            lambda: parts([terms.wide(self.kernel.load(y, self._apart, block))]),
        )
        return terms.values(body.fold(0, taps, 1, first, step))[0]

    def _store(self, value: Elements, y: Pointer, block: Block) -> None:
        body, value = self.body, value.to(self.terms.dtype)
        if self.row is None:
            self.kernel.store(value, y, 1, block)
            return
        assert block.inside is not None
        body.store_row(value, self.row, Block(index(body, 0)))
        with body.of(0), body.loop(0, block.inside) as at:
            body.store(body.load(self.row.moved(at)), self.kernel.moved(y, [block.first + at], [self._apart]))


def _side(kernel: Kernel, dtype: str, lanes: int) -> int:
    """Of how many outer channels squares are, where they are turned: of elements of whole or half words, 0 if not."""
    side = min(kernel.lanes_for([dtype], 1, SIDE), lanes)
    return int(side) if dtype in TURNED and side >= SIDE // 2 else 0


def _bounded(most: int, lengths: Sequence[int | Length]) -> int:
    """The product of some lengths, if it is known and not more than another number."""
    every = count(lengths)
    return min(most, every) if type(every) is int else most


def _ceiling(n: Index, part: Index) -> Index:
    """How many parts there are, the last of which may be smaller."""
    return (n + (part - 1)) // part


def _position(number: Index, sizes: Sequence[Index]) -> list[Index]:
    """The indices along axes of these lengths, of an element of a number."""
    found: list[Index] = []
    for n in reversed(sizes):
        rest = number // n.most(1)
        found.append(number - rest * n)
        number = rest
    return found[::-1]


def _next(position: Sequence[Index], sizes: Sequence[Index]) -> list[Index]:
    """The indices of the next element."""
    found: list[Index] = []
    carry = index(position[0].body, 1)
    for at, n in zip(reversed(position), reversed(sizes), strict=True):
        more = at + carry
        is_end = more == n
        found.append(is_end.choose(0, more))
        carry = is_end.number()
    return found[::-1]


RULES: Final[dict[object, Rule]] = {t.Convolution: in_float32(convolution)}
