"""`surrogate`: the value of one expression, the derivatives of another."""

import numpy as np

import tg
from tg.graph.function_graph import FunctionGraph

X = tg.vector("x")


def test_the_value_is_the_first_and_the_derivatives_are_those_of_the_second():
    y = tg.sum(tg.surrogate(tg.round(X), X**3))
    at = {X: [1.4, -2.6]}
    assert y.eval(at) == -2
    np.testing.assert_allclose(tg.grad(y, X).eval(at), [3 * 1.4**2, 3 * 2.6**2], rtol=1e-15)
    np.testing.assert_allclose(tg.jvp(y, X, tg.ones_like(X)).eval(at), 3 * 1.4**2 + 3 * 2.6**2, rtol=1e-15)
    np.testing.assert_allclose(tg.hessian(y, X).eval(at), np.diag([8.4, -15.6]), rtol=1e-15)


def test_nothing_goes_through_the_first():
    y = tg.sum(tg.surrogate(X * X, tg.sin(tg.stop_gradient(X)) + X))
    np.testing.assert_array_equal(tg.grad(y, X).eval({X: [3.0, 5.0]}), [1, 1])


def test_a_program_without_derivatives_does_not_compute_the_second():
    text = tg.to_text(FunctionGraph.of([X], [tg.surrogate(tg.sin(X), tg.exp(X))]).freeze())
    assert "sin" in text
    assert "exp" not in text


def test_a_loop_whose_derivative_is_not_asked_for_does_not_compute_the_second():
    total, _ = tg.scan(lambda c, v: (tg.surrogate(c + tg.sin(v), c + tg.exp(v)), None), 0.0, X)
    f = tg.function([X], total, backend="perform")
    assert "exp" not in tg.to_text(f.graph)
    slope = tg.function([X], tg.grad(total, X), backend="perform")
    np.testing.assert_allclose(slope([0.5, 1.0]), np.exp([0.5, 1.0]), rtol=1e-15)


def test_batches_have_the_derivatives_of_the_second():
    m = tg.matrix("m")
    y = tg.vmap(lambda v: tg.sum(tg.surrogate(tg.round(v), v * v)))(m)
    np.testing.assert_allclose(tg.grad(tg.sum(y), m).eval({m: [[1.5, 2.0], [0.25, 1.0]]}), [[3, 4], [0.5, 2]])
