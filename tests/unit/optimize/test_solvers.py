"""Solvers: published minima, SciPy beside them, what does not converge, structures, batches and mistakes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

import tg
from tests.unit.optimize.problems import PROBLEMS
from tg.errors import DtypeError, InputError, OptionError, ShapeError

METHODS = ("BFGS", "L-BFGS", "Newton-CG")


def computed(outputs: Any, *pairs: tuple[Any, Any], backend: str = "perform") -> Any:
    return tg.function([v for v, _ in pairs], outputs, backend=backend)(*(value for _, value in pairs))


def joined(residuals: Any) -> Any:
    return tg.stack(residuals) if residuals[0].type.ndim == 0 else tg.concatenate(residuals)


def squares(residuals: Any) -> Any:
    return tg.sum(tg.square(joined(residuals) if isinstance(residuals, list) else residuals))


def is_least(value: float, least: tuple[float, ...]) -> bool:
    return any(np.isclose(value, one, rtol=2e-6, atol=1e-8) for one in least)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
@pytest.mark.parametrize("method", METHODS)
def test_minimize_finds_the_published_minima(problem, method):
    found = tg.optimize.minimize(lambda x: squares(problem.residuals(x)), np.array(problem.start, float), method)
    found = computed(found)
    assert found.converged
    assert is_least(found.fun, problem.least)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.name)
def test_least_squares_finds_the_published_minima(problem):
    found = computed(tg.optimize.least_squares(problem.residuals, np.array(problem.start, float)))
    assert found.converged
    assert is_least(sum(np.sum(np.square(r)) for r in tg.tree.leaves(found.fun)), problem.least)


@pytest.mark.parametrize("method", METHODS)
def test_a_hundred_unknowns_take_about_as_many_steps_as_scipy_s(method):
    def cost(x):
        return tg.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    start = np.tile([-1.2, 1.0], 50)
    found = computed(tg.optimize.minimize(cost, start, method, tol=1e-6), backend="c")
    assert found.converged
    np.testing.assert_allclose(found.x, 1, atol=1e-5)
    if method != "Newton-CG":  # SciPy's does not converge here
        given = {"jac": scipy.optimize.rosen_der, "method": {"L-BFGS": "L-BFGS-B"}.get(method, method)}
        wanted = scipy.optimize.minimize(scipy.optimize.rosen, start, **given, options={"gtol": 1e-6})
        assert found.evaluations < 1.3 * wanted.nfev


def test_logistic_regression_is_scipy_s():
    draw = np.random.default_rng(5)
    x = draw.normal(size=(200, 6))
    y = (x @ draw.normal(size=6) + draw.logistic(size=200) > 0).astype(float)

    def cost(library, softplus, w):
        return library.sum(softplus(x @ w) - y * (x @ w)) + 0.5 * library.sum(w**2)

    wanted = scipy.optimize.minimize(lambda w: cost(np, lambda z: np.logaddexp(0, z), w), np.zeros(6), tol=1e-9).x
    for method in METHODS:
        found = computed(tg.optimize.minimize(lambda w: cost(tg, tg.softplus, w), np.zeros(6), method))
        np.testing.assert_allclose(found.x, wanted, atol=1e-5)


def test_roots_are_scipy_s():
    def equations(m, x):
        return m.stack([m.exp(x[0]) * x[1] - 2 + x[2], x[0] ** 2 - x[1] + 0.1 * m.sin(x[2]), x[2] ** 3 + x[0] - 1])

    found = computed(tg.optimize.root(lambda x: equations(tg, x), np.ones(3)))
    wanted = scipy.optimize.root(lambda x: equations(np, x), np.ones(3), tol=1e-14)
    assert found.converged
    assert found.optimality < 1e-14
    np.testing.assert_allclose(found.x, wanted.x, rtol=1e-13)


def test_a_step_of_newton_s_that_is_too_long_is_cut():
    found = computed(tg.optimize.root(tg.arctan, 3.0))  # whole steps go to infinity
    assert found.converged
    assert abs(found.x) < 1e-15


@pytest.mark.parametrize("depth", [0, 1, 5])
def test_fixed_points_are_scipy_s(depth):
    matrix = 0.5 * np.random.default_rng(6).normal(size=(8, 8)) / np.sqrt(8)
    found = computed(tg.optimize.fixed_point(lambda x: tg.cos(matrix @ x), np.zeros(8), depth=depth))
    wanted = scipy.optimize.fixed_point(lambda x: np.cos(matrix @ x), np.zeros(8), xtol=1e-14)
    assert found.converged
    np.testing.assert_allclose(found.x, wanted, atol=1e-7)


def test_mixing_takes_fewer_steps():
    slow = [
        computed(tg.optimize.fixed_point(lambda x: 0.9 * x + 0.1 * tg.cos(x), 0.0, depth=depth)) for depth in (0, 5)
    ]
    assert all(s.converged for s in slow)
    assert slow[1].steps * 3 < slow[0].steps


def test_a_fit_of_a_curve_and_its_covariance_are_scipy_s():
    draw = np.random.default_rng(7)
    t = np.linspace(0, 4, 50)

    def curve(m, t, a, k, c):
        return a * m.exp(-k * t) + c

    y = curve(np, t, 2.5, 1.3, 0.5) + 0.05 * draw.normal(size=50)
    found = tg.optimize.least_squares(lambda p: curve(tg, t, p[0], p[1], p[2]) - y, np.ones(3))
    slopes = tg.jacobian(found.fun, found.x)
    variance = tg.sum(found.fun**2) / (50 - 3)
    x, covariance = computed([found.x, tg.linalg.inv(slopes.T @ slopes) * variance])
    wanted, spread = scipy.optimize.curve_fit(lambda t, *p: curve(np, t, *p), t, y, np.ones(3))
    np.testing.assert_allclose(x, wanted, rtol=1e-6)
    np.testing.assert_allclose(covariance, spread, rtol=1e-5)


def test_x0_may_be_any_structure_with_integers_in_it():
    start = {"w": np.zeros((2, 2), "float32"), "b": (0, np.float32(0))}
    found = tg.optimize.minimize(
        lambda p: tg.sum((p["w"] - np.arange(4.0).reshape(2, 2)) ** 2) + (p["b"][0] - 2) ** 2 + p["b"][1] ** 2, start
    )
    assert found.x["w"].type == tg.TensorType("float32", (2, 2))
    x = computed(found.x)
    np.testing.assert_allclose(x["w"], np.arange(4.0).reshape(2, 2), atol=1e-5)
    np.testing.assert_allclose(x["b"], (2, 0), atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_narrow_floats_converge_as_far_as_they_go(dtype):
    x0 = np.zeros(3, dtype)
    for found in (
        tg.optimize.minimize(lambda x: tg.sum((x - 1) ** 2 + x**4), x0),
        tg.optimize.least_squares(lambda x: x**2 + x - 1, x0),
        tg.optimize.root(lambda x: x**2 + x - 1, x0),
        tg.optimize.fixed_point(lambda x: tg.cos(x), x0),
    ):
        assert found.x.type.dtype == dtype
        assert computed(found).converged


def test_no_solution_is_told_and_raises_nothing():
    for found in (
        tg.optimize.root(lambda x: x**2 + 1, 1.0),
        tg.optimize.minimize(lambda x: x, 0.0, maxiter=9),
        tg.optimize.minimize(lambda x: tg.sum(tg.log(x) - x), np.array([-1.0, 2.0])),  # NaN at the start
        tg.optimize.minimize(lambda x: tg.sum(x**4), np.ones(2), maxiter=3),
        tg.optimize.fixed_point(lambda x: x**2 + x + 1, 1.0),
        tg.optimize.least_squares(lambda x: tg.log(x), -1.0),
    ):
        result = computed(found)
        assert not result.converged
        assert result.steps <= 500


def test_limits_may_be_variables():
    tol, most = tg.scalar("tol"), tg.scalar("most", "int64")
    found = tg.optimize.minimize(lambda x: tg.sum(x**4), np.ones(2), tol=tol, maxiter=most)
    f = tg.function([tol, most], [found.steps, found.converged])
    assert f(1e-12, 3)[0] == 3
    assert not f(1e-12, 3)[1]
    assert f(1e-1, 100)[1]


def test_each_element_of_a_batch_ends_by_itself():
    t = tg.vector("t")
    found = tg.vmap(lambda a: tg.optimize.root(lambda x: x**2 - a, 1.0))(t)
    x, converged, steps = computed([found.x, found.converged, found.steps], (t, [4.0, -1.0, 1.0]))
    assert converged.tolist() == [True, False, True]
    np.testing.assert_allclose(x[[0, 2]], [2, 1], rtol=1e-15)
    assert steps[2] < steps[0]


def test_starts_may_be_a_batch():
    starts = np.random.default_rng(8).normal(size=(5, 3))
    found = tg.vmap(lambda x0: tg.optimize.minimize(lambda x: tg.sum((x - 1) ** 4 + (x - 1) ** 2), x0, "L-BFGS").x)
    np.testing.assert_allclose(computed(found(starts), backend="c"), 1, atol=1e-7)


def test_lengths_may_be_known_when_the_program_runs_alone():
    v = tg.vector("v")
    for method in METHODS:
        f = tg.function(
            [v], tg.optimize.minimize(lambda x: tg.sum((x - v) ** 2 + x**4), v, method).x, backend="perform"
        )
        for n in (0, 1, 4):
            x = f(np.arange(1.0, n + 1))
            np.testing.assert_allclose(2 * (x - np.arange(1.0, n + 1)) + 4 * x**3, 0, atol=1e-7)


def has_square(graph):
    """Whether a value of a graph, or of one within, has two axes of 997."""
    own = any(t.shape[-2:] == (997, 997) for t in graph.types)
    return own or any(has_square(inner) for node in graph.nodes for inner in node.op.inner_graphs())


@pytest.mark.long
def test_nothing_of_n_by_n_is_made_of_many_unknowns_with_derivatives_too():
    a = tg.scalar("a")

    def cost(x):
        return tg.sum((x - a) ** 4 + x**2)

    found = [tg.optimize.minimize(cost, np.zeros(997), method) for method in METHODS]
    found.append(tg.optimize.fixed_point(lambda x: tg.cos(a * x), np.zeros(997)))
    results = [has_square(tg.function([a], s, backend="perform").graph) for s in found]
    assert results == [True, False, False, False]
    slopes = [tg.function([a], tg.hessian(tg.sum(s.x), a), backend="perform") for s in found]
    assert [has_square(f.graph) for f in slopes] == results
    np.testing.assert_allclose([f(1.0) for f in slopes[:3]], slopes[0](1.0), rtol=1e-6)


def test_mistakes_are_told():
    x0 = np.zeros(2)
    for mistake, error, text in (
        (lambda: tg.optimize.minimize(lambda x: x, x0), InputError, r"f gave float64\[2\], needed a real scalar"),
        (lambda: tg.optimize.minimize(tg.sum, x0, "SLSQP"), OptionError, "needed one of BFGS, L-BFGS, Newton-CG"),
        (lambda: tg.optimize.minimize(tg.sum, x0, tol=0), InputError, "tol: found 0, needed a positive number"),
        (lambda: tg.optimize.minimize(tg.sum, x0, maxiter=-1), InputError, "maxiter: found -1, needed an integer"),
        (lambda: tg.optimize.minimize(tg.sum, x0, memory=0), InputError, "memory: found 0, needed a positive integer"),
        (lambda: tg.optimize.minimize(tg.sum(x0), x0), InputError, "f: found .*, needed a function"),
        (lambda: tg.optimize.minimize(tg.sum, {}), InputError, "x0: found no arrays"),
        (lambda: tg.optimize.root(lambda x: x[:1], x0), ShapeError, r"found float64\[1\], needed the shape of float64"),
        (lambda: tg.optimize.root(lambda x: {"a": x}, x0), InputError, "root: f"),
        (lambda: tg.optimize.root(lambda x: x, 1j * x0), DtypeError, "found complex128.*needed real numbers"),
        (lambda: tg.optimize.root(lambda x: x, 1j), DtypeError, r"found complex128\[\], needed real numbers"),
        (lambda: tg.optimize.root(lambda x: None, x0), InputError, "root: f: found None, needed an array"),
        (lambda: tg.optimize.minimize(lambda x: None, x0), InputError, "minimize: f: found None, needed an array"),
        (lambda: tg.optimize.least_squares(lambda x: None, x0), InputError, "squares: f: found None, needed an array"),
        (lambda: tg.optimize.fixed_point(lambda x: x, x0, depth=-1), InputError, "depth: found -1"),
        (lambda: tg.optimize.least_squares(lambda x: 1j * x, x0), DtypeError, "needed real numbers"),
    ):
        with pytest.raises(error, match=text):
            mistake()
