"""What becomes of systems, inverses and determinants: by what is known of a matrix, and by factors that are shared."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import tg
import tg.linalg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.ops.linalg.matrices import halved_diagonal
from tg.ops.linalg.triangular import SolveTriangular
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.catalog import PASSES, RULES

CORE = Rewrites(RULES, PASSES)
FACTORS = ("Cholesky", "LU", "Solve", "Inv", "Det", "SlogDet", "Eigh", "Eigvalsh", "SVD", "Svdvals")
A, B = tg.matrix("A"), tg.matrix("B")
V = tg.vector("v")
N = tg.dim("n")
S = tg.tensor("S", shape=(N, N))


def rewritten(inputs, *outputs, **options):
    graph = FunctionGraph.of(inputs, list(outputs))
    return rewrite(graph, [CORE], supported=lambda op, types: True, **options)


def factors(frozen):
    """How often each factorisation, or what needs one, is in a program."""
    return dict(Counter(n.op.name for n in frozen.nodes if n.op.name in FACTORS))


def made_of(frozen, name):
    return [n.op for n in frozen.nodes if n.op.name == name]


def computed(frozen, *arrays):
    return interpret(frozen, list(arrays))


def normal(*shape, dtype="float64"):
    rng = np.random.default_rng(math.prod(shape))
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


def definite(n, *lead, dtype="float64"):
    x = normal(*lead, n, n, dtype=dtype)
    return (x @ x.conj().swapaxes(-1, -2) + n * np.eye(n)).astype(dtype)


def known(v, *names):
    return tg.assume(v, **dict.fromkeys(names, True))


STRUCTURES = {
    "diagonal": lambda x: np.tril(np.triu(x)),
    "lower_triangular": np.tril,
    "upper_triangular": np.triu,
    "tridiagonal": lambda x: np.tril(np.triu(x, -1), 1),
    "positive_definite": lambda x: x @ x.conj().swapaxes(-1, -2) + len(x) * np.eye(len(x)),
    "orthogonal": lambda x: np.linalg.qr(x)[0],
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("name", STRUCTURES)
def test_structure_saves_the_lu_factors_and_keeps_the_numbers(name, n, dtype):
    a, b = STRUCTURES[name](normal(n, n, dtype=dtype)).astype(dtype), normal(n, 3, dtype=dtype)
    x, y = tg.matrix("x", dtype=dtype), tg.matrix("y", dtype=dtype)
    m = known(x, name)
    turned = tg.linalg.solve(m, y, transposed=True)
    inverse = () if name == "orthogonal" else (tg.linalg.inv(m),)  # nobody inverts what a transpose inverts
    frozen = rewritten([x, y], tg.linalg.solve(m, y), turned, *inverse)
    assert not {"LU", "Inv"} & factors(frozen).keys()
    assert all(op.positive for op in made_of(frozen, "Solve"))
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    wanted = (np.linalg.solve(a, b), np.linalg.solve(a.swapaxes(-1, -2), b), np.linalg.inv(a))
    for found, right in zip(computed(frozen, a, b), wanted[: 2 + len(inverse)], strict=True):
        assert found.dtype == right.dtype
        np.testing.assert_allclose(found, right, rtol=tolerance, atol=tolerance)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("name", [name for name in STRUCTURES if name != "orthogonal"])
def test_determinants_of_structure_need_no_lu_factors(name, n, dtype):
    a = STRUCTURES[name](normal(n, n, dtype=dtype)).astype(dtype)
    x = tg.matrix("x", dtype=dtype)
    m = known(x, name)
    frozen = rewritten([x], tg.linalg.det(m), *tg.linalg.slogdet(m))
    assert factors(frozen).keys() <= {"Cholesky"}
    for found, right in zip(computed(frozen, a), (np.linalg.det(a), *np.linalg.slogdet(a)), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-11, atol=1e-11)


def test_structure_is_derived_for_complex_triangles_too():
    x = tg.tensor("x", "complex128", (N, N))
    assert "lower_triangular" in tg.graph.facts.facts_of(tg.tril(x))


def test_a_singular_triangle_raises_as_a_singular_matrix_does():
    f = tg.function([S, B], tg.linalg.solve(tg.tril(S), B), backend="perform")
    a = np.tril(normal(3, 3))
    a[1, 1] = 0
    with pytest.raises(tg.LinAlgError, match="solve: the matrix is singular"):
        f(a, normal(3, 2))


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_a_singular_matrix_raises_without_its_inverse(backend):
    f = tg.function([A], A @ tg.linalg.inv(A), backend=backend)
    with pytest.raises(tg.LinAlgError, match="is singular"):
        f(np.ones((3, 3)))


def test_of_a_batch_the_matrix_that_is_singular_is_named():
    t = tg.tensor("t", shape=(None, None, None))
    f = tg.function([t], tg.linalg.inv(t) @ t, backend="perform")
    a = normal(4, 3, 3)
    a[2] = 1
    with pytest.raises(tg.LinAlgError, match=r"inv: matrix \[2\] of the batch is singular"):
        f(a)


@pytest.mark.parametrize(
    "function",
    [lambda m: tg.linalg.solve(m, V), lambda m: tg.linalg.inv(m) @ V, lambda m: tg.linalg.slogdet(m)[1] + V],
)
def test_a_matrix_that_is_not_positive_definite_as_promised_raises(function):
    f = tg.function([A, V], function(known(A, "positive_definite")), backend="perform")
    assert np.isfinite(f(definite(3), np.ones(3))).all()
    with pytest.raises(tg.LinAlgError, match="is not positive definite: its leading minor of order 2"):
        f(np.diag([1.0, -1.0, 2.0]), np.ones(3))


def test_on_error_nan_stays():
    m = known(A, "positive_definite")
    f = tg.function([A, B], tg.linalg.solve(m, B, on_error="nan"), backend="perform")
    assert np.isnan(f(-np.eye(2), np.eye(2))).all()
    f = tg.function([S, B], tg.linalg.solve(tg.triu(S), B, on_error="nan"), backend="perform")
    assert np.isnan(f(np.zeros((2, 2)), np.eye(2))).all()
    f = tg.function([A, B], tg.linalg.inv(A, on_error="nan") @ B, backend="perform")
    assert np.isnan(f(np.zeros((2, 2)), np.eye(2))).all()


@pytest.mark.parametrize("place", [(0, 0), (2, 1), (2, 2)])
def test_a_nan_in_a_triangle_reaches_all_that_elimination_gives_it_to(place):
    a, b = np.tril(normal(3, 3)) + 3 * np.eye(3), normal(3, 2)
    a[place] = np.nan
    m = tg.tril(S)
    frozen = rewritten([S, B], tg.linalg.solve(m, B), tg.linalg.inv(m), tg.linalg.slogdet(m)[1], tg.linalg.det(m))
    assert not {"LU", "Solve", "Inv"} & factors(frozen).keys()
    assert all(np.isnan(found).all() for found in computed(frozen, a, b))


# --- three diagonals ----------------------------------------------------------------------------------------------


BANDS = ("SolveBanded", "SolvehBanded", "Scan")


def three(n, dtype="float64"):
    """Three diagonals that outweigh nothing: elimination exchanges rows."""
    return np.tril(np.triu(normal(n, n, dtype=dtype), -1), 1)


@pytest.mark.parametrize("backend", ["perform", "c", "numba"])
@pytest.mark.parametrize("n", [1, 2, 3, 60])
def test_matrices_built_of_three_diagonals_are_eliminated_within_them(backend, n):
    v, w, u, b = (tg.vector(name) for name in "vwub")
    a = tg.diag(v) + tg.diag(w, 1) + tg.diag(u, -1)
    f = tg.function(
        [v, w, u, b],
        [tg.linalg.solve(a, b), tg.linalg.solve(a, b, transposed=True), tg.linalg.inv(a), *tg.linalg.slogdet(a)],
        backend=backend,
    )
    made = three(n)
    given = [np.diagonal(made, k) for k in (0, 1, -1)]
    side = normal(n)
    wanted = (np.linalg.solve(made, side), np.linalg.solve(made.T, side), np.linalg.inv(made), *np.linalg.slogdet(made))
    condition = np.linalg.cond(made)
    for found, right in zip(f(*given, side), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-13 * condition, atol=1e-15 * condition)
    if backend == "perform" and n == 60:
        kinds = Counter(n.op.name for n in f.graph.nodes if n.op.name in (*FACTORS, *BANDS))
        assert kinds == {"SolveBanded": 3, "Scan": 1}


@pytest.mark.parametrize(
    ("names", "op"),
    [
        (("tridiagonal", "positive_definite"), "SolvehBanded"),
        (("tridiagonal", "lower_triangular"), "SolveBanded"),
        (("tridiagonal", "upper_triangular"), "SolveBanded"),
    ],
)
def test_what_else_is_known_of_three_diagonals_is_used(names, op):
    a = three(40)
    a = a @ a.T * np.tri(40, k=1) * np.tri(40, k=1).T + 8 * np.eye(40)
    if "lower_triangular" in names:
        a = np.tril(a)
    if "upper_triangular" in names:
        a = np.triu(a)
    m, b = known(A, *names), normal(40, 3)
    frozen = rewritten([A, B], tg.linalg.solve(m, B), tg.linalg.inv(m) @ B, tg.linalg.solve(m, B, transposed=True))
    assert not factors(frozen)
    assert {node.op.name for node in frozen.nodes} & {"SolveBanded", "SolvehBanded"} == {op}
    for found, right in zip(computed(frozen, a, b), (a, a, a.T), strict=True):
        np.testing.assert_allclose(found, np.linalg.solve(right, b), rtol=1e-12, atol=1e-13)


def test_few_rows_are_eliminated_whole():
    x = tg.tensor("x", shape=(8, 8))
    assert factors(rewritten([x, V], tg.linalg.solve(known(x, "tridiagonal"), V))) == {"Solve": 1}


def test_singular_matrices_of_three_diagonals_raise_as_others_do():
    f = tg.function([A, V], tg.linalg.solve(known(A, "tridiagonal"), V), backend="perform")
    a = np.diag(np.ones(20)) + np.diag(np.ones(19), 1)
    a[4] = 0
    with pytest.raises(tg.LinAlgError, match="solve: the matrix is singular: its LU factorisation has 0 as pivot 5"):
        f(a, np.ones(20))
    a[4, 4] = np.nan
    assert np.isnan(f(a, np.ones(20))).all()


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_determinants_of_three_diagonals_neither_overflow_nor_stop_at_minors_that_are_zero(scale):
    n = 400
    a = (np.diag(np.ones(n - 1), 1) - 3 * np.diag(np.ones(n - 1), -1)) * scale  # each other minor is 0
    signs, size = tg.function([A], tg.linalg.slogdet(known(A, "tridiagonal")), backend="perform")(a)
    assert signs == 1
    np.testing.assert_allclose(size, n * math.log(scale) + n / 2 * math.log(3), rtol=1e-13)
    of_zero_row = np.array(a)
    of_zero_row[7] = 0
    f = tg.function([A], [tg.linalg.det(known(A, "tridiagonal")), *tg.linalg.slogdet(known(A, "tridiagonal"))])
    assert f(of_zero_row) == [0, 0, -np.inf]


def test_gradients_of_a_density_with_three_diagonals_need_no_other_factors():
    v, w, x = tg.vector("v"), tg.vector("w"), tg.vector("x")
    precision = tg.diag(v) + tg.diag(w, 1) + tg.diag(w, -1)
    density = 0.5 * tg.linalg.slogdet(precision)[1] - 0.5 * x @ precision @ x
    frozen = rewritten([v, w, x], density, *tg.grad(density, [v, w]))
    assert not factors(frozen)
    d, e, y = np.full(30, 2.5), np.linspace(-1, 1, 29), normal(30)
    value, of_d, of_e = computed(frozen, d, e, y)
    dense = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    inverse = np.linalg.inv(dense)
    np.testing.assert_allclose(value, 0.5 * np.linalg.slogdet(dense)[1] - 0.5 * y @ dense @ y, rtol=1e-13)
    np.testing.assert_allclose(of_d, 0.5 * np.diagonal(inverse) - 0.5 * y * y, rtol=1e-11)
    np.testing.assert_allclose(of_e, np.diagonal(inverse, 1) - y[1:] * y[:-1], rtol=1e-11)


# --- products with an inverse -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "right"),
    [
        (lambda a, b: tg.linalg.inv(a) @ b, lambda a, b: np.linalg.inv(a) @ b),
        (lambda a, b: b @ tg.linalg.inv(a), lambda a, b: b @ np.linalg.inv(a)),
        (lambda a, b: tg.linalg.inv(a).T @ b, lambda a, b: np.linalg.inv(a).T @ b),
        (lambda a, b: b @ tg.linalg.inv(a).T, lambda a, b: b @ np.linalg.inv(a).T),
        (lambda a, b: b @ tg.linalg.inv(a) @ b, lambda a, b: b @ np.linalg.inv(a) @ b),
        (lambda a, b: tg.linalg.inv(a) @ b[0], lambda a, b: np.linalg.inv(a) @ b[0]),
        (lambda a, b: b[0] @ tg.linalg.inv(a) @ b[1], lambda a, b: b[0] @ np.linalg.inv(a) @ b[1]),
    ],
)
def test_products_with_an_inverse_are_solutions(function, right):
    frozen = rewritten([A, B], function(A, B))
    assert factors(frozen) == {"Solve": 1}
    a, b = normal(4, 4) + 4 * np.eye(4), normal(4, 4, dtype="float64")
    np.testing.assert_allclose(computed(frozen, a, b)[0], right(a, b), rtol=1e-12)


def test_an_inverse_that_is_wanted_itself_is_multiplied():
    x = tg.linalg.inv(A)
    assert factors(rewritten([A, B], x, x @ B)) == {"Inv": 1}
    assert factors(rewritten([A], x @ x)) == {"Inv": 1}


def test_one_inverse_for_many_products_stays():
    t = tg.tensor("t", shape=(5, None, None))
    one = tg.linalg.inv(A)
    assert factors(rewritten([A, t], one @ t)) == {"Inv": 1}
    frozen = rewritten([t, A], tg.linalg.inv(t) @ A)
    assert factors(frozen) == {"Solve": 1}
    a, b = normal(5, 3, 3), normal(3, 2)
    np.testing.assert_allclose(computed(frozen, a, b)[0], np.linalg.inv(a) @ b, rtol=1e-11)


def test_the_columns_of_an_outer_product_are_solved_for_once():
    u, w = tg.vector("u"), tg.vector("w")
    frozen = rewritten([A, u, w], tg.linalg.solve(A, tg.outer(u, w)), tg.linalg.solve(A, tg.outer(u, w).T))
    assert [frozen.types[n.inputs[1]].shape[-1] for n in frozen.nodes if n.op.name == "SolveTriangular"] == [1] * 4
    a = normal(3, 3)
    for found, right in zip(
        computed(frozen, a, np.arange(3.0), np.ones(3)),
        (
            np.linalg.solve(a, np.outer(np.arange(3), np.ones(3))),
            np.linalg.solve(a, np.outer(np.ones(3), np.arange(3))),
        ),
        strict=True,
    ):
        np.testing.assert_allclose(found, right, atol=1e-12)


# --- logarithms of determinants ------------------------------------------------------------------------------------


def test_the_logarithm_of_a_determinant_does_not_overflow():
    a = 10 * definite(200)
    frozen = rewritten([A], tg.log(tg.linalg.det(A)), tg.log(tg.absolute(tg.linalg.det(-A))))
    with np.errstate(over="ignore"):
        assert np.isinf(np.linalg.det(a))
    np.testing.assert_allclose(computed(frozen, a), np.linalg.slogdet(a)[1], rtol=1e-12)


def test_the_logarithm_of_a_determinant_below_0_is_nan_and_of_0_infinite():
    frozen = rewritten([A], tg.log(tg.linalg.det(A)))
    assert "SlogDet" in factors(frozen)
    assert np.isnan(computed(frozen, np.diag([1.0, -1.0]))[0])
    assert computed(frozen, np.zeros((2, 2)))[0] == -np.inf


# --- one factorisation ----------------------------------------------------------------------------------------------


def test_what_is_asked_of_one_matrix_shares_its_factors():
    x = tg.linalg.solve(A, B)
    outputs = [x, tg.linalg.solve(A, V), tg.linalg.slogdet(A)[1], tg.linalg.inv(A), tg.linalg.det(A)]
    frozen = rewritten([A, B, V], *outputs, *tg.grad(tg.sum(x), [A, B]))
    assert factors(frozen) == {"LU": 1}
    a, b, v = normal(8, 8), normal(8, 2), normal(8)
    wanted = (np.linalg.solve(a, b), np.linalg.solve(a, v), np.linalg.slogdet(a)[1], np.linalg.inv(a), np.linalg.det(a))
    for found, right in zip(computed(frozen, a, b, v)[:5], wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-10)


def test_what_is_asked_once_is_left_to_the_library():
    assert factors(rewritten([A, B], tg.linalg.solve(A, B))) == {"Solve": 1}


def test_small_matrices_are_factorised_again():
    a = tg.tensor("a", shape=(4, 4))
    assert factors(rewritten([a], tg.linalg.inv(a), tg.linalg.det(a))) == {"Inv": 1, "Det": 1}


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_determinants_of_few_rows_are_written_out(n, dtype):
    a = tg.tensor("a", dtype, (None, n, n))
    frozen = rewritten([a], tg.linalg.det(a))
    assert not factors(frozen)
    x = normal(50, n, n, dtype=dtype)
    x[0] = np.arange(n * n).reshape(n, n)  # singular from three rows on
    x[1, -1] = 3 * x[1, 0]
    mpmath = pytest.importorskip("mpmath")
    (found,) = computed(frozen, x)
    with mpmath.workdps(50):
        for m, y in zip(x, found, strict=True):
            exact, size = mpmath.mpf(0), 0.0
            for order in itertools.permutations(range(n)):
                odd = sum(i > j for i, j in itertools.combinations(order, 2)) % 2
                product = mpmath.fprod(mpmath.mpmathify(m[i, j].item()) for i, j in enumerate(order))
                exact, size = exact + (-product if odd else product), size + abs(complex(product))
            assert abs(complex(exact) - y) <= 4 * np.finfo(dtype).eps * size


@pytest.mark.parametrize("backend", ["perform", "c", "numba"])
def test_a_minor_that_overflows_beside_a_zero_is_left_out_and_nothing_that_is_not_finite_is(backend):
    a = tg.tensor("a", "float32", (None, 3, 3))
    f = tg.function([a], tg.linalg.det(a), backend=backend)
    x = np.repeat(np.float32([[[1e-38, 0, 0], [3e38, 2e9, 0], [2e37, 1, 4e-12]]]), 4, 0)
    np.testing.assert_allclose(f(x)[:1], np.prod(np.diagonal(x[0]).astype(np.float64)), rtol=1e-5)
    x[1, 1, 0], x[2, 2, 1], x[3, 2, 2] = np.nan, np.inf, -np.inf
    assert np.isnan(f(x)[1:]).all()


def test_a_cholesky_factor_with_a_check_is_the_same_as_one_without():
    m = known(A, "positive_definite")
    frozen = rewritten([A, V], tg.linalg.cholesky(m), tg.linalg.cholesky(m, on_error="nan"), tg.linalg.solve(m, V))
    assert factors(frozen) == {"Cholesky": 1}
    f = tg.function([A], [tg.linalg.cholesky(m), tg.linalg.cholesky(m, on_error="nan")], backend="perform")
    with pytest.raises(tg.LinAlgError, match="cholesky"):
        f(-np.eye(2))


def covariance(theta, squares):
    noise = (tg.exp(theta[2]) + 1e-6) * tg.eye(squares.shape[0])
    return tg.exp(theta[0]) * tg.exp(-0.5 * squares * tg.exp(-theta[1])) + noise


PROCESSES = {
    "inverse and determinant": lambda k, y: y @ tg.linalg.inv(k) @ y + tg.log(tg.linalg.det(k)),
    "solve": lambda k, y: tg.dot(y, tg.linalg.solve(k, y)) + tg.linalg.slogdet(k)[1],
}


@pytest.mark.parametrize(("form", "backend"), [*((form, "perform") for form in PROCESSES), ("solve", "c")])
def test_a_gaussian_process_and_its_gradient_take_one_factor_and_one_pair_of_solves(form, backend):
    n = 20
    theta, squares, y = tg.vector("theta"), tg.tensor("squares", shape=(n, n)), tg.tensor("y", shape=(n,))
    cost = PROCESSES[form](known(covariance(theta, squares), "positive_definite"), y)
    f = tg.function([theta, squares, y], [cost, tg.grad(cost, theta)], backend=backend)
    assert factors(f.graph) == {"Cholesky": 1}
    wide = [n for n in f.graph.nodes if n.op.name == "SolveTriangular" and f.graph.types[n.inputs[1]].shape == (20, 20)]
    assert len(wide) == 2
    points, t = normal(n, 2), np.array([0.1, 0.3, -1.0])
    d = ((points[:, None] - points) ** 2).sum(-1)

    def value(t):
        k = np.exp(t[0]) * np.exp(-0.5 * d * np.exp(-t[1])) + (np.exp(t[2]) + 1e-6) * np.eye(n)
        return points[:, 0] @ np.linalg.inv(k) @ points[:, 0] + np.linalg.slogdet(k)[1]

    found, slope = f(t, d, points[:, 0])
    np.testing.assert_allclose(found, value(t), rtol=1e-10)
    steps = 1e-6 * np.eye(3)
    np.testing.assert_allclose(slope, [(value(t + s) - value(t - s)) / 2e-6 for s in steps], rtol=1e-5, atol=1e-6)


def log_density(factor, z, weights=1.0):
    """Gaussian, of columns that are each weighted."""
    return -0.5 * tg.sum(weights * z * z) - z.shape[-1] * tg.sum(tg.log(tg.diagonal(factor)))


def by_vector(k, y):
    factor = tg.linalg.cholesky(k)
    z = tg.linalg.solve_triangular(factor, y[:, 0], lower=True)
    return -0.5 * tg.sum(z * z) - tg.sum(tg.log(tg.diagonal(factor)))


def by_columns(k, y):
    factor = tg.linalg.cholesky(k)
    return log_density(factor, tg.linalg.solve_triangular(factor, y, lower=True))


def by_upper_factor(k, y):
    factor = tg.linalg.cholesky(k, upper=True)
    return log_density(factor, tg.linalg.solve_triangular(factor, y, trans=1))


def by_weighted_columns(k, y):
    factor = tg.linalg.cholesky(k)
    return log_density(factor, tg.linalg.solve_triangular(factor, y, lower=True), tg.constant([0.5, 2.0, 1.5]))


def by_groups(k, y):
    factor = tg.linalg.cholesky(k)
    first, second = (tg.linalg.solve_triangular(factor, part, lower=True) for part in (y[:, :1], y[:, 1:]))
    return log_density(factor, first) + 3 * log_density(factor, second)


def by_determinant(k, y):
    return 2 * tg.sum(tg.log(tg.diagonal(tg.linalg.cholesky(k)))) * y[0, 0]


DENSITIES = {
    f.__name__: f for f in (by_vector, by_columns, by_upper_factor, by_weighted_columns, by_groups, by_determinant)
}


def slope_of_density(name, k, y):
    """By the formula: half of the outer products of the solutions, less half of the inverse for each column."""
    inverse = np.linalg.inv(k)
    if name == "by_determinant":
        return inverse * y[0, 0]
    used = y[:, :1] if name == "by_vector" else y
    weights = {"by_weighted_columns": [0.5, 2.0, 1.5], "by_groups": [1, 3, 3]}.get(name, np.ones(used.shape[1]))
    counts = 7 if name == "by_groups" else used.shape[1]
    solved = inverse @ used
    return 0.5 * (solved * weights) @ solved.T - 0.5 * counts * inverse


def symmetrical(slope):
    """What is in the lower triangle, half of it in each of the two."""
    return (slope + slope.swapaxes(-1, -2)) / 2


@pytest.mark.parametrize("backend", ["perform", "c", "numba"])
@pytest.mark.parametrize("n", [1, 5, 20])
@pytest.mark.parametrize("name", DENSITIES)
def test_the_gradient_of_a_density_by_its_covariance_is_an_outer_product_and_an_inverse(name, n, backend):
    f = tg.function([A, B], tg.grad(DENSITIES[name](A, B), A), backend=backend)
    k, y = definite(n), normal(n, 3)
    np.testing.assert_allclose(symmetrical(f(k, y)), slope_of_density(name, k, y), rtol=1e-11, atol=1e-13)


NEEDED = {  # solutions as wide as what is given, and of the identity; products of solutions and of the inverse
    "by_vector": (2, 1, 1),
    "by_columns": (2, 1, 2),
    "by_upper_factor": (2, 1, 2),
    "by_weighted_columns": (3, 1, 2),
    "by_groups": (5, 1, 2),
    "by_determinant": (0, 1, 1),
}


@pytest.mark.parametrize("n", [20, None])
@pytest.mark.parametrize("name", DENSITIES)
def test_the_gradient_of_a_density_needs_no_systems_as_wide_as_the_matrix_but_one(name, n):
    k, y = tg.tensor("k", shape=(n, n)), tg.tensor("y", shape=(n, 3))
    frozen = rewritten([k, y], tg.grad(DENSITIES[name](k, y), k))
    solved = [node for node in frozen.nodes if node.op.name == "SolveTriangular"]
    of_identity = [node for node in solved if frozen.types[node.inputs[0]].shape == frozen.types[node.inputs[1]].shape]
    assert len(of_identity) == 1
    assert (len(solved) - 1, 1, len(made_of(frozen, "MatMul"))) == NEEDED[name]


@pytest.mark.parametrize("backend", ["perform", "c"])
def test_gradients_of_densities_of_a_batch_are_those_of_each(backend):
    many, sides = tg.tensor("many", shape=(None, None, None)), tg.tensor("sides", shape=(None, None, None))
    each = tg.vmap(lambda k, y: tg.grad(by_weighted_columns(k, y), k))(many, sides)
    f = tg.function([many, sides], each, backend=backend)
    k, y = definite(6, 4), normal(4, 6, 3)
    wanted = [slope_of_density("by_weighted_columns", *pair) for pair in zip(k, y, strict=True)]
    np.testing.assert_allclose(symmetrical(f(k, y)), wanted, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ["by_columns", "by_weighted_columns", "by_determinant"])
def test_second_derivatives_of_a_density_are_differences_of_the_first(name):
    direction = tg.matrix("direction")
    slope = tg.grad(DENSITIES[name](A, B), A)
    f = tg.function([A, B], slope, backend="perform")
    second = tg.function([A, B, direction], tg.grad(tg.sum(slope * direction), A), backend="perform")
    k, y, d = definite(4), normal(4, 3), np.tril(normal(4, 4))
    found, step = second(k, y, d), 1e-6
    for i, j in itertools.product(range(4), repeat=2):
        e = np.zeros((4, 4))
        e[i, j] = step
        difference = ((f(k + e, y) - f(k - e, y)) * d).sum() / (2 * step)
        assert found[i, j] == pytest.approx(difference, rel=1e-6, abs=1e-8)


OTHERWISE = {
    "another factor": lambda k, y: tg.sum(
        tg.linalg.solve_triangular(tg.linalg.cholesky(k), tg.linalg.cholesky(k + tg.eye(5)) @ y, lower=True) ** 2
    ),
    "a cotangent that is not symmetric": lambda k, y: tg.sum(
        tg.exp(tg.linalg.solve_triangular(tg.linalg.cholesky(k), y, lower=True))
    ),
    "elements": lambda k, y: tg.sum(tg.linalg.cholesky(k) * y[:, 0][:, None]),
    "a part of the diagonal": lambda k, y: tg.sum(tg.log(tg.linalg.cholesky(k)[tg.arange(3), tg.arange(3)])),
    "the diagonal, moved": lambda k, y: tg.sum(tg.log(tg.linalg.cholesky(k)[tg.arange(3), tg.constant([1, 0, 2])] + 9)),
    "a slice of the diagonal": lambda k, y: tg.sum(tg.log(tg.diagonal(tg.linalg.cholesky(k))[1:4])),
    "weights of rows": lambda k, y: tg.sum(
        tg.linalg.solve_triangular(tg.linalg.cholesky(k), y, lower=True) ** 2 * tg.arange(5.0)[:, None]
    ),
    "powers of the diagonal": lambda k, y: tg.sum(tg.diagonal(tg.linalg.cholesky(k)) ** 3),
}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", OTHERWISE)
def test_other_gradients_by_a_factor_are_taken_as_before(name, known):
    a, b = (tg.tensor("a", shape=(5, 5)), tg.tensor("b", shape=(5, 3))) if known else (A, B)
    slope = tg.grad(OTHERWISE[name](a, b), a)
    fast, plain = (
        tg.function([a, b], slope, backend="perform", mode=mode, on_unused_input="ignore")
        for mode in ("default", "off")
    )
    k, y = definite(5), normal(5, 3)
    np.testing.assert_allclose(fast(k, y), plain(k, y), rtol=1e-10, atol=1e-13)


def solved(factor, sides, transpose="t", *, lower=True):
    return SolveTriangular(lower, transpose, False, raises=False)(factor, sides)


def nearly_gradients(factor, other, y):
    """What is as the gradient of a quadratic form by its factor is, but for one thing; first that gradient."""
    z = solved(factor, y, "n")
    w = solved(factor, -z)
    d = tg.tril(-(w @ z.T))
    product = tg.tril(factor.T @ d)
    half, of_other = halved_diagonal(product), halved_diagonal(tg.tril(other.T @ d))
    of_others = halved_diagonal(tg.tril(factor.T @ tg.tril(-(solved(other, -z) @ z.T))))
    quartered = product * tg.where(tg.eye(factor.shape[-1]) > 0, 0.25, 1.0)
    left = solved(factor, half + half.T)
    return {
        "the gradient": solved(factor, left.T),
        "another factor outside": solved(other, left.T),
        "another factor inside": solved(factor, solved(other, half + half.T).T),
        "another factor in the product": solved(factor, solved(factor, of_other + of_other.T).T),
        "not transposed": solved(factor, -left),
        "solved as it is": solved(factor, left.T, "n"),
        "solved as it is inside": solved(factor, solved(factor, half + half.T, "n").T),
        "an upper triangle": solved(factor, left.T, lower=False),
        "quartered": solved(factor, solved(factor, quartered + quartered.T).T),
        "not symmetric": solved(factor, solved(factor, half + of_other.T).T),
        "solutions of another factor": solved(factor, solved(factor, of_others + of_others.T).T),
        "of other sides": solved(factor, solved(factor, (h := halved_diagonal(tg.tril(factor.T @ (w @ y.T)))) + h.T).T),
    }


@pytest.mark.parametrize("n", [None, 5])
def test_what_is_nearly_a_gradient_by_a_factor_is_computed_as_it_stands(n):
    a, b, y = (tg.tensor(name, shape=(n, n)) for name in "aby")
    found = nearly_gradients(*(tg.linalg.cholesky(v) for v in (a, b)), y)
    frozen = rewritten([a, y], found["the gradient"])
    assert len(made_of(frozen, "SolveTriangular")) == 2
    fast, plain = (
        tg.function([a, b, y], list(found.values()), backend="perform", mode=mode) for mode in ("default", "off")
    )
    k, m, sides = definite(5), definite(5) + np.diag(np.arange(5.0)) + 0.5, normal(5, 5)
    for name, left, right in zip(found, fast(k, m, sides), plain(k, m, sides), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-12, err_msg=name)


def test_a_cholesky_factor_has_no_zero_to_look_for_on_its_diagonal():
    frozen = rewritten([A, B], tg.linalg.solve_triangular(tg.linalg.cholesky(A), B, lower=True))
    assert not made_of(frozen, "Gather")
    x = known(A, "nonzero_diagonal")
    assert not made_of(rewritten([A, B], tg.linalg.solve_triangular(x, B, trans=1)), "Gather")


# --- eigenvalues ----------------------------------------------------------------------------------------------------


def test_eigenvalues_come_with_their_vectors():
    w, v = tg.linalg.eigh(A)
    assert factors(rewritten([A], w, v, tg.linalg.eigvalsh(A))) == {"Eigh": 1}
    u, s, vh = tg.linalg.svd(A, full_matrices=False)
    frozen = rewritten([A], u, s, vh, tg.linalg.svdvals(A))
    assert factors(frozen) == {"SVD": 1}
    a = normal(4, 3)
    np.testing.assert_allclose(computed(frozen, a)[3], np.linalg.svd(a, compute_uv=False), rtol=1e-12)


def test_values_without_vectors_are_computed_alone():
    a = tg.linalg.eigh(A).eigenvalues
    frozen = rewritten([A, B], a, tg.linalg.svd(B).S)
    assert factors(frozen) == {"Eigvalsh": 1, "Svdvals": 1}
    x, y = definite(4), normal(3, 4)
    for found, right in zip(computed(frozen, x, y), (np.linalg.eigvalsh(x), np.linalg.svdvals(y)), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12)
    assert factors(rewritten([A], a, *tg.grad(tg.sum(a), [A]))) == {"Eigh": 1}


def test_eigenvalues_alone_stay_without_vectors():
    assert factors(rewritten([A], tg.linalg.eigvalsh(A))) == {"Eigvalsh": 1}


# --- triangles ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_a_transposed_triangle_is_read_as_it_lies(dtype, trans):
    x, y = tg.matrix("x", dtype=dtype), tg.matrix("y", dtype=dtype)
    adjoint = tg.conj(x).T if dtype == "complex128" and not trans else x.T
    frozen = rewritten([x, y], tg.linalg.solve_triangular(adjoint, y, lower=False, trans=trans))
    (op,) = made_of(frozen, "SolveTriangular")
    assert (op.lower, op.transpose) == (True, "n" if trans else "c" if dtype == "complex128" else "t")
    a, b = np.tril(normal(3, 3, dtype=dtype)) + 2 * np.eye(3), normal(3, 2, dtype=dtype)
    whole = a.conj().T if dtype == "complex128" and not trans else a.T
    np.testing.assert_allclose(computed(frozen, a, b)[0], np.linalg.solve(whole.T if trans else whole, b), rtol=1e-12)


# --- traces -----------------------------------------------------------------------------------------------------------


def test_the_trace_of_a_product_needs_no_product():
    frozen = rewritten([A, B], tg.trace(A @ B))
    assert "MatMul" not in {n.op.name for n in frozen.nodes}
    a, b = normal(3, 4), normal(4, 3)
    np.testing.assert_allclose(computed(frozen, a, b)[0], np.trace(a @ b), rtol=1e-12)


# --- patterns -------------------------------------------------------------------------------------------------------


def tall(frozen):
    """The rows of all that is factorised or multiplied."""
    needed = (*FACTORS, "MatMul", "SolveTriangular")
    return [frozen.types[n.inputs[0]].shape[-2] for n in frozen.nodes if n.op.name in needed]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_of_a_kronecker_product_the_factors_do_the_work(dtype):
    x, y = tg.tensor("x", dtype, (5, 5)), tg.tensor("y", dtype, (4, 4))
    b = tg.tensor("b", dtype, (20, 3))
    whole = tg.linalg.kron(x, y)
    outputs = [tg.linalg.solve(whole, b), tg.linalg.solve(whole, b, transposed=True), whole @ b, b.T @ whole]
    frozen = rewritten([x, y, b], *outputs)
    assert max(tall(frozen)) <= 5
    arrays = [normal(5, 5, dtype=dtype), normal(4, 4, dtype=dtype), normal(20, 3, dtype=dtype)]
    a, c = np.kron(*arrays[:2]), arrays[2]
    wanted = (np.linalg.solve(a, c), np.linalg.solve(a.T, c), a @ c, c.T @ a)
    for found, right in zip(computed(frozen, *arrays), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_inverse_and_determinant_of_a_kronecker_product(n):
    x, y = tg.tensor("x", shape=(N, N)), tg.tensor("y", shape=(4, 4))
    whole = tg.linalg.kron(x, y)
    frozen = rewritten([x, y], tg.linalg.inv(whole), *tg.linalg.slogdet(whole))
    a, c = normal(n, n) - 0.5 * np.eye(n), normal(4, 4)
    wanted = (np.linalg.inv(np.kron(a, c)), *np.linalg.slogdet(np.kron(a, c)))
    for found, right in zip(computed(frozen, a, c), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)


def test_products_of_kronecker_products_are_those_of_products():
    a, b, c, d = (tg.tensor(name, shape=(4, 4)) for name in "abcd")
    frozen = rewritten([a, b, c, d], tg.linalg.kron(a, b) @ tg.linalg.kron(c, d))
    assert max(tall(frozen)) == 4
    arrays = [np.random.default_rng(k).normal(size=(4, 4)) for k in range(4)]
    right = np.kron(*arrays[:2]) @ np.kron(*arrays[2:])
    np.testing.assert_allclose(computed(frozen, *arrays)[0], right, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("rows", "pivot"), [(1, 3), (0, 5), (None, 0)])
def test_the_pivot_that_is_told_is_that_of_the_kronecker_product(rows, pivot):
    x, y = tg.tensor("x", shape=(3, 3)), tg.tensor("y", shape=(4, 4))
    whole = tg.linalg.kron(x, y)
    f = tg.function([x, y], tg.linalg.inv(whole), backend="perform")
    a, c = np.diag([1.0, 2.0, 3.0]), np.diag([1.0, 2.0, 3.0, 4.0])
    if rows is None:
        np.testing.assert_allclose(f(a, c), np.linalg.inv(np.kron(a, c)))
        return
    (c if rows else a)[2 * rows or 1, 2 * rows or 1] = 0
    with pytest.raises(tg.LinAlgError, match=f"0 as pivot {pivot}"):
        f(a, c)


@pytest.mark.parametrize("transposed", [False, True])
def test_blocks_on_a_diagonal_are_solved_for_one_by_one(transposed):
    x, y, b = tg.tensor("x", shape=(N, N)), tg.tensor("y", shape=(7, 7)), tg.matrix("b")
    whole = tg.linalg.block_diag(x, y)
    logdet = tg.linalg.slogdet(whole)
    frozen = rewritten([x, y, b], tg.linalg.solve(whole, b, transposed=transposed), *logdet)
    assert factors(frozen) == {"LU": 2}
    a, c, d = normal(3, 3), normal(7, 7), normal(10, 2)
    dense = np.zeros((10, 10))
    dense[:3, :3], dense[3:, 3:] = a, c
    turned = dense.T if transposed else dense
    wanted = (np.linalg.solve(turned, d), *np.linalg.slogdet(dense))
    for found, right in zip(computed(frozen, a, c, d), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-9)


def test_the_pivot_that_is_told_is_counted_through_all_blocks():
    x, y = tg.tensor("x", shape=(3, 3)), tg.tensor("y", shape=(4, 4))
    f = tg.function([x, y, V], tg.linalg.solve(tg.linalg.block_diag(x, y), V), backend="perform")
    with pytest.raises(tg.LinAlgError, match="0 as pivot 5"):
        f(np.eye(3), np.diag([1.0, 0.0, 1.0, 1.0]), np.ones(7))
    with pytest.raises(tg.LinAlgError, match="0 as pivot 1"):
        f(np.zeros((3, 3)), np.diag([1.0, 0.0, 1.0, 1.0]), np.ones(7))


def test_blocks_that_are_not_square_or_not_on_the_diagonal_stay():
    x, y, b = tg.tensor("x", shape=(2, 3)), tg.tensor("y", shape=(4, 3)), tg.matrix("b")
    assert factors(rewritten([x, y, b], tg.linalg.solve(tg.linalg.block_diag(x, y), b))) == {"Solve": 1}
    z = tg.tensor("z", shape=(3, 3))
    above = tg.concatenate([tg.concatenate([tg.zeros((3, 3)), z], -1), tg.concatenate([z, tg.zeros((3, 3))], -1)], -2)
    assert factors(rewritten([z, b], tg.linalg.solve(above, b))) == {"Solve": 1}


# --- low rank -------------------------------------------------------------------------------------------------------

TALL = tg.tensor("U", shape=(9, 3))
WEIGHT, SCALE = tg.scalar("s"), tg.scalar("t")


def largest(frozen):
    """The rows of the largest matrix that is factorised."""
    needed = (*FACTORS, "SolveTriangular")
    return max((frozen.types[n.inputs[0]].shape[-1] for n in frozen.nodes if n.op.name in needed), default=0)


def asked(whole, b, **options):
    """All that is asked of a matrix."""
    solved = [tg.linalg.solve(whole, b, **options), tg.linalg.solve(whole, b, transposed=True, **options)]
    return [*solved, tg.linalg.inv(whole, **options), *tg.linalg.slogdet(whole), tg.linalg.det(whole)]


SUMS = {
    "columns": lambda u, s, t: s * tg.eye(9) + u @ u.T,
    "rows": lambda u, s, t: u.T.T @ u.T + tg.eye(9) * s,
    "scaled": lambda u, s, t: s * tg.eye(9) + t * (u @ u.T),
    "outer": lambda u, s, t: s * tg.eye(9) + tg.outer(u[:, 0], u[:, 0]) * t,
    "one column": lambda u, s, t: s * tg.eye(9) + u[:, :1] @ u[:, :1].T,
}


@pytest.mark.parametrize("weight", [2.0, 1e-7, -0.3])
@pytest.mark.parametrize("name", SUMS)
def test_a_multiple_of_the_identity_and_few_columns_need_a_small_matrix(name, weight):
    mpmath = pytest.importorskip("mpmath")
    whole, b = SUMS[name](TALL, WEIGHT, SCALE), tg.tensor("b", shape=(9, 2))
    frozen = rewritten([TALL, WEIGHT, SCALE, b], *asked(whole, b))
    assert largest(frozen) == (1 if name in ("outer", "one column") else 3)
    u, c, t = normal(9, 3), normal(9, 2), 0.7
    v, factor = u[:, :1] if name in ("outer", "one column") else u, t if name in ("outer", "scaled") else 1.0
    with mpmath.workdps(50):
        w = mpmath.matrix(v.tolist())
        dense = mpmath.mpf(weight) * mpmath.eye(9) + mpmath.mpf(factor) * w * w.T
        inverse, determinant = dense**-1, mpmath.det(dense)
        x = np.array((inverse * mpmath.matrix(c.tolist())).tolist(), float)
        size = float(mpmath.log(abs(determinant)))
        wanted = [x, x, np.array(inverse.tolist(), float), float(mpmath.sign(determinant)), size, float(determinant)]
    lost = np.linalg.cond(np.array(dense.tolist(), float)) * np.finfo(float).eps  # what solving by factors may lose
    for k, (found, right) in enumerate(zip(computed(frozen, u, np.array(weight), np.array(t), c), wanted, strict=True)):
        assert np.abs(found - right).max() <= (lost if k < 3 else 1e-13) * max(np.abs(right).max(), 1e-300)


def test_batches_of_low_rank_and_what_is_positive_definite():
    u, s, b = tg.tensor("u", shape=(None, 8, 2)), tg.tensor("s", shape=(None, 1, 1)), tg.tensor("b", shape=(None, 8, 1))
    whole = s * tg.eye(8) + u @ tg.matrix_transpose(u)
    frozen = rewritten([u, s, b], *tg.linalg.slogdet(whole), tg.linalg.solve(whole, b, assume_a="pos"))
    assert largest(frozen) == 2
    arrays = normal(3, 8, 2), np.array([1.0, 0.5, 3.0]).reshape(3, 1, 1), normal(3, 8, 1)
    dense = arrays[1] * np.eye(8) + arrays[0] @ arrays[0].swapaxes(-1, -2)
    for found, right in zip(
        computed(frozen, *arrays), (*np.linalg.slogdet(dense), np.linalg.solve(dense, arrays[2])), strict=True
    ):
        np.testing.assert_allclose(found, right, rtol=1e-12)


@pytest.mark.parametrize(("assume_a", "weight"), [("gen", 0.0), ("pos", 0.0), ("pos", -0.5)])
def test_a_weight_that_makes_the_sum_singular_or_indefinite_is_an_error_or_nan(assume_a, weight):
    whole = WEIGHT * tg.eye(9) + TALL @ TALL.T
    found = tg.linalg.solve(whole, TALL[:, 0], assume_a=assume_a)
    f = tg.function([TALL, WEIGHT], found, backend="perform")
    assert largest(f.graph) == 3
    with pytest.raises(tg.LinAlgError, match=r"pivot 4" if assume_a == "gen" else r"minor of order 4"):
        f(normal(9, 3), weight)
    quiet = tg.linalg.solve(whole, TALL[:, 0], assume_a=assume_a, on_error="nan")
    assert np.isnan(tg.function([TALL, WEIGHT], quiet, backend="perform")(normal(9, 3), weight)).all()


def test_nan_and_zeros_of_low_rank_are_those_of_the_whole_matrix():
    whole, b = WEIGHT * tg.eye(9) + TALL @ TALL.T, tg.tensor("b", shape=(9, 2))
    f = tg.function([TALL, WEIGHT, b], asked(whole, b), backend="perform")
    u, c = normal(9, 3), normal(9, 2)
    assert all(np.isnan(v).all() for v in f(np.where(u == u[4, 1], np.nan, u), 1.0, c))
    spoilt = np.where(c == c[2, 1], np.nan, c)
    assert np.isnan(f(u, 1.0, spoilt)[0]).all(0).tolist() == [False, True]
    for found, right in zip(f(0 * u, 2.0, c)[2:], (np.eye(9) / 2, 1.0, 9 * np.log(2), 512.0), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-15)


LENGTHY, WIDE = tg.tensor("v", shape=(9,)), tg.tensor("h", shape=(9, 5))
WHOLE = {  # which stay so, and why
    "s says nothing of the condition of what is not symmetric": lambda w: w * tg.eye(9) + TALL @ TALL[::-1].T,
    "a small element of another diagonal may be covered by U": lambda w: tg.diag(LENGTHY) + TALL @ TALL.T,
    "it would be as much work": lambda w: w * tg.eye(9) + WIDE @ WIDE.T,
}


@pytest.mark.parametrize("name", WHOLE)
def test_sums_that_are_not_taken_apart(name):
    frozen = rewritten([TALL, WEIGHT, LENGTHY, WIDE], tg.linalg.solve(WHOLE[name](WEIGHT), LENGTHY))
    assert largest(frozen) == 9


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("upper", [False, True])
def test_a_factor_that_is_wanted_is_shared_whichever_triangle_is_read(upper, dtype):
    u = tg.tensor("u", dtype, (9, 3))
    whole = known(WEIGHT * tg.eye(9) + u @ tg.conj(u).T, "hermitian")
    solved = tg.linalg.solve(whole, u, lower=not upper, assume_a="pos")
    both = rewritten([u, WEIGHT], tg.linalg.cholesky(whole), solved)
    assert factors(both) == {"Cholesky": 1}
    a = normal(9, 3, dtype=dtype)
    dense = 2 * np.eye(9) + a @ a.conj().T
    for found, right in zip(
        computed(both, a, np.array(2.0)), (np.linalg.cholesky(dense), np.linalg.solve(dense, a)), strict=True
    ):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12)


def test_the_adjoint_of_a_complex_symmetric_matrix_is_another_one():
    a = tg.matrix("a", dtype="complex128")
    frozen = rewritten([a], tg.linalg.cholesky(tg.conj(known(a, "symmetric")).T, on_error="nan"))
    assert "conjugate" in {n.op.name for n in frozen.nodes}


def test_debugging_takes_the_rounding_of_factors_for_what_it_is():
    n = 40
    cost = V @ tg.linalg.inv(A) @ V + tg.log(tg.absolute(tg.linalg.det(A)))
    f = tg.function([A, V], [cost, tg.grad(cost, V)], backend="perform", mode="debug")
    a, v = normal(n, n), normal(n)
    np.testing.assert_allclose(f(a, v)[0], v @ np.linalg.inv(a) @ v + np.linalg.slogdet(a)[1], rtol=1e-9)
