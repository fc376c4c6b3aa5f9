"""Cholesky factors of sparse matrices: the order of elimination, and mistakes; numbers are conformance's business."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import tg
from tg.errors import InputError, NotDifferentiable, ShapeError

CHAIN = sparse.csr_array(np.eye(6) * 2.5 - np.eye(6, k=1) - np.eye(6, k=-1))


def test_nothing_fills_in_where_an_order_has_it_so() -> None:
    star = np.eye(7) * 7
    star[0, 1:] = star[1:, 0] = 1
    assert tg.sparse.linalg.symbolic(sparse.csr_array(star)).indices.size == 13
    assert tg.sparse.linalg.symbolic(CHAIN).indices.size == 11


def test_the_factor_is_that_of_the_matrix_in_its_order() -> None:
    factor = tg.sparse.linalg.cholesky(tg.sparse.csr(CHAIN))
    order, lower = factor.pattern.order, np.zeros((6, 6))
    column = np.repeat(np.arange(6), np.diff(factor.pattern.pointers))
    lower[factor.pattern.indices, column] = factor.elements.eval()
    np.testing.assert_allclose(lower, np.linalg.cholesky(CHAIN.toarray()[np.ix_(order, order)]), rtol=1e-14)


def test_values_and_slopes_are_those_of_dense_algebra() -> None:
    data, y = tg.vector("data"), tg.vector("y")
    factor = tg.sparse.linalg.cholesky(tg.sparse.csr(CHAIN).with_data(data))
    x = factor.solve(y)
    results = [factor.logdet(), tg.grad(factor.logdet(), data), x, *tg.grad(tg.sum(x**2), [data, y])]
    results += [factor.inverse_diagonal(), tg.jvp(factor.logdet(), data, data), tg.jvp(x, data, data)]
    at = np.arange(6.0)
    dense, (row, column) = CHAIN.toarray(), CHAIN.tocoo().coords
    inverse = np.linalg.inv(dense)
    exact = inverse @ at
    adjoint = 2 * inverse @ exact
    mean = -(np.outer(adjoint, exact) + np.outer(exact, adjoint)) / 2
    wanted = [np.linalg.slogdet(dense)[1], inverse[row, column], exact, mean[row, column], adjoint]
    wanted += [np.diagonal(inverse), 6.0, -exact]
    for backend in ("perform", "c", "numba"):
        for value, target in zip(tg.function([data, y], results, backend=backend)(CHAIN.data, at), wanted, strict=True):
            np.testing.assert_allclose(value, target, rtol=1e-12, atol=1e-14)


def test_a_second_derivative_of_the_determinant_is_refused() -> None:
    data = tg.vector("data")
    _, logdet = tg.sparse.linalg.slogdet(tg.sparse.csr(CHAIN).with_data(data))
    with pytest.raises(NotDifferentiable, match="elements of the inverse"):
        tg.grad(tg.sum(tg.grad(logdet, data)), data)


@pytest.mark.parametrize(
    ("matrix", "error", "text"),
    [
        (sparse.csr_array(np.triu(np.ones((3, 3)))), InputError, "not symmetric"),
        (sparse.csr_array(np.ones((3, 3)) - np.eye(3)), InputError, "a diagonal with gaps"),
        (sparse.csr_array(np.ones((2, 3))), ShapeError, "needed a square matrix"),
        (np.ones((2, 2)), InputError, "needed a CSR or CSC matrix"),
    ],
)
def test_mistakes_are_told(matrix: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as raised:
        tg.sparse.linalg.symbolic(matrix)
    assert text in str(raised.value)


@pytest.mark.parametrize("n", [1, 5, 7])
def test_a_right_side_has_as_many_rows_as_the_matrix(n: int) -> None:
    factor = tg.sparse.linalg.cholesky(tg.sparse.csr(CHAIN))
    for side in (np.ones(n), np.ones((n, 2))):
        with pytest.raises(ShapeError, match="solve: b: axis 0: lengths differ"):
            factor.solve(side)
    b = tg.vector("b")
    f = tg.function([b], factor.solve(b), backend="perform")
    with pytest.raises(ShapeError, match="solve: b: axis 0: lengths differ"):
        f(np.ones(n))
    np.testing.assert_allclose(CHAIN @ f(np.arange(6.0)), np.arange(6.0), atol=1e-13)


def with_edge(row: int, column: int) -> Any:
    """A diagonal matrix of six rows but for one element and its mirror."""
    matrix = np.eye(6) * 2
    matrix[row, column] = matrix[column, row] = 1
    return sparse.csr_array(matrix)


FIELDS = tg.sparse.linalg.Symbolic._fields


def with_pattern_inputs() -> Any:
    """The log-determinant as a function of elements, their places and a pattern."""
    data, indices, pointers = tg.vector("data"), tg.vector("indices", "int32"), tg.vector("pointers", "int32")
    pattern = tg.sparse.linalg.Symbolic(
        *(tg.vector(name, "float64" if name == "halves" else "int32") for name in FIELDS)
    )
    factor = tg.sparse.linalg.cholesky(tg.sparse.csr(data, indices, pointers, (6, 6)), pattern)
    return tg.function([data, indices, pointers, *pattern], factor.logdet(), backend="perform")


def test_a_pattern_of_other_places_is_refused() -> None:
    own, other = with_edge(0, 1), with_edge(2, 5)
    f = with_pattern_inputs()
    for matrix in (own, other):
        components = (matrix.data, matrix.indices, matrix.indptr)
        wanted = np.linalg.slogdet(matrix.toarray())[1]
        pattern = tg.sparse.linalg.symbolic(matrix)
        np.testing.assert_allclose(tg.sparse.linalg.cholesky(matrix, pattern).logdet().eval(), wanted, rtol=1e-14)
        np.testing.assert_allclose(f(*components, *pattern), wanted, rtol=1e-14)
        wrong = tg.sparse.linalg.symbolic(other if matrix is own else own)
        with pytest.raises(InputError, match="elements at other places"):
            tg.sparse.linalg.slogdet(matrix, wrong)
        with pytest.raises(InputError, match="elements at other places"):
            f(*components, *wrong)


@pytest.mark.parametrize("field", FIELDS[:1] + FIELDS[3:])
def test_every_field_of_a_pattern_is_the_matrix_s_own(field: str) -> None:
    pattern = tg.sparse.linalg.symbolic(CHAIN)
    changed = pattern._replace(**{field: np.roll(getattr(pattern, field), 1)})
    with pytest.raises(InputError, match="elements at other places"):
        tg.sparse.linalg.cholesky(CHAIN, changed)
    with pytest.raises(InputError, match="elements at other places"):
        with_pattern_inputs()(CHAIN.data, CHAIN.indices, CHAIN.indptr, *changed)
    with pytest.raises(InputError, match="elements at other places"):
        tg.sparse.linalg.cholesky(CHAIN, pattern._replace(places=pattern.places + 100))


def test_places_of_columns_need_not_ascend() -> None:
    order = np.array([1, 0, 3, 2, *range(4, 16)])
    turned = sparse.csc_array((CHAIN.data, CHAIN.indices, CHAIN.indptr), shape=(6, 6))
    turned.data, turned.indices = turned.data[order], turned.indices[order]
    turned.data[1] = 9.0
    turned.has_sorted_indices = False
    for matrix in (turned, tg.sparse.csc(turned)):
        factor = tg.sparse.linalg.cholesky(matrix, tg.sparse.linalg.symbolic(turned))
        np.testing.assert_allclose(factor.logdet().eval(), np.linalg.slogdet(turned.toarray())[1], rtol=1e-14)


def test_a_pattern_of_other_lengths_is_refused() -> None:
    with pytest.raises(ShapeError, match="elements of the pattern: axis 0: lengths differ: 8 and 16"):
        tg.sparse.linalg.cholesky(with_edge(0, 1), tg.sparse.linalg.symbolic(CHAIN))
    with pytest.raises(ShapeError, match="order of the pattern: axis 0: lengths differ: 3 and 6"):
        tg.sparse.linalg.cholesky(CHAIN, tg.sparse.linalg.symbolic(sparse.eye_array(3)))
