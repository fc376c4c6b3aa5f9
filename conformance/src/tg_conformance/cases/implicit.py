"""Cases of `ops/implicit`: what the solvers of `tg.optimize` find, and derivatives by the equations that hold there."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.implicit import FAMILY
from tg.plugin.case import Case, f64
from tg_conformance.cases.family import of_family


def root(a: Any, b: Any) -> Any:
    """x^3 + b x = a of each element, and its gradients."""
    x = tg.optimize.root(lambda x: x**3 + b * x - a, tg.zeros_like(a)).x
    return x, *tg.grad(tg.sum(x), [a, b])


def minima(a: Any, b: Any) -> Any:
    """The same by the other solvers."""

    def cost(x: Any) -> Any:
        return tg.sum(x**4 / 4 + b * x**2 / 2 - a * x)

    points = [tg.optimize.minimize(cost, tg.zeros_like(a), method).x for method in ("BFGS", "L-BFGS", "Newton-CG")]
    return *points, tg.optimize.fixed_point(lambda x: x - 0.1 * (x**3 + b * x - a), tg.zeros_like(a)).x


def by_sinh(a: Any, b: Any) -> Any:
    """The root with NumPy, by the formula of the cubic for b > 0, and its derivatives."""
    x = 2 * np.sqrt(b / 3) * np.sinh(np.arcsinh(1.5 * a / b * np.sqrt(3 / b)) / 3)
    slope = 1 / (3 * x * x + b)
    return x, slope, np.sum(-x * slope)


def fitted(y: Any) -> Any:
    """A line through points, and how its slope changes with them."""
    x = tg.optimize.least_squares(lambda p: p[0] + p[1] * np.arange(5.0) - y, np.zeros(2)).x
    return x, tg.grad(x[1], y)


def by_lstsq(y: Any) -> Any:
    """The same with NumPy."""
    inverse = np.linalg.pinv(np.stack([np.ones(5), np.arange(5.0)], 1))
    return inverse @ y, inverse[1]


def slopes_of_roots(a: Any) -> Any:
    """1 / (exp(x) + 1) at the root of exp(x) + x - a, by Newton's method in NumPy."""
    x = np.log(a)
    for _ in range(50):
        x = x - (np.exp(x) + x - a) / (np.exp(x) + 1)
    return 1 / (np.exp(x) + 1)


def by_products(a: Any) -> Any:
    """Fixed points of as many unknowns as the program is given, and the gradient of their sum."""
    x = tg.optimize.fixed_point(lambda x: 0.5 * tg.sin(x) + 0.1 * tg.mean(x) + a, a, tol=1e-14).x
    y = tg.optimize.minimize(lambda x: tg.sum(tg.cosh(x) - a * x), a, "L-BFGS", tol=1e-12).x  # sinh(x) = a
    return x, tg.grad(tg.sum(x), a), y, tg.grad(tg.sum(y**2), a)


def by_steps(a: Any) -> Any:
    """The same with NumPy."""
    x, n = a, max(len(a), 1)
    for _ in range(300):
        x = 0.5 * np.sin(x) + 0.1 * np.sum(x) / n + a
    apart = 1 / (1 - 0.5 * np.cos(x))  # the inverse without the mean, which Sherman and Morrison's formula adds
    slopes = apart / (1 - 0.1 * np.sum(apart) / n)
    return x, slopes, np.arcsinh(a), 2 * np.arcsinh(a) / np.hypot(1, a)


WRITTEN: Final = (
    Case(
        root,
        [f64("n"), f64(low=1, high=3)],
        name="root",
        oracle=by_sinh,
        accuracy=64,
        condition=lambda a, b: 1 + np.sum(np.abs(a)),
    ),
    Case(
        minima,
        [f64("n"), f64(low=1, high=3)],
        name="minima and a fixed point",
        oracle=lambda a, b: (by_sinh(a, b)[0],) * 4,
        accuracy=1e9,  # the tolerance is the root of eps
        condition=lambda a, b: 1 + np.sum(np.abs(a)),
    ),
    Case(
        fitted,
        [f64(5)],
        name="least squares",
        oracle=by_lstsq,
        accuracy=1e8,
        condition=lambda y: 1 + np.sum(np.abs(y)),
    ),
    Case(
        lambda a: tg.grad(tg.sum(tg.vmap(lambda v: tg.optimize.root(lambda x: tg.exp(x) + x - v, v).x)(a)), a),
        [f64("n", low=0.5, high=4)],
        name="roots of a batch",
        oracle=slopes_of_roots,
        accuracy=64,
    ),
    Case(
        by_products,
        [f64("n", low=-2, high=2)],
        name="by products",
        oracle=by_steps,
        accuracy=1e6,
        condition=lambda a: 1 + np.sum(np.abs(a)),
    ),
)


CASES: Final = of_family(FAMILY.path, WRITTEN)
