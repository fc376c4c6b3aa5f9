"""LU factors with rows exchanged: column by column, rows in lanes, or by LAPACK, of a copy that has columns in rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from tg.ops.linalg import lu as t
from tg.types.lengths import minimum
from tg_native.fusion.registers import is_small
from tg_native.kernels.index import Condition, Index, index
from tg_native.kernels.lanes import in_all_lanes
from tg_native.matrices import unrolled
from tg_native.matrices.elements import (
    OF_ROWS,
    SMALL,
    Matrix,
    any_of,
    by_size,
    fill_nan,
    magnitude,
    matrix_at,
    minus_product,
    not_zero,
    over,
    span,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.kernels.routine import Block
    from tg_native.loops.kernel import Kernel
    from tg_native.loops.lapack import Lapack
    from tg_native.plan.values import Array, Value

TOGETHER: Final = 8  # columns that are transposed at once: a line of the cache


def lu(op: t.LU, site: Site) -> list[Value]:
    """Both factors of each matrix, the exchanges of rows, and the order that these make."""
    a = site.memory(site.inputs[0])
    factors, pivots, order = (site.allocate(k) for k in range(3))
    m, n = a.shape[-2:]
    few = minimum(m, n)
    if type(m) is int and type(n) is int and is_small([m, n]):
        batch = unrolled.Batch(site, a.dtype, a.shape[:-2])
        read, written = batch.kernel.read(site.contiguous(a)), [batch.kernel.write(v) for v in (factors, pivots, order)]
        batch.write(lambda: unrolled.lu(batch, read, (m, n), written))
        return [factors, pivots, order]
    columns = exchanges = None
    if site.lapack(a.dtype) is not None:
        columns, exchanges = site.temporary(a.dtype, (n, m)), site.temporary("int64", (few,))
    kernel = site.kernel([a.dtype], 1, n)
    source, target, *rest = kernel.read(a), *map(kernel.write, (factors, pivots, order))
    work = [kernel.write(v) for v in (columns, exchanges) if v is not None]
    with kernel.loops(a.shape[:-2]) as outer:
        matrix, result = matrix_at(kernel, a, source, outer), matrix_at(kernel, factors, target, outer)
        places = [kernel.moved(p, outer, v.strides[:-1]) for p, v in zip(rest, (pivots, order), strict=True)]
        one = _Factors(kernel, matrix, result, places, columns, work)
        by_size(site, kernel.body, _has_loops(kernel, m, n), one.by_columns, one.by_lapack)
    site.run(kernel)
    return [factors, pivots, order]


def _has_loops(kernel: Kernel, m: int | Length, n: int | Length) -> bool | Condition:
    """Whether a matrix is small: of many rows or columns each step would read more than a cache holds."""
    if type(m) is int and type(n) is int:
        return min(m, n) <= SMALL or max(m, n) <= OF_ROWS
    few, rows, columns = map(kernel.length, (minimum(m, n), m, n))
    return (few <= SMALL) | ((rows <= OF_ROWS) & (columns <= OF_ROWS))


@final
class _Factors:
    """The factors of one matrix in the making."""

    def __init__(
        self,
        kernel: Kernel,
        matrix: Matrix,
        factors: Matrix,
        places: Sequence[Pointer],
        columns: Array | None,
        work: Sequence[Pointer],
    ) -> None:
        self.kernel, self.body, self.given, self.made = kernel, kernel.body, matrix, factors
        self.pivots, self.order = places
        self.columns, self.work = columns, work
        m, n = factors.array.shape[-2:]
        self.m, self.n, self.few = map(kernel.length, (m, n, minimum(m, n)))

    def by_columns(self) -> None:
        """Take the largest of what is left of a column as pivot, and what it makes of the rows below."""
        body, factors = self.body, self.made
        with body.loop(0, self.m) as i:
            self._along(0, lambda block: factors.store_row(self.given.load_row(i, block), i, block))
        self._begin_order()
        with body.loop(0, self.few) as k:
            row = self._pivot(k)
            with body.of(0):
                body.store(row.single("int32"), self.pivots.moved(k))
            with body.when(row != k):
                self._along(0, lambda block: self._exchange_rows(k, row, block))
                self._exchange(k, row)
            with body.of(0):
                pivot = not_zero(factors.load(k, k))
            with body.loop(k + 1, self.m) as i:
                with body.of(0):
                    factor = over(factors.load(i, k), pivot)
                    factors.store(factor, i, k)
                self._along(k + 1, lambda block: self._subtract(i, k, factor, block))

    def _along(self, start: Index | int, write: Callable[[Block], None]) -> None:
        span(self.kernel, index(self.body, start), self.n, write)

    def _pivot(self, k: Index) -> Index:
        """The row of the largest number of a column from the diagonal on, or of the first that is NaN."""
        body, factors = self.body, self.made

        def larger(i: Index, *last: Lanes) -> list[Lanes]:
            size, at = last[0], Index(last[1])
            own = magnitude(factors.load(i, k))
            is_larger = Condition((own > size) | (own.is_nan() & (size == size)))  # noqa: PLR0124 (it is no NaN)
            with body.of(0):
                return [body.computed("select", (is_larger.value, own, size)), is_larger.choose(i, at).value]

        with body.of(0):
            return Index(body.fold(k + 1, self.m, 1, [magnitude(factors.load(k, k)), k.value], larger)[1])

    def _exchange_rows(self, one: Index, other: Index, block: Block) -> None:
        x, y = self.made.load_row(one, block), self.made.load_row(other, block)
        self.made.store_row(y, one, block)
        self.made.store_row(x, other, block)

    def _subtract(self, i: Index, k: Index, factor: Elements, block: Block) -> None:
        wide = in_all_lanes(factor) if self.body.lanes else factor
        left = minus_product(self.made.load_row(i, block), wide, self.made.load_row(k, block))
        self.made.store_row(left, i, block)

    # --- the order of rows -------------------------------------------------------------------------------------------

    def _begin_order(self) -> None:
        body = self.body
        with body.loop(0, self.m) as i, body.of(0):
            body.store(i.single("int32"), self.order.moved(i))

    def _exchange(self, one: Index, other: Index) -> None:
        body = self.body
        with body.of(0):
            x, y = body.load(self.order.moved(one)), body.load(self.order.moved(other))
            body.store(y, self.order.moved(one))
            body.store(x, self.order.moved(other))

    # --- LAPACK ------------------------------------------------------------------------------------------------------

    def by_lapack(self, lapack: Lapack) -> None:
        """By `getrf` of a copy of columns."""
        body, (place, exchanges) = self.body, self.work
        assert self.columns is not None
        columns = Matrix(self.kernel, self.columns, place)
        with body.of(0):
            self._transposed(lambda i, j: columns.store(self.given.load(i, j), j, i))
            lapack.call(self.kernel, "getrf", [self.m, self.n, place, self.m, exchanges])
            self._transposed(lambda i, j: self.made.store(columns.load(j, i), i, j))
            self._spread_nan()
            self._begin_order()
            with body.loop(0, self.few) as k:
                at = body.load(exchanges.moved(k))
                row = Index(at) - 1  # type: ignore[arg-type]
                body.store(row.single("int32"), self.pivots.moved(k))
                self._exchange(k, row)

    def _spread_nan(self) -> None:
        """Make all NaN where the matrix has one: behind a pivot of NaN LAPACK goes on with numbers, of which one is 0.

        The matrix is looked through only where a pivot is NaN.
        """
        body = self.body

        def in_row(i: Index) -> Index:
            return any_of(body, 0, self.n, lambda j: Condition(self.given.load(i, j).is_nan())).number()

        with (
            body.when(any_of(body, 0, self.few, lambda k: Condition(self.made.load(k, k).is_nan()))),
            body.when(any_of(body, 0, self.m, in_row)),
        ):
            fill_nan(self.made, self.m, lambda i: self.n)

    def _transposed(self, write: Callable[[Index, Index], None]) -> None:
        """Do something for all elements, some columns of every row at a time."""
        body = self.body
        with body.loop(0, self.n, TOGETHER) as first, body.loop(0, self.m) as i:
            last = (first + TOGETHER).least(self.n)
            with body.loop(first, last) as j:
                write(i, j)


RULES: Final[dict[object, Rule]] = {t.LU: lu}
