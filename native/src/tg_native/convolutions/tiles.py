"""Outer channels as lanes: tiles of some results, for which the kernel is packed and sums are turned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg_native.convolutions.axes import position
from tg_native.convolutions.windows import Windows, bounded, ceiling
from tg_native.kernels.dtypes import item_size
from tg_native.kernels.index import Index, index
from tg_native.kernels.lanes import parts, transposed
from tg_native.kernels.routine import Block
from tg_native.loops.terms import Terms
from tg_native.plan.values import count, is_row_major

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_native.convolutions.axes import Axis, Phase
    from tg_native.convolutions.epilogue import Bound, Epilogue
    from tg_native.convolutions.windows import Sources
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Condition, Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Array

CHUNK: Final = 64  # taps that are packed, and added up by themselves: half of a first cache at most
FETCHED: Final = 64  # bytes that are fetched at once: a line of the cache
RESULTS: Final = 1008  # for which there are offsets at once
VECTORS: Final = 2  # of outer channels in a tile: four of AVX2, beside three results, are more than there are registers
SUMS: Final = {64: 14}  # vectors of sums in a tile, by their bytes
FEWER: Final = 12  # where these are shorter, and there are 16 registers
ROWS: Final = 7  # results of a tile at most: the place of each has a register, and 7 divides 224 and its halves
SIDE: Final = 8  # of a square of elements that is turned: windows of 9 are frequent
TURNED: Final = frozenset(("float32", "float64"))


class Ahead(NamedTuple):
    """Prefetch, while tiles are computed, of the elements of the kernel that are packed next: some channels a tile.

    They lie apart by the length of an outer channel, which no processor foresees: of 512 channels of 4,608 taps, as
    many as 49 results meet, half of the time went by waiting.

    Args:
        w: the kernel.
        weights: the table of where its taps are.
        first: of the outer channels; beyond the last one that one's are fetched.
        stride: how far outer channels are apart.
        tap: the first, and the last that there is.
        share: of how many outer channels elements are fetched at a tile.
    """

    w: Pointer
    weights: Pointer
    first: Index
    last: Index
    stride: Index
    tap: Index
    last_tap: Index
    share: Index

    def lines(self) -> list[Index]:
        """Places of the lines of the cache that the elements of a channel take."""
        pieces = CHUNK * item_size(self.w.dtype) // FETCHED
        numbers = (*range(0, CHUNK, CHUNK // pieces), CHUNK - 1)  # the last one may lie in a line of its own
        taps = [(self.tap + k).least(self.last_tap) for k in numbers]
        return [Windows.number(self.weights, tap) for tap in taps]

    def fetch(self, tile: Index, lanes: int, lines: Sequence[Index]) -> None:
        """Fetch a tile's share of the elements of so many outer channels."""
        body, lane = self.w.body, tile * self.share
        with body.of(0), body.loop(lane, (lane + self.share).least(lanes)) as at:
            place = self.w.moved((self.first + at).least(self.last) * self.stride)
            for line in lines:
                body.prefetch(place.moved(line))


