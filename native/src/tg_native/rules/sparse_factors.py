"""Cholesky factors of sparse matrices, element by element, as core's reference has them column by column.

Their places are checked before: columns begin with the diagonal, rows ascend and lie inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, final

from tg.ops import sparse_factors as t
from tg_native.kernels.functions import sqrt
from tg_native.kernels.index import Condition, Index, index
from tg_native.kernels.lanes import constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.plugin.records import Rule
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.plan.values import Value

NONE: Final = -1  # behind the last column of a list


@final
class _Factor:
    """The function of an op in the making, over the columns of a factor."""

    def __init__(self, site: Site, pattern: Sequence[Value], dtype: str) -> None:
        indices, pointers = (site.contiguous(site.memory(v)) for v in pattern)
        self.site, self.dtype, self.kernel = site, dtype, site.kernel()
        self.body = self.kernel.body
        self.indices, self.pointers = self.kernel.read(indices), self.kernel.read(pointers)
        self.rows = pointers.shape[0]
        self.n = self.kernel.length(self.rows) - 1

    def work(self, dtype: str) -> Pointer:
        """Memory for a number of each column."""
        return self.kernel.write(self.site.temporary(dtype, (self.rows,)))

    def number(self, place: Pointer) -> Index:
        """A row, a pointer, a column."""
        value: Any = self.body.load(place)
        return Index(value.to("int64"))

    def row(self, at: Index) -> Index:
        """The row of an element."""
        return self.number(self.indices.moved(at))

    def begin(self, column: Index) -> Index:
        """The place of a column's diagonal."""
        return self.number(self.pointers.moved(column))

    def load(self, place: Pointer, at: Index) -> Any:
        """An element."""
        return self.body.load(place.moved(at))

    def store(self, value: Any, place: Pointer, at: Index) -> None:
        """Write an element."""
        self.body.store(value, place.moved(at))

    def fill(self, place: Pointer, value: float, dtype: str) -> None:
        """Set the number of each column."""
        with self.body.loop(0, self.n) as at:
            self.store(constant(self.body, value, dtype), place, at)

    def total(self, first: Any, low: Index, high: Index, term: Any) -> Any:
        """A sum over places; `term` adds one more."""
        return self.body.fold(low, high, 1, [first], lambda at, last: [term(at, last)])[0]


def sparse_cholesky(op: t.SparseCholesky, site: Site) -> list[Value]:
    """From the left: each column takes those before it that touch its row from lists."""
    a = site.contiguous(site.memory(site.inputs[0]))
    l, dtype = site.allocate(0), a.dtype
    info = site.allocate(1) if a.ndim > 1 else site.temporary("int32", ())
    f = _Factor(site, site.inputs[1:], dtype)
    kernel, body = f.kernel, f.body
    source, target, noted = kernel.read(a), kernel.write(l), kernel.write(info)
    work, (heads, links, places) = f.work(dtype), (f.work("int64") for _ in range(3))
    with kernel.loops(a.shape[:-1]) as outer:
        values = kernel.moved(source, outer, a.strides[:-1])
        factor = kernel.moved(target, outer, l.strides[:-1])
        f.fill(heads, NONE, "int64")

        def enlist(column: Index, place: Index, end: Index) -> None:
            """Put a column into the list of the row of its next element, if there is one."""
            with body.when(place < end):
                row = f.row(place)
                f.store(place.value, places, column)
                f.store(f.load(heads, row), links, column)
                f.store(column.value, heads, row)

        def take(column: Index) -> None:
            """Take off what a column before gives."""
            place, end = f.number(places.moved(column)), f.begin(column + 1)
            factor_here = f.load(factor, place)
            with body.loop(place, end) as at:
                row = f.row(at)
                f.store(f.load(work, row) - f.load(factor, at) * factor_here, work, row)
            enlist(column, place + 1, end)

        def column(j: Index, failed: Lanes) -> list[Lanes]:
            low, high = f.begin(j), f.begin(j + 1)
            with body.loop(low, high) as at:
                f.store(f.load(values, at), work, f.row(at))

            def follow(k: Lanes) -> list[Lanes]:
                behind = f.load(links, Index(k))
                take(Index(k))
                return [behind]

            body.while_loop([f.load(heads, j)], lambda k: Index(k) > NONE, follow)
            pivot = f.load(work, j)
            bad = Condition(pivot <= 0) & (Index(failed) == 0)
            length = sqrt(pivot)
            with body.loop(low, high) as at:
                f.store(f.load(work, f.row(at)) / length, factor, at)
            enlist(j, low + 1, high)
            return [bad.choose(j + 1, Index(failed)).value]

        (failed,) = body.fold(0, f.n, 1, [index(body, 0).value], column)
        with body.when(Index(failed) > 0), body.loop(0, kernel.length(a.shape[-1])) as at:
            f.store(constant(body, float("nan"), dtype), factor, at)
        body.store(failed.to("int32"), kernel.moved(noted, outer, info.strides))
    site.run(kernel)
    return [l, info if a.ndim > 1 else site.scalar(site.first(info), 1)]


