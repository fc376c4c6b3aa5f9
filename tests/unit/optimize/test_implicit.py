"""Derivatives of solutions: closed forms, mpmath, JAX and torch through many steps, and the three laws."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import tg
from tg.errors import NotDifferentiable

BACKENDS = [one.name for one in tg.plugin.registry().backends() if one.is_available]


def computed(outputs: Any, *pairs: tuple[Any, Any], backend: str = "perform") -> Any:
    f = tg.function([v for v, _ in pairs], outputs, backend=backend, on_unused_input="ignore")
    return f(*(value for _, value in pairs))


def kepler(m: Any, e: Any) -> Any:
    return tg.optimize.root(lambda y: y - e * tg.sin(y) - m, m).x


def test_derivatives_of_a_root_are_mpmath_s_up_to_the_third():
    m, e = tg.scalar("m"), tg.scalar("e")
    y = kepler(m, e)
    forward = tg.jvp(y, e, 1.0)
    orders = [tg.grad(y, m), tg.grad(y, e), tg.grad(tg.grad(y, e), m), tg.jvp(tg.grad(y, m), e, 1.0)]
    orders += [tg.grad(forward, e), tg.jvp(forward, e, 1.0), tg.hessian(y, e), tg.grad(tg.hessian(y, e), e)]
    found = computed([y, *orders], (m, 1.0), (e, 0.6))
    with mpmath.workdps(40):

        def exact(m, e):
            return mpmath.findroot(lambda y: y - e * mpmath.sin(y) - m, m + e)

        at = (mpmath.mpf(1), mpmath.mpf("0.6"))
        kinds = [(0, 0), (1, 0), (0, 1), (1, 1), (1, 1), (0, 2), (0, 2), (0, 2), (0, 3)]
        wanted = [float(mpmath.diff(exact, at, kind)) if any(kind) else float(exact(*at)) for kind in kinds]
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_the_gradient_through_ridge_regression_is_that_of_its_closed_form():
    draw = np.random.default_rng(9)
    x, y, ahead, seen = draw.normal(size=(30, 4)), draw.normal(size=30), draw.normal(size=(10, 4)), draw.normal(size=10)
    penalty = tg.scalar("penalty")
    exact = tg.linalg.solve(x.T @ x + penalty * np.eye(4), x.T @ y)

    def cost(w):
        return tg.sum((x @ w - y) ** 2) + penalty * tg.sum(w**2)

    def error(w):
        return tg.sum((ahead @ w - seen) ** 2)

    for w in (
        *(tg.optimize.minimize(cost, np.zeros(4), method).x for method in ("BFGS", "L-BFGS", "Newton-CG")),
        tg.optimize.least_squares(lambda w: [x @ w - y, tg.sqrt(penalty) * w], np.zeros(4)).x,
    ):
        slopes = [[tg.grad(error(v), penalty), tg.hessian(error(v), penalty)] for v in (w, exact)]
        found, wanted = computed(slopes, (penalty, 2.0))
        np.testing.assert_allclose(found, wanted, rtol=1e-7)


def test_a_layer_in_equilibrium_has_the_gradient_of_many_steps_of_torch():
    torch = pytest.importorskip("torch")
    draw = np.random.default_rng(10)
    weights, inner, x = 0.4 * draw.normal(size=(6, 6)) / 6**0.5, draw.normal(size=(6, 3)), draw.normal(size=3)
    w, u = tg.shared(weights, "w"), tg.shared(inner, "u")
    z = tg.optimize.fixed_point(lambda z: tg.tanh(w @ z + u @ x), np.zeros(6), tol=1e-14).x
    found = computed([z, *tg.grad(tg.sum(z**2), [w, u])])
    v, t = torch.tensor(weights, requires_grad=True), torch.tensor(inner, requires_grad=True)
    state = torch.zeros(6, dtype=torch.float64)
    for _ in range(200):
        state = torch.tanh(v @ state + t @ torch.tensor(x))
    torch.sum(state**2).backward()
    for one, wanted in zip(found, (state.detach(), v.grad, t.grad), strict=True):
        np.testing.assert_allclose(one, wanted.numpy(), rtol=1e-12, atol=1e-14)


def test_both_modes_and_jacobians_agree():
    draw = np.random.default_rng(11)
    p = tg.vector("p", shape=(3,))
    matrix = draw.normal(size=(3, 3)) + 4 * np.eye(3)
    x = tg.optimize.root(lambda x: matrix @ x + tg.sin(x * p) - p**2, np.zeros(3)).x
    ways = [tg.jacobian(x, p, direction=direction) for direction in ("forward", "reverse")]
    found = computed([*ways, tg.jvp(x, p, np.ones(3)), tg.vjp(x, p, np.ones(3))], (p, draw.normal(size=3)))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[2], found[0] @ np.ones(3), rtol=1e-12)
    np.testing.assert_allclose(found[3], found[0].T @ np.ones(3), rtol=1e-12)


def test_the_value_of_a_minimum_changes_as_the_function_does_there():
    a, v = tg.scalar("a"), tg.vector("v", shape=(3,))
    found = tg.optimize.minimize(lambda x: tg.sum((x - v) ** 2 + a * x**4), np.zeros(3))
    slope, x = computed([tg.grad(found.fun, a), found.x], (a, 0.5), (v, [1.0, -2.0, 0.3]))
    assert slope == pytest.approx(np.sum(x**4), rel=1e-7)


def test_complex_parameters_have_the_gradient_of_the_closed_form():
    c = tg.vector("c", "complex128")
    square = tg.real(c * c) + tg.imag(c)
    y = tg.optimize.root(lambda x: x**3 - tg.real(c * c) - tg.imag(c), tg.ones_like(square)).x
    found, exact = computed([tg.grad(tg.sum(v), c) for v in (y, tg.cbrt(square))], (c, [2.0 + 1j, 1.5 - 0.5j]))
    np.testing.assert_allclose(found, exact, rtol=1e-12)


def test_the_start_has_the_derivative_0():
    start = tg.scalar("start")
    y = tg.optimize.root(lambda x: x**3 - 8, start).x
    assert computed([tg.grad(y, start), tg.jvp(y, start, 1.0)], (start, 1.5)) == [0, 0]


def test_intermediate_variables_that_depend_on_one_another_are_counted_once():
    a = tg.scalar("a")
    square = a**2
    y = tg.optimize.root(lambda x: x - a * square, 1.0).x  # a^3
    assert computed(tg.grad(y, a), (a, 2.0)) == pytest.approx(12, rel=1e-13)


def test_a_solution_that_was_not_found_has_no_derivative():
    a = tg.scalar("a")
    for found in (
        tg.optimize.root(lambda x: x**2 + a, 1.0),
        tg.optimize.minimize(lambda x: a * x**4, 1.0, maxiter=2),
        tg.optimize.fixed_point(lambda x: a * x + 1.0, 0.0, maxiter=2),
    ):
        assert np.isnan(computed([tg.grad(found.x, a), tg.jvp(found.x, a, 1.0)], (a, 1.0))).all()


def test_a_singular_jacobian_gives_no_derivative():
    a = tg.scalar("a")
    line = tg.optimize.root(lambda x: tg.stack([x[0] + x[1] - a, 2 * x[0] + 2 * x[1] - 2 * a]), np.zeros(2)).x
    flat = tg.optimize.minimize(lambda x: a * x**4, 0.0).x
    assert np.isnan(computed([*tg.jacobian(line, a), tg.grad(flat, a)], (a, 1.0))).all()


def test_a_branch_that_is_not_taken_gives_0():
    a = tg.scalar("a")
    none = tg.optimize.root(lambda x: x**2 + a, 1.0).x
    y = tg.where(a < 0, none, 7.0 * a)
    assert computed([tg.grad(y, a), tg.jvp(y, a, 1.0), tg.hessian(y, a)], (a, 1.0)) == [7, 7, 0]
    t = tg.vector("t")
    each = tg.vmap(lambda v: tg.optimize.root(lambda x: x**2 - v, 1.0))(t)
    total = tg.sum(tg.where(each.converged, each.x, 0.0))
    np.testing.assert_allclose(computed(tg.grad(total, t), (t, [4.0, -1.0])), [0.25, 0], rtol=1e-14)


def test_what_is_shared_by_a_batch_gets_the_sum():
    t, a = tg.vector("t"), tg.scalar("a")
    x = tg.vmap(lambda v: tg.optimize.minimize(lambda x: (x - v * a) ** 2, 0.0).x)(t)
    found = computed([tg.grad(tg.sum(x), a), tg.grad(tg.sum(x), t)], (t, [1.0, 2.0]), (a, 3.0), backend="c")
    assert found[0] == pytest.approx(3)
    np.testing.assert_allclose(found[1], [3, 3])


def test_a_function_with_loops_and_one_within_another():
    a, v = tg.scalar("a"), tg.vector("v")

    def looped(x):
        return tg.scan(lambda c, _: (tg.sin(c) + a * x, None), x, length=5)[0] - 2.0

    def step(c, t):
        x = tg.optimize.root(lambda x: x**3 + x - t * a - c, c).x
        return x, x

    inside = tg.optimize.root(looped, 0.3).x
    around = tg.scan(step, 0.5, v)[0]
    slopes = [d for y in (inside, around) for d in (tg.grad(y, a), tg.jvp(y, a, 1.0))]
    values = tg.function([a, v], [inside, around], backend="c")
    first, last = (np.array(values(0.5 + h, [1.0, 2.0, 3.0])) for h in (1e-5, -1e-5))
    found = np.array(computed(slopes, (a, 0.5), (v, [1.0, 2.0, 3.0]), backend="c")).reshape(2, 2)
    np.testing.assert_allclose(found, (first - last)[:, None].repeat(2, 1) / 2e-5, rtol=1e-8)


def test_functions_that_have_a_first_derivative_alone_are_minimized_and_solved():
    @tg.custom_vjp
    def cube(x):
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, d: (3 * x**2 * d,))
    slope = tg.wrap(lambda x: 4 * x**3, infer=lambda x: x)
    once = tg.wrap(lambda x: x**4, infer=lambda x: x, grad=lambda xs, ys, dys: (dys[0] * slope(xs[0]),))
    a, v = tg.scalar("a"), tg.vector("v")
    root = tg.optimize.root(lambda x: cube(x) - a, 1.0).x
    assert computed([root, tg.grad(root, a)], (a, 8.0)) == pytest.approx([2, 1 / 12])
    least = tg.optimize.minimize(lambda x: tg.sum(cube(x) * x - v * x), v, "L-BFGS").x  # 4 x^3 = v, by products
    found = computed([least, tg.jacobian(least, v, direction="reverse")], (v, [4.0, 32.0]))
    np.testing.assert_allclose(found[0], [1, 2], rtol=1e-7)
    np.testing.assert_allclose(found[1], np.diag([1 / 12, 1 / 48]), rtol=1e-6, atol=1e-12)
    fixed = tg.optimize.fixed_point(lambda x: x - (cube(x) - v) / 50, v, tol=1e-12).x
    slopes = tg.grad(tg.sum(fixed), v)
    np.testing.assert_allclose(computed(slopes, (v, [1.0, 8.0])), [1 / 3, 1 / 12], rtol=1e-6)
    with pytest.raises(NotDifferentiable, match="forward mode"):
        tg.grad(tg.sum(slopes), v)
    lowest = tg.optimize.minimize(lambda x: once(x) - a * x, 1.0).x
    assert computed(lowest, (a, 4.0)) == pytest.approx(1)
    with pytest.raises(NotDifferentiable, match="solution: its equation has no derivative"):
        tg.grad(lowest, a)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_has_the_same_solutions_and_gradients(backend):
    a, v = tg.scalar("a"), tg.vector("v", shape=(3,))

    def cost(x):
        return tg.sum((x - v) ** 4 / 4 + a * x**2 / 2)  # (v - x)^3 = a x

    found = [tg.optimize.minimize(cost, np.zeros(3), method, tol=1e-12) for method in ("BFGS", "L-BFGS", "Newton-CG")]
    found.append(tg.optimize.root(lambda x: (v - x) ** 3 - a * x, np.zeros(3)))
    found.append(tg.optimize.fixed_point(lambda x: x + 0.1 * ((v - x) ** 3 - a * x), np.zeros(3), tol=1e-14))
    fit = tg.optimize.least_squares(lambda x: tg.concatenate([x - v, tg.sqrt(a) * x]), np.zeros(3))  # v / (1 + a)
    outputs = [(s.x, tg.grad(tg.sum(s.x), a), s.converged) for s in (*found, fit)]
    pair = ((a, 2.0), (v, [0.5, 1.0, 2.0]))
    results = computed(outputs, *pair, backend=backend)
    x = np.array([np.roots([-1, 3 * n, -3 * n * n - 2, n**3]) for n in (0.5, 1.0, 2.0)])
    x = x[np.abs(x.imag) < 1e-9].real
    slope = np.sum(-x / (3 * (np.array([0.5, 1.0, 2.0]) - x) ** 2 + 2))
    for values, gradient, converged in results[:-1]:
        assert converged
        np.testing.assert_allclose(values, x, rtol=1e-10)
        np.testing.assert_allclose(gradient, slope, rtol=1e-9)
    np.testing.assert_allclose(results[-1][0], np.array([0.5, 1.0, 2.0]) / 3, rtol=1e-7)
    np.testing.assert_allclose(results[-1][1], -3.5 / 9, rtol=1e-7)


@pytest.mark.long
def test_derivatives_by_products_are_those_by_matrices(monkeypatch):
    draw = np.random.default_rng(12)
    a, v = tg.scalar("a"), tg.vector("v", shape=(4,))
    half = draw.normal(size=(4, 4))
    matrix, weights = half @ half.T + np.eye(4), 0.3 * draw.normal(size=(4, 4))

    def least(t):
        return tg.optimize.minimize(
            lambda x: 0.5 * x @ (matrix @ x) + t * tg.sum(x**4) - v @ x, np.zeros(4), "L-BFGS", tol=1e-13
        ).x

    def fixed(t):
        return tg.optimize.fixed_point(lambda z: tg.tanh(weights @ z * t + v), np.zeros(4), tol=1e-14).x

    def slopes():
        found = [
            [tg.jacobian(y, v), tg.hessian(tg.sum(y), a), tg.jvp(tg.sum(y**2), a, 1.0)] for y in (least(a), fixed(a))
        ]
        each = [tg.vmap(f)(v**2) for f in (least, fixed)]
        return [*found, [tg.jacobian(tg.sum(y**2, axis=1), v) for y in each]]

    pair = ((a, 0.7), (v, draw.normal(size=4)))
    wanted = computed(slopes(), *pair)
    monkeypatch.setattr(tg.optimize.solutions, "FEW", 0)
    for one, exact in zip(tg.tree.leaves(computed(slopes(), *pair)), tg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, exact, rtol=1e-10, atol=1e-12)


def test_a_system_without_a_solution_has_none_by_products(monkeypatch):
    monkeypatch.setattr(tg.optimize.solutions, "FEW", 0)
    a = tg.scalar("a")
    flat = tg.optimize.minimize(lambda x: tg.sum((x[0] + x[1] - a) ** 2), np.zeros(2), "L-BFGS").x
    assert np.isnan(computed(tg.grad(flat[0], a, disconnected="zero"), (a, 1.0)))
    none = tg.optimize.fixed_point(lambda x: a * x**2 + x, 0.0).x
    assert np.isnan(computed(tg.grad(none, a), (a, 1.0)))
