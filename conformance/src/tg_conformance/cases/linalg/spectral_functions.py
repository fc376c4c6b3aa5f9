"""Cases of `ops/linalg/spectral_functions`: derivatives of exp(-t a) by exponentials of block matrices."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.linalg.spectral_functions import FAMILY
from tg.plugin.case import Case, fixed
from tg_conformance.matrices import of_matrices

WEIGHTS: Final = np.array([[1.0, 2.0, -1.0], [0.5, -1.0, 3.0], [2.0, 0.25, 1.0]])
DIRECTION: Final = np.array([[1.0, -0.5, 0.25], [-0.5, 2.0, 0.5], [0.25, 0.5, -1.0]])
REFLECTION: Final = np.eye(3) - 2 * np.outer([1.0, 2.0, 2.0], [1.0, 2.0, 2.0]) / 9
VALUES: Final = [
    2 * np.eye(3),
    np.zeros((3, 3)),
    np.diag([1.0, 1.0, 2.0]),
    *(REFLECTION @ np.diag(w) @ REFLECTION for w in ([1, 1, 2], [1, 1 + 2**-20, 2], [-1, 0.5, 2])),
]
TIME: Final = 0.5


def series(a: Any) -> Any:
    """The exponential of matrices of moderate size: Taylor's series of a sixteenth, squared four times."""
    term = total = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    for k in range(1, 25):
        term = term @ a / (16 * k)
        total = total + term
    for _ in range(4):
        total = total @ total
    return total


def along(a: Any, g: Any) -> Any:
    """The derivative of the exponential of -t a along g."""
    zero = np.zeros_like(a)
    block = -TIME * np.block([[a, np.broadcast_to(g, a.shape)], [zero, a]])
    return series(block)[..., :3, 3:]


def twice(a: Any, g: Any, h: Any) -> Any:
    """The second derivative of the exponential of -t a along g and h."""
    zero = np.zeros_like(a)
    g, h = (np.broadcast_to(x, a.shape) for x in (g, h))
    rows = [[a, g, h, zero], [zero, a, zero, h], [zero, zero, a, g], [zero, zero, zero, a]]
    return series(-TIME * np.block(rows))[..., :3, 9:]


def symmetric(x: Any) -> Any:
    """Half the sum with the transpose."""
    return (x + np.swapaxes(x, -1, -2)) / 2


def derivatives(a: Any) -> tuple[Any, ...]:
    """The weighted sum of exp(-t s), s being a's symmetric part, its gradient, that along a direction; by t; sums."""
    t = tg.constant(np.asarray(TIME, a.type.dtype))
    weights, direction = (tg.constant(x.astype(a.type.dtype)) for x in (WEIGHTS, DIRECTION))
    s = (a + a.mT) / 2
    w, v = tg.linalg.eigh(s)
    cost = tg.sum(weights * ((v * tg.exp(-t * w)[..., None, :]) @ v.mT))
    g = tg.grad(cost, a)
    total = tg.sum(tg.exp(-t * tg.linalg.eigvalsh(s)))
    return (
        cost,
        g,
        tg.grad(tg.sum(g * direction), a),
        tg.jvp(g, a, direction + 0 * a),
        tg.grad(cost, t),
        tg.grad(tg.sum(tg.grad(total, a) * direction), a),
    )


def right(a: Any) -> tuple[Any, ...]:
    """The same from block matrices."""
    a = symmetric(np.asarray(a, np.float64))
    value = series(-TIME * a)
    weights = symmetric(WEIGHTS)
    second = symmetric(twice(a, weights, DIRECTION))
    by_t = np.sum(WEIGHTS * (-a @ value))
    plain = symmetric(twice(a, np.broadcast_to(np.eye(3), a.shape), DIRECTION))
    return np.sum(WEIGHTS * value), symmetric(along(a, weights)), second, second, by_t, plain


CASES: Final = of_matrices(
    FAMILY.path,
    (
        Case(
            derivatives,
            [fixed(VALUES, None)],
            name="a function of matrices with equal eigenvalues",
            dtypes=("float32", "float64"),
            oracle=right,
            condition=lambda a: 64.0,
            accuracy=32,
        ),
    ),
)
