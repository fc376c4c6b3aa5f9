"""A vector beside a matrix that no cache holds, which takes as long as the matrix takes to be read once.

Memory is read fastest from several places at a time, each from its beginning to its end: the machine reads ahead of
each. So rows are read four at a time, a quarter of all apart. Sums that rows are added to are loaded and stored once
for four, and so is the vector of scalar products. Rows that follow one another share pages of 4 kB, and are read ahead
of less well.

GB/s of float32 on one core of an AMD Zen 3 (AVX2; of one row after the other, four, and four a quarter apart), where a
loop that does nothing but read gets 14 from one place, 18 from two and 20 from four:

    x @ w     768 x 768   14  14  20      x @ w.T   rows of 768     14  14  19
              768 x 2304  13  17  19                rows of 3,072   13  17  19
              768 x 3072  13  18  19
              3072 x 768  14  13  19

From a third cache, of 32 MB, they are 53, 60 and 69 at 768 x 768.

Lengths are known: for both loops of a dtype a C compiler takes a fifth of a second, which small data do not give back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg_native.kernels.lanes import parts, select
from tg_native.kernels.routine import Block
from tg_native.loops.terms import Terms
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index, Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.loops.kernel import Kernel
    from tg_native.plan.values import Array

LEAST: Final = 2**20  # bytes of a matrix; a smaller one is in a cache, where OpenBLAS is as fast
PLACES: Final = 4  # that are read at a time: eight are no faster, and lines a power of two apart would share eight ways
VECTORS: Final = 2  # of a row that are loaded at once: a line of the cache


class Beside(NamedTuple):
    """Layout of a matrix beside a vector in a product x (m, k) @ y (k, n) where m or n is 1.

    Args:
        is_column: whether the matrix is x, else y.
        has_dots: whether each sum is a scalar product with one row; else rows are added to the sums.
        sums: how many there are.
        terms: of each sum.
        apart: how far rows of the matrix are apart.
        step: how far elements of the vector are apart.
    """

    is_column: bool
    has_dots: bool
    sums: int | Length
    terms: int | Length
    apart: int | Length
    step: int | Length

    @property
    def along(self) -> int | Length:
        """The length of a row."""
        return self.terms if self.has_dots else self.sums


def beside(x: Array, y: Array) -> Beside | None:
    """Layout of the matrix beside a vector, if a loop reads it by rows; None where neither is a vector, or both are."""
    is_column = is_one(y.shape[-1])
    if is_one(x.shape[-2]) == is_column:
        return None
    matrix, summed, step = (x, -1, y.strides[-2]) if is_column else (y, -2, x.strides[-1])
    other, has_dots = -3 - summed, is_one(matrix.strides[summed])
    if not is_one(step if has_dots else matrix.strides[other]):
        return None
    apart = matrix.strides[other if has_dots else summed]
    return Beside(is_column, has_dots, matrix.shape[other], matrix.shape[summed], apart, step)


@final
class Rows:
    """The loops over the rows of a matrix beside a vector, in a function of an op that has `VECTORS` as lanes."""

    def __init__(self, site: Site, kernel: Kernel, dtype: str, lie: Beside) -> None:
        self.site, self.kernel, self.dtype, self.lie = site, kernel, dtype, lie
        self.terms, self.apart, self.step = map(kernel.length, (lie.terms, lie.apart, lie.step))

    def write(self, places: Sequence[Pointer]) -> None:
        """Write the sums, or those of a part where threads share them."""
        (x, y, z), kernel, lie = places, self.kernel, self.lie
        matrix, vector = (x, y) if lie.is_column else (y, x)
        low, high = kernel.bounds(lie.sums, first=True)
        z, sums = z.moved(low), high - low
        if lie.has_dots:
            multiplied = (matrix.moved(low * self.apart), self.apart, vector, z, sums, self.terms)
            kernel.body.subroutine(f"multiplied_rows_{self.dtype}", self._multiply, multiplied)
        else:
            added = (matrix.moved(low), self.apart, vector, z, sums, self.terms, self.step)
            kernel.body.subroutine(f"added_rows_{self.dtype}", self._add, added)

    def _multiply(self, matrix: Pointer, apart: Index, vector: Pointer, z: Pointer, sums: Index, terms: Index) -> None:
        """Scalar products of the vector and each row."""
        body = matrix.body
        more, whole = Terms(self.site, body, self.dtype), terms & -body.lanes

        def multiply(rows: Sequence[Index]) -> None:
            places = [body.held(matrix.moved(row * apart)) for row in rows]

            def step(block: Block, *last: Lanes) -> list[Lanes]:
                factor, mask, sums = body.load_row(vector.moved(block.first), block), block.mask, []
                for place, total in zip(places, more.values(last), strict=True):
                    element = body.load_row(place.moved(block.first), block)
                    value = more.fused(total, factor, element)
                    sums.append(value if mask is None else select(mask, value, total))
                return parts(sums)

            sums = parts([more.zero()] * len(rows))
            sums = body.fold(0, whole, body.lanes, sums, lambda at, *last: step(Block(at), *last))
            rest = self.kernel.partial(whole, terms)
            sums = body.fold(whole, terms, body.lanes, sums, lambda _, *last: step(rest, *last))
            for row, total in zip(rows, more.values(sums), strict=True):
                value = more.across(total)
                with body.of(0):
                    body.store(value.to(self.dtype), z.moved(row))

        self._in_places(sums, multiply)

    def _add(
        self, matrix: Pointer, apart: Index, vector: Pointer, z: Pointer, sums: Index, terms: Index, step: Index
    ) -> None:
        """The sums of the rows, each multiplied by an element of the vector."""
        body, kernel = matrix.body, self.kernel
        more, whole = Terms(self.site, body, self.dtype), sums & -body.lanes

        def in_blocks(write: Callable[[Block], None]) -> None:
            with body.loop(0, whole, body.lanes) as at:
                write(Block(at))
            with body.when(whole < sums):
                write(kernel.partial(whole, sums))

        def add(rows: Sequence[Index]) -> None:
            places = [body.held(matrix.moved(row * apart)) for row in rows]
            factors = [body.load(vector.moved(row * step)) for row in rows]

            def write(block: Block) -> None:
                total = body.load_row(z.moved(block.first), block)
                for place, factor in zip(places, factors, strict=True):
                    total = more.fused(total, factor, body.load_row(place.moved(block.first), block))
                body.store_row(total, z.moved(block.first), block)

            in_blocks(write)

        in_blocks(lambda block: body.store_row(more.zero(), z.moved(block.first), block))
        self._in_places(terms, add)

    @staticmethod
    def _in_places(count: Index, write: Callable[[Sequence[Index]], None]) -> None:
        """Go through rows in several places at a time, and through what is left."""
        body, far = count.body, count // PLACES
        with body.loop(0, far) as at:
            write([at + far * place for place in range(PLACES)])
        with body.loop(far * PLACES, count) as at:
            write([at])
