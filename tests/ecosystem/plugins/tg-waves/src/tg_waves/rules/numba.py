"""Ordinary functions of numba.njit."""

import math

import numba
import numpy as np

from tg.backend import Rules
from tg_numba import PROTOCOL, Jitted
from tg_waves.rules import SOFTSIGN
from tg_waves.waves import Powers, Smoothed, bump, softsign


@numba.njit
def bump_of_one(x):
    return math.exp(-1 / (1 - x * x)) if abs(x) < 1 else 0.0


@numba.njit
def moving_sum(x, decay):
    y = np.empty_like(x)
    last = x.dtype.type(0)
    for i in range(len(x)):
        last = x[i] + decay * last
        y[i] = last
    return y


@numba.njit(fastmath=True)
def sums_of_powers(x):
    squares = cubes = 0.0
    for value in x.ravel():
        squares += value**2
        cubes += value**3
    return squares, cubes


RULES = Rules(
    PROTOCOL,
    {
        softsign: SOFTSIGN,
        bump: Jitted(bump_of_one),
        Smoothed: Jitted(moving_sum),
        Powers: Jitted(sums_of_powers),
    },
)
