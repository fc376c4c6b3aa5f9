"""Products of matrices: by the BLAS of the process, or by plain loops, where it is not worth a call or has no dtype.

BLAS reads transposed matrices by flags. Of a matrix of known lengths, as weights are, floats are multiplied by panels
(`tg_native.matrices.panels`) where that is faster, and BLAS has no threads of its own that would share the product.
Halves are multiplied as float32 and rounded once, as on the reference.

A vector times a matrix that no cache holds takes as long as the matrix takes to be read, which is fastest from its
beginning to its end: the machine reads ahead of one stream, where OpenBLAS reads several rows at once. Rows longer than
10 kB drive the sums, or the vector, out of a first cache, and are read eight at once. GB/s of float32 on one core of
an AMD Zen 4, which reads 35, by OpenBLAS and so: x @ w.T with rows of 768 numbers 16 and 31, of 3,072 22 and 25, of
8,192 22 and 28; x @ w with rows of 768 20 and 29, of 2,304 23 and 27, of 3,072 26 and 26, of 8,192 27 and 29.
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
from typing import TYPE_CHECKING, Final, NamedTuple, final

from tg.ops import contraction as t
from tg.types.lengths import is_natural, maximum
from tg_native.kernels.dtypes import item_size
from tg_native.kernels.index import index
from tg_native.kernels.lanes import parts, select
from tg_native.kernels.routine import Block
from tg_native.loops.blas import SMALL, Matrix, Vector, clear
from tg_native.loops.pointwise import in_float32
from tg_native.loops.terms import Terms
from tg_native.matrices import panels
from tg_native.matrices.panels import Panels, least_rows
from tg_native.plan.values import is_one, is_zero, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index, Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.loops.blas import Blas
    from tg_native.plan.values import Array, Value

    End = Callable[[Sequence[Index], Index, Index], None]
    Columns = Callable[[Index, Index], None] | None

COLUMNS: Final = 192  # of a product that are multiplied at once at least, where each part is worked on when it is done
COLUMNS_BYTES: Final = 2**19  # of such parts: half of a second cache
STREAMED: Final = 2**20  # bytes of a matrix that is read once; a smaller one is in a cache, where OpenBLAS is as fast
SHORT: Final = 5 * 2**11  # bytes of a row, beside which the sums, or the vector, stay in a first cache
AT_ONCE: Final = 8  # longer rows that are read at once, for which sums are stored once
AHEAD: Final = 4  # vectors of a row that are loaded before sums are stored: 8 to 13 % faster than one by one
ROWS: Final = 4  # of a plain product that are computed at once, for which a row of the other matrix is read once
VECTORS: Final = 2  # of each of them: a line of the cache


def matmul(op: t.MatMul, site: Site) -> Value:
    """A product for each index of the leading axes."""
    product = product_of(site)
    product.write()
    return product.arrays[2]


def product_of(site: Site) -> Product:
    """The product of a site's operands, whose leading axes are repeated as its result has them."""
    x, y = (site.memory(v) for v in site.inputs)
    z = site.allocate(0)
    site.same(x.shape[-1], y.shape[-2])
    blas = site.blas(z.dtype)
    if blas is not None:
        x, y = (v if _fits(v) else site.contiguous(v) for v in (x, y))
    x, y = (spread(v, (*z.shape[:-2], *v.shape[-2:])) for v in (x, y))
    return Product(site, x, y, z, blas)


# --- what BLAS can read ----------------------------------------------------------------------------------------------


def _fits(v: Array) -> bool:
    """Whether BLAS can read a matrix where it lies."""
    return _is_dense(v, -1) or _is_dense(v, -2)


def _is_dense(v: Array, axis: int) -> bool:
    """Whether the elements along one of the last two axes follow one another, and the other stride spans them."""
    other = -3 - axis
    return (is_one(v.strides[axis]) or is_one(v.shape[axis])) and _spans(v.strides[other], v.shape[other])


def _spans(stride: int | Length, n: int | Length) -> bool:
    """A stride that no overlap has: views are made by positive steps, reversal (negative) and repetition (0)."""
    return is_one(n) or (is_natural(stride) and not is_zero(stride))


