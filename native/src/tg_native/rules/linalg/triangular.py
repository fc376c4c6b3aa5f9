"""Triangular systems: row by row for all right sides at once, by blocks of rows, or by `trsm`.

OpenBLAS lets threads share a `trsm` of 8 right sides or more, however few rows there are: 80 of both took 11 ms in
place of 0.03 where other processes had work for the cores, for its threads wait for each other in turns. Products of up
to 64 x 64 x 64 terms have one thread. So systems of middling size are products, and between these blocks of few rows.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, final

from tg.ops.linalg import triangular as t
from tg.types.dtypes import is_complex
from tg_native.fusion.registers import is_small
from tg_native.kernels.index import Condition, index
from tg_native.loops.blas import Matrix as Factor
from tg_native.matrices import unrolled
from tg_native.matrices.elements import (
    OF_ROWS,
    any_of,
    at_most,
    by_size,
    conjugate,
    fill_nan,
    fold_elements,
    matrix_at,
    minus_product,
    nothing,
    over,
)
from tg_native.plan.values import is_one

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg.types.lengths import Length
    from tg_native.graphs.site import Site
    from tg_native.kernels.index import Index, Pointer
    from tg_native.kernels.lanes import Elements
    from tg_native.kernels.routine import Block
    from tg_native.loops.blas import Blas
    from tg_native.loops.kernel import Kernel
    from tg_native.loops.lapack import Lapack
    from tg_native.matrices.elements import Matrix
    from tg_native.matrices.unrolled import Batch
    from tg_native.plan.values import Value

BLOCK: Final = 16  # rows of a block
FEW: Final = 8  # right sides, below which OpenBLAS has one thread
MOST: Final = 10_000  # elements of a solution, from which on threads that nobody disturbs take less
VECTORS: Final = 2  # abreast: one would wait for each product to be taken off


def solve_triangular(op: t.SolveTriangular, site: Site) -> Value:
    """The solution for each matrix."""
    a, b = site.contiguous(site.inputs[0]), site.memory(site.inputs[1])
    x = site.allocate(0)
    site.same(a.shape[-2], a.shape[-1])
    site.same(a.shape[-1], b.shape[-2])
    n, m = x.shape[-2:]
    if type(n) is int and type(m) is int and is_small([n, m]):
        batch = unrolled.Batch(site, x.dtype, x.shape[:-2])
        pointers = batch.kernel.read(a), batch.kernel.read(site.contiguous(b)), batch.kernel.write(x)
        batch.write(lambda: _unrolled(op, batch, (n, m), *pointers))
        return x
    kernel = site.kernel() if is_one(m) else site.kernel([x.dtype], VECTORS, m)
    places = [kernel.read(a), kernel.read(b), kernel.write(x)]
    size, columns = kernel.length(n), kernel.length(m)
    with kernel.loops(a.shape[:-2]) as outer:
        matrices = (matrix_at(kernel, v, p, outer) for v, p in zip((a, b, x), places, strict=True))
        one = _System(op, kernel, (size, columns), *matrices)
        one.write(site)
        if not op.raises and not op.unit_diagonal:
            one.mark()
    site.run(kernel)
    return x


def _unrolled(op: t.SolveTriangular, batch: Batch, sizes: tuple[int, int], a: Pointer, b: Pointer, x: Pointer) -> None:
    """The solution for matrices in registers."""
    n, m = sizes
    is_read = {(i, j) for i in range(n) for j in range(n) if (j < i if op.lower else i < j)}
    is_read |= set() if op.unit_diagonal else {(i, i) for i in range(n)}
    values = {(i, j): batch.load(a, n * n, i * n + j) for i, j in sorted(is_read)}

    def factor(i: int, j: int) -> Elements:
        if op.transpose == "n":
            return values[i, j]
        return conjugate(values[j, i]) if op.transpose == "c" else values[j, i]

    is_lower = op.lower == (op.transpose == "n")
    solution = unrolled.substituted(
        factor, batch.load_matrix(b, n, m), is_lower=is_lower, unit_diagonal=op.unit_diagonal
    )
    if not op.raises and not op.unit_diagonal:
        is_singular = values[0, 0].is_zero()
        for i in range(1, n):
            is_singular = is_singular | values[i, i].is_zero()
        solution = unrolled.without(is_singular, solution)
    batch.store_matrix(solution, x)


def _may_be_middling(n: int | Length, m: int | Length) -> bool:
    """Whether a system of so many rows and right sides, as far as they are known, may be one of middling size."""
    rows, sides = (n if type(n) is int else BLOCK + 1), (m if type(m) is int else FEW)
    return rows > BLOCK and sides >= FEW and rows * sides <= MOST


@final
class _System:
    """The solution for one matrix in the making."""

    def __init__(
        self, op: t.SolveTriangular, kernel: Kernel, lengths: tuple[Index, Index], a: Matrix, b: Matrix, x: Matrix
    ) -> None:
        self.op, self.kernel, self.body, self.a, self.b, self.x = op, kernel, kernel.body, a, b, x
        self.n, self.m = lengths
        self.is_lower = op.lower == (op.transpose == "n")  # as it is read

    def factor(self, i: Index, j: Index) -> Elements:
        """An element of the matrix as it is read."""
        if self.op.transpose == "n":
            return self.a.load(i, j)
        return conjugate(self.a.load(j, i)) if self.op.transpose == "c" else self.a.load(j, i)

    def write(self, site: Site) -> None:
        """The solution, in the way that its size asks for."""
        n, m = self.x.array.shape[-2:]
        blas = None if is_complex(self.x.array.dtype) else site.blas(self.x.array.dtype)

        def usual() -> None:
            by_size(site, self.body, at_most(n, self.n, OF_ROWS), self.by_rows, self.by_lapack)

        if blas is None or not _may_be_middling(n, m):
            usual()
            return
        by_blocks = functools.partial(self.by_blocks, blas)
        if type(n) is int and type(m) is int:
            by_blocks()
            return
        is_middling = (self.n > BLOCK) & (self.m >= FEW) & (self.n * self.m <= MOST)
        self.body.either(is_middling, nothing(by_blocks), nothing(usual))

    def by_rows(self) -> None:
        """A row of the solution from those that are known."""
        self._rows(index(self.body, 0), self.n, self.b)

    def _rows(self, first: Index, last: Index, source: Matrix) -> None:
        """Some rows of the solution, of whose right sides the products with other rows have been taken off."""
        with self.body.loop(0, last - first) as k:
            i = first + k if self.is_lower else last - 1 - k
            start, end = (first, i) if self.is_lower else (i + 1, last)
            self.kernel.blocks(self.x.array.shape[-1], lambda block: self._row(i, (start, end), source, block))

    def _row(self, i: Index, others: tuple[Index, Index], source: Matrix, block: Block) -> None:
        left = fold_elements(
            self.body,
            *others,
            source.load_row(i, block),
            lambda j, total: minus_product(total, self.factor(i, j), self.x.load_row(j, block)),
        )
        self.x.store_row(left if self.op.unit_diagonal else over(left, self.factor(i, i)), i, block)

    def by_blocks(self, blas: Blas) -> None:
        """By rows in blocks, from which a product takes off what the rows before contribute."""
        self._copy()
        with self.body.loop(0, (self.n + (BLOCK - 1)) // BLOCK) as k:
            done = k * BLOCK
            if self.is_lower:
                first, last, start = done, (done + BLOCK).least(self.n), index(self.body, 0)
            else:
                first, last, start = (self.n - done - BLOCK).most(0), self.n - done, self.n - done
            with self.body.when(done > 0):
                self._take_off(blas, (first, last), (start, done))
            self._rows(first, last, self.x)

    def _take_off(self, blas: Blas, rows: tuple[Index, Index], terms: tuple[Index, Index]) -> None:
        """Rows of the right sides less the products of the matrix and rows of the solution, from one on so many."""
        (first, last), (start, count) = rows, terms
        is_transposed = self.op.transpose != "n"
        corner = self.a.at(start, first) if is_transposed else self.a.at(first, start)
        x, y = Factor(corner, is_transposed, self.n), Factor(self.x.at(start, 0), False, self.m)
        blas.gemm(self.kernel, (last - first, self.m, count), x, y, self.x.at(first, 0), self.m, factors=(-1, 1))

    def _copy(self) -> None:
        """Let the solution begin as the right sides."""
        with self.body.loop(0, self.n) as i:
            self.kernel.blocks(
                self.x.array.shape[-1], lambda block: self.x.store_row(self.b.load_row(i, block), i, block)
            )

    def by_lapack(self, lapack: Lapack) -> None:
        """By `trsm`: as columns, x and the matrix are transposed, and so the matrix is on the right."""
        self._copy()
        transpose = self.op.transpose if is_complex(self.x.array.dtype) else self.op.transpose.replace("c", "t")
        flags = ["R", "U" if self.op.lower else "L", transpose.upper(), "U" if self.op.unit_diagonal else "N"]
        with self.body.when((self.n > 0) & (self.m > 0)):
            sizes = (self.m, self.n)
            lapack.call(self.kernel, "trsm", [*flags, *sizes, self.a.place, self.n, self.x.place, self.m])

    def mark(self) -> None:
        """NaN for a matrix with a zero on its diagonal."""
        with self.body.of(0):
            is_singular = any_of(self.body, 0, self.n, lambda i: Condition(self.a.load(i, i).is_zero()))
            with self.body.when(is_singular):
                fill_nan(self.x, self.n, lambda _: self.m)


RULES: Final[dict[object, Rule]] = {t.SolveTriangular: solve_triangular}
