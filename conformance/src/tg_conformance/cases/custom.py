"""Cases of `ops/custom`: derivatives of users' own, checkpoints, and what is said of gradients inside other graphs."""

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