def _lead(v: Array, axis: int, blas: Blas) -> int | Length:
    """The leading dimension of a matrix that is dense along an axis."""
    other, least = -3 - axis, v.shape[axis] if blas.is_whole else maximum(v.shape[axis], 1)
    return least if is_one(v.shape[other]) else maximum(v.strides[other], least)


# --- what is read once -----------------------------------------------------------------------------------------------


class Stream(NamedTuple):
    """How a matrix beside a vector is read: how many sums there are, whether each is of one row, and rows at once."""

    sums: int
    has_dots: bool
    rows: int


def _stream_of(x: Array, y: Array, blas: Blas) -> Stream | None:
    """How a matrix beside a vector is read from its beginning to its end, if that is faster than by BLAS."""
    if is_one(x.shape[-2]) == is_one(y.shape[-1]) or not blas.has_vectors:
        return None
    matrix, along, vector = (x, -1, y.strides[-2]) if is_one(y.shape[-1]) else (y, -2, x.strides[-1])
    count, k, item = matrix.shape[-3 - along], matrix.shape[along], item_size(matrix.dtype)
    if type(count) is not int or type(k) is not int or count * k * item < STREAMED:
        return None
    has_dots = is_one(matrix.strides[along])
    if not is_one(vector if has_dots else matrix.strides[-3 - along]):
        return None
    length = k if has_dots else count
    return Stream(count, has_dots, 1 if length * item <= SHORT else AT_ONCE)


