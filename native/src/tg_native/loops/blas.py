"""Matrices and vectors as functions of BLAS read them, and how a loop calls these."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Final, NamedTuple

from tg.types.dtypes import is_complex, numpy_dtype
from tg_native.kernels.index import index
from tg_native.kernels.lanes import constant_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.kernels.index import Index, Pointer
    from tg_native.loops.kernel import Kernel

LETTERS: Final = {"float64": "d", "float32": "s", "complex128": "z", "complex64": "c"}
"""What the functions for a dtype begin with."""
SMALL: Final = 64  # products of fewer terms than this are not worth a call
ROW_MAJOR, AS_IS, TRANSPOSED = 101, 111, 112  # as CBLAS numbers them


class Matrix(NamedTuple):
    """A matrix as BLAS reads it: rows one after another, or, if it is transposed, columns, at a leading dimension."""

    place: Pointer
    is_transposed: bool
    lead: Index


class Vector(NamedTuple):
    """Elements at a distance."""

    place: Pointer
    step: Index


class Blas(abc.ABC):
    """Calls of the functions of the process's BLAS for a dtype in a loop, in the order of CBLAS; no length is 0.

    What a printer has no argument for is "" where it is asked.
    """

    dtype: str

    @property
    def is_whole(self) -> bool:
        """Whether functions of real matrices do by themselves what those of BLAS ask of whoever calls them.

        Products of few terms are no calls, leading dimensions may be 0, and what is in a result before does not matter.
        """
        return False

    @abc.abstractmethod
    def flag(self, number: int) -> str:
        """One of the numbers of CBLAS as an argument."""

    @abc.abstractmethod
    def number(self, number: Index) -> str:
        """A length or a distance as an argument."""

    @abc.abstractmethod
    def place(self, place: Pointer) -> str:
        """The place of an element as an argument."""

    @abc.abstractmethod
    def factor(self, kernel: Kernel, value: int) -> str:
        """A factor of the dtype as an argument."""

    @abc.abstractmethod
    def call(self, kernel: Kernel, name: str, arguments: Sequence[str], result: Pointer | None = None) -> None:
        """Call a function, and store what it gives, if it gives something."""

    @abc.abstractmethod
    def threads(self, kernel: Kernel) -> Index:
        """Number of threads that share a product of BLAS: 1 where there is none, very many where it does not say."""

    @property
    def has_vectors(self) -> bool:
        """Whether there are `gemv` and `dot`."""
        return not is_complex(self.dtype)

    def _transposed(self, a: Matrix) -> str:
        return self.flag(TRANSPOSED if a.is_transposed else AS_IS)

    def gemm(
        self,
        kernel: Kernel,
        sizes: tuple[Index, Index, Index],
        x: Matrix,
        y: Matrix,
        z: Pointer,
        lead: Index | None = None,
        factors: tuple[int, int] = (1, 0),
    ) -> None:
        """z = a x y + b z of m, n and k: x (m, k), y (k, n), z (m, n), whose rows are `lead` apart, or n.

        Args:
            factors: a and b, which complex products do not have in every printer.
        """
        arguments = [self.flag(ROW_MAJOR), self._transposed(x), self._transposed(y), *map(self.number, sizes)]
        arguments += [
            self.factor(kernel, factors[0]),
            *(text for v in (x, y) for text in (self.place(v.place), self.number(v.lead))),
        ]
        arguments += [self.factor(kernel, factors[1]), self.place(z), self.number(sizes[1] if lead is None else lead)]
        self.call(kernel, "gemm", [*filter(None, arguments)])

    def gemv(self, kernel: Kernel, sizes: tuple[Index, Index], a: Matrix, v: Vector, z: Pointer) -> None:
        """z = a v of m and k: a (m, k), v (k) -> z (m)."""
        stored = sizes[::-1] if a.is_transposed else sizes
        arguments = [self.flag(ROW_MAJOR), self._transposed(a), *map(self.number, stored), self.factor(kernel, 1)]
        arguments += [self.place(a.place), self.number(a.lead), self.place(v.place), self.number(v.step)]
        arguments += [self.factor(kernel, 0), self.place(z), self.number(index(kernel.body, 1))]
        self.call(kernel, "gemv", arguments)

    def dot(self, kernel: Kernel, n: Index, x: Vector, y: Vector, z: Pointer) -> None:
        """z = the sum of x[i] y[i]."""
        vectors = (text for v in (x, y) for text in (self.place(v.place), self.number(v.step)))
        self.call(kernel, "dot", [self.number(n), *vectors], z)


def clear(kernel: Kernel, z: Pointer, count: Index) -> None:
    """Set elements to 0 that BLAS is to write: some versions of OpenBLAS multiply a vector by 0, which keeps NaN."""
    body = kernel.body
    with body.loop(0, count) as at, body.of(0):
        body.store(constant_of(body, numpy_dtype(z.dtype).type(0), z.dtype), z.moved(at))
