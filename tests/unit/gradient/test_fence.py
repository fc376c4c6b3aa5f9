"""Ops that mix elements, in branches that are not taken: what their rules make NaN of there is 0."""

import numpy as np
import pytest

import tg

A, B, Y = tg.matrix("a"), tg.vector("b"), tg.scalar("y")
SINGULAR, INDEFINITE, MISSING = np.array([[1.0, 2.0], [2.0, 4.0]]), np.diag([-1.0, 1.0]), np.full((2, 2), np.nan)
CASES = {  # an expression, and a matrix for which it or its derivative does not exist
    "solve": (lambda: tg.sum(tg.linalg.solve(A, B, on_error="nan")), SINGULAR),
    "solve_triangular": (lambda: tg.sum(tg.linalg.solve_triangular(A, B, on_error="nan")), np.zeros((2, 2))),
    "inv": (lambda: tg.sum(tg.linalg.inv(A, on_error="nan") * B), SINGULAR),
    "pinv": (lambda: tg.sum(tg.linalg.pinv(A) * B), MISSING),
    "lstsq": (lambda: tg.sum(tg.linalg.lstsq(A, B)[0]), MISSING),
    "cholesky": (lambda: tg.sum(tg.linalg.cholesky(A, on_error="nan") * B), INDEFINITE),
    "det": (lambda: tg.log(tg.linalg.det(A)) * B[0], SINGULAR),
    "slogdet": (lambda: tg.linalg.slogdet(A)[1] * B[0], SINGULAR),
    "eigh": (lambda: tg.sum(tg.linalg.eigh(A)[1] * B), MISSING),
    "qr": (lambda: tg.sum(tg.linalg.qr(A)[1] * B), np.zeros((2, 2))),
    "sqrtm": (lambda: tg.sum(tg.linalg.sqrtm(A) * B), INDEFINITE),
    "logm": (lambda: tg.sum(tg.linalg.logm(A) * B), INDEFINITE),
    "expm": (lambda: tg.sum(tg.linalg.expm(A * 1e4) * B), SINGULAR),
    "norm": (lambda: tg.linalg.norm(A, 2) * B[0], MISSING),
    "convolution": (lambda: tg.sum(tg.nn.conv1d(tg.log(A)[None], tg.sqrt(A)[None])), np.zeros((2, 2))),
    "attention": (
        lambda: tg.sum(tg.nn.scaled_dot_product_attention(*(f(A)[None, None] for f in (tg.log, tg.exp, tg.exp)))),
        np.zeros((2, 2)),
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_a_branch_that_is_not_taken_leaks_nothing(name, order, mode):
    expression, matrix = CASES[name]
    out, wrt = tg.where(Y > 0, expression(), Y * Y), [A, B, Y]
    if mode == "reverse":
        found = tg.grad(out, wrt, disconnected="zero")
    else:
        found = [tg.jvp(out, v, tg.ones_like(v), disconnected="zero") for v in wrt]
    if order == 2:
        found = tg.grad(sum(tg.sum(v) for v in found), wrt, disconnected="zero")
    with np.errstate(all="ignore"):
        results = tg.function(wrt, found, backend="perform", on_unused_input="ignore")(matrix, [0.0, -1.0], -1.5)
    for value, v in zip(results, wrt, strict=True):
        needed = (0.0 if v is not Y else -3.0) if order == 1 else 2.0 if v is Y else 0.0
        np.testing.assert_array_equal(value, np.full_like(value, needed))


def test_each_matrix_of_a_batch_is_selected_by_itself():
    m, c, v = tg.tensor("m", shape=(3, 2, 2)), tg.tensor("c", "bool", (3,)), tg.tensor("v", shape=(3, 2))
    solved = tg.linalg.solve(m, v[..., None], on_error="nan")[..., 0]
    out = tg.sum(tg.where(c[:, None], solved, 0.0))
    f = tg.function([m, c, v], tg.grad(out, [m, v]), backend="perform")
    matrices = np.stack([np.diag([1.0, 2.0]), SINGULAR, np.diag([4.0, 8.0])])
    slopes, by_v = f(matrices, [True, False, True], np.ones((3, 2)))
    np.testing.assert_array_equal(by_v, [[1, 0.5], [0, 0], [0.25, 0.125]])
    np.testing.assert_allclose(slopes[0], -np.outer([1, 0.5], [1, 0.5]), rtol=1e-15)
    np.testing.assert_array_equal(slopes[1], np.zeros((2, 2)))


def test_tangents_of_what_is_not_selected_are_zero_behind_a_solution_that_does_not_exist():
    """Both modes agree that an operand which a condition leaves out has no part in the solution."""
    c, x = tg.scalar("c", "bool"), tg.vector("x")
    solved = tg.linalg.solve(A, tg.where(c, x, 0.0), on_error="nan")
    forward, reverse = tg.jvp(tg.sum(solved), x, tg.ones_like(x)), tg.sum(tg.grad(tg.sum(solved), x))
    f = tg.function([A, c, x], [forward, reverse], backend="perform")
    assert f(SINGULAR, False, [1.0, 2.0]) == [0, 0]
    assert f(np.diag([1.0, 2.0]), True, [1.0, 2.0]) == [1.5, 1.5]
