"""Matrices in memory of a call, and products of them in tiles whose sums are registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tg.types import lengths
from tg.types.dtypes import numpy_dtype
from tg_native.attention.heads import Heads
from tg_native.kernels.dtypes import item_size
from tg_native.kernels.functions import fma
from tg_native.kernels.index import Index, index
from tg_native.kernels.lanes import constant, select, transposed
from tg_native.kernels.routine import Block
from tg_native.loops.nest import own_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.attention.heads import Size
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Lanes

SIDE: Final = 8  # of a square of elements that is turned
CACHE_LINE: Final = 64  # bytes; rows are an odd number of them apart, or columns would meet in few sets of a cache


class Matrix(NamedTuple):
    """Rows in memory of this call, at a distance, each as long as whole blocks of lanes are."""

    place: Pointer
    lead: Index

    def at(self, row: Index | int, column: Index | int = 0) -> Pointer:
        """The place of an element."""
        return self.place.moved(self.lead * row).moved(column)

    def below(self, row: Index | int) -> Matrix:
        """The matrix from a row on."""
        return Matrix(self.at(row), self.lead)

    def beside(self, column: Index | int) -> Matrix:
        """The matrix from a column on."""
        return Matrix(self.at(0, column), self.lead)


class Tiles(Heads):
    """Operations on rows and columns of matrices."""

    def up(self, n: Index, step: int) -> Index:
        """A length, rounded up."""
        return (n + (step - 1)) // step * step

    # --- memory ------------------------------------------------------------------------------------------------------

    def memory(self, *shape: Size, dtype: str = "") -> Pointer:
        """Memory for the time of this op, of the running thread alone."""
        return own_memory(self.site, self.kernel, dtype or self.dtype, shape)

    def matrix(self, rows: Size, columns: Size) -> Matrix:
        """Memory for a matrix."""
        line = CACHE_LINE // item_size(self.dtype)
        if type(columns) is int:
            lead: Size = (-(-columns // self.lanes) * self.lanes + self.lanes) // line | 1
            lead = max(lead * line, columns + self.lanes)
        else:
            lead = lengths.add(columns, self.lanes + line)
        return Matrix(self.memory(rows, lead), self.size(lead))

    def store_zeros(self, target: Matrix, rows: Index, width: Index) -> None:
        """Set rows to 0, in whole blocks of lanes."""
        with self.body.loop(0, rows) as row, self.body.loop(0, width, self.lanes) as at:
            self.body.store_row(self.number(0), target.at(row, at), self.whole)

    def block(self, at: Index, width: Index) -> Block:
        """The block of lanes at an index of a row, partial if it may be."""
        is_whole = width.known is not None and width.known % self.body.lanes == 0
        return Block(at) if is_whole else Block(at, (width - at).least(self.body.lanes))

    def load(self, place: Pointer, at: Index, width: Index) -> Lanes:
        """Elements of a row from an index on; 0 beyond its end."""
        block = self.block(at, width)
        elements: Any = self.body.load_row(place.moved(at), block)
        if block.inside is not None:
            elements = select(self.body.first_lanes(block.inside), elements, self.number(0))
        return elements  # type: ignore[no-any-return]

    def copy(
        self, name: str, place: Pointer, rows: Index, width: Index, target: Matrix, by: Lanes | None = None
    ) -> None:
        """Copy rows, times a factor, with zeros behind."""
        stride = self.kernel.as_index(self.strides[name].rows)
        with self.body.loop(0, rows) as row, self.body.loop(0, width, self.lanes) as at:
            value = self.load(place.moved(row * stride), at, width)
            self.body.store_row(value if by is None else value * by, target.at(row, at), self.whole)

    def store(self, source: Matrix, rows: Index, width: Index, name: str, place: Pointer, by: Lanes | None) -> None:
        """Copy rows to where they are wanted, times a factor."""
        stride = self.kernel.as_index(self.strides[name].rows)
        with self.body.loop(0, rows) as row, self.body.loop(0, width, self.lanes) as at:
            value: Any = self.body.load_row(source.at(row, at), self.whole)
            block = self.block(at, width)
            self.body.store_row(value if by is None else value * by, place.moved(row * stride).moved(at), block)

    def turn(self, name: str, place: Pointer, rows: Index, width: Index, target: Matrix) -> None:
        """Copy rows as columns; some columns behind the last one are any numbers."""
        body, side = self.body, min(self.one_vector, SIDE)
        stride, last = self.kernel.as_index(self.strides[name].rows), rows - 1
        whole = width & -side if side > 1 else index(body, 0)
        with body.loop(0, rows, side) as row:
            places = [place.moved((row + k).least(last) * stride) for k in range(side)]
            with body.of(side), body.loop(0, whole, side) as at:
                values: list[Any] = [body.load_row(p.moved(at), self.whole) for p in places]
                for k, value in enumerate(transposed(values)):
                    body.store_row(value, target.at(at + k, row), self.whole)
            if width.known is None or width.known % side or side < 2:
                with body.of(0), body.loop(whole, width) as at:
                    for k, p in enumerate(places):
                        body.store(body.load(p.moved(at)), target.at(at, row + k))

    # --- products ----------------------------------------------------------------------------------------------------

    def multiply(
        self,
        a: Pointer,
        steps: tuple[Index | int, Index | int],
        b: Matrix,
        target: Matrix,
        bounds: tuple[Index | int, Index],
        width: Index,
        scaled: Pointer | None = None,
    ) -> None:
        """Rows of a tile: what they are, times factors if there are some, and sums of products more.

        Args:
            a: the first factors, with steps along rows and along terms; those of `b` are a row for each term.
            bounds: the terms.
            scaled: the factors, one a row.
        """
        with self.body.loop(0, width, self.lanes) as at:
            self._product(a, steps, b.beside(at), target.beside(at), bounds, [] if scaled is None else [scaled])

    def multiply_anew(self, a: Pointer, lead: Index, b: Matrix, target: Matrix, terms: Index, width: Index) -> None:
        """Rows of a tile: sums of products of rows."""
        with self.body.loop(0, width, self.lanes) as at:
            self._product(a, (lead, 1), b.beside(at), target.beside(at), (0, terms), None)

    def _product(
        self,
        a: Pointer,
        steps: tuple[Index | int, Index | int],
        b: Matrix,
        target: Matrix,
        bounds: tuple[Index | int, Index],
        scaled: Sequence[Pointer] | None,
    ) -> None:
        """A tile by a function of its own: compilers find registers for all its sums in a small one."""
        numbers = [index(self.body, n) for n in (*steps, b.lead, target.lead, *bounds)]
        kind = "new" if scaled is None else "scaled" if scaled else "sum"
        written = "_".join("n" if n.known is None else str(n.known) for n in numbers)
        places = (a, b.place, target.place, *(scaled or ()))

        def write(a: Pointer, b: Pointer, target: Pointer, *rest: Any) -> None:
            body, factors = a.body, rest[: len(scaled or ())]
            arguments = iter(rest[len(factors) :])
            sizes = [next(arguments) if n.known is None else index(body, n.known) for n in numbers]
            whole, (of_rows, of_terms, lead, of_target, start, end) = Block(index(body, 0)), sizes
            rows = [target.moved(of_target * r) for r in range(self.tile_rows)]

            def more(at: Index, *last: Lanes | None) -> list[Lanes]:
                element: Any = body.load_row(b.moved(at * lead), whole)
                place, sums = a.moved(at * of_terms), []
                for r, total in enumerate(last):  # one by one: registers are all there for the sums
                    factor: Any = body.load(place.moved(of_rows * r))
                    sums.append(factor * element if total is None else fma(factor, element, total))
                return sums

            if kind != "new":
                first: list[Any] = [body.load_row(row, whole) for row in rows]
            elif end.known:  # gcc has no registers at -O1 for sums that begin with one number
                first, start = more(start, *([None] * len(rows))), start + 1
            else:
                first = [constant(body, numpy_dtype(self.dtype).type(0), self.dtype)] * len(rows)
            for factor in factors:
                first = [x * body.load(factor.moved(r)) for r, x in enumerate(first)]
            for row, value in zip(rows, body.fold(start, end, 1, first, more), strict=True):
                body.store_row(value, row, whole)

        name = f"tile_{self.dtype}_{self.tile_rows}_{kind}_{written}"
        self.body.subroutine(name, write, (*places, *(n for n in numbers if n.known is None)))