@final
class Product:
    """The function of a product in the making: of x (m, k) and y (k, n), at each index of the leading axes."""

    def __init__(self, site: Site, x: Array, y: Array, z: Array, blas: Blas | None) -> None:
        self.site, self.arrays, self.dtype, self.blas = site, (x, y, z), z.dtype, blas
        self.lengths = (x.shape[-2], y.shape[-1], x.shape[-1])
        self.is_column = is_one(y.shape[-1])
        self.stream = None if blas is None else _stream_of(x, y, blas)
        self.least_rows = None if blas is None else least_rows(self.arrays, site.kernel().body.machine.vector_bytes)
        has_dots = self.is_column if self.stream is None else self.stream.has_dots
        along = x.shape[-1] if has_dots else x.shape[-2] if self.is_column else y.shape[-1]
        vectors = VECTORS if blas is None else self._ahead()
        vectors = vectors if self.least_rows is None else panels.VECTORS
        self.kernel = site.kernel([z.dtype], vectors, along)
        self._divide(has_dots=has_dots)
        self.body = self.kernel.body
        self.terms = Terms(site, self.body, z.dtype)
        self.pointers = (self.kernel.read(x), self.kernel.read(y), self.kernel.write(z))
        self.m, self.n, self.k = map(self.kernel.length, self.lengths)
        sizes = self.m, self.n, self.k
        self.panels = None if self.least_rows is None else Panels(site, self.kernel, self.arrays, sizes)

    def _ahead(self) -> int:
        """Vectors at once, beside BLAS: of rows of a matrix that is read one by one more than one."""
        return AHEAD if self.stream is not None and self.stream.rows == 1 else 1

    def _divide(self, *, has_dots: bool) -> None:
        """Let threads share the sums of a matrix that is read once, or the columns of panels."""
        x, y, z = self.arrays
        if not all(map(is_one, z.shape[:-2])):
            return
        if self.stream is not None:
            unit = 0 if has_dots else self.kernel.body.lanes
            self.site.divide(self.kernel, (self.stream.sums, x.shape[-1]), (), [z.dtype], unit=unit)
        elif self.least_rows is not None:
            space = (y.shape[-1], x.shape[-2], x.shape[-1])
            self.site.divide(self.kernel, space, (), [z.dtype], unit=self.kernel.body.lanes)

    def write(self, end: End | None = None) -> None:
        """Write the whole function and call it.

        Args:
            end: what is done with some columns of z while these are in the cache: at indices of the leading axes, of
                the first one, and how many there are.
        """
        kernel, (*_, z), blas = self.kernel, self.arrays, self.blas

        def everywhere(write: Callable[[Sequence[Pointer], Columns], None]) -> list[Lanes]:
            with kernel.loops(z.shape[:-2]) as outer:
                places = [
                    kernel.moved(p, outer, v.strides[:-2]) for p, v in zip(self.pointers, self.arrays, strict=True)
                ]
                write(places, None if end is None else functools.partial(end, outer))
            return []

        def plain(places: Sequence[Pointer], end: Columns) -> None:
            self._plain(places)
            if end is not None:
                end(index(self.body, 0), self.n)

        def by_blas(blas: Blas) -> list[Lanes]:
            return everywhere(lambda places, end: self._by_blas(blas, places, end))

        if blas is None or self._terms() < SMALL:
            everywhere(plain)
        elif math.isfinite(self._terms()) or (blas.is_whole and not (blas.has_vectors and self._is_vector())):
            by_blas(blas)
        else:
            is_small = self.m * self.n * self.k < SMALL
            self.body.either(is_small, lambda: everywhere(plain), lambda: by_blas(blas))
        kernel.streams = end is None and self.stream is None and self.panels is None
        self.site.run(kernel)

    def _terms(self) -> float:
        """How many terms the sums have, infinite where that is not known."""
        return math.prod(n if type(n) is int else math.inf for n in self.lengths)

    def _is_vector(self) -> bool:
        """Whether the product is known to be a row or a column."""
        m, n, _ = self.lengths
        return is_one(m) or is_one(n)

    # --- plain loops -------------------------------------------------------------------------------------------------

    def _plain(self, places: Sequence[Pointer]) -> None:
        """Some rows of z at a time, for as many columns as there are lanes; a column alone by lanes along the sums."""
        if self.is_column:
            with self.body.loop(0, self.m) as i:
                self._dots([self._at(places, i)])
            return
        together = ROWS if self.blas is None else 1
        most = self.lengths[0]

        def write(block: Block) -> None:
            whole = self.m & -together
            if together > 1 and not (type(most) is int and most < together):
                with self.body.loop(0, whole, together) as i:
                    self._rows(self._at(places, i), together, block)
            if not (type(most) is int and most % together == 0) or together == 1:
                with self.body.loop(whole if together > 1 else 0, self.m) as i:
                    self._rows(self._at(places, i), 1, block)

        self.kernel.blocks(self.lengths[1], write, twice=self.blas is None)

    def _at(self, places: Sequence[Pointer], i: Index) -> list[Pointer]:
        """Where row i of x, y, and row i of z begin."""
        x, y, z = places
        a, _, c = self.arrays
        return [self.kernel.moved(x, [i], a.strides[-2:-1]), y, self.kernel.moved(z, [i], c.strides[-2:-1])]

    def _rows(self, places: Sequence[Pointer], count: int, block: Block) -> None:
        """A block of some rows of z: sums of rows of y, each of which is read once for all."""
        (x, y, z), (a, b, c), kernel, body = places, self.arrays, self.kernel, self.body
        rows = range(count)

        def step(at: Index, *last: Lanes) -> list[Lanes]:
            element = self.terms.wide(kernel.load(kernel.moved(y, [at], b.strides[-2:-1]), b.strides[-1], block))
            factors = [self.terms.wide(body.load(kernel.moved(x, [r, at], a.strides[-2:]))) for r in rows]
            sums = zip(self.terms.values(last), factors, strict=True)
            return parts([self.terms.more(total, factor, element) for total, factor in sums])

        found = self.terms.values(body.fold(0, self.k, 1, parts([self.terms.zero()] * count), step))
        for r, value in zip(rows, found, strict=True):
            kernel.store(value.to(self.dtype), kernel.moved(z, [r], c.strides[-2:-1]), 1, block)

    def _dots(self, places: Sequence[Sequence[Pointer]]) -> None:
        """Sums of products of two vectors each: of x and y, z."""
        (a, b, _), kernel, body = self.arrays, self.kernel, self.body

        def taken(block: Block, *last: Lanes) -> list[Lanes]:
            found, mask = [], None
            for (x, y, _), total in zip(places, self.terms.values(last), strict=True):
                loaded = kernel.load(x, a.strides[-1], block), kernel.load(y, b.strides[-2], block)
                factor, element = map(self.terms.wide, loaded)
                more = self.terms.fused(total, factor, element)
                mask = block.mask if mask is None else mask
                found.append(more if mask is None else select(mask, more, total))
            return parts(found)

        whole, last = self.k & -body.lanes, parts([self.terms.zero()] * len(places))
        last = body.fold(0, whole, body.lanes, last, lambda at, *so_far: taken(Block(at), *so_far))
        last = body.fold(
            whole, self.k, body.lanes, last, lambda at, *so_far: taken(kernel.partial(at, self.k), *so_far)
        )
        for (*_, z), value in zip(places, self.terms.values(last), strict=True):
            found = self.terms.across(value)
            with body.of(0):
                body.store(found.to(self.dtype), z)

    # --- BLAS --------------------------------------------------------------------------------------------------------

    def _by_blas(self, blas: Blas, places: Sequence[Pointer], end: Columns) -> None:
        x, y, z = places
        kernel, (m, n, _), (a, b, _) = self.kernel, self.lengths, self.arrays
        if self.stream is not None:
            self._by_stream(self.stream, places)
        elif self.panels is not None:
            self._by_panels(self.panels, blas, places, end)
            return
        elif end is not None and not (blas.has_vectors and self._is_vector()):
            self._by_columns(blas, x, y, z, end)
            return
        elif blas.has_vectors and is_one(m) and is_one(n):
            blas.dot(kernel, self.k, self._vector(x, a, -1), self._vector(y, b, -2), z)
        elif blas.has_vectors and is_one(n):
            blas.gemv(kernel, (self.m, self.k), self._matrix(x, a), self._vector(y, b, -2), z)
        elif blas.has_vectors and is_one(m):
            turned = self._matrix(y, b)
            turned = turned._replace(is_transposed=not turned.is_transposed)
            blas.gemv(kernel, (self.n, self.k), turned, self._vector(x, a, -1), z)
        else:
            if not blas.is_whole and not all(type(length) is int and length > 1 for length in (m, n)):
                with self.body.when((self.m == 1) | (self.n == 1)):
                    clear(kernel, z, self.m * self.n)
            blas.gemm(kernel, (self.m, self.n, self.k), self._matrix(x, a), self._matrix(y, b), z)
        if end is not None:
            end(index(self.body, 0), self.n)

    def _by_stream(self, stream: Stream, places: Sequence[Pointer]) -> None:
        """The matrix from its beginning to its end: a scalar product with each row, or each row added to the sums."""
        (x, y, z), (a, b, _), kernel, body = places, self.arrays, self.kernel, self.body
        low, high = kernel.bounds(stream.sums, first=True)

        def multiply(first: Index, count: int) -> None:
            rows = [first + r for r in range(count)]
            xs = [kernel.moved(x, [at], a.strides[-2:-1]) if self.is_column else x for at in rows]
            ys = [y if self.is_column else kernel.moved(y, [at], b.strides[-1:]) for at in rows]
            self._dots([(*both, z.moved(at)) for *both, at in zip(xs, ys, rows, strict=True)])

        def add(first: Index, count: int) -> None:
            matrix, vector, strides = (x, y, (a.strides[-1], b.strides[-2]))
            if not self.is_column:
                matrix, vector, strides = (y, x, (b.strides[-2], a.strides[-1]))
            pairs = []
            for r in range(count):
                row, one = (kernel.moved(v, [first + r], [n]) for v, n in zip((matrix, vector), strides, strict=True))
                pairs.append((row, body.load(one)))

            def more(block: Block) -> None:
                total = kernel.load(z, 1, block)
                for row, factor in pairs:
                    total = self.terms.fused(total, factor, kernel.load(row, 1, block))
                kernel.store(total, z, 1, block)

            kernel.rounds(low, high, more, twice=True)

        if stream.has_dots:
            self._grouped(stream, (low, high), multiply)
            return
        kernel.rounds(low, high, lambda block: kernel.store(self.terms.zero(), z, 1, block), twice=True)
        self._grouped(stream, (index(body, 0), self.k), add)

    def _grouped(self, stream: Stream, ends: tuple[Index, Index], write: Callable[[Index, int], None]) -> None:
        """Go through rows as many as are read at once, and through what is left."""
        (low, high), body = ends, self.body
        if stream.rows > 1:
            whole = low + (high - low) // stream.rows * stream.rows
            with body.loop(low, whole, stream.rows) as at:
                write(at, stream.rows)
            low = whole
        with body.loop(low, high) as at:
            write(at, 1)

    def _by_columns(self, blas: Blas, x: Pointer, y: Pointer, z: Pointer, end: Columns) -> None:
        """Some columns of z after others, so many as a second cache holds."""
        kernel, body = self.kernel, self.body
        assert end is not None
        if not blas.is_whole and not all(type(length) is int and length > 1 for length in self.lengths[:2]):
            with body.when((self.m == 1) | (self.n == 1)):
                clear(kernel, z, self.m * self.n)
        with self._groups(index(body, 0), self.n) as (first, some):
            self._columns(blas, (x, y, z), first, some)
            end(first, some)

    @contextlib.contextmanager
    def _groups(self, low: Index, high: Index) -> Iterator[tuple[Index, Index]]:
        """A loop over parts of some columns, so many as a second cache holds: the first one, and how many there are."""
        body = self.body
        most = ((index(body, COLUMNS_BYTES // item_size(self.dtype)) // self.m.most(1)) & -COLUMNS).most(COLUMNS)
        with body.loop(0, (high - low + (most - 1)) // most) as number:
            first = low + number * most
            yield first, (high - first).least(most)

    def _columns(self, blas: Blas, places: Sequence[Pointer], first: Index, some: Index) -> None:
        """Some columns of z."""
        (x, y, z), (a, b, _) = places, self.arrays
        columns = self._matrix(y, b)._replace(place=self.kernel.moved(y, [first], b.strides[-1:]))
        blas.gemm(self.kernel, (self.m, some, self.k), self._matrix(x, a), columns, z.moved(first), self.n)

    def _by_panels(self, panels: Panels, blas: Blas, places: Sequence[Pointer], end: Columns) -> None:
        """Panels of columns, or BLAS: for few rows, and where more threads share its products than those of tg."""
        kernel, body, conditions = self.kernel, self.body, []
        if type(self.lengths[0]) is not int:
            conditions.append(self.m >= (self.least_rows or 0))
        if self.site.threads == 1:
            conditions.append(blas.threads(kernel) <= 1)

        def few(first: Index, some: Index) -> list[Lanes]:
            if not blas.is_whole:
                with body.when(self.m == 1):
                    clear(kernel, places[2].moved(first), some)
            self._columns(blas, places, first, some)
            return []

        def many(first: Index, some: Index) -> list[Lanes]:
            with body.outlined("multiplied_panels"):
                panels.write(places, first, first + some)
            return []

        def some(first: Index, count: Index) -> None:
            if not conditions:
                many(first, count)
                return
            suits = functools.reduce(operator.and_, conditions)
            body.either(suits, lambda: many(first, count), lambda: few(first, count))

        low, high = kernel.bounds(self.lengths[1], first=True)
        if end is None:
            some(low, high - low)
            return
        with self._groups(low, high) as (first, count):
            some(first, count)
            end(first, count)

    def _matrix(self, place: Pointer, v: Array) -> Matrix:
        # what fits neither way is a copy in C order, whose row length need not be known to be at least 0
        axis = -2 if _is_dense(v, -2) and not _is_dense(v, -1) else -1
        assert self.blas is not None
        return Matrix(place, axis == -2, self.kernel.length(_lead(v, axis, self.blas)))

    def _vector(self, place: Pointer, v: Array, axis: int) -> Vector:
        return Vector(place, self.kernel.length(1 if is_one(v.shape[axis]) else v.strides[axis]))


RULES: Final[dict[object, Rule]] = {t.MatMul: in_float32(matmul)}
