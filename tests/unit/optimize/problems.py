"""Problems with known minima, as residuals: More, Garbow, Hillstrom, "Testing unconstrained optimization software".

ACM Trans. Math. Softw. 7 (1981), 17; the numbers are those of its list. The sum of the squares is what is minimal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import tg

if TYPE_CHECKING:
    from collections.abc import Callable

BARD = np.array([0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39])
GAUSSIAN = np.array([0.0009, 0.0044, 0.0175, 0.0540, 0.1295, 0.2420, 0.3521, 0.3989])
KOWALIK_Y = np.array([0.1957, 0.1947, 0.1735, 0.1600, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246])
KOWALIK_U = np.array([4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625])
OSBORNE = np.concatenate(
    [
        [0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628],
        [0.603, 0.580, 0.558, 0.538, 0.522, 0.506, 0.490, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.420],
        [0.414, 0.411, 0.406],
    ]
)


class Problem(NamedTuple):
    """Residuals, where to begin, and the least sums of squares."""

    name: str
    residuals: Callable[[Any], Any]
    start: tuple[float, ...]
    least: tuple[float, ...]


def rosenbrock(x: Any) -> Any:
    return [10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]]


def freudenstein(x: Any) -> Any:
    return [
        -13 + x[0] + ((5 - x[1]) * x[1] - 2) * x[1],
        -29 + x[0] + ((x[1] + 1) * x[1] - 14) * x[1],
    ]


def powell_badly_scaled(x: Any) -> Any:
    return [1e4 * x[0] * x[1] - 1, tg.exp(-x[0]) + tg.exp(-x[1]) - 1.0001]


def brown_badly_scaled(x: Any) -> Any:
    return [x[0] - 1e6, x[1] - 2e-6, x[0] * x[1] - 2]


def beale(x: Any) -> Any:
    return np.array([1.5, 2.25, 2.625]) - x[0] * (1 - x[1] ** np.arange(1.0, 4.0))


def jennrich(x: Any) -> Any:
    i = np.arange(1.0, 11.0)
    return 2 + 2 * i - (tg.exp(i * x[0]) + tg.exp(i * x[1]))


def helical_valley(x: Any) -> Any:
    angle = tg.arctan2(x[1], x[0]) / (2 * np.pi)
    return [10 * (x[2] - 10 * angle), 10 * (tg.sqrt(x[0] ** 2 + x[1] ** 2) - 1), x[2]]


def bard(x: Any) -> Any:
    u = np.arange(1.0, 16.0)
    return BARD - (x[0] + u / ((16 - u) * x[1] + np.minimum(u, 16 - u) * x[2]))


def gaussian(x: Any) -> Any:
    t = (8 - np.arange(1.0, 16.0)) / 2
    return x[0] * tg.exp(-x[1] * (t - x[2]) ** 2 / 2) - np.concatenate([GAUSSIAN, GAUSSIAN[-2::-1]])


def box(x: Any) -> Any:
    t = np.arange(1.0, 11.0) / 10
    return tg.exp(-t * x[0]) - tg.exp(-t * x[1]) - x[2] * (np.exp(-t) - np.exp(-10 * t))


def powell_singular(x: Any) -> Any:
    return [x[0] + 10 * x[1], 5**0.5 * (x[2] - x[3]), (x[1] - 2 * x[2]) ** 2, 10**0.5 * (x[0] - x[3]) ** 2]


def wood(x: Any) -> Any:
    return [
        10 * (x[1] - x[0] ** 2),
        1 - x[0],
        90**0.5 * (x[3] - x[2] ** 2),
        1 - x[2],
        10**0.5 * (x[1] + x[3] - 2),
        10**-0.5 * (x[1] - x[3]),
    ]


def kowalik(x: Any) -> Any:
    u = KOWALIK_U
    return KOWALIK_Y - x[0] * (u**2 + u * x[1]) / (u**2 + u * x[2] + x[3])


def brown_dennis(x: Any) -> Any:
    t = np.arange(1.0, 21.0) / 5
    return (x[0] + t * x[1] - np.exp(t)) ** 2 + (x[2] + x[3] * np.sin(t) - np.cos(t)) ** 2


def osborne(x: Any) -> Any:
    t = 10 * np.arange(33.0)
    return OSBORNE - (x[0] + x[1] * tg.exp(-t * x[3]) + x[2] * tg.exp(-t * x[4]))


PROBLEMS = (
    Problem("1 Rosenbrock", rosenbrock, (-1.2, 1), (0,)),
    Problem("2 Freudenstein and Roth", freudenstein, (0.5, -2), (0, 48.9842)),
    Problem("3 Powell, badly scaled", powell_badly_scaled, (0, 1), (0,)),
    Problem("4 Brown, badly scaled", brown_badly_scaled, (1, 1), (0,)),
    Problem("5 Beale", beale, (1, 1), (0,)),
    Problem("6 Jennrich and Sampson", jennrich, (0.3, 0.4), (124.362,)),
    Problem("7 helical valley", helical_valley, (-1, 0, 0), (0,)),
    Problem("8 Bard", bard, (1, 1, 1), (8.21487e-3,)),
    Problem("9 Gaussian", gaussian, (0.4, 1, 0), (1.12793e-8,)),
    Problem("12 Box", box, (0, 10, 20), (0,)),
    Problem("13 Powell, singular", powell_singular, (3, -1, 0, 1), (0,)),
    Problem("14 Wood", wood, (-3, -1, -3, -1), (0,)),
    Problem("15 Kowalik and Osborne", kowalik, (0.25, 0.39, 0.415, 0.39), (3.07505e-4,)),
    Problem("16 Brown and Dennis", brown_dennis, (25, 5, -5, -1), (85822.2,)),
    Problem("17 Osborne 1", osborne, (0.5, 1.5, -1, 0.01, 0.02), (5.46489e-5,)),
)
