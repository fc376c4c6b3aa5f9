"""Given tangents and cotangents in later sweeps: their zeros ask for nothing, and what is linear in them stays so.

Oracles are closed forms of the derivatives of sums of elements, whose mixed derivatives are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tg
from tg import plugin

BACKENDS = tuple(one.name for one in plugin.registry().backends() if one.is_available)
AT = np.array([4.0, 0.0])  # of its second element the root's derivatives are infinite
UNITS = np.eye(2)
PRODUCTS = {
    "reverse over reverse": lambda y, x, t: tg.vjp(tg.grad(y, x), x, t),
    "forward over reverse": lambda y, x, t: tg.jvp(tg.grad(y, x), x, t),
    "reverse over forward": lambda y, x, t: tg.grad(tg.jvp(y, x, t), x),
    "forward over forward": lambda y, x, t: tg.stack(
        [tg.jvp(tg.jvp(y, x, t), x, unit) for unit in np.eye(x.type.shape[0])]
    ),
}  # of the Hessian and t


def summed_in_a_loop(x: tg.Variable) -> tg.Variable:
    return tg.scan(lambda total, element: (total + tg.sqrt(element), None), tg.constant(0.0), x)[0]


SUMS = {"at once": lambda x: tg.sum(tg.sqrt(x)), "in a loop": summed_in_a_loop}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("way", SUMS)
def test_the_derivative_by_a_tangent_is_right_at_its_zeros(way: str, backend: str) -> None:
    x, t = tg.vector("x"), tg.vector("t")
    along = tg.jvp(SUMS[way](x), x, t)
    first, second = tg.grad(along, t), tg.grad(tg.sum(tg.grad(along, x)), t)
    for unit in UNITS:
        slope, curvature = tg.function([x, t], [first, second], backend=backend)(AT, unit)
        np.testing.assert_allclose(slope, [1 / 4, np.inf], rtol=1e-14)
        np.testing.assert_allclose(curvature, [-1 / 32, -np.inf], rtol=1e-14)


@pytest.mark.parametrize("way", SUMS)
def test_the_derivative_by_a_cotangent_is_right_at_its_zeros(way: str) -> None:
    x, c = tg.vector("x"), tg.scalar("c")
    slope = tg.vjp(SUMS[way](x), x, c)
    by_c = tg.grad(tg.sum(tg.grad(slope[0], x)), c)
    np.testing.assert_allclose(by_c.eval({x: AT, c: 0.0}), -1 / 32, rtol=1e-14)


@pytest.mark.parametrize("way", SUMS)
def test_two_tangents_ask_for_what_both_ask_for(way: str) -> None:
    x, s, t = tg.vector("x"), tg.vector("s"), tg.vector("t")
    twice = tg.jvp(tg.jvp(SUMS[way](x), x, s), x, t)
    by_s, by_t = tg.grad(twice, s), tg.grad(twice, t)
    f = tg.function([x, s, t], [twice, by_s, by_t, tg.grad(tg.sum(by_s), t)])
    curvature = np.array([-1 / 32, -np.inf])
    for a in UNITS:
        for b in UNITS:
            with np.errstate(invalid="ignore"):
                expected: list[Any] = [
                    np.where((a != 0) & (b != 0), curvature, 0).sum(),
                    np.where(b != 0, curvature, 0),
                    np.where(a != 0, curvature, 0),
                    curvature,
                ]
            for found, value in zip(f(AT, a, b), expected, strict=True):
                np.testing.assert_allclose(found, value, rtol=1e-14)


def test_reverse_over_forward_has_no_nan_beside_elements_that_are_not_asked_for() -> None:
    w, p, s, t = (tg.vector(name) for name in "wpst")
    cost = tg.sum(tg.sqrt(w * p**2))  # |p| sqrt(w)
    slopes = tg.grad(tg.jvp(cost, [w, p], [s, t]), [w, p])
    f = tg.function([w, p, s, t], slopes)
    weights, parts = np.array([0.0, 0.5]), np.array([0.25, -1.0])
    root = np.sqrt(0.5)
    np.testing.assert_allclose(f(weights, parts, [0.0, 1.0], [0.0, 0.0]), [[0, -0.5 / root], [0, -0.5 / root]])
    np.testing.assert_allclose(f(weights, parts, [0.0, 0.0], [0.0, 1.0]), [[0, -0.5 / root], [0, 0]], atol=1e-15)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_product_of_two_tangents_is_linear_in_both_at_their_zeros(backend: str) -> None:
    x, s, t = tg.vector("x"), tg.vector("s"), tg.vector("t")
    root = tg.sqrt(x) - 1
    twice = tg.jvp(tg.jvp(tg.dot(root, root), x, s), x, t)
    by_s, by_t = tg.grad(twice, s), tg.grad(twice, t)
    mixed = [tg.grad(tg.sum(by_s), t), tg.grad(tg.sum(by_t), s), tg.jvp(by_s, t, tg.ones_like(t))]
    f = tg.function([x, s, t], [twice, by_s, by_t, *mixed], backend=backend)
    curvature = np.array([1 / 16, np.inf])  # of x - 2 sqrt(x) + 1
    for a in UNITS:
        for b in UNITS:
            with np.errstate(invalid="ignore"):
                asked = np.where((a != 0) & (b != 0), curvature, 0).sum()
                expected = [asked, np.where(b != 0, curvature, 0), np.where(a != 0, curvature, 0)]
            for found, value in zip(f(AT, a, b), [*expected, curvature, curvature, curvature], strict=True):
                np.testing.assert_allclose(found, value, rtol=1e-14)


def in_a_map(x: tg.Variable) -> tg.Variable:
    return tg.sum(tg.map(tg.cos, x) * tg.log(x))


def in_two_loops(x: tg.Variable) -> tg.Variable:
    logarithms = tg.scan(lambda c, v: (c * tg.where(v > 0, tg.log(v), v), c), tg.constant(0.5), x)[1]
    return tg.scan(lambda total, v: (total + tg.xlogy(v, v), None), tg.constant(0.0), logarithms)[0]


@pytest.mark.parametrize("mode", PRODUCTS)
@pytest.mark.parametrize(
    ("cost", "has_limits"),
    [(in_a_map, [[0, 1, 1], [1, 0, 1], [1, 1, 0]]), (in_two_loops, [[0, 0, 1], [0, 0, 1], [1, 1, 1]])],
)
def test_loops_have_no_nan_beside_what_is_not_asked_for(cost: Any, has_limits: list[list[int]], mode: str) -> None:
    x, t = (tg.tensor(name, "float64", shape=(3,)) for name in "xt")
    f = tg.function([x, t], PRODUCTS[mode](cost(x), x, t))
    with np.errstate(all="ignore"):
        hessian = np.stack([f(np.zeros(3), unit) for unit in np.eye(3)])
    np.testing.assert_array_equal(hessian == 0, has_limits)  # 0 all of them; the others are infinite or none


@pytest.mark.parametrize("mode", PRODUCTS)
def test_factors_that_do_not_meet_in_a_dot_product_have_no_mixed_derivative(mode: str) -> None:
    x, t = (tg.tensor(name, "float64", shape=(4,)) for name in "xt")
    f = tg.function([x, t], PRODUCTS[mode](tg.abs(tg.dot(x[:2], x[2:])), x, t))
    hessian = np.stack([f(np.zeros(4), unit) for unit in np.eye(4)])
    is_factor = np.roll(np.eye(4, dtype=bool), 2, axis=1)
    np.testing.assert_array_equal(hessian[~is_factor], 0)
