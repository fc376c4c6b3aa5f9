"""Sparse matrices: structures of components, operators beside dense arrays, layouts, errors; beside scipy.sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import spsolve

import tg
from tg.errors import BoundsError, InputError, ShapeError

DRAWS = np.random.default_rng(0)
SAMPLE = sparse.random_array((5, 4), density=0.4, format="csr", rng=DRAWS)
DENSE = SAMPLE.toarray()


def values(*results: Any) -> list[Any]:
    """The values of constant expressions on the reference."""
    return list(tg.function([], list(results), backend="perform")())


@pytest.fixture(params=["csr", "csc", "coo"])
def matrix(request: Any) -> Any:
    """The sample in each layout."""
    return getattr(tg.sparse, request.param)(SAMPLE)


def test_products_on_both_sides_and_of_the_transpose(matrix: Any) -> None:
    x, z, wide, tall = (DRAWS.normal(size=n) for n in (4, 5, (4, 3), (2, 5)))
    results = values(matrix @ x, matrix @ wide, tg.constant(z) @ matrix, tall @ matrix, matrix.T @ z)
    wanted = [DENSE @ x, DENSE @ wide, z @ DENSE, tall @ DENSE, z @ DENSE]
    for result, value in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-13)


def test_lists_are_leaves_and_lengths_are_at_least_0() -> None:
    a = tg.sparse.csr([1.0, 2.0], [0, 1], [0, 1, 2], (2, 2))
    assert len(tg.tree.leaves(a)) == len(tg.tree.leaves(tg.sparse.csr(np.diag([1.0, 2.0]))))
    with pytest.raises(ShapeError, match=r"csr: shape: found \(0, -3\), needed lengths of at least 0"):
        tg.sparse.csr([], [], [0], (0, -3))
    with pytest.raises(InputError, match="coo: found an array of 1 axes, needed a matrix"):
        tg.sparse.coo(sparse.coo_array(np.ones(3)))


def test_operators_of_elements_keep_the_places(matrix: Any) -> None:
    x, column = DRAWS.normal(size=(5, 4)), DRAWS.normal(size=(5, 1))
    for kept, wanted in (
        (matrix * x, DENSE * x),
        (x * matrix, DENSE * x),
        (2 * matrix / 3, DENSE * 2 / 3),
        (matrix * column, DENSE * column),
        (-matrix, -DENSE),
    ):
        assert type(kept) is type(matrix)
        assert kept.nnz == SAMPLE.nnz
        np.testing.assert_allclose(values(kept.todense())[0], wanted, rtol=1e-13)


def test_sums_of_two_matrices_and_of_a_matrix_and_an_array(matrix: Any) -> None:
    x = DRAWS.normal(size=(5, 4))
    other = tg.sparse.csr(SAMPLE)
    results = values((matrix + other).todense(), (matrix - other).todense(), matrix + x, x - matrix)
    for result, wanted in zip(results, (2 * DENSE, 0 * DENSE, DENSE + x, x - DENSE), strict=True):
        np.testing.assert_allclose(result, wanted, atol=1e-15)


def test_layouts_and_scipy_and_back(matrix: Any) -> None:
    for other in (matrix, matrix.tocsr(), matrix.tocsc(), matrix.tocoo()):
        np.testing.assert_array_equal(values(other.todense())[0], DENSE)
    np.testing.assert_array_equal(tg.sparse.to_scipy(matrix).toarray(), DENSE)
    np.testing.assert_array_equal(values(getattr(tg.sparse, type(matrix).__name__.lower())(DENSE).todense())[0], DENSE)


def test_a_change_of_layout_knows_the_places(matrix: Any) -> None:
    for other in (matrix.tocsr(), matrix.tocsc(), matrix.tocoo()):
        results = values(other[::2, ::-1].todense(), (other @ other.T).todense(), (other + other[::-1]).todense())
        wanted = (DENSE[::2, ::-1], DENSE @ DENSE.T, DENSE + DENSE[::-1])
        for result, value in zip(results, wanted, strict=True):
            np.testing.assert_allclose(result, value, rtol=1e-13)


@pytest.mark.parametrize("rows", [slice(1, 4), slice(2), slice(3, None), slice(-2, None), slice(4, 1)])
def test_slices_of_rows(rows: slice) -> None:
    np.testing.assert_array_equal(values(tg.sparse.csr(SAMPLE)[rows].todense())[0], DENSE[rows])


def test_a_matrix_is_input_and_output_of_a_function() -> None:
    data, x = tg.vector("data"), tg.vector("x")
    indices, pointers = (tg.vector(name, dtype="int32") for name in ("indices", "pointers"))
    a = tg.sparse.csr(data, indices, pointers, (None, tg.scalar("columns", dtype="int64")))
    cost = tg.sum(tg.tanh(a @ x) ** 2)
    f = tg.function([a, x], {"transpose": a.T, "slopes": tg.grad(cost, [data, x])}, backend="perform")
    at = DRAWS.normal(size=4)
    result = f(tg.sparse.csr(SAMPLE), at)
    np.testing.assert_array_equal(tg.sparse.to_scipy(result["transpose"]).toarray(), DENSE.T)
    y = np.tanh(DENSE @ at)
    dy = 2 * y * (1 - y**2)
    row, column = SAMPLE.tocoo().coords
    np.testing.assert_allclose(result["slopes"][0], dy[row] * at[column], rtol=1e-12)
    np.testing.assert_allclose(result["slopes"][1], dy @ DENSE, rtol=1e-12)


def test_second_derivatives_by_values_and_by_the_dense_operand() -> None:
    data, x = tg.vector("data"), tg.vector("x")
    a = tg.sparse.csr(SAMPLE).with_data(data)
    cost = tg.sum((a @ x) ** 3)
    slopes = tg.concatenate(tg.grad(cost, [data, x]))
    second = tg.function([data, x], [tg.jacobian(slopes, data), tg.jacobian(slopes, x)], backend="perform")
    row, column = SAMPLE.tocoo().coords
    at = np.arange(4.0)
    dy = np.zeros((5, 12))  # the Jacobian of a @ x by values and by x
    dy[row, np.arange(8)] = at[column]
    dy[:, 8:] = DENSE
    y = DENSE @ at
    wanted = dy.T @ (6 * y[:, None] * dy)
    for k, (r, c) in enumerate(zip(row, column, strict=True)):
        wanted[k, 8 + c] += 3 * y[r] ** 2
        wanted[8 + c, k] += 3 * y[r] ** 2
    np.testing.assert_allclose(np.hstack(second(SAMPLE.data, at)), wanted, rtol=1e-12)


def test_batches_of_values_of_vectors_and_of_both() -> None:
    a, x = tg.sparse.csr(SAMPLE), np.arange(8.0).reshape(2, 4)
    many = np.stack([SAMPLE.data, 3 * SAMPLE.data])
    both = tg.vmap(lambda data, v: a.with_data(data) @ v)(tg.constant(many), tg.constant(x))
    of_data = tg.vmap(lambda data: a.with_data(data) @ x[0])(tg.constant(many))
    of_x = tg.vmap(lambda v: a @ v)(tg.constant(x))
    results = values(both, of_data, of_x)
    wanted = ([DENSE @ x[0], 3 * DENSE @ x[1]], [DENSE @ x[0], 3 * DENSE @ x[0]], x @ DENSE.T)
    for result, value in zip(results, wanted, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-13)


@pytest.mark.parametrize("backend", ["perform", "c", "jax"])
def test_batches_of_patterns(backend: str) -> None:
    parts = [sparse.random_array((5, 4), density=0.4, format="csr", rng=DRAWS) for _ in range(3)]
    stacks = [np.stack([getattr(p, name) for p in parts]) for name in ("data", "indices", "indptr")]
    data, indices, pointers = (
        tg.tensor(n, dtype=v.dtype.name, shape=v.shape) for n, v in zip("dip", stacks, strict=True)
    )
    x, wide = tg.matrix("x", shape=(3, 4)), tg.tensor("wide", dtype="float64", shape=(3, 5, 2))

    def products(data: Any, indices: Any, pointers: Any, x: Any, wide: Any) -> Any:
        a = tg.sparse.csr(data, indices, pointers, (5, 4))
        return a @ x, a.T @ wide, wide[:, 0] @ a

    results = tg.vmap(products)(data, indices, pointers, x, wide)
    slopes = tg.grad(tg.sum(results[0] ** 2), [data, x])
    f = tg.function([data, indices, pointers, x, wide], [*results, *slopes], backend=backend)
    at, tall = DRAWS.normal(size=(3, 4)), DRAWS.normal(size=(3, 5, 2))
    products_of_each = f(*stacks, at, tall)
    for k, part in enumerate(parts):
        y, (row, column) = part @ at[k], part.tocoo().coords
        wanted = [y, part.T @ tall[k], tall[k, :, 0] @ part, 2 * y[row] * at[k][column], part.T @ (2 * y)]
        for result, value in zip(products_of_each, wanted, strict=True):
            np.testing.assert_allclose(result[k], value, rtol=1e-12, atol=1e-14)
    for name, change, text in ((1, (1, 2, 4), "index 4 is out of bounds"), (2, (1, 5, 7), "do not run from 0")):
        bad = [v.copy() for v in stacks]
        bad[name][change[0], change[1]] = change[2]
        with pytest.raises(BoundsError, match=text):
            f(*bad, at, tall)


def test_conjugate_gradients_and_their_derivatives() -> None:
    p = sparse.csr_array(SAMPLE @ SAMPLE.T + sparse.eye_array(5))
    data, b = tg.vector("data"), tg.vector("b")
    solved = tg.sparse.linalg.cg(tg.sparse.csr(p).with_data(data), b, tol=1e-12)
    cost = tg.sum(solved.x**2)
    f = tg.function([data, b], [solved.x, solved.converged, *tg.grad(cost, [data, b])], backend="perform")
    at = DRAWS.normal(size=5)
    x, converged, of_data, of_b = f(p.data, at)
    exact = np.linalg.solve(p.toarray(), at)
    adjoint = np.linalg.solve(p.toarray(), 2 * exact)
    row, column = p.tocoo().coords
    assert converged
    np.testing.assert_allclose(x, exact, rtol=1e-10)
    np.testing.assert_allclose(of_b, adjoint, rtol=1e-9)
    np.testing.assert_allclose(of_data, -adjoint[row] * exact[column], rtol=1e-9)


@pytest.mark.parametrize("backend", ["perform", "c", "jax"])
def test_a_matrix_that_is_not_symmetric_and_derivatives_of_its_solution(backend: str) -> None:
    wind = sparse.diags_array([-1.6, 3.0, -0.8], offsets=[-1, 0, 1], shape=(40, 40))
    path = sparse.csr_array(sparse.kron(wind, sparse.eye_array(5)) + sparse.random_array((200, 200), rng=DRAWS))
    data, b = tg.vector("data"), tg.vector("b")
    solved = tg.sparse.linalg.bicgstab(tg.sparse.csr(path).with_data(data), b, tol=1e-13)
    f = tg.function([data, b], [*solved, *tg.grad(tg.sum(solved.x**2), [data, b])], backend=backend)
    at = DRAWS.normal(size=200)
    x, converged, residual, _, of_data, of_b = f(path.data, at)
    exact = spsolve(path.tocsc(), at)
    adjoint = spsolve(path.T.tocsc(), 2 * exact)
    row, column = path.tocoo().coords
    assert converged
    np.testing.assert_allclose(residual, 0, atol=1e-11)
    np.testing.assert_allclose(x, exact, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(of_b, adjoint, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(of_data, -adjoint[row] * exact[column], rtol=1e-6, atol=1e-8)


def test_steps_that_break_down_have_not_converged() -> None:
    turn = tg.sparse.csr(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    x, converged, *_ = values(*tg.sparse.linalg.bicgstab(turn, [1.0, 0.0]))
    assert not converged
    assert np.isfinite(x).all()


@pytest.mark.parametrize(
    "use",
    [
        lambda a, x: a.sum(),
        lambda a, x: a.sum(axis=0),
        lambda a, x: a.diagonal(),
        lambda a, x: a.todense(),
        lambda a, x: a @ x,
        lambda a, x: (a * x[0]).data,
        lambda a, x: (a + a).todense(),
        lambda a, x: a.tocsr().data,
        lambda a, x: a.tocsc().data,
    ],
)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_there_are_as_many_elements_as_places(use: Any, n: int) -> None:
    places, data, x = np.arange(3), tg.vector("data"), np.ones(3)
    for a in (tg.sparse.csr(np.eye(3)), tg.sparse.csc(np.eye(3)), tg.sparse.coo(np.eye(3))):
        with pytest.raises(ShapeError, match=rf"data: axis 0: lengths differ: {n} and 3"):
            use(a.with_data(np.ones(n)), x)
        f = tg.function([data], use(a.with_data(data), x), backend="perform")
        with pytest.raises(ShapeError, match=f"lengths differ: ({n} and 3|3 and {n})"):
            f(np.ones(n))
    with pytest.raises(ShapeError, match="data: axis 0"):
        tg.sparse.csr(np.ones(n), places, np.arange(4), (3, 3))
    with pytest.raises(ShapeError, match="data: axis 0"):
        tg.sparse.coo(np.ones(n), places, places, (3, 3))
    with pytest.raises(ShapeError, match="col: axis 0"):
        tg.sparse.coo(np.ones(3), places, np.arange(n), (3, 3))


def test_two_matrices_of_one_shape_are_added() -> None:
    n = tg.scalar("n", dtype="int64")
    a, b = tg.sparse.coo([1.0], [0], [0], (n, 3)), tg.sparse.csr(np.ones((2, 3)))
    f = tg.function([n], (a + b).todense(), backend="perform")
    np.testing.assert_array_equal(f(2), [[2, 1, 1], [1, 1, 1]])
    with pytest.raises(ShapeError, match=r"found shapes \(4, 3\) and \(2, 3\) in \+, needed one"):
        f(4)
    with pytest.raises(ShapeError, match=r"found shapes \(2, 3\) and \(3, 2\) in \+, needed one"):
        b + b.T


@pytest.mark.parametrize("method", [tg.sparse.linalg.cg, tg.sparse.linalg.bicgstab])
def test_a_system_has_as_many_equations_as_unknowns(method: Any) -> None:
    for matrix in (tg.sparse.csr(np.ones((1, 3))), np.ones((1, 3)), lambda x: x[:1]):
        with pytest.raises(ShapeError, match="a x: axis 0: lengths differ: 1 and 3"):
            method(matrix, np.ones(3))


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda a: a / a, InputError, "found a sparse divisor"),
        (lambda a: a @ np.ones((4, 2, 2)), ShapeError, "needed a vector or a matrix"),
        (lambda a: a @ np.ones(3), ShapeError, "rows of the dense operand"),
        (lambda a: a.sum(axis=2), ShapeError, "axis: found 2"),
        (lambda a: tg.sparse.csr([1.0], [0], [0, 1], (2, 1)), ShapeError, "one more than rows"),
        (lambda a: tg.sparse.csr([1.0], [0], [0, 1], (1, None)), InputError, "found None beside pointers"),
        (lambda a: tg.sparse.coo([1.0], [0], [3], (1, 2)).todense().eval(), BoundsError, "index 3 is out of bounds"),
        (
            lambda a: tg.sparse.csr([1.0], [-1], [0, 1], (1, 2)).todense().eval(),
            BoundsError,
            "index -1 is out of bounds",
        ),
    ],
)
def test_mistakes_are_told(build: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as raised:
        build(tg.sparse.csr(SAMPLE))
    assert text in str(raised.value)
