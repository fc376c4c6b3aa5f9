"""The order of elimination and the places that fill in, beside elimination by hand and SuperLU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu

import tg

DRAWS = np.random.default_rng(3)


def lattice(side: int) -> Any:
    """Neighbours on a square, with a diagonal that dominates."""
    path = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(side, side))
    touch = sparse.kron(path, sparse.eye_array(side)) + sparse.kron(sparse.eye_array(side), path)
    return sparse.csr_array(sparse.diags_array(touch.sum(axis=1) + 1) - touch)


def scattered(n: int, share: float, *, wide: int = 0) -> Any:
    """Products of random elements; `wide` rows that touch all others."""
    part = sparse.random_array((n, n), density=share, rng=DRAWS)
    whole = (part @ part.T + 10 * sparse.eye_array(n)).tolil()
    for row in range(wide):
        whole[row, :] = whole[:, row] = 0.01
        whole[row, row] = 10
    return sparse.csr_array(whole)


MATRICES = {
    "lattice": lattice(20),
    "scattered": scattered(150, 0.01),
    "wide rows": scattered(600, 0.002, wide=2),
    "no neighbours": sparse.csr_array(sparse.eye_array(5)),
    "everything": sparse.csr_array(np.ones((6, 6)) + 6 * np.eye(6)),
    "one": sparse.csr_array([[2.0]]),
}


def by_hand(matrix: Any, order: Any) -> Any:
    """Whether each place of the factor fills in, by elimination of truth values."""
    places = (matrix.toarray() != 0)[np.ix_(order, order)]
    for k in range(len(order)):
        below = np.flatnonzero(places[k + 1 :, k]) + k + 1
        places[np.ix_(below, below)] = True
    return np.tril(places)


@pytest.mark.parametrize("name", MATRICES)
def test_the_places_are_those_of_elimination_in_the_order(name: str) -> None:
    matrix = MATRICES[name]
    n = matrix.shape[0]
    pattern = tg.sparse.linalg.symbolic(matrix)
    assert sorted(pattern.order) == list(range(n))
    columns = np.repeat(np.arange(n), np.diff(pattern.pointers))
    assert np.all(np.diff(columns.astype(int) * n + pattern.indices) > 0)
    places = np.zeros((n, n), bool)
    places[pattern.indices, columns] = True
    np.testing.assert_array_equal(places, by_hand(matrix, pattern.order))


@pytest.mark.parametrize("name", MATRICES)
def test_about_as_much_fills_in_as_in_superlu(name: str) -> None:
    lu = splu(
        sparse.csc_array(MATRICES[name]),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    assert tg.sparse.linalg.symbolic(MATRICES[name]).indices.size <= 1.1 * lu.L.nnz


@pytest.mark.parametrize("name", MATRICES)
def test_the_reference_agrees_with_dense_algebra(name: str) -> None:
    matrix = MATRICES[name]
    factor = tg.sparse.linalg.cholesky(tg.sparse.csr(matrix))
    b = DRAWS.normal(size=(matrix.shape[0], 3))
    results = [factor.logdet(), factor.solve(b), factor.inverse_diagonal()]
    logdet, x, variances = tg.function([], results, backend="perform")()
    dense = matrix.toarray()
    np.testing.assert_allclose(logdet, np.linalg.slogdet(dense)[1], rtol=1e-13)
    np.testing.assert_allclose(x, np.linalg.solve(dense, b), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(variances, np.diagonal(np.linalg.inv(dense)), rtol=1e-12)


def test_the_first_pivot_that_is_not_positive_is_told() -> None:
    matrix = lattice(8).toarray()
    matrix[40, 40] = -1.0
    pattern = tg.sparse.linalg.symbolic(sparse.csr_array(matrix))
    factor = tg.sparse.linalg.cholesky(tg.sparse.csr(matrix), pattern)
    permuted = matrix[np.ix_(pattern.order, pattern.order)]
    first = next(k for k in range(1, 65) if np.linalg.eigvalsh(permuted[:k, :k])[0] <= 0)
    with pytest.raises(tg.errors.LinAlgError, match=f"order {first} is not positive"):
        tg.function([], factor.logdet(), backend="perform")()