@final
class Tiles(Windows):
    """Outer channels are lanes: some results at once, for each of which an element of an image meets all of them."""

    has_lanes_of_channels = True

    def __init__(
        self, site: Site, arrays: tuple[Array, Array, Array], axes: Sequence[Axis], epilogue: Epilogue | None
    ) -> None:
        _, w, y = arrays
        kernel = site.kernel([y.dtype], VECTORS, w.shape[1])  # over the outer channels of tiles
        super().__init__(site, arrays, axes, kernel, epilogue)
        self.width, size = self.body.lanes, self.body.machine.vector_bytes
        vectors = max(self.lanes * item_size(self.terms.working) // size, 1)
        self.rows = min(SUMS.get(size, FEWER) // vectors, ROWS)
        self.side = _side(self.kernel, y.dtype, self.lanes)
        self.is_turned = self._is_turned()
        self.whole = Block(index(self.body, 0))
        results = bounded(RESULTS, [y.shape[0], *(axis.most_results for axis in axes)])
        results = -(-results // self.rows) * self.rows
        working = self.terms.working
        self.packed, self.sums = self.memory(working, CHUNK, self.lanes), self.memory(working, results, self.lanes)
        self.result_places, self.result_targets = self.memory("int64", results), self.memory("int64", results)

    def is_apart(self, axis: Axis) -> bool:
        return False

    def form(self) -> tuple[object, ...]:
        return (*super().form(), self.rows, self.side, self.is_turned)

    def add_block(self, phases: Sequence[Phase], sources: Sources, w: Pointer, y: Pointer, ends: Bound | None) -> None:
        taps, sizes = self.taps_of(phases, sources), [sources.images, *(phase.results for phase in phases)]
        spans = self.spans(phases, sources)
        total = self.product(sizes)
        with self.body.loop(0, total, RESULTS) as start:
            some = (total - start).least(RESULTS)
            self._tabulate_results(phases, sources, sizes, start, some)

            def write(block: Block) -> None:
                with self.body.outlined("added_terms"):
                    self._sums(sources.place, w, block, taps, some)
                self._store(y, block, some, sources.is_first, end)

            def end(first: Index, channels: Index) -> None:
                if ends is not None:
                    with self.body.when(sources.is_last), self.body.outlined("epilogue"):
                        ends.over(spans, start, some, (first, first + channels))

            self.kernel.blocks(self.outer, write, asks=True, first=self.divided == "outer")

    def _tabulate_results(
        self, phases: Sequence[Phase], sources: Sources, sizes: Sequence[Index], start: Index, some: Index
    ) -> None:
        """Offsets of some results: of what the first tap meets, and of their own; as many as whole tiles have."""
        body, steps = self.body, (sources.steps.image, *sources.steps.results)
        image = index(body, self.strides[2][0])
        targets = [(sources.image * image, image), *self.targets(phases)]

        def step(at: Index, *last: Lanes) -> list[Lanes]:
            here = [*map(Index, last)]
            meets = self.sum(p * n for p, n in zip(here, steps, strict=True))
            target = self.sum(first + p * n for p, (first, n) in zip(here, targets, strict=True))
            body.store(meets.value, self.result_places.moved(at))
            body.store(target.value, self.result_targets.moved(at))
            return [p.value for p in _next(here, sizes)]

        with body.outlined("tabulated_results"), body.of(0):
            body.fold(0, some, 1, [p.value for p in position(start, sizes)], step)
            last = self.number(self.result_places, some - 1)
            with body.loop(some, ceiling(some, index(body, self.rows)) * self.rows) as at:
                body.store(last.value, self.result_places.moved(at))

    def _sums(self, x: Pointer, w: Pointer, block: Block, taps: Index, results: Index) -> None:
        """The sums of some results for a block of outer channels, in memory."""
        body, lanes = self.body, self.lanes
        with body.loop(0, ceiling(results, index(body, self.rows)) * self.rows) as at:
            body.store_row(self.terms.zero(), self.sums.moved(at * lanes), self.whole)
        with body.loop(0, taps, CHUNK) as start:
            some = (taps - start).least(CHUNK)
            self._pack(w, block, start, some)
            ahead = self._ahead(w, block, start + some, taps, results) if self.is_turned else ()
            tables = self.result_places, self.tap_places.moved(start)
            name = f"convolved_tiles_{self.terms.dtype}_{self.rows}{'_ahead' * self.is_turned}"
            body.subroutine(name, self._add_tiles, (x, *tables, self.packed, self.sums, some, results, *ahead))

    def _ahead(self, w: Pointer, block: Block, start: Index, taps: Index, results: Index) -> Ahead:
        body = self.body
        is_next = start < taps  # else it is the next outer channels' turn
        first, tap = is_next.choose(block.first, block.first + self.lanes), is_next.choose(start, 0)
        tiles = ceiling(results, index(body, self.rows)).most(1)
        share = ceiling(index(body, self.lanes), tiles)
        return Ahead(w, self.tap_weights, first, self.outer - 1, index(body, self.strides[1][1]), tap, taps - 1, share)

    def _add_tiles(
        self,
        x: Pointer,
        results: Pointer,
        taps: Pointer,
        packed: Pointer,
        sums: Pointer,
        some: Index,
        count: Index,
        *ahead: Any,
    ) -> None:
        """Add to the sums of some results those of some taps' terms, by tables of where these and the results are."""
        lines = Ahead(*ahead).lines() if ahead else []
        with x.body.loop(0, count, self.rows) as at:
            if ahead:
                Ahead(*ahead).fetch(at // self.rows, self.lanes, lines)
            self._add_terms(x, results.moved(at), taps, packed, sums.moved(at * self.lanes), some)

    def _pack(self, w: Pointer, block: Block, start: Index, some: Index) -> None:
        """The elements of the kernel of some taps, for a block of outer channels.

        Of as many channels as a square has, all taps come before other channels: lines of the cache that are as far
        apart as channels drive each other out of it.
        """
        body = self.body
        if not self.is_turned:
            with body.loop(0, some) as at:
                self._pack_one(w, block, start, at)
            return
        run = self.size("run").most(1)
        more = self.outer - 1, index(body, self.strides[1][1]), position(start, [run])[0], run, some
        with body.of(0), body.loop(0, self.lanes, self.side) as lane, body.of(self.side):
            operands = (w, self.tap_weights.moved(start), self.packed.moved(lane), block.first + lane, *more)
            body.subroutine(f"packed_channels_{w.dtype}_{self.lanes}", self._pack_channels, operands)

    def _is_turned(self) -> bool:
        """Whether squares of taps that follow one another in the kernel, a `run`, and of outer channels are turned."""
        shape, strides = self.arrays[1].shape[2:], self.arrays[1].strides[2:]
        if not self.side or any(axis.apart > 1 for axis in self.axes) or not is_row_major(shape[1:], strides[1:]):
            return False
        self.sizes["run"] = run = count(shape if is_row_major(shape, strides) else shape[1:])
        return not (type(run) is int and run < self.side)

    def _pack_one(self, w: Pointer, block: Block, start: Index, at: Index) -> None:
        """Pack a tap for all outer channels of a block."""
        body, stride = self.body, self.strides[1][1]
        with body.of(self.width):
            place = w.moved(self.number(self.tap_weights, start + at))
            value = self.terms.wide(self.kernel.load(place, stride, block))
            body.store_row(value, self.packed.moved(at * self.lanes), self.whole)

    def _pack_channels(
        self,
        w: Pointer,
        taps: Pointer,
        packed: Pointer,
        first: Index,
        last: Index,
        stride: Index,
        column: Index,
        run: Index,
        some: Index,
    ) -> None:
        """Pack some taps for as many outer channels as a square has, beyond the last one that one's.

        Args:
            taps: the table of where they are.
            first: of the channels.
            stride: how far channels are apart.
            column: where the first tap is in a run of taps that follow one another.
            run: how many of them do.
        """
        body, whole = w.body, Block(index(w.body, 0))
        places = [w.moved((first + k).least(last) * stride) for k in range(self.side)]

        def square(at: Index) -> list[Lanes]:
            offset = self.number(taps, at)
            with body.of(self.side):
                rows: list[Any] = [body.load_row(place.moved(offset), whole) for place in places]
                for k, value in enumerate(transposed(rows)):
                    body.store_row(value, packed.moved((at + k) * self.lanes), whole)
            return [(at + self.side).value]

        def one(at: Index) -> list[Lanes]:
            offset = self.number(taps, at)
            for k, place in enumerate(places):
                body.store(body.load(place.moved(offset)), packed.moved(at * self.lanes + k))
            return [(at + 1).value]

        def step(last: Lanes) -> list[Lanes]:
            at = Index(last)
            left = run - position(column + at, [run])[0]
            return body.either(left.least(some - at) >= self.side, lambda: square(at), lambda: one(at))

        with body.of(0):
            body.while_loop([index(body, 0).value], lambda at: Index(at) < some, step)

    def _add_terms(
        self, x: Pointer, results: Pointer, taps: Pointer, packed: Pointer, sums: Pointer, some: Index
    ) -> None:
        """Add to the sums of a tile those of some taps' terms, which are added up by themselves."""
        body, whole, rows = x.body, Block(index(x.body, 0)), range(self.rows)
        terms = Terms(self.site, body, self.terms.dtype)
        places = [body.held(x.moved(self.number(results, r))) for r in rows]

        def step(tap: Index, *last: Lanes) -> list[Lanes]:
            offset = self.number(taps, tap)
            element = body.load_row(packed.moved(tap * self.lanes), whole)
            factors = [terms.wide(body.load(place.moved(offset))) for place in places]
            pairs = zip(terms.values(last), factors, strict=True)
            return parts([terms.fused(total, factor, element) for total, factor in pairs])

        totals = body.fold(0, some, 1, parts([terms.zero()] * self.rows), step)
        for value, r in zip(terms.values(totals), rows, strict=True):
            place = sums.moved(r * self.lanes)
            body.store_row(terms.sum(body.load_row(place, whole), value), place, whole)

    def _store(
        self,
        y: Pointer,
        block: Block,
        results: Index,
        is_first: Condition,
        end: Callable[[Index, Index], None],
    ) -> None:
        """Write the sums of a block of outer channels, or add them to those of other channels.

        Args:
            end: what is done with some outer channels, of which all results are written.
        """
        body = self.body
        inside = index(body, self.lanes) if block.inside is None else block.inside
        with body.of(0), body.loop(0, inside, self.side or self.lanes) as lane:
            some = (inside - lane).least(self.side or self.lanes)
            for condition, more in ((is_first, False), (~is_first, True)):
                with body.outlined("stored_sums"), body.when(condition):
                    if self.side:
                        self._store_squares(y, block.first, (lane, some), results, more=more)
                    else:
                        self._store_part(y, block.first, (lane, lane + some), (index(body, 0), results), more=more)
            end(block.first + lane, some)

    def _store_squares(
        self, y: Pointer, first: Index, lanes: tuple[Index, Index], results: Index, *, more: bool
    ) -> None:
        """Write squares of outer channels and results, and what is left of both one by one."""
        body, side, (lane, some) = self.body, self.side, lanes
        with body.loop(0, results, side) as at:
            is_whole = (at + side <= results) & (some == side)
            with body.when(is_whole):
                targets = [self.number(self.result_targets, at + k) for k in range(side)]
                follow = targets[-1] - targets[0] == side - 1
                with body.when(follow):
                    self._store_turned(y, first + lane, at, lane, targets[0], more=more)
                with body.when(~follow), body.loop(lane, lane + side) as one:
                    for k, target in enumerate(targets):
                        self._store_one(self._target(y, first + one, target), at + k, one, more=more)
            with body.when(~is_whole):
                ends = (lane, lane + some), (at, (at + side).least(results))
                self._store_part(y, first, *ends, more=more)

    def _store_turned(self, y: Pointer, outer: Index, at: Index, lane: Index, target: Index, *, more: bool) -> None:
        """Write a square of results that follow one another."""
        sums, apart = self.sums.moved(at * self.lanes + lane), index(self.body, self.strides[2][2])

        def write(sums: Pointer, y: Pointer, apart: Index) -> None:
            body, whole, terms = y.body, Block(index(y.body, 0)), Terms(self.site, y.body, self.terms.dtype)
            rows: list[Any] = [body.load_row(sums.moved(k * self.lanes), whole) for k in range(self.side)]
            for k, value in enumerate(transposed(rows)):
                place = y.moved(apart * k)
                body.store_row(terms.sum(value, body.load_row(place, whole)) if more else value, place, whole)

        with self.body.of(self.side):
            name = f"{'added' if more else 'stored'}_squares_{y.dtype}_{self.lanes}"
            self.body.subroutine(name, write, (sums, self._target(y, outer, target), apart))

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
        return self.kernel.moved(y, [outer], self.strides[2][2:3]).moved(offset)


def _side(kernel: Kernel, dtype: str, lanes: int) -> int:
    """Of how many outer channels squares are, where they are turned: of elements of whole or half words, 0 if not."""
    side = min(kernel.lanes_for([dtype], 1, SIDE), lanes)
    return int(side) if dtype in TURNED and side >= SIDE // 2 else 0


def _next(position: Sequence[Index], sizes: Sequence[Index]) -> list[Index]:
    """The indices of the next element."""
    indices: list[Index] = []
    carry = index(position[0].body, 1)
    for at, n in zip(reversed(position), reversed(sizes), strict=True):
        more = at + carry
        is_end = more == n
        indices.append(is_end.choose(0, more))
        carry = is_end.number()
    return indices[::-1]
