"""Attention: a running maximum and sum of each query, and the sum of its weighted values, over blocks of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.ops.elementwise.exponential import log
from tg.types import lengths
from tg_native.attention.heads import KEYS, Meeting
from tg_native.attention.tiles import Tiles
from tg_native.kernels.functions import fma, larger
from tg_native.kernels.index import index
from tg_native.kernels.lanes import in_all_lanes, select, transposed
from tg_native.kernels.routine import Block

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.ops.nn.attention import Attention
    from tg_native.attention.heads import Size
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index, Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.plan.values import Array

QUERIES: Final = 240  # that meet a block of keys while it is packed: packing takes a fortieth of the time
FEW: Final = 3  # queries that read keys and values where they lie, for packing takes longer than that
MOST_WRITTEN: Final = 8  # vectors of a key or of a value, for which there is no loop


@final
class Forward(Tiles):
    """Writes `Attention`."""

    op: Attention

    def __init__(self, op: Attention, site: Site, arrays: Mapping[str, Array]) -> None:
        super().__init__(op, site, arrays)
        q, v = arrays["q"], arrays["v"]
        rows: Size = q.shape[-2]
        self.some = QUERIES if type(rows) is not int else min(-(-rows // self.tile_rows) * self.tile_rows, QUERIES)
        self.is_few = rows <= FEW if type(rows) is int else None
        every = lengths.times(self.some, self.group)
        self.of_queries, self.of_values = self.matrix(every, q.shape[-1]), self.matrix(every, v.shape[-1])
        numbers = lengths.add(every, self.lanes)
        self.tops, self.news, self.sums, self.more, self.factors = (self.memory(numbers) for _ in range(5))
        self.scores = self.matrix(1 if self.is_few else self.tile_rows, KEYS)
        if not self.is_few:
            self.turned, self.values = self.matrix(q.shape[-1], KEYS), self.matrix(KEYS, v.shape[-1])

    def is_read(self, name: str) -> bool:
        return name not in ("y", "sums")

    def write(self) -> None:
        """Write the whole function and call it."""
        with self.kernel.loops(self.pairs, first=True) as pair:
            places = self.of_pair(pair)
            with self.body.loop(0, self.queries, self.some) as first:
                rows = (self.queries - first).least(self.some)
                self._begin(places, first, rows)
                self._blocks(places, first, rows)
                self._end(places, first, rows)
        self.site.run(self.kernel)

    def _begin(self, places: Mapping[str, Pointer], first: Index, rows: Index) -> None:
        """Queries times the scale, in rows of whole tiles, and sums of no terms."""
        body, scale, every = self.body, self.scale(), self.up(rows, self.tile_rows)
        with body.loop(0, self.count) as member:
            start = member * self.some
            queries = self.of_queries.below(start)
            self.copy("q", self.row("q", places["q"], member, first), rows, self.width, queries, scale)
            self.store_zeros(queries.below(rows), every - rows, self.width)
            self.store_zeros(self.of_values.below(start), every, self.value_width)
            with body.of(0), body.loop(0, every) as row:
                body.store(self.number(-np.inf), self.tops.moved(start + row))
                body.store(self.number(0), self.sums.moved(start + row))

    def _blocks(self, places: Mapping[str, Pointer], first: Index, rows: Index) -> None:
        """Go through the keys that some queries see."""
        body = self.body
        end = self.keys if not self.op.is_causal else self.keys.least(first + rows)
        with body.loop(0, end, KEYS) as key:
            keys = (end - key).least(KEYS)
            k, v = (self.kernel.moved(places[name], [key], [self.strides[name].rows]) for name in "kv")

            def by_rows() -> Sequence[Lanes]:
                with body.loop(0, self.count) as member, body.loop(0, rows) as row:
                    what = Meeting(places, member, first + row, member * self.some + row, key, keys)
                    self._row(what, k, v)
                return []

            def by_tiles() -> Sequence[Lanes]:
                self.turn("k", k, keys, self.width, self.turned)
                self.copy("v", v, keys, self.value_width, self.values)
                with body.loop(0, self.count) as member, body.loop(0, rows, self.tile_rows) as row:
                    what = Meeting(places, member, first + row, member * self.some + row, key, keys)
                    self._tile(what, (rows - row).least(self.tile_rows))
                return []

            if self.is_few is None:
                body.either(self.queries <= FEW, by_rows, by_tiles)
            else:
                (by_rows if self.is_few else by_tiles)()

    def _end(self, places: Mapping[str, Pointer], first: Index, rows: Index) -> None:
        """The sums of values over those of weights, and the logarithms of these."""
        body = self.body
        with body.loop(0, self.count) as member:
            start = member * self.some
            with body.loop(0, rows, body.lanes) as at:
                block = Block(index(body, 0), (rows - at).least(body.lanes))
                tops: Any = body.load_row(self.tops.moved(start + at), block)
                sums: Any = body.load_row(self.sums.moved(start + at), block)
                logarithms = self.site.rule(log.op)(log.op, (sums,), self.dtype) + _base(tops)
                body.store_row(logarithms, self.news.moved(start + at), block)
                body.store_row(1 / select(sums == 0, 1.0, sums), self.factors.moved(start + at), block)
            with body.loop(0, rows) as row:
                y = self.row("y", places["y"], member, first + row)
                factor: Any = body.load(self.factors.moved(start + row))
                with body.loop(0, self.value_width, body.lanes) as at:
                    value: Any = body.load_row(self.of_values.at(start + row, at), self.whole)
                    body.store_row(value * factor, y.moved(at), self.block(at, self.value_width))
                with body.of(0):
                    target = self.row("sums", places["sums"], member, first + row)
                    body.store(body.load(self.news.moved(start + row)), target)

    # --- weights -----------------------------------------------------------------------------------------------------

    def _weigh(self, what: Meeting, scores: Pointer, keys: Index) -> None:
        """Make weights of the scores of a query in their places, and note a new maximum and their sum."""
        body, visible, mask = self.body, self.seen(what), self.mask_of(what)
        with body.of(0):
            before: Any = body.load(self.tops.moved(what.at))

        def top(at: Index, last: Lanes) -> list[Lanes]:
            x: Any = body.load_row(scores.moved(at), self.whole)
            x = self.masked(x, at, visible, mask)
            body.store_row(x, scores.moved(at), self.whole)
            return [larger(last, x)]

        (tops,) = body.fold(0, keys, body.lanes, [in_all_lanes(before)], top)
        most = self.across(tops, larger)
        base = _base(in_all_lanes(most))

        def add(at: Index, last: Lanes) -> list[Lanes]:
            x: Any = body.load_row(scores.moved(at), self.whole)
            weight = self.exp(x - base)
            body.store_row(weight, scores.moved(at), self.whole)
            return [last + weight]

        (total,) = body.fold(0, keys, body.lanes, [self.number(0)], add)
        total = self.across(total, lambda x, y: x + y)
        with body.of(0):
            body.store(most, self.news.moved(what.at))
            body.store(total, self.more.moved(what.at))

    def _rescale(self, at: Index, count: int) -> None:
        """New maxima and sums of some rows, and the factors by which the sums of their values change."""
        body = self.body
        for first in range(0, count, body.lanes):
            block = Block(index(body, 0), index(body, min(count - first, body.lanes)))
            places = [p.moved(at + first) for p in (self.tops, self.news, self.sums, self.more)]
            old, new, sums, more = (body.load_row(p, block) for p in places)
            factor: Any = self.exp(old - _base(new))  # type: ignore[operator,arg-type]
            body.store_row(factor, self.factors.moved(at + first), block)
            body.store_row(sums * factor + more, self.sums.moved(at + first), block)
            body.store_row(new, self.tops.moved(at + first), block)

    # --- tiles -------------------------------------------------------------------------------------------------------

    def _tile(self, what: Meeting, rows: Index) -> None:
        """A tile of queries, some of which are there, meets a block of keys."""
        body, visible = self.body, self.seen(what, self.tile_rows)
        queries, values = self.of_queries.at(what.at), self.of_values.below(what.at)
        with body.when(visible > 0):
            self.multiply_anew(queries, self.of_queries.lead, self.turned, self.scores, self.width, visible)
            with body.loop(0, rows) as row:
                self._weigh(what.below(row), self.scores.at(row), visible)
            self._rescale(what.at, self.tile_rows)
            steps, factors = (self.scores.lead, 1), self.factors.moved(what.at)
            self.multiply(self.scores.place, steps, self.values, values, (0, visible), self.value_width, factors)

    # --- single rows -------------------------------------------------------------------------------------------------

    def _row(self, what: Meeting, k: Pointer, v: Pointer) -> None:
        """A query meets a block of keys and values where these lie."""
        body, visible, width = self.body, self.seen(what), self.value_width
        with body.when(visible > 0):
            with body.of(self.one_vector), body.loop(0, visible, self.one_vector) as at:
                scores = self._scores(k, self.of_queries.at(what.at), at, visible)
                body.store_row(scores, self.scores.at(0, at), self.whole)
            self._weigh(what, self.scores.place, visible)
            self._rescale(what.at, 1)
            if width.known is not None and width.known <= MOST_WRITTEN * self.one_vector:
                self._add_values(what, v, visible, [index(body, at) for at in range(0, width.known, body.lanes)])
            else:
                with body.loop(0, width, body.lanes) as at:
                    self._add_values(what, v, visible, [at])

    def _add_values(self, what: Meeting, v: Pointer, visible: Index, columns: Sequence[Index]) -> None:
        """Add weighted values to those of a query, from some columns on."""
        body, stride = self.body, self.kernel.as_index(self.strides["v"].rows)
        blocks = [self.block(at, self.value_width) for at in columns]
        sums = [self.of_values.at(what.at, at) for at in columns]
        factor: Any = body.load(self.factors.moved(what.at))
        before: list[Any] = [body.load_row(place, self.whole) for place in sums]

        def more(key: Index, *last: Lanes) -> list[Lanes]:
            weight: Any = body.load(self.scores.at(0, key))
            place, totals = v.moved(key * stride), []
            for at, block, total in zip(columns, blocks, last, strict=True):
                value: Any = body.load_row(place.moved(at), block)
                totals.append(fma(weight, value, total))
            return totals

        for place, total in zip(sums, body.fold(0, visible, 1, [x * factor for x in before], more), strict=True):
            body.store_row(total, place, self.whole)

    def _scores(self, k: Pointer, query: Pointer, at: Index, visible: Index) -> Lanes:
        """Scores of as many keys as a vector has lanes: sums along each, as they lie in memory, turned, and added."""
        stride, last = self.kernel.as_index(self.strides["k"].rows), visible - 1
        keys = (k.moved((at + r).least(last) * stride) for r in range(self.body.lanes))
        sums = transposed([self._products(query, key) for key in keys])
        while len(sums) > 1:
            sums = [x + y for x, y in zip(sums[::2], sums[1::2], strict=True)]
        return sums[0]

    def _products(self, query: Pointer, key: Pointer) -> Lanes:
        """The products of a query and a key, added by lanes."""
        body, width, lanes = self.body, self.width, self.body.lanes

        def more(at: Index, last: Lanes) -> list[Lanes]:
            factor: Any = body.load_row(query.moved(at), self.whole)
            return [fma(factor, self.load(key, at, width), last)]

        if width.known is None or width.known > MOST_WRITTEN * lanes:
            return body.fold(0, width, lanes, [self.number(0)], more)[0]
        total = self.number(0)
        for at in range(0, width.known, lanes):
            (total,) = more(index(body, at), total)
        return total


def _base(most: Lanes) -> Lanes:
    """Offset that is taken off scores: their maximum, or 0 where that is -inf."""
    return select(most == -np.inf, 0.0, most)
