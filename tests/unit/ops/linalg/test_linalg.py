"""Linear algebra as graphs: one factorisation for a value and its derivative, checks of results, the module's names."""

from __future__ import annotations

import inspect
import itertools

import numpy as np
import pytest
import scipy.linalg

import tg
import tg.linalg
from tg import plugin
from tg.graph.function_graph import freeze
from tg.graph.op import Op
from tg.ops.catalog import MODULES
from tg.ops.linalg.banded import SolveBanded, SolvehBanded
from tg.ops.linalg.cholesky import Cholesky
from tg.ops.linalg.linear_systems import Inv, Solve
from tg.ops.linalg.lu import LU
from tg.ops.linalg.solving import Cofactors
from tg.ops.linalg.spectral import SVD, Eigh
from tg.ops.linalg.triangular import SolveTriangular

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])


def count(outputs, kind, *inputs, backend="torch"):
    """How many applications of an op a program has."""
    f = tg.function(list(inputs), outputs, backend=backend, on_unused_input="ignore")
    f(*[np.eye(3) if v.type.ndim == 2 else np.ones(3) for v in inputs])
    return sum(isinstance(node.op, kind) for node in f.graph.nodes)


def test_the_module_has_what_its_families_have():
    own = {name for name in tg.linalg.__all__ if name in MODULES["linalg"]}
    assert own == set(MODULES["linalg"])
    assert all(inspect.unwrap(getattr(tg.linalg, name)) is fn for name, fn in MODULES["linalg"].items())


def test_numpys_functions_take_variables():
    a = tg.matrix("a")
    assert np.linalg.inv(a).op == Inv()
    value, sign = np.linalg.slogdet(a).logabsdet, np.linalg.slogdet(a)[0]
    assert value.type == sign.type == tg.TensorType("float64", ())


@pytest.mark.parametrize(
    "cost",
    [
        lambda a, x: tg.sum(tg.linalg.solve(a, x)),
        lambda a, x: tg.linalg.det(a),
        lambda a, x: tg.linalg.slogdet(a)[1] + x @ tg.linalg.solve(a, x),
    ],
)
def test_a_value_and_its_gradient_factorise_once(cost):
    a, x = tg.matrix("a"), tg.vector("x")
    y = cost(a, x)
    assert count([y, tg.grad(y, a)], LU, a, x) == 1


def products_without(a, *rows):
    """Of each permutation, its sign times the product of the elements that it takes in the other rows."""
    n = len(a)
    for order in itertools.permutations(range(n)):
        sign = round(np.linalg.det(np.eye(n)[list(order)]))
        yield order, sign * np.prod([a[k, order[k]] for k in range(n) if k not in rows])


def cofactors(a):
    """By the sum over permutations."""
    y = np.zeros(a.shape)
    for i in range(len(a)):
        for order, product in products_without(a, i):
            y[i, order[i]] += product
    return y


def second_derivatives(a):
    """Those of the determinant, by the sum over permutations."""
    y = np.zeros(a.shape * 2)
    for i, j in itertools.permutations(range(len(a)), 2):
        for order, product in products_without(a, i, j):
            y[i, order[i], j, order[j]] += product
    return y


def of_rank(rank, n):
    """A matrix of this rank up to rounding: no pivot need be 0."""
    rng = np.random.default_rng(rank)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n))


SINGULAR = {
    "zeros": np.zeros((3, 3)),
    "ones": np.ones((2, 2)),
    "equal rows": np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.0, 1.0, 5.0]]),
    "a column of zeros": np.diag([1.0, 2.0, 0.0, 3.0]),
    "one element": np.zeros((1, 1)),
    **{f"rank {k} of {n}": of_rank(k, n) for k, n in ((1, 2), (1, 3), (2, 3), (2, 4), (3, 4))},
    "regular": A,
}


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("name", SINGULAR)
def test_first_and_second_derivatives_of_a_determinant(name, is_known):
    value = SINGULAR[name]
    a = tg.tensor("a", "float64", shape=value.shape if is_known else (None, None))
    y = tg.linalg.det(a)
    g = tg.grad(y, a)
    f = tg.function([a], [g, tg.jacobian(g, a, direction="reverse"), tg.jacobian(g, a, direction="forward")])
    first, *second = f(value)
    bound = 1e-13 * max(1.0, np.abs(value).max()) ** (len(value) - 1)
    np.testing.assert_allclose(first, cofactors(value), rtol=0, atol=bound)
    for h in second:
        np.testing.assert_allclose(h, second_derivatives(value), rtol=0, atol=bound)


