"""The gradient of attention: weights of a block of queries and keys are made again, and used in three products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.types import lengths
from tg_native.attention.heads import KEYS, Meeting
from tg_native.attention.tiles import Tiles
from tg_native.kernels.functions import fma
from tg_native.kernels.index import INT64, Condition, Index, index
from tg_native.kernels.lanes import select

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tg.ops.nn.attention import AttentionGradient
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.plan.values import Array

HALF: Final = 0.5
QUERIES: Final = 120  # in a block: its weights and slopes are a seventh of a second cache


@final
class Backward(Tiles):
    """Writes `AttentionGradient`.

    For each block of keys, the weights w and slopes s of blocks of queries make dv += w' dy, dk += s' q and dq += s k.
    Queries, their cotangents and dq are in memory of this call for a whole head.

    The slopes w (dw - sum(dw w)) of a query have the sum 0. That of a weight of nearly 1 is a difference of equal
    numbers, so the slope of a weight above a half is the sum of the others, and is added in the end.
    """

    op: AttentionGradient

    def __init__(self, op: AttentionGradient, site: Site, arrays: Mapping[str, Array]) -> None:
        super().__init__(op, site, arrays)
        rows, d, e = (*arrays["q"].shape[-2:], arrays["v"].shape[-1])
        room = lengths.add(rows, self.tile_rows)
        self.room = self.size(room)  # rows of a head of queries
        every, keys = lengths.times(room, self.group), KEYS + self.tile_rows
        self.of_queries, self.of_slopes, self.dq = (self.matrix(every, n) for n in (d, e, d))
        self.bases, self.inner, self.rest = (self.memory(every) for _ in range(3))
        self.most = self.memory(every, dtype=INT64)  # of each query the key of a weight above a half, or -1
        self.of_keys, self.dk, self.dv = (self.matrix(keys, n) for n in (d, d, e))
        self.turned_keys, self.turned_values = self.matrix(d, keys), self.matrix(e, keys)
        self.weights, self.slopes = self.matrix(QUERIES, keys), self.matrix(QUERIES, keys)

    def is_read(self, name: str) -> bool:
        return name not in ("dq", "dk", "dv")

    def write(self) -> None:
        """Write the whole function and call it."""
        body, zero = self.body, index(self.body, 0)
        with self.kernel.loops(self.pairs, first=True) as pair:
            places, scale = self.of_pair(pair), self.scale()
            with body.loop(0, self.count) as member:
                self._begin(places, member, scale)
            with body.loop(0, self.keys, KEYS) as key:
                self._block(places, key, (self.keys - key).least(KEYS))
            with body.loop(0, self.count) as member:
                self._add_most(places, member)
                source, target = self.dq.below(member * self.room), self.row("dq", places["dq"], member, zero)
                self.store(source, self.queries, self.width, "dq", target, scale)
        self.site.run(self.kernel)

    def _begin(self, places: Mapping[str, Pointer], member: Index, scale: Lanes) -> None:
        """Copies of queries and cotangents, and of each query what makes weights of scores, and slopes of these."""
        body, rows, zero = self.body, self.queries, index(self.body, 0)
        start, padding = member * self.room, self.up(rows, self.tile_rows) - rows
        queries, slopes = self.of_queries.below(start), self.of_slopes.below(start)
        self.copy("q", self.row("q", places["q"], member, zero), rows, self.width, queries, scale)
        self.copy("dy", self.row("dy", places["dy"], member, zero), rows, self.value_width, slopes)
        self.store_zeros(queries.below(rows), padding, self.width)
        self.store_zeros(slopes.below(rows), padding, self.value_width)
        self.store_zeros(self.dq.below(start), rows + padding, self.width)
        with body.loop(0, rows) as row:
            y = self.row("y", places["y"], member, row)

            def add(at: Index, last: Lanes) -> list[Lanes]:
                slope: Any = body.load_row(slopes.at(row, at), self.whole)
                return [fma(slope, self.load(y, at, self.value_width), last)]

            (total,) = body.fold(0, self.value_width, body.lanes, [self.number(0)], add)
            inner = self.across(total, lambda a, b: a + b)
            with body.of(0):
                sums: Any = body.load(self.row("sums", places["sums"], member, row))
                body.store(inner, self.inner.moved(start + row))
                body.store(self.number(0), self.rest.moved(start + row))
                body.store(index(body, -1).value, self.most.moved(start + row))
                body.store(select(sums == -np.inf, np.inf, sums), self.bases.moved(start + row))

    def _block(self, places: Mapping[str, Pointer], key: Index, keys: Index) -> None:
        """A block of keys meets all queries that see some of it."""
        body, every = self.body, self.up(keys, self.tile_rows)
        k, v = (self.kernel.moved(places[name], [key], [self.strides[name].rows]) for name in "kv")
        self.copy("k", k, keys, self.width, self.of_keys)
        self.turn("k", k, keys, self.width, self.turned_keys)
        self.turn("v", v, keys, self.value_width, self.turned_values)
        self.store_zeros(self.dk, every, self.width)
        self.store_zeros(self.dv, every, self.value_width)
        first = key // QUERIES * QUERIES if self.op.is_causal else index(body, 0)
        with body.loop(0, self.count) as member, body.loop(first, self.queries, QUERIES) as row:
            what = Meeting(places, member, row, member * self.room + row, key, keys)
            self._of_queries(what, (self.queries - row).least(QUERIES))
        for name, tile, width in (("dk", self.dk, self.width), ("dv", self.dv, self.value_width)):
            target = self.kernel.moved(places[name], [key], [self.strides[name].rows])
            self.store(tile, keys, width, name, target, None)

    def _of_queries(self, what: Meeting, rows: Index) -> None:
        """A block of queries meets one of keys."""
        body, queries, slopes = self.body, self.of_queries.below(what.at), self.of_slopes.below(what.at)
        with body.loop(0, rows, self.tile_rows) as row:
            self._tile(what.below(row), row, (rows - row).least(self.tile_rows))
        with body.loop(0, what.keys, self.tile_rows) as key:
            first = (what.key + key - what.row).most(0).least(rows) if self.op.is_causal else index(body, 0)
            dk, dv, terms = self.dk.below(key), self.dv.below(key), (first, rows)
            self.multiply(self.weights.at(0, key), (1, self.weights.lead), slopes, dv, terms, self.value_width)
            self.multiply(self.slopes.at(0, key), (1, self.slopes.lead), queries, dk, terms, self.width)

    def _tile(self, what: Meeting, at: Index, rows: Index) -> None:
        """Weights and slopes of a tile of queries, of which some are there, and what these make of queries."""
        weights, slopes, visible = self.weights.below(at), self.slopes.below(at), self.seen(what, self.tile_rows)
        queries, lead = self.of_queries.at(what.at), self.of_queries.lead
        cotangents, lead_of = self.of_slopes.at(what.at), self.of_slopes.lead
        self.multiply_anew(queries, lead, self.turned_keys, weights, self.width, visible)
        self.multiply_anew(cotangents, lead_of, self.turned_values, slopes, self.value_width, visible)
        with self.body.loop(0, rows) as row:
            self._row(what.below(row), weights.at(row), slopes.at(row), visible)
        dq, steps = self.dq.below(what.at), (slopes.lead, 1)
        self.multiply(slopes.place, steps, self.of_keys, dq, (0, visible), self.width)

    def _row(self, what: Meeting, weights: Pointer, slopes: Pointer, keys: Index) -> None:
        """Make weights of scores and slopes of what the weights' cotangents are, in their places; 0 for other keys."""
        body, visible, mask = self.body, self.seen(what), self.mask_of(what)
        base: Any = body.load(self.bases.moved(what.at))
        inner: Any = body.load(self.inner.moved(what.at))

        def more(at: Index, rest: Lanes) -> list[Lanes]:
            x: Any = body.load_row(weights.moved(at), self.whole)
            dx: Any = body.load_row(slopes.moved(at), self.whole)
            score = self.masked(x, at, visible, mask)
            weight = self.exp(score - base)
            body.store_row(weight, weights.moved(at), self.whole)
            is_most = weight > HALF
            with body.when(~body.everywhere(~is_most)):
                self._note_most(what, weights, at)
            slope = select(is_most | (score == -np.inf), 0.0, weight * (dx - inner))
            body.store_row(slope, slopes.moved(at), self.whole)
            return [rest + slope]

        (rest,) = body.fold(0, keys, body.lanes, [self.number(0)], more)
        rest = self.across(rest, lambda x, y: x + y)
        with body.of(0):
            before: Any = body.load(self.rest.moved(what.at))
            body.store(before + rest, self.rest.moved(what.at))
        if self.op.is_causal:  # tiles of keys read what lies between
            with body.loop(self.up(keys, body.lanes), what.keys + self.tile_rows, body.lanes) as at:
                for place in (weights, slopes):
                    body.store_row(self.number(0), place.moved(at), self.whole)

    def _note_most(self, what: Meeting, weights: Pointer, at: Index) -> None:
        """Note which of a block of lanes of keys has a weight above a half."""
        body, lanes = self.body, self.body.lanes
        with body.of(0), body.loop(at, at + lanes) as one:
            weight: Any = body.load(weights.moved(one))
            with body.when(Condition(weight > HALF)):
                body.store((what.key + one).value, self.most.moved(what.at))

    def _add_most(self, places: Mapping[str, Pointer], member: Index) -> None:
        """Add what the slopes of weights above a half make of queries and keys."""
        body = self.body
        with body.loop(0, self.queries) as row:
            at = member * self.room + row
            with body.of(0):
                most: Any = body.load(self.most.moved(at))
            key = Index(most)
            with body.when(key >= 0):
                slope: Any = body.load(self.rest.moved(at))
                k, dk = (self.kernel.moved(places[name], [key], [self.strides[name].rows]) for name in ("k", "dk"))
                with body.loop(0, self.width, body.lanes) as column:
                    block, dq = self.block(column, self.width), self.dq.at(at, column)
                    query: Any = body.load_row(self.of_queries.at(at, column), self.whole)
                    of_query: Any = body.load_row(dq, self.whole)
                    of_key: Any = body.load_row(dk.moved(column), block)
                    body.store_row(fma(-slope, self.load(k, column, self.width), of_query), dq, self.whole)
                    body.store_row(fma(-slope, query, of_key), dk.moved(column), block)
