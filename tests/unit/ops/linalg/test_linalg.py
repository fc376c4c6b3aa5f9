"""Linear algebra as graphs: one factorisation for a value and its derivative, checks of results, the module's names."""

from __future__ import annotations

import numpy as np
import pytest

import tg
import tg.linalg
from tg.graph.function_graph import freeze
from tg.graph.op import Op
from tg.ops.catalog import MODULES
from tg.ops.linalg.banded import SolveBanded, SolvehBanded
from tg.ops.linalg.cholesky import Cholesky
from tg.ops.linalg.lu import LU
from tg.ops.linalg.solving import Inv, Solve
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
    assert all(getattr(tg.linalg, name) is fn for name, fn in MODULES["linalg"].items())


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


def test_the_derivative_at_equal_eigenvalues_is_finite():
    a = tg.matrix("a")
    w, v = tg.linalg.eigh(a)
    found = tg.function([a], tg.grad(tg.sum(w) + tg.sum(v**3), a), backend="perform")(2 * np.eye(3))
    assert np.allclose(found, np.eye(3))


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
        (lambda a: tg.linalg.pinv(a, a), "rcond: found"),
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
