"""Triangular factors by Householder's reflections, in loops: columns of a matrix that lies in rows, in lanes.

The reflection of a column is 1 - t v v', where v begins with 1; the rest of v stands below the diagonal in the place of
what has become zero, t in a row of its own. Signs are LAPACK's, and so are the columns that complete a basis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from tg_native.kernels.functions import copysign, fabs, larger, sqrt
from tg_native.kernels.index import Condition, Index
from tg_native.kernels.lanes import Pair, parts, select
from tg_native.matrices.elements import (
    conjugate,
    fold_elements,
    minus_product,
    negative,
    not_zero,
    number,
    over,
    product,
    real,
    span,
)

if TYPE_CHECKING:
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.kernels.routine import Block
    from tg_native.matrices.elements import Matrix


@final
class Reflections:
    """The reflections that make a matrix triangular, in its memory.

    Args:
        packed: the matrix; elements of a row follow one another.
        factors: the place of the numbers t, one for each column that is reflected.
        sizes: rows, columns, and the smaller of both.
    """

    def __init__(self, packed: Matrix, factors: Pointer, sizes: tuple[Index, Index, Index]) -> None:
        self.packed, self.factors = packed, factors
        self.kernel, self.body = packed.kernel, packed.kernel.body
        self.m, self.n, self.few = sizes

    def factorise(self) -> None:
        """Make the matrix triangular, column by column."""
        with self.body.loop(0, self.few) as k:
            with self.body.of(0):
                self._reflect(k)
            self._apply(self.packed, k, k + 1, self.n, is_adjoint=True)

    def basis(self, target: Matrix, columns: Index) -> None:
        """The first columns of the product of the reflections."""
        body = self.body
        with body.of(0), body.loop(0, self.m) as i, body.loop(0, columns) as j:
            one = number(body, 1, target.array.dtype)
            zero = number(body, 0, target.array.dtype)
            target.store(select((i == j).value, one, zero), i, j)
        with body.loop(0, self.few) as at:
            k = self.few - 1 - at
            self._apply(target, k, k, columns, is_adjoint=False)

    def _reflect(self, k: Index) -> None:
        """The reflection of a column. Its largest element is the unit, so that squares neither overflow nor vanish."""
        body, packed = self.body, self.packed
        first = packed.load(k, k)

        def most(i: Index, last: Lanes) -> list[Lanes]:
            for part in parts([packed.load(i, k)]):
                last = larger(last, fabs(part))
            return [last]

        scale = not_zero(body.fold(k, self.m, 1, [real(first).like(0)], most)[0])

        def squares(i: Index, last: Lanes) -> list[Lanes]:
            for part in parts([packed.load(i, k)]):
                last = last + (part / scale) * (part / scale)
            return [last]

        head = over(first, scale)
        (below,) = body.fold(k + 1, self.m, 1, [real(first).like(0)], squares)
        beside = head.imag * head.imag if isinstance(head, Pair) else below.like(0)
        is_done = Condition((below == 0) & (beside == 0))
        with body.when(is_done):
            body.store(number(body, 0, packed.array.dtype), self.factors.moved(k))
        with body.when(~is_done):
            pivot = -copysign(sqrt(below + beside + real(head) * real(head)), real(head))
            turn: Elements = (pivot - real(head)) / pivot
            whole: Elements = pivot * scale
            if isinstance(head, Pair):
                turn, whole = Pair(real(turn), -head.imag / pivot), Pair(real(whole), pivot.like(0))
                length: Elements = Pair(head.real - pivot, head.imag)
            else:
                length = head - pivot
            body.store(turn, self.factors.moved(k))
            packed.store(whole, k, k)
            with body.loop(k + 1, self.m) as i:
                packed.store(over(over(packed.load(i, k), scale), length), i, k)

    def _apply(self, target: Matrix, k: Index, start: Index, end: Index, *, is_adjoint: bool) -> None:
        """Multiply some columns by a reflection, or by its adjoint."""
        body, packed = self.body, self.packed

        def write(block: Block) -> None:
            turn = body.load(self.factors.moved(k))
            turn = conjugate(turn) if is_adjoint else turn
            first = target.load_row(k, block)

            def more(i: Index, total: Elements) -> Elements:
                return minus_product(total, negative(conjugate(packed.load(i, k))), target.load_row(i, block))

            total = fold_elements(body, k + 1, self.m, first, more)
            target.store_row(minus_product(first, turn, total), k, block)
            share = product(turn, total)
            with body.loop(k + 1, self.m) as i:
                target.store_row(minus_product(target.load_row(i, block), packed.load(i, k), share), i, block)

        span(self.kernel, start, end, write)
