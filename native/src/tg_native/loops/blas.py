"""Matrices and vectors as functions of BLAS read them, and how a loop calls these."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from tg.types.dtypes import numpy_dtype
from tg_native.kernels.lanes import constant_of

if TYPE_CHECKING:
    from tg_native.kernels.index import Index, Pointer
    from tg_native.loops.kernel import Kernel


class Matrix(NamedTuple):
    """A matrix as BLAS reads it: rows one after another, or, if it is transposed, columns, at a leading dimension."""

    place: Pointer
    is_transposed: bool
    lead: Index


class Vector(NamedTuple):
    """Elements at a distance."""

    place: Pointer
    step: Index


class Blas(Protocol):
    """How the functions of the process's BLAS for a dtype are called in a loop; no length is 0."""

    @property
    def has_vectors(self) -> bool:
        """Whether there are `gemv` and `dot`."""

    def gemm(self, kernel: Kernel, sizes: tuple[Index, Index, Index], x: Matrix, y: Matrix, z: Pointer) -> None:
        """z = x y of m, n and k: x (m, k), y (k, n) -> z (m, n)."""

    def gemv(self, kernel: Kernel, sizes: tuple[Index, Index], a: Matrix, v: Vector, z: Pointer) -> None:
        """z = a v of m and k: a (m, k), v (k) -> z (m)."""

    def dot(self, kernel: Kernel, n: Index, x: Vector, y: Vector, z: Pointer) -> None:
        """z = the sum of x[i] y[i]."""


def clear(kernel: Kernel, z: Pointer, count: Index) -> None:
    """Set elements to 0 that BLAS is to write: some versions of OpenBLAS multiply a vector by 0, which keeps NaN."""
    body = kernel.body
    with body.loop(0, count) as at, body.of(0):
        body.store(constant_of(body, numpy_dtype(z.dtype).type(0), z.dtype), z.moved(at))
