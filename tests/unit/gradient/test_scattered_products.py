"""Derivatives of `x.at[i].multiply(v)`, where factors of 0 must not divide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import tg

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("factors", [[1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
def test_the_second_derivative_is_the_product_of_the_rest(factors: list[float]) -> None:
    v = tg.vector("v")
    cost = tg.sum(tg.constant([2.0]).at[np.array([0, 0, 0])].multiply(v))
    a, b, c = factors
    wanted = 2 * np.array([[0, c, b], [c, 0, a], [b, a, 0]])
    np.testing.assert_array_equal(tg.hessian(cost, v).eval({v: np.array(factors)}), wanted)


FACTORS = [2.0, 3.0], [np.inf, 4.0]  # of the array, and multiplied in


def in_both_modes(cost_of: Callable[[tg.Variable], tg.Variable]) -> tuple[np.ndarray, np.ndarray]:
    """The derivatives by each factor of the array and of the values, backwards and forwards."""
    x, v = tg.vector("x"), tg.vector("v")
    cost = cost_of(x.at[np.array([0, 1])].multiply(v))
    backwards = np.concatenate(tg.function([x, v], tg.grad(cost, [x, v]))(*FACTORS))
    steps = [tg.jvp(cost, [u], [tg.constant(t)]) for u in (x, v) for t in np.eye(2)]
    return backwards, np.array(tg.function([x, v], steps)(*FACTORS))


def test_a_slope_of_0_beside_an_infinite_factor_is_undefined_in_both_modes() -> None:
    slope = 1 / np.cosh(12.0) ** 2
    for derivative in in_both_modes(lambda y: tg.sum(tg.tanh(y))):
        np.testing.assert_allclose(derivative, [np.nan, 4 * slope, np.nan, 3 * slope], rtol=1e-13)


def test_an_infinite_factor_does_not_leak_from_a_branch_not_taken() -> None:
    for derivative in in_both_modes(lambda y: tg.sum(tg.where(tg.isfinite(y), y, 0.0))):
        np.testing.assert_array_equal(derivative, [0.0, 4.0, 0.0, 3.0])
