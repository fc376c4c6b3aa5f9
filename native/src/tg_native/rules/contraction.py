"""Products of matrices: by the BLAS of the process, or by plain loops, where it is not worth a call or has no dtype.

BLAS reads transposed matrices by flags. Of a matrix of known lengths, as weights are, floats are multiplied by panels
(`tg_native.matrices.panels`) where that is faster, and BLAS has no threads of its own that would share the product.
Halves are multiplied as float32 and rounded once, as on the reference.

A matrix that no cache holds is read by rows beside a vector (`tg_native.matrices.vectors`).
"""

from __future__ import annotations

import contextlib
import functools
import math
import operator
from typing import TYPE_CHECKING, Final, final

from tg.ops import contraction as t
from tg.types.lengths import is_natural, maximum
from tg_native.kernels.dtypes import item_size
from tg_native.kernels.index import index
from tg_native.kernels.lanes import parts, select
from tg_native.kernels.routine import Block
from tg_native.loops.blas import SMALL, Matrix, Vector, clear
from tg_native.loops.pointwise import in_float32
from tg_native.loops.repeats import form_of, once
from tg_native.loops.terms import Terms
from tg_native.matrices import panels, vectors
from tg_native.matrices.panels import Panels, least_rows
from tg_native.matrices.vectors import Rows, beside
from tg_native.plan.values import is_one, is_zero, spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index, Pointer
    from tg_native.kernels.lanes import Lanes
    from tg_native.loops.blas import Blas
    from tg_native.matrices.vectors import Beside
    from tg_native.plan.values import Array, Value

    End = Callable[[Sequence[Index], Index, Index], None]
    Columns = Callable[[Index, Index], None] | None

COLUMNS: Final = 192  # of a product that are multiplied at once at least, where each part is worked on when it is done
COLUMNS_BYTES: Final = 2**19  # of such parts: half of a second cache
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


