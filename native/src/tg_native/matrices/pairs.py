"""Products of matrices of 8-bit integers by pairs: both terms of one instruction, beside panels of columns.

A term j and the one half of all terms further on are a pair: two integers of 16 bits in a lane of 32. An instruction
(pmaddwd) multiplies both with those of another pair and adds the products up, exactly, for integers of 9 bits or fewer.
Rows of x and panels of y are packed as pairs, by rows of either matrix as they lie: that the terms of a pair are far
apart is what makes pairs of whole vectors without a shuffle. A pair of a row meets a vector of pairs of columns, so no
sum lies across lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg_native.kernels.functions import paired
from tg_native.kernels.index import Index, index
from tg_native.kernels.lanes import constant, transposed
from tg_native.kernels.routine import Block
from tg_native.loops.nest import own_memory
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.kernels.routine import Routine
    from tg_native.plan.values import Array

SUM: Final = "int32"
VECTORS: Final = 2  # of columns in a panel
ROWS: Final = 6  # of a tile: 12 vectors of sums, which leaves 4 of 16 registers
REST: Final = 2  # rows of a tile of what is left
PAIRS: Final = 1024  # of a panel at most: 64 kB, an eighth of a second cache
BLOCK: Final = 96  # rows of x that are packed at a time, for which a panel is packed once: a multiple of `ROWS`
SIDE: Final = 8  # of a square of pairs that is turned
HALF: Final = 16  # bits of one of a pair


class Tile(NamedTuple):
    """Some rows of packed pairs, a panel and the columns of z that their products are: operands of a subroutine.

    Args:
        x: the first pair of the first row.
        packed: the panel.
        z: the first element.
        lead: how far rows of z are apart.
        pairs: how many of a row are met.
        rows: how many rows there are, of which a tile may have fewer.
        columns: how many of the panel's columns there are in z.
        is_more: 1 where sums are added to z, else 0.
    """

    x: Pointer
    packed: Pointer
    z: Pointer
    lead: Index
    pairs: Index
    rows: Index
    columns: Index
    is_more: Index


class Piece(NamedTuple):
    """Some of the pairs of a sum.

    Args:
        start: the first one.
        pairs: how many there are.
        whole: how many have two terms: all, or all but the last.
    """

    start: Index
    pairs: Index
    whole: Index


@final
class Pairs:
    """The function of a product in the making: of x (m, k) and y (k, n), at each index of the leading axes.

    Elements of x follow one another along its rows, those of y along rows or along columns.
    """

    def __init__(self, site: Site, x: Array, y: Array, z: Array) -> None:
        self.site, self.arrays = site, (x, y, z)
        kernel = self.kernel = site.kernel([SUM], VECTORS, y.shape[-1])
        if all(map(is_one, z.shape[:-2])):
            site.divide(kernel, (y.shape[-1], x.shape[-2], x.shape[-1]), (), [z.dtype], unit=kernel.body.lanes)
        self.body, self.lanes = kernel.body, kernel.body.lanes
        self.pointers = kernel.read(x), kernel.read(y), kernel.write(z)
        self.m, self.n, self.k = (kernel.length(n) for n in (x.shape[-2], y.shape[-1], x.shape[-1]))
        self.half = (self.k + 1) >> 1
        k = x.shape[-1]
        self.room = min((k + 1) // 2, PAIRS) if type(k) is int else PAIRS
        self.packed = own_memory(site, kernel, SUM, (max(self.room, 1), max(self.lanes, 1)))
        self.rows = own_memory(site, kernel, SUM, (BLOCK, max(self.room, 1)))
        side = min(kernel.lanes_for([SUM], 1, SIDE), self.lanes)
        self.side = side if is_one(y.strides[-2]) and not is_one(y.strides[-1]) and side > 1 else 0

    def write(self) -> None:
        """Write the whole function and call it."""
        kernel, body = self.kernel, self.body
        with kernel.loops(self.arrays[2].shape[:-2]) as outer:
            places = [kernel.moved(p, outer, v.strides[:-2]) for p, v in zip(self.pointers, self.arrays, strict=True)]
            with body.loop(0, ((self.half + (PAIRS - 1)) // PAIRS).most(1)) as number:
                start = number * PAIRS
                count = (self.half - start).least(PAIRS)
                piece = Piece(start, count, (self.k - self.half - start).least(count))
                with body.loop(0, self.m, BLOCK) as first:
                    self._block(places, piece, first, (number > 0).number())
        self.site.run(kernel)

    def _block(self, places: Sequence[Pointer], piece: Piece, first: Index, is_more: Index) -> None:
        """Some rows of z: the sums of some pairs, or these are added to them."""
        (x, y, z), kernel, body = places, self.kernel, self.body
        (a, b, c), rows = self.arrays, (self.m - first).least(BLOCK)
        with body.loop(0, rows) as i:
            row = kernel.moved(x, [first + i, piece.start], a.strides[-2:])
            self._pack_row(row, self.rows.moved(i * self.room), piece)
        lead = kernel.length(c.strides[-2])
        low, high = kernel.bounds(b.shape[-1], first=True)

        def panel(at: Index, part: Block) -> None:
            columns = index(body, self.lanes) if part.inside is None else part.inside
            self._pack(kernel.moved(y, [piece.start, at], b.strides[-2:]), part, self.n - at - 1, piece)
            whole = rows // ROWS * ROWS
            for start, end, count in ((index(body, 0), whole, ROWS), (whole, rows, REST)):
                with body.loop(start, end, count) as i:
                    place = kernel.moved(z, [first + i, at], c.strides[-2:])
                    row = self.rows.moved(i * self.room)
                    tile = Tile(row, self.packed, place, lead, piece.pairs, rows - i, columns, is_more)
                    name = f"multiplied_pairs_{count}_{self.room}"
                    body.subroutine(name, lambda *fields, count=count: self._add(Tile(*fields), count), tile)

        whole = low + ((high - low) & -self.lanes)
        with body.loop(low, whole, self.lanes) as at:
            panel(at, Block(index(body, 0)))
        n = b.shape[-1]
        if not (type(n) is int and n % self.lanes == 0 and kernel.share is None):
            with body.when(whole < high):
                panel(whole, Block(index(body, 0), high - whole))

    def _add(self, tile: Tile, count: int) -> None:
        """Write or add to a tile of z; rows beyond the last one are that one's, and not written."""
        body, rows = tile.z.body, range(count)
        one = Block(index(body, 0))
        places = [body.held(tile.x.moved((tile.rows - 1).least(r) * self.room)) for r in rows]

        def step(at: Index, *sums: Any) -> list[Any]:
            columns: Any = body.load_row(tile.packed.moved(at * body.lanes), one)
            factors: list[Any] = [body.load(place.moved(at)) for place in places]
            return [paired(factor, columns, total) for total, factor in zip(sums, factors, strict=True)]

        sums = body.fold(0, tile.pairs, 1, [constant(body, 0, SUM)] * count, step)
        part = Block(index(body, 0), tile.columns, tile.columns == body.lanes if body.asks_whole else None)
        for condition, more in ((tile.is_more == 0, False), (tile.is_more > 0, True)):
            with body.when(condition):
                for r, value in enumerate(sums):
                    place = tile.z.moved(tile.lead * r)
                    with body.when(tile.rows > r):
                        total: Any = value + body.load_row(place, part) if more else value
                        body.store_row(total, place, part)

    # --- packing -----------------------------------------------------------------------------------------------------

    def _pack_row(self, row: Pointer, target: Pointer, piece: Piece) -> None:
        """Pack some pairs of a row."""
        body, other = self.body, row.moved(self.half)

        def write(block: Block) -> None:
            low, high = (body.load_row(place.moved(block.first), block) for place in (row, other))
            body.store_row(_pair(body, low, high), target.moved(block.first), block)

        self.kernel.rounds(index(body, 0), piece.whole, write, twice=True)
        with body.when(piece.whole < piece.pairs), body.of(0):
            body.store(_pair(body, body.load(row.moved(piece.whole))), target.moved(piece.whole))

    def _pack(self, y: Pointer, part: Block, last: Index, piece: Piece) -> None:
        """Pack some pairs of a panel; columns beyond the last one of the matrix are that one's, or any number."""
        b, kernel, body, lanes = self.arrays[1], self.kernel, self.body, self.lanes
        if self.side:
            apart = kernel.length(b.strides[-1])
            with body.of(0), body.loop(0, lanes, self.side) as lane, body.of(self.side):
                operands = y, self.packed.moved(lane), apart, lane, last, *piece[1:], self.half
                body.subroutine(f"turned_pairs_{b.dtype}_{lanes}", self._turned, operands)
            return
        other, whole = y.moved(self.half * kernel.length(b.strides[-2])), Block(index(body, 0))

        def rows(at: Index, *places: Pointer) -> None:
            values = [kernel.load(kernel.moved(p, [at], b.strides[-2:-1]), b.strides[-1], part) for p in places]
            body.store_row(_pair(body, *values), self.packed.moved(at * lanes), whole)

        with body.loop(0, piece.whole) as at:
            rows(at, y, other)
        with body.when(piece.whole < piece.pairs):
            rows(piece.whole, y)

    def _turned(self, y: Pointer, packed: Pointer, apart: Index, lane: Index, last: Index, *piece: Index) -> None:
        """Pack some pairs of as many columns as a square has, whose terms follow one another."""
        pairs, whole, half = piece
        body, side, lanes, one = y.body, self.side, self.lanes, Block(index(y.body, 0))
        places = [body.held(y.moved((lane + k).least(last) * apart)) for k in range(side)]
        others = [body.held(place.moved(half)) for place in places]
        squares = whole & -side
        with body.loop(0, squares, side) as at:
            rows = [
                _pair(body, *(body.load_row(p.moved(at), one) for p in both))
                for both in zip(places, others, strict=True)
            ]
            for k, value in enumerate(transposed(rows)):
                body.store_row(value, packed.moved((at + k) * lanes), one)
        with body.of(0):
            for k, (low, high) in enumerate(zip(places, others, strict=True)):
                with body.loop(squares, whole) as at:
                    pair = _pair(body, body.load(low.moved(at)), body.load(high.moved(at)))
                    body.store(pair, packed.moved(at * lanes + k))
                with body.when(whole < pairs):
                    body.store(_pair(body, body.load(low.moved(whole))), packed.moved(whole * lanes + k))


def _pair(body: Routine, low: Any, high: Any = None) -> Lanes:
    """Two integers of 8 bits in the halves of one of 32; 0 in place of a second one that is not there."""
    first: Lanes = low.to(SUM) & ((1 << HALF) - 1)
    return first if high is None else first | (high.to(SUM) << HALF)
