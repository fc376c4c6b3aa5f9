"""Cases of `ops/sparse_factors`: precision matrices of a lattice and of a chain, beside dense linear algebra."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

import tg
from tg.errors import BoundsError, InputError, LinAlgError
from tg.ops.sparse_factors import FAMILY, SparseCholesky, SparseInverse
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tg.plugin.case import Layout

FLOATS: Final = ("float32", "float64")
LAYOUTS: Final[tuple[Layout, ...]] = (
    "C",
    "strided",
    "reversed",
    "readonly",
    "unaligned",
)


def lattice(rows: int, columns: int) -> Any:
    """Neighbours on a lattice, with a diagonal that makes the matrix positive definite: sparse, by rows."""
    across, down = (sparse.diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1], shape=(n, n)) for n in (columns, rows))
    near = sparse.kron(sparse.eye_array(rows), across) + sparse.kron(down, sparse.eye_array(columns))
    return sparse.csr_array(sparse.diags_array(near.sum(axis=1) + 0.5) - near)


MATRICES: Final = {"lattice": lattice(4, 3), "chain": lattice(7, 1), "one": lattice(1, 1)}


def drawn(matrix: Any) -> Any:
    """Values near those of a matrix: their mean with the transpose's is factored, and is positive definite."""

    def draw(draws: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Any:
        return (matrix.data * draws.uniform(0.95, 1.0, shape)).astype(dtype)

    return draw


def _dense(matrix: Any, data: Any) -> Any:
    a = sparse.csr_array((data.astype(float), matrix.indices, matrix.indptr), shape=matrix.shape).toarray()
    return (a + a.T) / 2


def of_matrices() -> Iterator[Case]:
    """Determinants, solutions and variances; gradients are unit tests: differences know too few digits of them."""
    for name, matrix in MATRICES.items():
        pattern = tg.sparse.linalg.symbolic(matrix)
        n = matrix.shape[0]
        data = any_dtype(matrix.nnz, values=drawn(matrix), static=True)

        def factor(data: Any, matrix: Any = matrix, pattern: Any = pattern) -> tg.sparse.linalg.Factor:
            return tg.sparse.linalg.cholesky(tg.sparse.csr(matrix).with_data(data), pattern)

        yield Case(
            lambda data, factor=factor: factor(data).logdet(),
            [data],
            name=f"logdet of a {name}",
            dtypes=FLOATS,
            layouts=LAYOUTS,
            oracle=lambda data, matrix=matrix: np.linalg.slogdet(_dense(matrix, data))[1].astype(data.dtype),
            condition=lambda data, n=n: 4.0 * n,
        )
        yield Case(
            lambda data, b, factor=factor: factor(data).solve(b),
            [data, any_dtype(n, "k", static=True)],
            name=f"solve of a {name}",
            dtypes=FLOATS,
            layouts=LAYOUTS,
            oracle=lambda data, b, matrix=matrix: np.linalg.solve(_dense(matrix, data), b.astype(float)).astype(
                b.dtype
            ),
            condition=lambda data, b, matrix=matrix: 30.0 * np.linalg.cond(_dense(matrix, data)),
        )
        yield Case(
            lambda data, factor=factor: factor(data).inverse_diagonal(),
            [data],
            name=f"variances of a {name}",
            dtypes=FLOATS,
            layouts=LAYOUTS,
            oracle=lambda data, matrix=matrix: np.diagonal(np.linalg.inv(_dense(matrix, data))).astype(data.dtype),
            condition=lambda data, matrix=matrix: np.linalg.cond(_dense(matrix, data)),
        )
        yield Case(
            tg.vmap(lambda data, factor=factor: factor(data).logdet()),
            [any_dtype("m", matrix.nnz, values=drawn(matrix), static=True)],
            name=f"logdets of a batch of a {name}",
            dtypes=FLOATS,
            layouts=LAYOUTS,
            oracle=lambda many, matrix=matrix: np.array(
                [np.linalg.slogdet(_dense(matrix, data))[1] for data in many], many.dtype
            ),
            condition=lambda many, n=n: 4.0 * n,
        )


def solution(matrix: Any, data: Any, b: Any) -> Any:
    """The solution with values of a matrix that is not symmetric, and the gradients of the sum of its squares."""
    x = tg.sparse.linalg.spsolve(tg.sparse.csr(matrix).with_data(data), b)
    return x, *tg.grad(tg.sum(x**2), [data, b])


def dense_solution(matrix: Any, data: Any, b: Any) -> Any:
    """The same by dense linear algebra."""
    a = sparse.csr_array((data.astype(float), matrix.indices, matrix.indptr), shape=matrix.shape)
    x = np.linalg.solve(a.toarray(), b.astype(float))
    db = np.linalg.solve(a.toarray().T, 2 * x)
    row, column = a.tocoo().coords
    return tuple(v.astype(b.dtype) for v in (x, -(db[row] * x[column]).sum(axis=-1), db))


def of_systems() -> Iterator[Case]:
    """Flow over a lattice and a circle of rows whose diagonal is not stored."""
    flow = MATRICES["lattice"] + sparse.diags_array([np.full(11, 0.5), np.full(11, -0.5)], offsets=[1, -1])
    circle = sparse.csr_array(np.roll(np.diag([2.0, 3.0, 4.0, 5.0]), 1, axis=1) + 0.5 * np.eye(4, k=-1))
    for matrix, name in ((sparse.csr_array(flow), "a flow"), (circle, "a circle")):
        yield Case(
            functools.partial(solution, matrix),
            [any_dtype(matrix.nnz, values=drawn(matrix), static=True), any_dtype(matrix.shape[0], "k", static=True)],
            name=f"spsolve of {name}",
            dtypes=FLOATS,
            layouts=LAYOUTS,
            oracle=functools.partial(dense_solution, matrix),
            condition=lambda data, b, matrix=matrix: (30.0 * np.linalg.cond(matrix.toarray()) ** 2,) * 3,
        )


def by_pattern(data: Any, indices: Any, pointers: Any, *fields: Any) -> Any:
    """The log-determinant of a matrix of four rows by a pattern that comes beside it."""
    pattern = tg.sparse.linalg.Symbolic(*fields)
    return tg.sparse.linalg.cholesky(tg.sparse.csr(data, indices, pointers, (4, 4)), pattern).logdet()


def of_patterns() -> Iterator[Case]:
    """Patterns as inputs: that of the matrix, and that of another one with as many elements."""
    own, other = (sparse.csr_array(2 * np.eye(4) + np.diag(line, 1) + np.diag(line, -1)) for line in np.eye(3)[:2])
    inputs = [any_dtype(own.nnz, values=drawn(own), static=True), fixed(own.indices, "int32", static=True)]
    inputs += [fixed(own.indptr, "int32", static=True)]
    for matrix, name in ((own, "its pattern"), (other, "the pattern of another matrix")):
        fields = tg.sparse.linalg.symbolic(matrix)
        yield Case(
            by_pattern,
            [*inputs, *(fixed(v, "float64" if v is fields.halves else "int32", static=True) for v in fields)],
            name=f"logdet by {name}",
            dtypes=FLOATS,
            layouts=LAYOUTS,
            raises=None if matrix is own else InputError,
            oracle=lambda data, *_: np.linalg.slogdet(_dense(own, data))[1].astype(data.dtype),
            condition=lambda *_: 16.0,
        )


CASES: Final = of_family(
    FAMILY.path,
    of_matrices(),
    of_systems(),
    of_patterns(),
    Case(
        SparseCholesky(),
        [fixed([1.0, 2.0, 1.0]), fixed([0, 1, 1], "int32"), fixed([0, 2, 3], "int32")],
        name="cholesky of what is not positive definite",
        raises=LinAlgError,
    ),
    Case(
        lambda a, i, p: SparseCholesky(False)(a, i, p)[0],
        [fixed([1.0, 2.0, 1.0]), fixed([0, 1, 1], "int32"), fixed([0, 2, 3], "int32")],
        name="cholesky of what is not positive definite, without an error",
        oracle=lambda a, i, p: np.full(3, np.nan),
    ),
    [
        Case(
            SparseInverse(),
            [f64(3), fixed(indices, "int32"), fixed(pointers, "int32")],
            name=f"inverse by {what}",
            raises=BoundsError,
        )
        for what, indices, pointers in (
            ("a column without a diagonal", [1, 0, 1], [0, 1, 3]),
            ("rows that descend", [0, 1, 0], [0, 3, 3]),
            ("a row outside", [0, 2, 1], [0, 2, 3]),
        )
    ],
)
