"""Matrices of a kind to draw, and what is right of them in any precision: elimination as in a textbook, by loops.

NumPy's own functions know no extended precision, in which derivatives are differenced.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.plugin.case import SAME_SHAPE, Case, Layout
from tg_conformance.cases.family import of_family

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Array = np.ndarray[Any, Any]

DTYPES: Final = ("float32", "float64", "complex64", "complex128")
LAYOUTS: Final[tuple[Layout, ...]] = tuple(layout for layout in SAME_SHAPE if layout != "broadcast")
"""All but the one that changes values."""


def square(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> Array:
    """Well-conditioned matrices without symmetry, in which elimination exchanges rows."""
    a = _random(rng, dtype, shape) / 2
    for index in np.ndindex(*shape[:-2]):
        rows = np.roll(np.arange(shape[-1]), 1)
        a[(*index, rows, np.arange(shape[-1]))] += 3
    return a


def positive(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> Array:
    """Hermitian positive-definite matrices."""
    a = _random(rng, dtype, shape)
    return np.asarray(a @ adjoint(a) / max(1, shape[-1]) + np.eye(shape[-1]))


def triangle(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> Array:
    """Matrices both of whose triangles are well conditioned."""
    return np.asarray(_random(rng, dtype, shape) / shape[-1] + 2 * np.eye(shape[-1]))


def hermitian(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> Array:
    """Hermitian matrices whose eigenvalues lie apart."""
    a = _random(rng, dtype, shape) / 4
    return np.asarray(a + adjoint(a) + np.diag(3.0 * np.arange(shape[-1])))


def general(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> Array:
    """Matrices of any shape whose singular values lie apart."""
    few = min(shape[-2:])
    a = _random(rng, dtype, shape) / 4
    a[..., np.arange(few), np.arange(few)] += 2.0 * np.arange(1, few + 1)
    return a


def _random(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> Array:
    values = rng.uniform(-1, 1, shape)
    return values + 1j * rng.uniform(-1, 1, shape) if dtype.startswith("complex") else values


def adjoint(a: Array) -> Array:
    """The conjugate transpose of each matrix."""
    return np.conj(np.swapaxes(a, -1, -2))


def each(function: Callable[..., Any], *arrays: Array) -> Any:
    """The results of a function of matrices for each of a batch: an array, or a tuple of arrays."""
    lead = arrays[0].shape[:-2]
    results = [function(*(a[index] for a in arrays)) for index in np.ndindex(*lead)]
    if not results:
        return arrays[-1]
    if isinstance(results[0], tuple):
        return tuple(np.array(part).reshape((*lead, *np.shape(part[0]))) for part in zip(*results, strict=True))
    return np.array(results).reshape((*lead, *np.shape(results[0])))


def cholesky(a: Array) -> Array:
    """L of a = L L', of the lower triangle."""
    return each(_cholesky, a)  # type: ignore[no-any-return]


def _cholesky(a: Array) -> Array:
    factor = np.zeros_like(a)
    for j in range(len(a)):
        factor[j, j] = np.sqrt(a[j, j].real - np.sum(abs(factor[j, :j]) ** 2))
        factor[j + 1 :, j] = (a[j + 1 :, j] - factor[j + 1 :, :j] @ np.conj(factor[j, :j])) / factor[j, j]
    return factor


def solve(a: Array, b: Array) -> Array:
    """x of a x = b, by elimination."""
    return each(lambda a, b: _eliminated(a, b)[0], a, b)  # type: ignore[no-any-return]


def inverse(a: Array) -> Array:
    """The inverse."""
    return solve(a, np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape))


def determinant(a: Array) -> Array:
    """The determinant."""
    return each(lambda a: _eliminated(a, a[:, :0])[1], a)  # type: ignore[no-any-return]


def _eliminated(a: Array, b: Array) -> tuple[Array, Any]:
    """The solution, and the determinant."""
    a, b, n, determinant = a.copy(), b.astype(np.result_type(a, b)), len(a), a.dtype.type(1)
    for k in range(n):
        row = k + int(np.argmax(abs(a[k:, k])))
        if row != k:
            a[[k, row]], b[[k, row]], determinant = a[[row, k]], b[[row, k]], -determinant
        determinant = determinant * a[k, k]
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i] = a[i] - factor * a[k]
            b[i] = b[i] - factor * b[k]
    for k in reversed(range(n)):
        b[k] = (b[k] - a[k, k + 1 :] @ b[k + 1 :]) / a[k, k]
    return b, determinant


def jacobi(a: Any) -> Any:
    """Eigenvalues, ascending, and vectors of a real symmetric matrix, by rotations in the precision of the matrix."""
    a, n = a.copy(), len(a)
    v = np.eye(n, dtype=a.dtype)
    for _ in range(12):
        for p in range(n):
            for q in range(p + 1, n):
                if a[p, q] == 0:
                    continue
                theta = (a[q, q] - a[p, p]) / (2 * a[p, q])
                t = (1 if theta >= 0 else -1) / (abs(theta) + np.sqrt(theta * theta + 1))
                c = 1 / np.sqrt(t * t + 1)
                turn = np.array([[c, t * c], [-t * c, c]])
                pair = [p, q]
                a[:, pair] = a[:, pair] @ turn
                a[pair, :] = turn.T @ a[pair, :]
                v[:, pair] = v[:, pair] @ turn
    order = np.argsort(np.diagonal(a))
    return np.diagonal(a)[order], v[:, order]


def size(x: Any) -> Any:
    """The largest magnitude of a result, at which the rounding of all its elements is."""
    return np.max(abs(np.asarray(x)), initial=0)


def of_matrices(path: str, *cases: Case | Iterable[Case]) -> tuple[Case, ...]:
    """The cases of a family, in the layouts that keep values: a matrix whose rows are all alike is singular."""
    return tuple(dataclasses.replace(case, layouts=LAYOUTS) for case in of_family(path, *cases))