def sparse_solve(op: t.SparseSolve, site: Site) -> Value:
    """Forward and back substitution, for all right sides of a row at once."""
    l, b = (site.contiguous(site.memory(site.inputs[k])) for k in (1, 4))
    x = site.allocate(0)
    site.copy(b, x)
    f = _Factor(site, site.inputs[2:4], l.dtype)
    kernel, body = f.kernel, f.body
    source, target = kernel.read(l), kernel.write(x)
    width = kernel.length(x.shape[-1])
    with kernel.loops(x.shape[:-2]) as outer:
        factor = kernel.moved(source, outer, l.strides[:-1])
        sides = kernel.moved(target, outer, x.strides[:-2])

        def over(row: Index, pivot: Any) -> None:
            with body.loop(0, width) as side:
                f.store(f.load(sides, row * width + side) / pivot, sides, row * width + side)

        with body.loop(0, f.n) as j:
            low, high = f.begin(j), f.begin(j + 1)
            over(j, f.load(factor, low))
            with body.loop(low + 1, high) as at:
                element, row = f.load(factor, at), f.row(at)
                with body.loop(0, width) as side:
                    here, there = j * width + side, row * width + side
                    f.store(f.load(sides, there) - element * f.load(sides, here), sides, there)
        with body.loop(0, f.n) as turn:
            j = f.n - 1 - turn
            low, high = f.begin(j), f.begin(j + 1)
            with body.loop(0, width) as side:
                total = f.total(
                    f.load(sides, j * width + side),
                    low + 1,
                    high,
                    lambda at, last, side=side: last - f.load(factor, at) * f.load(sides, f.row(at) * width + side),
                )
                f.store(total / f.load(factor, low), sides, j * width + side)
    site.run(kernel)
    return x


def sparse_inverse(op: t.SparseInverse, site: Site) -> Value:
    """Takahashi's equations, from the last column to the first."""
    l = site.contiguous(site.memory(site.inputs[0]))
    z, dtype = site.allocate(0), l.dtype
    f = _Factor(site, site.inputs[1:], dtype)
    kernel, body = f.kernel, f.body
    source, target = kernel.read(l), kernel.write(z)
    ratio, sums = f.work(dtype), f.work(dtype)
    zero = 0.0
    with kernel.loops(l.shape[:-1]) as outer:
        factor = kernel.moved(source, outer, l.strides[:-1])
        inverse = kernel.moved(target, outer, z.strides[:-1])
        f.fill(ratio, zero, dtype)
        f.fill(sums, zero, dtype)
        with body.loop(0, f.n) as turn:
            j = f.n - 1 - turn
            low, high = f.begin(j), f.begin(j + 1)
            pivot = f.load(factor, low)
            with body.loop(low + 1, high) as at:
                f.store(f.load(factor, at) / pivot, ratio, f.row(at))
            with body.loop(low + 1, high) as at:
                k = f.row(at)
                own, begin = f.load(ratio, k), f.begin(k)

                def more(place: Index, last: Lanes, own: Any = own) -> Any:
                    row, element = f.row(place), f.load(inverse, place)
                    f.store(f.load(sums, row) + own * element, sums, row)
                    return last + f.load(ratio, row) * element

                first = own * f.load(inverse, begin)
                total = f.total(first, begin + 1, f.begin(k + 1), more)
                f.store(f.load(sums, k) + total, sums, k)
            with body.loop(low + 1, high) as at:
                f.store(-f.load(sums, f.row(at)), inverse, at)
            one = constant(body, 1.0, dtype)
            total = f.total(
                one / (pivot * pivot),
                low + 1,
                high,
                lambda at, last: last + f.load(ratio, f.row(at)) * f.load(sums, f.row(at)),
            )
            f.store(total, inverse, low)
            with body.loop(low + 1, high) as at:
                k = f.row(at)
                f.store(constant(body, zero, dtype), ratio, k)
                with body.loop(f.begin(k), f.begin(k + 1)) as place:
                    f.store(constant(body, zero, dtype), sums, f.row(place))
    site.run(kernel)
    return z


RULES: Final[dict[object, Rule]] = {
    t.SparseCholesky: sparse_cholesky,
    t.SparseSolve: sparse_solve,
    t.SparseInverse: sparse_inverse,
}
