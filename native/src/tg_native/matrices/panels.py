"""Products of matrices by panels: as many columns as there are lanes, packed one after the other, beside a few rows.

OpenBLAS packs both matrices, at every call and element by element where they are transposed. A product of a few hundred
rows, as images and sentences have, meets each element so seldom that this takes a sixth of the time. Here rows are read
where they lie, and a panel is packed by squares that are turned in registers, just before the rows meet it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from tg_native.kernels.dtypes import item_size
from tg_native.kernels.index import Index, index
from tg_native.kernels.lanes import transposed
from tg_native.kernels.routine import Block
from tg_native.loops.nest import own_memory
from tg_native.loops.terms import Terms
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Array

DTYPES: Final = frozenset(("float32", "float64"))
VECTORS: Final = 2  # of columns in a panel
ROWS: Final = {64: 7}  # of a tile, by the bytes of a vector: 14 vectors of sums
FEWER: Final = 6  # where these are shorter, and there are 16 registers
REST: Final = 2  # rows of a tile of what is left: as many sums as follow one another while one is added to
TERMS: Final = 768  # of a panel at most: of float32 it takes 96 kB, a part of a second cache
SUMMED: Final = 256  # of them by themselves: with their sums is rounding less than that of OpenBLAS
SIDE: Final = 8  # of a square of elements that is turned
LEAST_COLUMNS: Final = 32  # of z: fewer are not worth panels
LEAST_MATRIX: Final = 2**16  # elements of y from which on a product by panels is worth its code
LEAST_TERMS: Final = 2**20  # of a product: a tenth of a millisecond
FEW: Final = 4  # rows from which on columns are turned as fast as they are read
MANY: Final = 128  # rows where y is as it is packed, which OpenBLAS does as fast with shorter vectors


def least_rows(arrays: Sequence[Array], vector_bytes: int) -> int | None:
    """From how many rows of x on a product x (m, k) @ y (k, n) is made by panels; None where it never is."""
    x, y, z = arrays
    (m, k), n = x.shape[-2:], y.shape[-1]
    if z.dtype not in DTYPES or type(n) is not int or type(k) is not int:
        return None
    is_turned = is_one(y.strides[-2])
    if n < LEAST_COLUMNS or n * k < LEAST_MATRIX or not (is_turned or vector_bytes in ROWS):
        return None
    least = max(FEW if is_turned else MANY, -(-LEAST_TERMS // (n * k)))
    return None if type(m) is int and m < least else least


class Tile(NamedTuple):
    """Some rows of x, a panel and the columns of z that their products are: operands of a subroutine.

    Args:
        x: the first element of the first row that is met.
        apart: how far rows of x are apart.
        step: how far elements of a row are.
        packed: the panel.
        z: the first element.
        lead: how far rows of z are apart.
        terms: how many elements of a row are met.
        rows: how many rows there are, of which a tile may have fewer.
        columns: how many of the panel's columns there are in z.
        is_more: 1 where sums are added to z, else 0.
    """

    x: Pointer
    apart: Index
    step: Index
    packed: Pointer
    z: Pointer
    lead: Index
    terms: Index
    rows: Index
    columns: Index
    is_more: Index


@final
class Panels:
    """The loops of a product x (m, k) @ y (k, n) -> z (m, n) in a function of an op, which has `VECTORS` as lanes."""

    def __init__(self, site: Site, kernel: Kernel, arrays: Sequence[Array], sizes: Sequence[Index]) -> None:
        self.site, self.kernel, self.arrays, self.body = site, kernel, arrays, kernel.body
        self.m, self.n, self.k = sizes
        self.dtype, self.lanes = arrays[2].dtype, self.body.lanes
        (self.apart, self.step), _, (self.lead, _) = (
            [kernel.length(stride) for stride in v.strides[-2:]] for v in arrays
        )
        self.rows = ROWS.get(self.body.machine.vector_bytes, FEWER)
        self.side = self._side()
        k = arrays[0].shape[-1]
        terms = min(k, TERMS) if type(k) is int else TERMS
        self.is_one_piece = type(k) is int and k <= TERMS  # else lines of the next columns may drive out these
        self.packed = own_memory(site, kernel, self.dtype, (terms, self.lanes))

    def _side(self) -> int:
        """Of how many columns squares are that are turned: 0 where columns follow one another, or nothing does."""
        _, y, _ = self.arrays
        side = min(self.kernel.lanes_for([self.dtype], 1, SIDE), self.lanes)
        return side if is_one(y.strides[-2]) and not is_one(y.strides[-1]) and side > 1 else 0

    def write(self, places: Sequence[Pointer], first: Index, end: Index) -> None:
        """Write some columns of z."""
        body, pieces = self.body, ((self.k + (TERMS - 1)) // TERMS).most(1)
        chunk, whole = (self.k + (pieces - 1)) // pieces, first + ((end - first) & -self.lanes)
        with body.loop(0, pieces) as piece:
            start = piece * chunk
            some, is_more = (self.k - start).least(chunk), (piece > 0).number()

            def panel(at: Index, columns: Index) -> None:
                self._panel(places, (start, some), (at, columns), is_more)

            with body.loop(first, whole, self.lanes) as at:
                panel(at, index(body, self.lanes))
            self._rest(panel, whole, end)

    def _rest(self, panel: Callable[[Index, Index], None], first: Index, end: Index) -> None:
        """The columns of a panel that is not whole: of half as many lanes, if that is enough."""
        body, rest, half = self.body, end - first, self.lanes // 2
        n = self.arrays[2].shape[-1]
        if type(n) is int and n % self.lanes == 0 and self.kernel.share is None:
            return
        if half * item_size(self.dtype) < body.machine.vector_bytes:
            with body.when(rest > 0):
                panel(first, rest)
            return
        with body.when((rest > 0) & (rest <= half)), body.of(half):
            panel(first, rest)
        with body.when(rest > half):
            panel(first, rest)

    def _panel(
        self, places: Sequence[Pointer], terms: tuple[Index, Index], columns: tuple[Index, Index], is_more: Index
    ) -> None:
        """Some columns of z: the sums of some terms, or these are added to them."""
        (x, y, z), (start, some), (first, count), body = places, terms, columns, self.body
        (_, b, _), kernel = self.arrays, self.kernel
        self._pack(kernel.moved(y, [start, first], b.strides[-2:]), some, count, self.n - first - 1)
        x, z = kernel.moved(x, [start], [self.step]), z.moved(first)
        whole = self.m // self.rows * self.rows
        m = self.arrays[0].shape[-2]
        for low, high, rows in ((index(body, 0), whole, self.rows), (whole, self.m, REST)):
            if rows == REST and type(m) is int and m % self.rows == 0:
                continue
            with body.loop(low, high, rows) as i:
                tile = Tile(
                    x.moved(i * self.apart), self.apart, self.step, self.packed, z.moved(i * self.lead), self.lead,
                    some, self.m - i, count, is_more,
                )  # fmt: skip
                name = f"multiplied_panel_{self.dtype}_{rows}"
                body.subroutine(name, lambda *fields, rows=rows: self._add(Tile(*fields), rows), tile)

    def _add(self, tile: Tile, count: int) -> None:
        """Write or add to a tile of z; rows beyond the last one are that one's, and not written."""
        body, rows = tile.z.body, range(count)
        terms, lanes = Terms(self.site, body, self.dtype), body.lanes
        one = Block(index(body, 0))
        places = [body.held(tile.x.moved((tile.rows - 1).least(r) * tile.apart)) for r in rows]

        def step(at: Index, *sums: Any) -> list[Any]:
            element: Any = body.load_row(tile.packed.moved(at * lanes), one)
            factors = [body.load(place.moved(at * tile.step)) for place in places]
            return [terms.fused(total, factor, element) for total, factor in zip(sums, factors, strict=True)]

        part = Block(index(body, 0), tile.columns, tile.columns == lanes if body.asks_whole else None)
        with body.loop(0, tile.terms.most(1), SUMMED) as start:
            first: Any = [terms.zero()] * count
            totals = body.fold(start, (start + SUMMED).least(tile.terms), 1, first, step)
            is_more = (tile.is_more > 0) | (start > 0)
            for condition, more in ((~is_more, False), (is_more, True)):
                with body.when(condition):
                    self._store(tile, totals, part, more=more)

    @staticmethod
    def _store(tile: Tile, sums: Sequence[Any], part: Block, *, more: bool) -> None:
        """Write the sums of a tile, or add them to what is there."""
        body = tile.z.body
        for r, value in enumerate(sums):
            place = tile.z.moved(tile.lead * r)
            with body.when(tile.rows > r):
                body.store_row(value + body.load_row(place, part) if more else value, place, part)

    # --- packing -----------------------------------------------------------------------------------------------------

    def _pack(self, y: Pointer, some: Index, columns: Index, last: Index) -> None:
        """Pack some terms of a panel; columns beyond the last one of the matrix are that one's, or any number."""
        (_, b, _), kernel, body, lanes = self.arrays, self.kernel, self.body, self.body.lanes
        if self.side:
            apart = kernel.length(b.strides[-1])
            with body.of(0), body.loop(0, lanes, self.side) as lane, body.of(self.side):
                operands = (y, self.packed.moved(lane), apart, lane, last, some)
                body.subroutine(
                    f"packed_panel_{self.dtype}_{lanes}{'_ahead' * self.is_one_piece}", self._turned(lanes), operands
                )
            return
        part = Block(index(body, 0), columns, columns == lanes if body.asks_whole else None)
        with body.loop(0, some) as at:
            row = kernel.load(kernel.moved(y, [at], b.strides[-2:-1]), b.strides[-1], part)
            body.store_row(row, self.packed.moved(at * lanes), Block(index(body, 0)))

    def _turned(self, lanes: int) -> Callable[..., None]:
        def pack(y: Pointer, packed: Pointer, apart: Index, lane: Index, last: Index, some: Index) -> None:
            """Pack some terms of as many columns as a square has, and fetch those of the next ones."""
            body, side, one = y.body, self.side, Block(index(y.body, 0))
            places = [body.held(y.moved((lane + k).least(last) * apart)) for k in range(side)]
            ahead = [body.held(y.moved((lane + side + k).least(last) * apart)) for k in range(side * self.is_one_piece)]
            whole = some & -side
            with body.loop(0, whole, side) as at:
                with body.of(0):
                    for place in ahead:
                        body.prefetch(place.moved(at))
                rows: list[Any] = [body.load_row(place.moved(at), one) for place in places]
                for k, value in enumerate(transposed(rows)):
                    body.store_row(value, packed.moved((at + k) * lanes), one)
            with body.of(0), body.loop(whole, some) as at:
                for k, place in enumerate(places):
                    body.store(body.load(place.moved(at)), packed.moved(at * lanes + k))

        return pack
