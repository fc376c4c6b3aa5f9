"""Cases of `ops/custom`: derivatives of users' own, of solutions, checkpoints, what is said of gradients inside."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import BoundsError
from tg.ops.custom import FAMILY
from tg.plugin.case import Case, f64, fixed
from tg_conformance.cases.family import of_family


def tenfold() -> Any:
    """sin(x) * a, whose gradient in x is said to be 10 * x * dy."""
    f = tg.custom_vjp(lambda x, a: tg.sin(x) * a)
    f.defvjp(lambda x, a: (tg.sin(x) * a, x), lambda x, dy: (10 * x * dy, None))
    return f


def sevenfold() -> Any:
    """sqrt(x), whose tangent is said to be 7 * t * sqrt(x)."""
    f = tg.custom_jvp(tg.sqrt)
    f.defjvp(lambda primals, tangents: (tg.sqrt(*primals), 7 * tangents[0] * tg.sqrt(*primals)))
    return f


def both_modes(x: Any) -> Any:
    """A function of ones own, its gradient and its tangent."""
    y = sevenfold()(x)
    return y, tg.grad(tg.sum(y), x), tg.jvp(y, x, 2 * x)


def inside(x: Any) -> Any:
    """Gradients of what says something of gradients, in a call, a loop and a branch."""
    half: Any = lambda v: tg.grad_scale(v, 0.5) * tg.stop_gradient(v)  # noqa: E731
    called = tg.sum(tg.call(half, x))
    looped = tg.scan(lambda c, v: (c + half(v), None), 0.0, x)[0]
    branched = tg.sum(tg.cond(tg.sum(x) < np.inf, half, lambda v: v, x))
    return tuple(tg.grad(y, x) for y in (called, looped, branched))


def root(a: Any, b: Any) -> Any:
    """x^3 + b x = a of each element, and its gradients."""
    x = tg.optimize.root(lambda x: x**3 + b * x - a, tg.zeros_like(a)).x
    return x, *tg.grad(tg.sum(x), [a, b])


def minima(a: Any, b: Any) -> Any:
    """The same by the other solvers."""

    def cost(x: Any) -> Any:
        return tg.sum(x**4 / 4 + b * x**2 / 2 - a * x)

    found = [tg.optimize.minimize(cost, tg.zeros_like(a), method).x for method in ("BFGS", "L-BFGS", "Newton-CG")]
    return *found, tg.optimize.fixed_point(lambda x: x - 0.1 * (x**3 + b * x - a), tg.zeros_like(a)).x


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


def sines(x: Any) -> Any:
    """A carry and results of each step with NumPy."""
    c, ys = x.dtype.type(0.25), []
    for v in x:
        ys.append(c * v)
        c = np.sin(c) + v
    return c, np.array(ys, x.dtype)


WRITTEN: Final = (
    Case(
        lambda x, a: (tenfold()(x, a), tg.grad(tg.sum(tenfold()(x, a)), x)),
        [f64("n"), f64()],
        name="pullback of ones own",
        oracle=lambda x, a: (np.sin(x) * a, 10 * x),
    ),
    Case(
        lambda x, a: tg.jacobian(tenfold()(x, a), x),
        [f64("n"), f64()],
        name="pullback of ones own, batched",
        oracle=lambda x, a: np.diag(10 * x),
    ),
    Case(
        lambda x, a: tg.grad(tg.sum(tg.map(lambda v: tenfold()(v, a), x)), x),
        [f64("n"), f64()],
        name="pullback of ones own in a loop",
        oracle=lambda x, a: 10 * x,
    ),
    Case(
        both_modes,
        [f64("n", low=0.5, high=4)],
        name="pushforward of ones own",
        oracle=lambda x: (np.sqrt(x), 7 * np.sqrt(x), 14 * x * np.sqrt(x)),
    ),
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
    Case(inside, [f64("n")], name="what is said of gradients, inside", oracle=lambda x: (x / 2,) * 3),
    Case(
        lambda x: tg.checkpoint(lambda v: {"y": tg.exp(tg.sin(v)) * x})(x)["y"],
        [f64("n")],
        name="checkpoint",
        oracle=lambda x: np.exp(np.sin(x)) * x,
        gradient=True,
        condition=lambda x: np.exp(np.sin(x)) * (1 + abs(x)) * (1 + abs(x)),
    ),
    Case(
        lambda x, k: tg.checkpoint(lambda v: v[k] * 2)(x),
        [f64(3), fixed(3, "int64")],
        name="checkpoint with a check that fails",
        raises=BoundsError,
        static=(False,),
    ),
    Case(
        lambda x: tg.scan(lambda c, v: (tg.sin(c) + v, c * v), 0.25, x, checkpoint=3),
        [f64("n")],
        name="scan that keeps every third carry",
        oracle=sines,
        gradient=True,
        accuracy=32,
    ),
)


CASES: Final = of_family(FAMILY.path, WRITTEN)
