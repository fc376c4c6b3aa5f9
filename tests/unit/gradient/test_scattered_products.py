"""Derivatives of `x.at[i].multiply(v)`, where factors of 0 must not divide."""

from __future__ import annotations

import numpy as np
import pytest

import tg


@pytest.mark.parametrize("factors", [[1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
def test_the_second_derivative_is_the_product_of_the_rest(factors: list[float]) -> None:
    v = tg.vector("v")
    cost = tg.sum(tg.constant([2.0]).at[np.array([0, 0, 0])].multiply(v))
    a, b, c = factors
    wanted = 2 * np.array([[0, c, b], [c, 0, a], [b, a, 0]])
    np.testing.assert_array_equal(tg.hessian(cost, v).eval({v: np.array(factors)}), wanted)
