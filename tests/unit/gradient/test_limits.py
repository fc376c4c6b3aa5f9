"""Derivatives where the formula that is right elsewhere gives NaN or has lost its digits."""

from __future__ import annotations

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


def _factorial(n):
    return n * _factorial(n - 1) if n else 1
