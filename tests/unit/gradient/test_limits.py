"""Derivatives where the formula that is right elsewhere gives NaN or has lost its digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import tg


@pytest.mark.parametrize(
    ("at", "want"),
    [((-np.inf, -np.inf), (0.0, 0.0)), ((np.inf, 0.0), (1.0, 0.0)), ((-np.inf, 1.0), (0.0, 1.0))],
)
def test_logaddexp_at_infinities(at, want):
    x, y = tg.scalar("x"), tg.scalar("y")
    got = tg.function([x, y], tg.grad(tg.logaddexp(x, y), [x, y]), backend="perform")(*at)
    assert tuple(map(float, got)) == want


def test_sinc_has_its_second_derivative_at_0():
    x = tg.scalar("x")
    first = tg.grad(tg.sinc(x), x)
    assert float(tg.grad(first, x).eval({x: 0.0})) == -(np.pi**2) / 3


@pytest.mark.parametrize("at", [1e-9, 1e-5, 0.00999, 0.01001, 0.3])
def test_the_derivative_of_sinc_keeps_its_digits_near_0(at):
    x = tg.scalar("x")
    terms = [
        (-1) ** k * np.pi ** (2 * k) * 2 * k * at ** (2 * k - 1) / float(_factorial(2 * k + 1)) for k in range(1, 9)
    ]
    np.testing.assert_allclose(tg.grad(tg.sinc(x), x).eval({x: at}), sum(terms), rtol=1e-11)


@pytest.mark.parametrize("mode", ["default", "strict", "off"])
def test_a_kink_is_0_and_its_derivative_nan(mode):
    x = tg.vector("x")
    slope = tg.where(tg.equal(x, 0), tg.kink(x), tg.sqrt(x))
    f = tg.function([x], [slope, tg.grad(tg.sum(slope), x)], backend="perform", mode=mode)
    for got, want in zip(f(np.array([0.0, 4.0])), ([0.0, 2.0], [np.nan, 0.25]), strict=True):
        np.testing.assert_array_equal(got, want)
    assert all(value == 0 for value in tg.function([x], tg.kink(x), mode=mode)([np.nan, np.inf, 0.0, 1.0]))


@pytest.mark.parametrize("mode", ["default", "strict", "off"])
def test_the_two_orders_of_the_mixed_derivative_of_a_power_agree(mode):
    x, y = tg.vector("x"), tg.vector("y")
    with tg.config(mode=mode):
        by_x, by_y = tg.grad(tg.sum(x**y), [x, y])
        mixed = tg.grad(tg.sum(by_x), y), tg.grad(tg.sum(by_y), x)
    at = np.array([2.0, 2.0, 3.0, 0.0, 0.0, 0.0]), np.array([0.0, 1.0, 2.5, 3.0, 1.0, 0.0])
    base, exponent = at[0][:3], at[1][:3]
    right = base ** (exponent - 1) * (1 + exponent * np.log(base))
    want = [*right, 0, np.nan, np.nan]  # 0**y jumps at y = 0: of y = 1 and 0 there is none
    for got in tg.function([x, y], mixed, backend="perform", mode=mode)(*at):
        np.testing.assert_allclose(got, want, rtol=1e-14)


@pytest.mark.parametrize("mode", ["default", "strict", "off"])
@pytest.mark.parametrize(
    ("function", "first"),
    [
        (tg.hypot, (0.0, 0.0)),
        (tg.arctan2, (0.0, 0.0)),
        (lambda x, y: tg.xlogy(x, y), (-np.inf, 0.0)),
        (lambda x, y: tg.norm(tg.stack([x, y]), 3), (0.0, 0.0)),
    ],
)
def test_a_convention_at_the_origin_has_no_second_derivative(mode, function, first):
    x, y = tg.scalar("x"), tg.scalar("y")
    with tg.config(mode=mode):
        slopes = tg.grad(function(x, y), [x, y])
        second = tg.grad(slopes[1], x)
    got = tg.function([x, y], [*slopes, second], backend="perform", mode=mode)(0.0, 0.0)
    assert tuple(map(float, got[:2])) == first
    assert not np.isfinite(got[2])


def _every_second(cost, x):
    """The second derivative by x in the four orders of the two modes."""
    u = tg.scalar("u")
    slope, pushed = tg.grad(cost, x), tg.jvp(cost, x, u)
    second = [tg.vjp(slope, x, u), tg.jvp(slope, x, u), tg.grad(pushed, x), tg.jvp(pushed, x, u)]
    return tg.function([x, u], second, backend="perform")


@pytest.mark.parametrize(
    ("function", "want", "size"),
    [
        (lambda s: tg.log(tg.exp(2 * s) - tg.exp(s) + 1), -mpmath.exp(-300), 4),
        (lambda s: tg.log(1 / (tg.exp(2 * s) + s)), -4 * 299 * mpmath.exp(-600), 4),
        (lambda s: tg.log(s**3 / (tg.exp(2 * s) + s)), mpmath.mpf(-3) / 300**2, 4),
        (lambda s: tg.log(tg.reciprocal(tg.exp(2 * s) + s)), -4 * 299 * mpmath.exp(-600), 4),
        (lambda s: tg.log((tg.exp(2 * s) - tg.exp(s) + 1) ** -0.7), mpmath.mpf("0.7") * mpmath.exp(-300), 4),
    ],
)
def test_second_derivatives_where_the_square_of_a_divisor_is_out_of_range(function, want, size):
    s = tg.scalar("s")
    got = _every_second(function(s), s)(300.0, 1.0)
    np.testing.assert_allclose(got, float(want), atol=4e-16 * size, rtol=1e-9)


def _hessians(cost, x):
    """The second derivatives by a vector x in the four orders of the two modes."""
    u, v = tg.vector("u"), tg.vector("v")
    slope, pushed = tg.grad(cost, x), tg.jvp(cost, x, u)
    second = [tg.vjp(slope, x, u), tg.jvp(slope, x, u), tg.grad(pushed, x), tg.jvp(pushed, x, v)]
    f = tg.function([x, u, v], second, backend="perform")

    def hessians(at):
        units = np.eye(len(at))
        rows = [f(at, a, units[0])[:3] for a in units]
        by_elements = [[f(at, a, b)[3] for b in units] for a in units]
        return [*(np.array([row[k] for row in rows]) for k in range(3)), np.array(by_elements)]

    return hessians


@pytest.mark.parametrize(
    "function",
    [
        lambda x: tg.log(tg.sum(tg.exp(tg.minimum(tg.map(tg.abs, x), 1.0)))),
        lambda x: tg.exp(tg.cond(x[1] > 0, lambda: tg.abs(x[0]), lambda: x[1])),
        lambda x: tg.exp(tg.checkpoint(tg.abs)(x[0])) * x[1],
        lambda x: tg.exp(tg.scan(lambda c, v: (c + tg.abs(v), None), 0.0, x)[0]),
        lambda x: tg.exp(tg.scan(lambda c, v: (tg.exp(c) * tg.abs(v), None), 0.3, x[::-1])[0]),
        lambda x: tg.exp(
            tg.while_loop(lambda c: c[1] < 2, lambda c: (c[0] + tg.abs(x[c[1]]), c[1] + 1), (0.0, 0), max_steps=3)[0]
        ),
    ],
)
def test_what_depends_on_a_kink_inside_of_a_graph_has_no_second_derivative(function):
    x = tg.vector("x")
    for hessian in _hessians(function(x), x)(np.array([0.0, 0.5])):
        assert np.isnan(hessian[0, 0])
        assert np.isfinite(hessian[1, 1])


def test_what_is_added_to_a_kink_inside_of_a_loop_keeps_its_second_derivative():
    x = tg.vector("x")
    cost = tg.scan(lambda c, v: (c + v**2 + tg.abs(v), None), 0.0, x)[0]
    for hessian in _hessians(cost, x)(np.array([0.0, 0.5])):
        np.testing.assert_array_equal(hessian, 2 * np.eye(2))


@pytest.mark.parametrize("share", [tg.softmax, lambda y: tg.exp(y) / tg.sum(tg.exp(y))])
def test_the_logarithm_of_a_share_has_all_derivatives_by_a_weight_of_0(share):
    x = tg.vector("x")
    cost = tg.log(share(tg.log(x[:2]) + x[2:])[1])
    w, p, e = 0.5, (0.25, -1.0), np.exp(1.25)
    at = np.array([0.0, w, *p])
    np.testing.assert_allclose(tg.grad(cost, x).eval({x: at}), [-e / w, 0, 0, 0], rtol=1e-14, atol=1e-15)
    want = np.zeros((4, 4))  # of -log1p(x0 * exp(x2 - x3) / x1)
    want[0] = (e / w) ** 2, e / w**2, -e / w, e / w
    want[:, 0] = want[0]
    for hessian in _hessians(cost, x)(at):
        np.testing.assert_allclose(hessian, want, rtol=1e-14, atol=1e-15)


def _factorial(n):
    return n * _factorial(n - 1) if n else 1


def test_shares_of_nearly_1_keep_the_digits_of_their_derivatives():
    """Of [x, 0] the share of 0 is 1 / (1 + exp(x)), by which all of these are written."""
    x = tg.vector("x")
    small = 1 / (1 + np.exp(np.float64(40)))
    at = {x: np.array([40.0, 0.0])}
    for share, slope in (
        (tg.log_softmax(x)[0], small),
        (tg.log(tg.softmax(x))[0], small),
        (tg.softmax(x)[0], small * (1 - small)),
        ((tg.exp(x) / tg.sum(tg.exp(x)))[0], small * (1 - small)),
    ):
        np.testing.assert_allclose(tg.grad(share, x).eval(at), [slope, -slope], rtol=4e-16)
    curvature = tg.hessian(tg.logsumexp(x), x).eval(at)
    np.testing.assert_allclose(curvature, small * np.array([[1, -1], [-1, 1]]), rtol=4e-16)


def test_rows_that_are_left_out_send_no_nan_through_their_shares():
    m = tg.matrix("m")
    cost = tg.sum(tg.where(tg.isnan(m[:, :1]), 0.0, tg.log_softmax(m, axis=1)[:, :1]))
    slope, curvature = (
        f.eval({m: np.array([[np.nan, 1.0], [1.0, 2.0]])}) for f in (tg.grad(cost, m), tg.hessian(cost, m))
    )
    p = 1 / (1 + np.exp(-1.0))
    np.testing.assert_allclose(slope, [[0, 0], [p, -p]], rtol=1e-15)
    assert not np.isnan(curvature).any()
    np.testing.assert_allclose(curvature[1, :, 1], p * (1 - p) * np.array([[-1, 1], [1, -1]]), rtol=1e-14)


@pytest.mark.parametrize("function", [tg.logsumexp, lambda r: tg.softmax(r)[..., 0]])
def test_rows_that_are_left_out_send_no_nan_through_curvatures(function):
    m, direction = tg.matrix("m"), tg.matrix("direction")
    rows = tg.vmap(function)(m)
    cost = tg.sum(tg.where(m[:, 0] > 0, rows, m[:, 1]) ** 2)
    product = tg.hvp(cost, m, direction)
    back = tg.grad(tg.sum(tg.grad(cost, m) * direction), m)
    given = np.array([[-1.0, np.nan, np.inf], [0.5, -1.0, 2.0], [-2.0, 1.0, np.nan], [3.0, -np.inf, 0.0]])
    d = np.array([[1.0, 0.0, 2.0], [0.5, -1.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, -1.0]])
    f = tg.function([m, direction], [product, back])
    forward, reverse = f(given, d)
    np.testing.assert_allclose(forward, reverse, rtol=1e-13)
    np.testing.assert_array_equal(forward[[0, 2]], [[0, 0, 0], [0, 2, 0]])
    np.testing.assert_allclose(forward[1], f(given[1:2], d[1:2])[0][0], rtol=1e-13)
    assert np.isfinite(forward[[1, 3]]).all()
