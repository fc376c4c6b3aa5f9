"""What a backend's functions and ops must compute, by oracles that are not tg."""

import numpy as np

from tg.backend import Case, any_dtype
from tg_waves.waves import bump, powers, smoothed, softsign

FLOATS = ("float32", "float64")


def moving_sums(x, decay):
    return np.array([sum(x[j] * decay ** (i - j) for j in range(i + 1)) for i in range(len(x))], x.dtype)


def bumps(x):
    inside = abs(x) < 1
    return np.where(inside, np.exp(-1 / np.where(inside, 1 - x * x, 1)), 0)


CASES = (
    Case(softsign, [any_dtype(3, "n")], dtypes=FLOATS, oracle=lambda x: x / (1 + abs(x)), gradient=True),
    Case(softsign, [any_dtype("n", values="hostile")], dtypes=FLOATS, name="softsign of hostile values"),
    Case(bump, [any_dtype("n", 2, low=-1.5, high=1.5)], dtypes=FLOATS, oracle=bumps),
    Case(
        bump, [any_dtype("n", low=-0.7, high=0.7)], dtypes=FLOATS, name="gradient of bump", oracle=bumps, gradient=True
    ),
    Case(
        smoothed,
        [any_dtype("n"), any_dtype(low=0.1, high=0.9)],
        family="waves",
        dtypes=FLOATS,
        oracle=moving_sums,
        condition=lambda x, decay: moving_sums(abs(x), decay),
        accuracy=16,
        gradient=True,
    ),
    Case(
        powers,
        [any_dtype("n", 3)],
        family="waves",
        dtypes=FLOATS,
        oracle=lambda x: (np.sum(x**2), np.sum(x**3)),
        condition=lambda x: (np.sum(x**2), np.sum(abs(x) ** 3)),
        accuracy=64,
        gradient=True,
    ),
)
