"""`spsolve` beside SciPy's and dense algebra: condition numbers, derivatives of second order, singular matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import spsolve

import tg
from tg.errors import DtypeError, InputError, LinAlgError, OptionError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable

jax = pytest.importorskip("jax")


def flow(side: int, speed: float = 20.0) -> Any:
    """Diffusion and convection on a square of so many points a side."""
    h, ones = 1 / (side + 1), np.ones(side - 1)
    second = sparse.diags_array([-ones, 2 * np.ones(side), -ones], offsets=[-1, 0, 1]) / h**2
    first = sparse.diags_array([-ones, ones], offsets=[-1, 1]) * speed / (2 * h)
    one = sparse.eye_array(side)
    return sparse.csr_array(sparse.kron(second, one) + sparse.kron(one, second) + sparse.kron(first, one))


@pytest.mark.parametrize("backend", ["perform", "c", "numba"])
def test_solutions_are_those_of_scipy(backend: str) -> None:
    a, b = flow(12), np.random.default_rng(1).normal(size=(144, 2))
    sides = tg.matrix("b")
    f = tg.function([sides], tg.sparse.linalg.spsolve(a, sides), backend=backend)
    np.testing.assert_allclose(f(b), spsolve(a.tocsc(), b), rtol=1e-12)
    single, rounded = a.astype("float32").tocsc(), b[:, 0].astype("float32")
    x = tg.function([], tg.sparse.linalg.spsolve(single, rounded), backend=backend)()
    assert x.dtype == "float32"
    np.testing.assert_allclose(x, spsolve(single.astype(float), rounded.astype(float)), rtol=1e-7)


def rotated(exponent: float) -> Any:
    """Singular values from 1 to a power of ten."""
    draws = np.random.default_rng(3)
    left, right = (np.linalg.qr(draws.normal(size=(30, 30)))[0] for _ in range(2))
    return sparse.csr_array((left * 10.0 ** -np.linspace(0, exponent, 30)) @ right)


@pytest.mark.parametrize("exponent", [2, 4, 6, 7])
def test_errors_are_those_of_the_condition_number(exponent: int) -> None:
    a, exact = rotated(exponent), np.linspace(-1, 1, 30)
    x = tg.sparse.linalg.spsolve(a, a @ exact).eval()
    np.testing.assert_allclose(x, exact, atol=100 * np.finfo(float).eps * 10**exponent)


def test_scales_of_rows_and_columns_do_not_count() -> None:
    a, exact = flow(6), np.linspace(1, 2, 36)
    rows, columns = (sparse.diags_array(10.0 ** np.linspace(k, -k, 36)) for k in (5, 4))
    scaled = sparse.csr_array(rows @ a @ columns)
    x = tg.sparse.linalg.spsolve(scaled, scaled @ exact).eval()
    np.testing.assert_allclose(x, exact, rtol=1e-9)


def test_right_sides_do_not_count_for_one_another() -> None:
    a, exact = rotated(6), np.linspace(1, 2, 30)
    sides = np.stack([a @ exact * 1e12, a @ exact, a @ exact * 1e-12, np.zeros(30), np.full(30, np.nan)], axis=1)
    x = tg.sparse.linalg.spsolve(a, sides).eval()
    np.testing.assert_allclose(x[:, :3] / [1e12, 1, 1e-12], np.tile(exact, (3, 1)).T, rtol=1e-8)
    np.testing.assert_array_equal(x[:, 3], 0)
    assert np.isnan(x[:, 4]).any()


@pytest.mark.parametrize("assume_a", ["gen", "pos"])
@pytest.mark.parametrize("backend", ["perform", "c", "numba", "jax", "torch", "mlx"])
@pytest.mark.parametrize(("n", "sides"), [(0, (0,)), (0, (0, 2)), (3, (3, 0))])
def test_nothing_to_solve(n: int, sides: tuple[int, ...], backend: str, assume_a: Any) -> None:
    x = tg.sparse.linalg.spsolve(sparse.csr_array(np.eye(n)), np.ones(sides), assume_a=assume_a)
    assert tg.function([], x, backend=backend)().shape == sides


@pytest.mark.long
def test_derivatives_are_those_of_dense_algebra_to_second_order() -> None:
    a, b, weights = flow(4), np.linspace(0, 1, 16), np.linspace(1, 2, flow(4).nnz)
    data, side = tg.vector("data"), tg.vector("b")
    x = tg.sparse.linalg.spsolve(tg.sparse.csr(a).with_data(data), side)
    slopes = tg.grad(tg.sum(x**3), [data, side])
    results = [*slopes, tg.grad(tg.sum(slopes[0] * weights), data), tg.jvp(x, data, data)]
    row, column = a.tocoo().coords
    with jax.enable_x64(True):

        def dense(data: Any, b: Any) -> Any:
            return jax.numpy.linalg.solve(jax.numpy.zeros((16, 16)).at[row, column].set(data), b)

        slope = jax.grad(lambda *args: (dense(*args) ** 3).sum(), (0, 1))
        wanted = [*slope(a.data, b), jax.grad(lambda v: (slope(v, b)[0] * weights).sum())(a.data)]
        wanted.append(jax.jvp(lambda v: dense(v, b), (a.data,), (a.data,))[1])
    for value, target in zip(tg.function([data, side], results, backend="c")(a.data, b), wanted, strict=True):
        np.testing.assert_allclose(value, target, rtol=1e-11, atol=1e-11 * np.abs(target).max())


def test_batches_of_values() -> None:
    a, b = flow(3), np.linspace(0, 1, 9)
    many = np.stack([a.data, a.data * 2 + 1])
    v = tg.matrix("v")
    xs = tg.vmap(lambda data: tg.sparse.linalg.spsolve(tg.sparse.csr(a).with_data(data), b))(v)
    wanted = [np.linalg.solve(sparse.csr_array((d, a.indices, a.indptr)).toarray(), b) for d in many]
    np.testing.assert_allclose(xs.eval({v: many}), wanted, rtol=1e-12)


@pytest.mark.parametrize(
    "matrix",
    [np.array([[1.0, 2.0], [2.0, 4.0]]), [[1.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [3.0, 0.0]], rotated(12)],
)
def test_singular_matrices_are_told(matrix: Any) -> None:
    a = sparse.csr_array(matrix)
    b = np.ones(a.shape[0])
    with pytest.raises(LinAlgError, match="the matrix is singular"):
        tg.sparse.linalg.spsolve(a, b).eval()


def test_nan_in_place_of_an_error() -> None:
    data = tg.vector("data")
    a = tg.sparse.csr(np.array([[1.0, 2.0], [2.0, 4.0]])).with_data(data)
    x = tg.sparse.linalg.spsolve(a, np.ones(2), on_error="nan")
    assert np.isnan(x.eval({data: [1.0, 2.0, 2.0, 4.0]})).all()
    np.testing.assert_allclose(x.eval({data: [1.0, 2.0, 2.0, 3.0]}), [-1.0, 1.0], rtol=1e-14)
    empty = sparse.csr_array([[1.0, 0.0], [3.0, 0.0]])
    assert np.isnan(tg.sparse.linalg.spsolve(empty, np.ones(2), on_error="nan").eval()).all()


def test_positive_definite_matrices_are_factored_as_they_are() -> None:
    a = sparse.csr_array(np.eye(5) * 2.5 - np.eye(5, k=1) - np.eye(5, k=-1))
    x = tg.sparse.linalg.spsolve(a.tocoo(), np.ones(5), assume_a="pos").eval()
    np.testing.assert_allclose(x, spsolve(a.tocsc(), np.ones(5)), rtol=1e-14)
    with pytest.raises(LinAlgError, match="not positive definite"):
        tg.sparse.linalg.spsolve(-a, np.ones(5), assume_a="pos").eval()


@pytest.mark.parametrize(
    ("write", "error", "text"),
    [
        (lambda a: tg.sparse.linalg.spsolve(a, np.ones(4)), ShapeError, "spsolve: b: axis 0: lengths differ"),
        (lambda a: tg.sparse.linalg.spsolve(a[:2], np.ones(2)), ShapeError, "needed a square matrix"),
        (lambda a: tg.sparse.linalg.spsolve(np.eye(3), np.ones(3)), InputError, "needed a sparse matrix"),
        (lambda a: tg.sparse.linalg.spsolve(a, np.ones((3, 1, 1))), ShapeError, "needed a vector or a matrix"),
        (lambda a: tg.sparse.linalg.spsolve(a, np.ones(3), assume_a="sym"), OptionError, "found 'sym', needed 'gen'"),
        (lambda a: tg.sparse.linalg.spsolve(a, np.ones(3), on_error="no"), InputError, "on_error: found 'no'"),
        (lambda a: tg.sparse.linalg.spsolve(a.astype(int), np.ones(3, int)), DtypeError, "needed a real floating"),
        (
            lambda a: tg.sparse.linalg.spsolve(
                tg.sparse.csr(tg.vector("d"), tg.vector("i", "int32"), tg.vector("p", "int32"), (3, 3)), np.ones(3)
            ),
            InputError,
            "found places that are variables",
        ),
    ],
)
def test_mistakes_are_told(write: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error) as raised:
        write(sparse.csr_array(np.eye(3)))
    assert text in str(raised.value)
