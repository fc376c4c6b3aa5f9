"""Products of sparse matrices, row by row: beside a vector element by element, beside a matrix its rows in lanes.

Threads share the rows of a product and of scalar products. Rows of a transpose are added where they belong, by one.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, final

from tg.ops import sparse as t
from tg_native.kernels.index import Index
from tg_native.kernels.lanes import parts, select
from tg_native.kernels.routine import Block
from tg_native.loops.pointwise import in_float32
from tg_native.loops.terms import Terms
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.plan.values import Array, Value

VECTORS: Final = 2  # of a row of the dense matrix that are worked on at once
CHAINS: Final = 4  # sums of a row that do not wait for one another: one alone waits four cycles for each element
EACH: Final = 8  # elements that a row is taken to have, where threads ask whether sharing is worth it


@final
class _Rows:
    """The function of an op in the making, over the rows of a pattern, at each index of the leading axes."""

    def __init__(self, site: Site, pattern: Sequence[Array], arrays: Sequence[Array], width: int | Length) -> None:
        self.site, self.arrays, self.width, self.dtype = site, arrays, width, arrays[-1].dtype
        self.is_vector = is_one(width)
        self.kernel = site.kernel() if self.is_vector else site.kernel([self.dtype], VECTORS, width)
        self.body, self.rows = self.kernel.body, pattern[1].shape[0]
        self.terms = Terms(site, self.body, self.dtype)
        self.index_dtypes = [v.dtype for v in pattern]
        self.pattern = pattern

    def share(self) -> None:
        """Let threads share the rows."""
        if all(v.ndim < 3 for v in self.arrays):
            self.site.divide(self.kernel, (self.rows, self.width), (), [self.dtype, *self.index_dtypes] * EACH)

    def write(self, one: Callable[[Sequence[Pointer], Pointer, Index, Index, Index], None]) -> None:
        """Write all rows and call the function; the arrays but the last are read.

        Args:
            one: writes one row: of the places of the arrays at the index of the leading axes, that of the indices, the
                row's number, and where its elements begin and end.
        """
        kernel, body, n = self.kernel, self.body, self.pattern[0].shape[0]
        indices, pointers = map(kernel.read, self.pattern)
        places = [*map(kernel.read, self.arrays[:-1]), kernel.write(self.arrays[-1])]
        count, lengths = kernel.length(n), [kernel.length(self.width)]
        lengths += [kernel.length(v) for a in self.arrays for v in (*a.shape, *a.strides)]
        lead = self.arrays[-1].shape[: self._lead()]
        low, high = kernel.bounds(self._row_count(), first=True)
        with kernel.loops(lead) as outer:
            there = [kernel.moved(p, outer, a.strides[: len(outer)]) for p, a in zip(places, self.arrays, strict=True)]
            with body.loop(low, high) as row:
                begin, end = (self.number(pointers.moved(row + k)).least(count).most(0) for k in (0, 1))
                one(there, indices, row, begin, end)
        self.site.run(kernel)

    def _lead(self) -> int:
        """Number of leading axes."""
        return min(v.ndim for v in self.arrays) - 1

    def _row_count(self) -> Index:
        return (self.kernel.length(self.rows) - 1).most(0)

    def number(self, place: Pointer) -> Index:
        """An index or a pointer."""
        with self.body.of(0):
            value: Any = self.body.load(place)
            return Index(value.to("int64"))

    def at(self, indices: Pointer, place: Index, most: Index) -> Index:
        """The column of an element, inside the matrix."""
        return self.number(indices.moved(place)).least(most).most(0)

    def value(self, place: Pointer) -> Any:
        """An element in all lanes."""
        return self.body.load(place)

    def summed(self, begin: Index, end: Index, term: Callable[[Index, Any], Any]) -> Any:
        """The sum over the elements of a row; `term` adds one more."""

        def step(at: Index, *last: Lanes) -> list[Lanes]:
            totals = self.terms.values(last)
            return parts([term(at + k, total) for k, total in enumerate(totals)])

        if not self.is_vector:
            (total,) = self.terms.values(self.body.fold(begin, end, 1, parts([self.terms.zero()]), step))
            return total
        whole = begin + ((end - begin).most(0) & -CHAINS)
        sums = self.body.fold(begin, whole, CHAINS, parts([self.terms.zero() for _ in range(CHAINS)]), step)
        first, *others = self.terms.values(sums)
        (first,) = self.terms.values(self.body.fold(whole, end, 1, parts([first]), step))
        return functools.reduce(self.terms.sum, [first, *others])

    def blocks(self, write: Callable[[Block], None]) -> None:
        """Run along a row of a dense matrix."""
        self.kernel.blocks(self.width, write, twice=True)

    def load(self, row: Pointer, block: Block) -> Any:
        """Elements of a dense row."""
        return self.kernel.load(row, 1, block)


def sparse_product(op: t.SparseProduct, site: Site) -> Value:
    """Sums of rows of the dense matrix, each by an element of the sparse one."""
    data, indices, pointers, x = (site.contiguous(site.memory(v)) for v in site.inputs[:4])
    y = site.allocate(0)
    site.same(data.shape[-1], indices.shape[0])
    rows = _Rows(site, (indices, pointers), (data, x, y), x.shape[-1])
    kernel, body, terms = rows.kernel, rows.body, rows.terms
    if op.transposed:
        _clear(site, y)
    else:
        rows.share()
    width, most = kernel.length(x.shape[-1]), kernel.length((y if op.transposed else x).shape[-2]) - 1

    def gathered(places: Sequence[Pointer], indices: Pointer, row: Index, begin: Index, end: Index) -> None:
        values, source, target = places

        def write(block: Block) -> None:
            def term(at: Index, total: Any) -> Any:
                element = source.moved(rows.at(indices, at, most) * width)
                return terms.fused(total, rows.value(values.moved(at)), rows.load(element, block))

            total = rows.summed(begin, end, term)
            kernel.store(total, target.moved(row * width), 1, block)

        if rows.is_vector:
            write(Block(row - row))
        else:
            rows.blocks(write)

    def scattered(places: Sequence[Pointer], indices: Pointer, row: Index, begin: Index, end: Index) -> None:
        values, source, target = places
        own = source.moved(row * width)
        with body.loop(begin, end) as at:
            factor = rows.value(values.moved(at))
            there = target.moved(rows.at(indices, at, most) * width)

            def write(block: Block) -> None:
                total = terms.fused(rows.load(there, block), factor, rows.load(own, block))
                kernel.store(total, there, 1, block)

            if rows.is_vector:
                write(Block(row - row))
            else:
                rows.blocks(write)

    rows.write(scattered if op.transposed else gathered)
    return y


def sparse_dots(op: t.SparseDots, site: Site) -> Value:
    """For each row its scalar products with rows of the other matrix."""
    indices, pointers, a, b = (site.contiguous(site.memory(v)) for v in site.inputs)
    y = site.allocate(0)
    rows = _Rows(site, (indices, pointers), (a, b, y), a.shape[-1])
    rows.share()
    kernel, body, terms = rows.kernel, rows.body, rows.terms
    width, most = kernel.length(a.shape[-1]), kernel.length(b.shape[-2]) - 1

    def one(places: Sequence[Pointer], indices: Pointer, row: Index, begin: Index, end: Index) -> None:
        left, right, target = places
        own = left.moved(row * width)
        with body.loop(begin, end) as at:
            other = right.moved(rows.at(indices, at, most) * width)
            if rows.is_vector:
                total: Any = terms.fused(terms.zero(), rows.value(own), rows.value(other))
            else:
                total = _dot(rows, own, other, width)
            with body.of(0):
                body.store(total, target.moved(at))

    rows.write(one)
    return y


def _dot(rows: _Rows, own: Pointer, other: Pointer, width: Index) -> Any:
    """The scalar product of two rows: a single element."""
    kernel, body, terms = rows.kernel, rows.body, rows.terms

    def taken(block: Block, *last: Lanes) -> list[Lanes]:
        (total,) = terms.values(last)
        more: Any = terms.fused(total, rows.load(own, block), rows.load(other, block))
        mask = block.mask
        return parts([more if mask is None else select(mask, more, total)])

    whole, sums = width & -body.lanes, parts([terms.zero()])
    sums = body.fold(0, whole, body.lanes, sums, lambda at, *last: taken(Block(at), *last))
    sums = body.fold(whole, width, body.lanes, sums, lambda at, *last: taken(kernel.partial(at, width), *last))
    return terms.across(terms.values(sums)[0])


def _clear(site: Site, y: Array) -> None:
    """Set an array to 0."""
    zero = site.kernel([y.dtype])
    place, terms = zero.write(y), Terms(site, zero.body, y.dtype)
    *outer, inner = y.shape
    if is_one(inner) and outer:  # a column is one row
        outer, inner = outer[:-1], outer[-1]
    strides = y.strides[: len(outer)]
    with zero.loops(outer) as at:
        row = zero.moved(place, at, strides)
        zero.blocks(inner, lambda block: zero.store(terms.zero(), row, 1, block), twice=True)
    site.run(zero)


RULES: Final[dict[object, Rule]] = {
    t.SparseProduct: in_float32(sparse_product),
    t.SparseDots: in_float32(sparse_dots),
}
