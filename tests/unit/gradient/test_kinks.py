"""Derivatives at kinks: what is smooth has its limit, and a convention is one answer in every mode."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest

import tg

SPREAD = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])


def hessians_of(cost, x, at):
    """The second derivatives by a vector at a point, in the four orders of the two modes."""
    u, v = tg.vector("u"), tg.vector("v")
    slope, pushed = tg.grad(cost, x), tg.jvp(cost, x, u)
    by_rows = tg.function([x, u], [tg.vjp(slope, x, u), tg.jvp(slope, x, u), tg.grad(pushed, x)], backend="perform")
    twice = tg.function([x, u, v], tg.jvp(pushed, x, v), backend="perform")
    units = np.eye(len(at))
    rows = [by_rows(at, a) for a in units]
    return [
        *(np.array([row[k] for row in rows]) for k in range(3)),
        np.array([[twice(at, a, b) for b in units] for a in units]),
    ]


def norm_slopes(x, p):
    """The gradient and the Hessian of sum(|x|**p)**(1/p), p >= 2, away from the origin."""
    length = np.sum(np.abs(x) ** p) ** (1 / p)
    slope = np.sign(x) * (np.abs(x) / length) ** (p - 1)
    return slope, (p - 1) / length * (np.diag((np.abs(x) / length) ** (p - 2)) - np.outer(slope, slope))


@pytest.mark.parametrize("p", [2.5, 3, 4, 5, 7.25])
@pytest.mark.parametrize("at", [(0.0, 1.0, -2.0), (0.0, 0.0, 2.0), (0.5, -0.0, -1.5)])
def test_a_norm_is_smooth_where_single_elements_are_0(p, at):
    x, at = tg.vector("x"), np.array(at)
    cost = tg.norm(x, p)
    slope, want = norm_slopes(at, p)
    np.testing.assert_allclose(tg.grad(cost, x).eval({x: at}), slope, rtol=1e-14, atol=1e-15)
    for hessian in hessians_of(cost, x, at):
        np.testing.assert_allclose(hessian, want, rtol=1e-13, atol=1e-14)


def test_a_norm_has_no_second_derivative_at_the_origin():
    x = tg.vector("x")
    np.testing.assert_array_equal(tg.grad(tg.norm(x, 3), x).eval({x: np.zeros(2)}), 0)
    for hessian in hessians_of(tg.norm(x, 3), x, np.zeros(2)):
        assert np.isnan(hessian).all()


@pytest.mark.parametrize(
    ("function", "want"),
    [
        (lambda x: tg.abs(x) ** 3, (0, 0, 0)),
        (lambda x: tg.abs(x) ** 3.5, (0, 0, 0)),
        (lambda x: (x**2) ** 1.5, (0, 0, 0)),
        (lambda x: tg.abs(x) ** 1.0, (0, 0)),
        (lambda x: x * tg.abs(x), (0, 0)),
        (lambda x: tg.exp(x) * tg.abs(x), (0, 0)),
        (lambda x: tg.exp(-tg.abs(x)), (0, np.nan)),
        (lambda x: 1 - tg.abs(1 - tg.cos(x)), (0, np.nan)),
        (lambda x: tg.abs(tg.abs(x) + 2 * x), (0, 0)),
    ],
)
def test_derivatives_of_powers_and_products_of_absolute_values_at_0(function, want):
    x, t = tg.scalar("x"), tg.scalar("t")
    for modes in itertools.product((tg.grad, lambda y, x: tg.jvp(y, x, t)), repeat=len(want)):
        slope = function(x)
        for mode, value in zip(modes, want, strict=True):
            slope = mode(slope, x)
            got = tg.function([x, t], slope, backend="perform", on_unused_input="ignore")(0.0, 1.0)
            np.testing.assert_array_equal(got, value)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tg.prod(tg.abs(x)),
        lambda x: tg.cumprod(tg.abs(x))[-1],
        lambda x: tg.prod(tg.map(tg.abs, x)),
        lambda x: tg.scan(lambda c, v: (c * tg.abs(v), None), 1.0, x)[0],
    ],
)
def test_a_product_of_absolute_values_has_one_second_derivative_where_one_is_0(function):
    x = tg.vector("x")
    for hessian in hessians_of(function(x), x, np.array([0.0, 1.0, -2.0])):  # [0, 1] is between -2 and 2
        np.testing.assert_array_equal(hessian, 0)
    for hessian in hessians_of(function(x), x, np.array([0.0, 0.0, 2.0])):  # of both signs, where 2 are 0
        assert np.isnan(hessian[[0, 1], [1, 0]]).all()
        np.testing.assert_array_equal(hessian[2], 0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[2] * tg.norm(x[:2], 1),
        lambda x: x[2] * tg.sum(tg.abs(tg.cumsum(x[:2]))),
        lambda x: tg.cond(x[2] > 0, lambda: x[2] * tg.abs(x[0]), lambda: x[1]),
        lambda x: x[2] * tg.scan(lambda c, v: (c + tg.abs(v), None), 0.0, x[:2])[0],
        lambda x: tg.scan(lambda c, v: (c + x[2] * tg.abs(v), None), 0.0, x[:2])[0],
    ],
)
def test_a_weight_of_absolute_values_has_second_derivatives_with_what_they_are_of(function):
    x = tg.vector("x")
    for hessian in hessians_of(function(x), x, np.array([0.0, 0.0, 2.0])):
        np.testing.assert_array_equal(hessian, 0)


@pytest.mark.parametrize("weighted", [lambda m, y: m @ y, tg.linalg.solve])
def test_matrices_between_conventions_give_nan_where_both_are(weighted):
    x, at = tg.vector("x"), np.array([0.0, 1.0, -2.0])
    size = tg.abs(x)
    half = (SPREAD + SPREAD.T) / 2 if weighted is not tg.linalg.solve else np.linalg.inv(SPREAD)
    want = 2 * half * np.outer(np.sign(at), np.sign(at))  # of [0, k] any number between two signs
    want[0, 0] = np.nan
    for hessian in hessians_of(tg.dot(size, weighted(tg.constant(SPREAD), size)), x, at):
        np.testing.assert_allclose(hessian, want, rtol=1e-14, atol=1e-15)


def test_the_slope_of_the_inside_of_a_kink_has_no_second_derivative_beside_it():
    m, x = tg.matrix("m"), tg.vector("x")
    cost = tg.sum(tg.abs(m @ x))
    mixed = tg.grad(tg.sum(tg.grad(cost, x)), m), tg.jvp(tg.grad(cost, x), m, tg.ones_like(m))
    at = np.array([[1.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0])
    by_rows, along = tg.function([m, x], mixed, backend="perform")(*at)
    np.testing.assert_array_equal(np.isnan(by_rows), [[True, True], [False, False]])
    assert np.isnan(along).all()


def in_two(product):
    """The function of a vector that is a matrix and a vector."""
    return lambda x: product(x[:4].reshape((2, 2)), x[4:])


@pytest.mark.parametrize(
    "product",
    [
        lambda m, z: m @ z,
        lambda m, z: z @ m.T,
        lambda m, z: tg.einsum("ij,j->i", m, z),
        lambda m, z: tg.map(lambda row: tg.dot(row, z), m),
        lambda m, z: tg.map(lambda row: tg.sum(row * z), m),
        lambda m, z: tg.stack([tg.dot(m[0], z), tg.dot(m[1], z)]),
        lambda m, z: tg.cumsum(m @ z)[1:] - m[0] @ z,
    ],
)
def test_a_product_behind_a_kink_has_derivatives_with_what_does_not_meet_in_it(product):
    x, at = tg.tensor("x", "float64", shape=(6,)), np.array([1.0, 2.0, 3.0, 4.0, 0.0, 0.0])
    cost = in_two(lambda m, z: tg.sum(tg.abs(product(m, z))))(x)
    np.testing.assert_array_equal(tg.grad(cost, x).eval({x: at}), 0)
    jacobians = [tg.jacobian(tg.grad(cost, x), x, direction=d).eval({x: at}) for d in ("reverse", "forward")]
    first, *others = [*hessians_of(cost, x, at), *jacobians]
    column = np.array([0, 1, 0, 1, 0, 1])
    meets = (column[:, None] == column) & (np.arange(6)[:, None] // 4 != np.arange(6) // 4)
    np.testing.assert_array_equal(first[~meets], 0)  # an element of m with another element of z than its own
    for hessian in others:
        np.testing.assert_array_equal(hessian, first)


@pytest.mark.parametrize(
    "product",
    [
        tg.linalg.solve,
        lambda m, z: tg.linalg.inv(m) @ z,
        lambda m, z: tg.nn.conv1d(m.reshape((1, 1, 4)), z.reshape((1, 1, 2))),
    ],
)
def test_modes_agree_at_kinks_behind_ops_that_mix_elements(product):
    x, at = tg.tensor("x", "float64", shape=(6,)), np.array([1.0, 2.0, 3.0, 4.0, 0.0, 0.0])
    cost = in_two(lambda m, z: tg.sum(tg.abs(product(m, z))))(x)
    first, *others = hessians_of(cost, x, at)
    np.testing.assert_array_equal(first[4:, 4:], 0)
    for hessian in others:
        np.testing.assert_array_equal(hessian, first)


MATERN = {  # of the distance r of points that are 1 apart in scale: the kernel, and its curvature at equal points
    "three halves": (lambda r: (1 + 3**0.5 * r) * tg.exp(-(3**0.5) * r), -3.0),
    "five halves": (lambda r: (1 + 5**0.5 * r + 5 / 3 * r**2) * tg.exp(-(5**0.5) * r), -5 / 3),
    "in steps": (lambda r: tg.exp(-(r / 0.5)) * (4.0 * (1 + r / 0.5 + (r / 0.5) ** 2 / 3)), -16 / 3),
    "cube": (lambda r: r**3, 0.0),
    "power": (lambda r: r**2.5, 0.0),
}


@pytest.mark.parametrize("name", MATERN)
@pytest.mark.parametrize(
    "distance",
    [
        tg.norm,
        lambda x: tg.sqrt(tg.sum(x**2)),
        lambda x: tg.sqrt(x @ x),
        lambda x: tg.hypot(x[0], x[1]),
        lambda x: tg.norm(tg.abs(x)),
    ],
)
def test_smooth_functions_of_a_distance_have_second_derivatives_at_equal_points(name, distance):
    x = tg.vector("x", shape=(2,))
    kernel, curvature = MATERN[name]
    for hessian in hessians_of(kernel(distance(x)), x, np.zeros(2)):
        np.testing.assert_allclose(hessian, curvature * np.eye(2), rtol=1e-14)
    at, step = np.array([0.3, -0.4]), 1e-5  # differences of gradients, which are other formulas away from 0
    slope = tg.function([x], tg.grad(kernel(distance(x)), x), backend="perform")
    rows = [(slope(at + e) - slope(at - e)) / (2 * step) for e in step * np.eye(2)]
    for hessian in hessians_of(kernel(distance(x)), x, at):
        np.testing.assert_allclose(hessian, rows, rtol=1e-8, atol=1e-9)


def test_the_square_of_a_root_has_the_slope_of_what_is_below_it_and_nan_below_0():
    x = tg.vector("x")
    at = {x: np.array([0.0, 4.0, -1.0])}
    for square in (tg.sqrt(x) ** 2, tg.square(tg.sqrt(x)), tg.sqrt(x) * tg.sqrt(x)):
        np.testing.assert_array_equal(tg.grad(tg.sum(square), x).eval(at), [1, 1, np.nan])
    np.testing.assert_array_equal(tg.grad(tg.sum(3 * tg.sqrt(x)), x).eval(at), [np.inf, 0.75, np.nan])
    np.testing.assert_array_equal(tg.grad(tg.sum(tg.cbrt(x) ** 3), x).eval(at), 1)
    np.testing.assert_allclose(tg.grad(tg.sum(tg.sqrt(x**3)), x).eval(at), [0, 3, np.nan], rtol=1e-15)


def test_powers_of_norms_and_of_reciprocals_have_their_slopes_at_the_ends():
    x = tg.vector("x")
    for hessian in hessians_of(tg.norm(x, 4) ** 4, x, np.array([0.0, 0.5])):
        np.testing.assert_allclose(hessian, np.diag([0.0, 3.0]), rtol=1e-14)
    for hessian in hessians_of(tg.norm(x, 3) ** 3, x, np.zeros(2)):
        np.testing.assert_array_equal(hessian, 0)
    np.testing.assert_allclose(tg.grad(tg.sum((1 / x) ** -0.5), x).eval({x: np.array([1e200])}), 5e-101, rtol=1e-15)


def test_a_share_has_a_slope_by_a_weight_of_0():
    x = tg.vector("x")
    w, p, ratio = 0.5, (0.25, -1.0), np.exp(1.25)
    at = np.array([0.0, w, *p])
    share = tg.softmax(tg.log(x[:2]) + x[2:])[0]  # q / (1 + q), where q = x0 / x1 * exp(x2 - x3)
    np.testing.assert_allclose(tg.grad(share, x).eval({x: at}), [ratio / w, 0, 0, 0], rtol=1e-14)
    want = np.zeros((4, 4))
    want[0] = want[:, 0] = -2 * (ratio / w) ** 2, -ratio / w**2, ratio / w, -ratio / w
    for hessian in hessians_of(share, x, at):
        np.testing.assert_allclose(hessian, want, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(tg.grad(tg.logsumexp(tg.log(x[:2])), x).eval({x: at}), [2, 2, 0, 0], rtol=1e-15)


@pytest.mark.parametrize(
    "density", [lambda s: tg.exp(-(s**2) / 2), lambda s: tg.exp(-0.5 * tg.square(s)), lambda s: tg.exp(-0.5 * s * s)]
)
def test_the_ratio_of_a_density_and_a_tail_has_its_derivatives_far_out(density):
    mpmath.mp.dps = 40
    s, t = tg.scalar("s"), tg.scalar("t")
    ratio = lambda v: mpmath.exp(-v * v / 2) / mpmath.ncdf(-v)  # noqa: E731
    for at in (1.0, 20.0, 38.0, 300.0):
        values = [mpmath.diff(ratio, at, order) for order in (1, 2)]
        cost = density(s) / tg.special.ndtr(-s)
        for first in (tg.grad(cost, s), tg.jvp(cost, s, t)):
            second = [tg.grad(first, s), tg.jvp(first, s, t)]
            got = tg.function([s, t], [first, *second], backend="perform", on_unused_input="ignore")(at, 1.0)
            np.testing.assert_allclose(got, np.array([values[0], values[1], values[1]], float), rtol=1e-9)


@pytest.mark.parametrize("x", [[0.0, 3.0, 4.0], [0.0, 0.0, 4.0], [2.0, 0.0, 0.0]])
def test_a_slope_that_is_nan_is_no_zero_behind_zeros_of_a_running_product(x):
    v, w = tg.vector("v"), tg.vector("w")
    slope = tg.grad(tg.sum(w * tg.cumprod(v)), v)
    both = tg.function([v, w], [slope, tg.jvp(tg.sum(w * tg.cumprod(v)), [v], [tg.ones(3)])])
    for weights in ([1.0, 2.0, 3.0], [1.0, 2.0, np.nan]):
        down, along = both(np.array(x), np.array(weights))
        np.testing.assert_array_equal(down.sum(), along)
    assert np.isnan(down).all()