@final
class Product:
    """The function of a product in the making: of x (m, k) and y (k, n), at each index of the leading axes."""

    def __init__(self, site: Site, x: Array, y: Array, z: Array, blas: Blas | None) -> None:
        self.site, self.arrays, self.dtype, self.blas = site, (x, y, z), z.dtype, blas
        self.lengths = (x.shape[-2], y.shape[-1], x.shape[-1])
        self.is_column = is_one(y.shape[-1])
        self.beside = self._beside()
        self.least_rows = None if blas is None else least_rows(self.arrays, site.kernel().body.machine.vector_bytes)
        along = x.shape[-1] if self.is_column else y.shape[-1]
        along, count = (along, VECTORS) if blas is None else (along, 1)
        if self.beside is not None:
            along, count = self.beside.along, vectors.VECTORS
        elif self.least_rows is not None:
            count = panels.VECTORS
        self.kernel = site.kernel([z.dtype], count, along)
        self._divide()
        self.body = self.kernel.body
        self.terms = Terms(site, self.body, z.dtype)
        self.pointers = (self.kernel.read(x), self.kernel.read(y), self.kernel.write(z))
        self.m, self.n, self.k = map(self.kernel.length, self.lengths)
        sizes = self.m, self.n, self.k
        self.panels = None if self.least_rows is None else Panels(site, self.kernel, self.arrays, sizes)
        self.rows = None if self.beside is None else Rows(site, self.kernel, z.dtype, self.beside)

    def _beside(self) -> Beside | None:
        """Layout of the matrix beside a vector, if it is known to be so large that it is read by rows."""
        size = self._terms() * item_size(self.dtype)
        if self.blas is None or not self.blas.has_vectors or not vectors.LEAST <= size < math.inf:
            return None
        return beside(*self.arrays[:2])

    def _divide(self) -> None:
        """Let threads share the sums of a matrix that is read by rows, or the columns of panels."""
        x, y, z = self.arrays
        if not all(map(is_one, z.shape[:-2])):
            return
        if self.beside is not None:
            unit = 0 if self.beside.has_dots else self.kernel.body.lanes
            self.site.divide(self.kernel, (self.beside.sums, x.shape[-1]), (), [z.dtype], unit=unit)
        elif self.least_rows is not None:
            space = (y.shape[-1], x.shape[-2], x.shape[-1])
            self.site.divide(self.kernel, space, (), [z.dtype], unit=self.kernel.body.lanes)

    def write(self, end: End | None = None) -> None:
        """Write the whole function and call it.

        Args:
            end: what is done with some columns of z while these are in the cache: at indices of the leading axes, of
                the first one, and how many there are.
        """
        kernel = self.kernel
        if end is None:
            kinds, texts = form_of(self.arrays)
            once(self.site.forms, kernel, ("product", kinds), texts, self._write)
        else:
            self._write(end)
        kernel.streams = end is None and self.rows is None and self.panels is None
        self.site.run(kernel)

    def _write(self, end: End | None = None) -> None:
        """Write the body."""
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

    def _terms(self) -> float:
        """Number of terms of the sums, infinite where that is not known."""
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
                self._dot(self._at(places, i))
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
        """Starts of row i of x, of y, and of row i of z."""
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

        totals = self.terms.values(body.fold(0, self.k, 1, parts([self.terms.zero()] * count), step))
        for r, value in zip(rows, totals, strict=True):
            kernel.store(value.to(self.dtype), kernel.moved(z, [r], c.strides[-2:-1]), 1, block)

    def _dot(self, places: Sequence[Pointer]) -> None:
        """The sum of products of two vectors: of x and y, z."""
        (x, y, z), (a, b, _), kernel, body = places, self.arrays, self.kernel, self.body

        def taken(block: Block, *last: Lanes) -> list[Lanes]:
            (total,) = self.terms.values(last)
            loaded = kernel.load(x, a.strides[-1], block), kernel.load(y, b.strides[-2], block)
            factor, element = map(self.terms.wide, loaded)
            more = self.terms.fused(total, factor, element)
            mask = block.mask
            return parts([more if mask is None else select(mask, more, total)])

        whole, last = self.k & -body.lanes, parts([self.terms.zero()])
        last = body.fold(0, whole, body.lanes, last, lambda at, *so_far: taken(Block(at), *so_far))
        last = body.fold(
            whole, self.k, body.lanes, last, lambda at, *so_far: taken(kernel.partial(at, self.k), *so_far)
        )
        (value,) = self.terms.values(last)
        dot = self.terms.across(value)
        with body.of(0):
            body.store(dot.to(self.dtype), z)

    # --- BLAS --------------------------------------------------------------------------------------------------------

    def _by_blas(self, blas: Blas, places: Sequence[Pointer], end: Columns) -> None:
        x, y, z = places
        kernel, (m, n, _), (a, b, _) = self.kernel, self.lengths, self.arrays
        if self.rows is not None:
            self.rows.write(places)
        elif self.panels is not None:
            self._by_panels(self.panels, blas, places, end)
            return
        elif end is not None and not (blas.has_vectors and self._is_vector()):
            self._by_columns(blas, x, y, z, end)
            return
        elif blas.has_vectors and is_one(m) and is_one(n):
            blas.dot(kernel, self.k, self._vector(x, a, -1), self._vector(y, b, -2), z)
        elif blas.has_vectors and self._is_vector():
            self._beside_vector(blas, places)
        else:
            if not blas.is_whole and not all(type(length) is int and length > 1 for length in (m, n)):
                with self.body.when((self.m == 1) | (self.n == 1)):
                    clear(kernel, z, self.m * self.n)
            blas.gemm(kernel, (self.m, self.n, self.k), self._matrix(x, a), self._matrix(y, b), z)
        if end is not None:
            end(index(self.body, 0), self.n)

    def _beside_vector(self, blas: Blas, places: Sequence[Pointer]) -> None:
        """A matrix beside a vector by BLAS."""
        (x, y, z), (a, b, _), kernel = places, self.arrays, self.kernel
        if self.is_column:
            blas.gemv(kernel, (self.m, self.k), self._matrix(x, a), self._vector(y, b, -2), z)
            return
        turned = self._matrix(y, b)
        turned = turned._replace(is_transposed=not turned.is_transposed)
        blas.gemv(kernel, (self.n, self.k), turned, self._vector(x, a, -1), z)

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