def test_cofactors_of_a_matrix_have_one_multiple_each():
    with pytest.raises(tg.ShapeError, match="ranks: found 4 and 3"):
        Cofactors()(tg.tensor("a", "float64", (2, 1, 2, 2)), tg.vector("d"))
    with pytest.raises(tg.ShapeError, match="leading axes: lengths differ: 2 and 3"):
        Cofactors()(tg.tensor("a", "float64", (2, 4, 4)), tg.tensor("d", "float64", (3,)))


def test_a_third_derivative_of_a_determinant():
    """Of three rows the second derivatives are linear in the matrix."""
    rng = np.random.default_rng(3)
    a = tg.matrix("a")
    x, y = (rng.normal(size=(3, 3)) for _ in range(2))
    second = tg.sum(tg.grad(tg.sum(tg.grad(tg.linalg.det(a), a) * x), a) * y)
    found = tg.grad(second, a).eval({a: A})
    wanted = [np.sum(x * np.tensordot(second_derivatives(unit), y)) for unit in np.eye(9).reshape(9, 3, 3)]
    np.testing.assert_allclose(found.ravel(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("lengths", [(None, None), (120, 120)])
def test_the_derivative_of_the_log_of_a_determinant_that_overflows(lengths):
    a = tg.tensor("a", "float64", shape=lengths)
    value = 1e3 * np.eye(120) + np.ones((120, 120))
    found = tg.grad(3 * tg.log(tg.linalg.det(a)), a).eval({a: value})
    np.testing.assert_allclose(found, 3 * np.linalg.inv(value).T, rtol=1e-12, atol=1e-15)


def test_the_log_density_of_a_normal_vector_has_one_cholesky_factorisation():
    a, x = tg.matrix("a"), tg.vector("x")
    factor = tg.linalg.cholesky(a)
    y = x @ tg.linalg.cho_solve((factor, True), x) + 2 * tg.sum(tg.log(tg.diagonal(factor)))
    assert count([y, *tg.grad(y, [a, x])], Cholesky, a, x) == 1


def test_a_factor_is_asked_for_in_numpys_words_or_in_scipys():
    a = tg.matrix("a")
    for lower in (True, False):
        found = tg.linalg.cholesky(a, lower=lower).eval({a: A})
        np.testing.assert_array_equal(found, tg.linalg.cholesky(a, upper=not lower).eval({a: A}))
        np.testing.assert_allclose(found @ found.T if lower else found.T @ found, A, rtol=1e-15)
    with pytest.raises(tg.InputError, match="upper=True and lower=True"):
        tg.linalg.cholesky(a, upper=True, lower=True)


def test_one_matrix_and_a_batch_of_right_sides_is_solved_once():
    a, x = tg.matrix("a"), tg.matrix("x")
    made = tg.vmap(lambda v: tg.linalg.solve(a, v))(x)
    (node,) = [node for node in freeze([a, x], [made]).nodes if isinstance(node.op, Solve)]
    assert made.type.shape == (None, None)
    assert node.op == Solve()


def test_the_check_of_a_factorisation_is_on_what_it_reports():
    a = tg.matrix("a", shape=(3, 3))
    frozen = freeze([a], [tg.linalg.cholesky(a)])
    (check,) = frozen.checks
    (node,) = [node for node in frozen.nodes if isinstance(node.op, Cholesky)]
    assert check.descriptor.error == "LinAlgError"
    assert check.values[0] != node.outputs[0]
    assert not freeze([a], [tg.linalg.cholesky(a, on_error="nan")]).checks


def test_a_diagonal_of_ones_or_of_no_zero_is_not_looked_at():
    a, b = tg.matrix("a", shape=(3, 3)), tg.vector("b", shape=(3,))
    assert not freeze([a, b], [tg.linalg.solve_triangular(a, b, unit_diagonal=True)]).checks
    assert [c.descriptor.error for c in freeze([a, b], [tg.linalg.solve_triangular(a, b)]).checks] == ["LinAlgError"]


@pytest.mark.parametrize("function", [tg.linalg.cholesky, tg.linalg.inv, tg.linalg.eigh])
def test_what_is_constant_is_computed_when_compiled(function):
    found = function(tg.constant(A))
    f = tg.function([], found, backend="perform")
    f()
    assert not [node for node in f.graph.nodes if isinstance(node.op, Cholesky | Inv | LU | Eigh)]


def test_what_is_constant_and_fails_is_an_error_of_the_call():
    f = tg.function([], tg.linalg.cholesky(tg.constant(-A)), backend="perform")
    with pytest.raises(np.linalg.LinAlgError, match="order 1"):
        f()


Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
WEIGHTS = np.array([[1.0, 2.0, -1.0], [0.5, -1.0, 3.0], [2.0, 0.25, 1.0]])
EQUAL = {
    "twice the identity": 2 * np.eye(3),
    "zeros": np.zeros((3, 3)),
    "two equal up to rounding": Q @ np.diag([1.0, 1.0, 3.0]) @ Q.T,
    "two that are close": Q @ np.diag([1.0, 1.0 + 1e-9, 3.0]) @ Q.T,
    "three that are close": Q @ np.diag([1.0, 1.0 + 1e-4, 1.0 + 3e-4]) @ Q.T,
    "far apart": Q @ np.diag([-1.0, 0.5, 3.0]) @ Q.T,
}
WRITTEN = {
    "columns": lambda v, y: (v * y) @ v.T,
    "rows": lambda v, y: v @ (y[:, None] * v.T),
    "diagonal": lambda v, y: v @ tg.diag(y) @ v.T,
    "diagonal first": lambda v, y: v @ (tg.diag(y) @ v.T),
}


def units():
    """Directions of a symmetric matrix that one element of a matrix moves."""
    for e in np.eye(9).reshape(9, 3, 3):
        yield (e + e.T) / 2


def exponential_along(a, *directions):
    """The first or second derivative of the exponential of a matrix, from the exponential of a block matrix."""
    blocks = [[a, directions[0]], [0 * a, a]]
    if len(directions) == 2:
        g, h = directions
        blocks = [[a, g, h, 0 * a], [0 * a, a, 0 * a, h], [0 * a, 0 * a, a, g], [0 * a, 0 * a, 0 * a, a]]
    return scipy.linalg.expm(np.block(blocks))[:3, -3:]


@pytest.mark.parametrize(
    ("name", "form"), [*((name, "columns") for name in EQUAL), *(("twice the identity", form) for form in WRITTEN)]
)
def test_functions_of_a_symmetric_matrix_at_equal_eigenvalues(name, form):
    value, a = EQUAL[name], tg.tensor("a", "float64", shape=(3, 3))
    w, v = tg.linalg.eigh((a + a.T) / 2)
    cost = tg.sum(WEIGHTS * WRITTEN[form](v, tg.exp(w)))
    g = tg.grad(cost, a)
    first, *second = tg.function([a], [g, *(tg.jacobian(g, a, direction=d) for d in ("reverse", "forward"))])(value)
    wanted = [np.sum(WEIGHTS * exponential_along(value, e)) for e in units()]
    np.testing.assert_allclose(first.ravel(), wanted, rtol=1e-11, atol=1e-11)
    wanted = [[np.sum(WEIGHTS * exponential_along(value, e, f)) for f in units()] for e in units()]
    for h in second:
        np.testing.assert_allclose(h.reshape(9, 9), wanted, rtol=1e-10, atol=1e-10)


def test_a_function_of_a_matrix_has_parameters():
    a, t = tg.matrix("a"), tg.scalar("t")
    w, v = tg.linalg.eigh((a + a.T) / 2)
    cost = tg.sum(WEIGHTS * ((v * tg.exp(-t * w)) @ v.T))
    by_t = tg.grad(cost, t)
    both = [by_t, tg.grad(by_t, t), tg.grad(by_t, a), tg.jvp(tg.grad(cost, a), t, 1.0)]
    slope, bend, *mixed = tg.function([a, t], both)(2 * np.eye(3), 0.7)
    trace = np.trace(WEIGHTS)
    np.testing.assert_allclose([slope, bend], [-2 * np.exp(-1.4) * trace, 4 * np.exp(-1.4) * trace], rtol=1e-13)
    for m in mixed:  # d/dt of -t exp(-t w) at w = 2
        np.testing.assert_allclose(m, (WEIGHTS + WEIGHTS.T) / 2 * (1.4 - 1) * np.exp(-1.4), rtol=1e-12)


def test_linear_functions_of_a_matrix():
    a = tg.matrix("a")
    w, v = tg.linalg.eigh((a + a.T) / 2)
    for cost, slope in ((tg.sum(WEIGHTS * ((v * (2 * w + 1)) @ v.T)), WEIGHTS + WEIGHTS.T), (tg.sum(w), np.eye(3))):
        g = tg.grad(cost, a)
        first, second = tg.function([a], [g, tg.jacobian(g, a, disconnected="zero")])(2 * np.eye(3))
        np.testing.assert_allclose(first, slope, rtol=1e-14)
        np.testing.assert_array_equal(second, 0)


@pytest.mark.parametrize("value", [np.zeros((3, 3)), 2 * np.eye(3), EQUAL["two equal up to rounding"]])
def test_second_derivatives_of_sums_over_equal_eigenvalues(value):
    a, u = tg.matrix("a"), tg.matrix("u")
    cost = tg.sum(tg.exp(tg.linalg.eigvalsh((a + a.T) / 2)))
    f = tg.function([a, u], [tg.hessian(cost, a), tg.grad(tg.jvp(cost, a, u), a), tg.jvp(tg.jvp(cost, a, u), a, u)])
    wanted = [[np.trace(exponential_along(value, e, f)) for f in units()] for e in units()]
    second, turned, twice = f(value, WEIGHTS)
    np.testing.assert_allclose(second.reshape(9, 9), wanted, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(turned.ravel(), wanted @ WEIGHTS.ravel(), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(twice, WEIGHTS.ravel() @ wanted @ WEIGHTS.ravel(), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_the_derivative_of_a_sum_over_eigenvalues_of_other_matrices(dtype):
    """That of the sum of their squares is twice the matrix."""
    a = tg.matrix("a", dtype)
    g = tg.grad(tg.sum(tg.linalg.eigvalsh((a + tg.conj(a).T) / 2) ** 2), a)
    value = np.array([[2, 1 + 1j], [1 - 1j, 3]])
    value = (value if np.dtype(dtype).kind == "c" else value.real).astype(dtype)
    np.testing.assert_allclose(g.eval({a: value}), 2 * value, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("form", [lambda u, s, vh: (u * s) @ vh, lambda u, s, vh: u @ tg.diag(s) @ vh])
def test_the_product_of_singular_factors_is_the_matrix(form):
    a = tg.matrix("a")
    cost = tg.sum(WEIGHTS * form(*tg.linalg.svd(a, full_matrices=False)))
    for value in (np.eye(3), np.zeros((3, 3)), A):
        np.testing.assert_array_equal(tg.grad(cost, a).eval({a: value}), WEIGHTS)


@pytest.mark.parametrize(
    "cost",
    [
        lambda a: tg.sum(tg.linalg.eigh(a)[1] ** 3),
        lambda a: tg.sum(WEIGHTS * tg.real(tg.linalg.eig(a)[1])),
        lambda a: tg.sum(WEIGHTS * (tg.linalg.svd(a, full_matrices=False)[0])),
        lambda a: tg.sum(WEIGHTS * tg.linalg.svd(a, full_matrices=False)[2]),
    ],
)
def test_vectors_of_equal_values_have_no_derivative(cost):
    a = tg.matrix("a")
    found = tg.grad(cost(a), a).eval({a: 2 * np.eye(3)})
    assert np.isnan(found).any()


def test_a_vector_beside_equal_eigenvalues_has_its_derivative():
    a = tg.matrix("a")
    cost = tg.sum(WEIGHTS[0] * tg.linalg.eigh((a + a.T) / 2)[1][:, 2] ** 2)
    value = EQUAL["two equal up to rounding"]
    found = tg.function([a], [tg.grad(cost, a), tg.jacobian(cost, a, direction="forward")])(value)

    def at(m):
        return np.sum(WEIGHTS[0] * np.linalg.eigh(m)[1][:, 2] ** 2)

    wanted = [(at(value + 1e-5 * e) - at(value - 1e-5 * e)) / 2e-5 for e in units()]
    for g in found:
        np.testing.assert_allclose(g.ravel(), wanted, rtol=1e-6, atol=1e-8)


def test_vectors_that_the_matrix_does_not_decide_have_no_derivative():
    a = tg.matrix("a")
    with pytest.raises(tg.NotDifferentiable, match="full_matrices=False leaves them out"):
        tg.grad(tg.sum(tg.linalg.svd(a)[0]), a)
    with pytest.raises(tg.NotDifferentiable, match="mode='reduced' leaves them out"):
        tg.grad(tg.sum(tg.linalg.qr(a, "complete")[0]), a)
    assert isinstance(tg.grad(tg.sum(tg.linalg.svd(a)[1]), a), tg.Variable)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda a: tg.linalg.cholesky(a, on_error="warn"), "on_error: found 'warn', needed 'raise' or 'nan'"),
        (lambda a: tg.linalg.solve_triangular(a, a, "X"), "trans: found 'X'"),
        (lambda a: tg.linalg.solve(a, a, assume_a="sparse"), "assume_a: found 'sparse'"),
        (lambda a: tg.linalg.cho_solve(a, a), "found no pair"),
        (lambda a: tg.linalg.solve_banded(1, a, a), "l_and_u: found 1, needed two integers"),
        (lambda a: tg.linalg.solve_banded((1, a), a, a), "l_and_u: found"),
        (lambda a: tg.linalg.solve_discrete_are(a, a, a, a, on_error="warn"), "on_error: found 'warn'"),
        (lambda a: tg.linalg.pinv(a, "few"), "rcond: found 'few', needed a number or None"),
        (lambda a: SolveTriangular(True, "x")(a, a), "transpose: found 'x'"),
    ],
)
def test_arguments_of_no_meaning(build, text):
    with pytest.raises(tg.InputError, match=text):
        build(tg.matrix("a"))


def test_svd_of_constants_has_no_check_left():
    f = tg.function([], tg.linalg.svd(tg.constant(A))[1], backend="perform")
    assert np.allclose(f(), np.linalg.svd(A, compute_uv=False))
    assert not [node for node in f.graph.nodes if isinstance(node.op, SVD)]


def test_a_band_is_looked_at_once_for_a_value_and_as_the_transpose_for_its_gradient():
    ab, b = tg.matrix("ab", shape=(4, None)), tg.vector("b")
    x = tg.linalg.solve_banded((2, 1), ab, b)
    frozen = freeze([ab, b], [x, *tg.grad(tg.sum(x), [ab, b])])
    ops = [node.op for node in frozen.nodes if isinstance(node.op, SolveBanded)]
    assert ops == [SolveBanded(2, 1), SolveBanded(1, 2)]


def test_how_many_diagonals_a_hermitian_band_has_must_be_known():
    ab, b = tg.matrix("ab"), tg.vector("b")
    with pytest.raises(tg.ShapeError, match="needed a known number of diagonals"):
        tg.linalg.solveh_banded(ab, b)


@pytest.mark.parametrize("op", [SolveBanded(1, 1, False), SolveBanded(2, 0, False), SolvehBanded(2, False)])
def test_bands_by_lapack_and_in_windows_are_the_same(op):
    rng = np.random.default_rng(3)
    ab, b = rng.normal(size=(2, 3, 7)), rng.normal(size=(2, 7, 2))
    ab[0, :, 3] = 0  # nothing in a column: the matrix is singular
    ab[1, op.above if isinstance(op, SolveBanded) else 0] += 9
    for found, wanted in zip(Op.perform(op, ab, b), op.perform(ab, b), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert found.dtype == wanted.dtype


def test_the_largest_eigenvalue_beside_equal_ones_has_second_derivatives():
    """The gradient is the projection on u, whose derivative is what turns u, over the distance to the others, all 0."""
    a = tg.matrix("a")
    u = np.array([1.0, 2.0, 2.0])
    found = tg.vjp(tg.grad(tg.max(tg.linalg.eigvalsh((a + a.T) / 2)), a), a, tg.constant(WEIGHTS + WEIGHTS.T))
    unit, across = np.outer(u, u) / 9, np.eye(3) - np.outer(u, u) / 9
    wanted = 2 * (unit @ (WEIGHTS + WEIGHTS.T) @ across) / 9
    value = tg.function([a], found, backend="perform")(np.outer(u, u))
    np.testing.assert_allclose(value, (wanted + wanted.T) / 2, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("backend", [one.name for one in plugin.registry().backends() if one.is_available])
def test_pivots_behind_one_that_is_nan_are_nan(backend):
    known = np.array([[1.0, 2.0], [3.0, 4.0]])
    matrices = np.array([[[np.nan, 1.0], [1.0, 1.0]], known, [[np.nan, 2.0], [3.0, 1.0]]])
    a, one = tg.tensor("a", "float64", (None, None, None)), tg.matrix("one")
    lost = tg.isnan(tg.linalg.diagonal(tg.linalg.lu_factor(a)[0]))
    np.testing.assert_array_equal(
        tg.function([a], lost, backend=backend)(matrices), [[True, True], [False, False], [True, True]]
    )
    factors, pivots = tg.function([one], list(tg.linalg.lu_factor(one)), backend=backend)(known)
    np.testing.assert_allclose(factors, [[3, 4], [1 / 3, 2 / 3]], rtol=1e-15)
    np.testing.assert_array_equal(pivots, [1, 1])
