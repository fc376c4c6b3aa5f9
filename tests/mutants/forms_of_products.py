"""Products in which exponentials meet: chains of factors and gates, drawn from seeds that are numbers.

A chain begins with a value, which is multiplied, divided and gated by functions of one argument, two of which meet.
Between them stand other factors, signs and guards, so that what meets stands in front of gates, behind them, or both.
"""

from __future__ import annotations

import random

import numpy as np

import tg
from tests.mutants.forms_of_matrices import of
from tg.ops.elementwise.arithmetic import gate

COUNT = 96
MEETINGS = (  # of an argument and another: two factors that amount to one, or to 1
    lambda u, v: (tg.exp(u), tg.exp(-u)),
    lambda u, v: (tg.exp(-u), tg.sigmoid(u)),
    lambda u, v: (tg.exp(u), tg.sigmoid(-u)),
    lambda u, v: (tg.exp(u), tg.expm1(-u)),
    lambda u, v: (tg.exp(-u), tg.expm1(u)),
    lambda u, v: (tg.exp(u), 1 / tg.expm1(u)),
    lambda u, v: (tg.exp(-u), 1 + tg.exp(u)),
    lambda u, v: (tg.expm1(u), tg.sigmoid(-u)),
    lambda u, v: (tg.expm1(-u), tg.sigmoid(u)),
    lambda u, v: (tg.sigmoid(u), 1 / tg.sigmoid(u)),
    lambda u, v: (tg.sigmoid(u), 1 / tg.sigmoid(-u)),
    lambda u, v: (tg.sigmoid(u), 1 + tg.exp(-u)),
    lambda u, v: (tg.sinh(u), 1 / tg.cosh(u)),
    lambda u, v: (tg.cosh(u), 1 / tg.cosh(-u)),
    lambda u, v: (tg.exp(u), 1 / (tg.exp(u) + tg.exp(v))),
    lambda u, v: (tg.exp(-u), tg.exp(u) + 2 * tg.exp(v)),
    lambda u, v: (tg.exp(u), 1 / tg.sum(tg.exp(u), -1, keepdims=True)),
    lambda u, v: (tg.exp(u), 1 / (1 + tg.sum(tg.exp(u), -1, keepdims=True))),
    lambda u, v: (tg.softmax(u, -1), 1 / tg.softmax(u, -1)),
    lambda u, v: (tg.exp(u) + tg.exp(u) * v, tg.exp(-u)),
    lambda u, v: (tg.sigmoid(-u) - v * tg.sigmoid(-u), 1 + tg.exp(u)),
    lambda u, v: (-(tg.exp(u) * v - tg.exp(u)), tg.sigmoid(-u)),
    lambda u, v: (v - tg.expm1(u), tg.sigmoid(-u)),
)
ARGUMENTS = (  # some infinite where no input is, or repeated to stand beside others
    lambda x, y: x,
    lambda x, y: x,
    lambda x, y: x,
    lambda x, y: x - y,
    lambda x, y: x * 0.5,
    lambda x, y: x[0],
    lambda x, y: x[:1],
    lambda x, y: tg.log(y),
    lambda x, y: tg.where(x > 0, x, -np.inf),
    lambda x, y: -1 / tg.square(y),
)
MOVES = (
    lambda v: tg.reshape(v, (-1,)),
    lambda v: tg.reshape(v, (-1,)),
    lambda v: tg.swapaxes(v, -1, -2),
    lambda v: v[None],
    lambda v: v[..., None],
)
OTHERS = (
    lambda x, y: y,
    lambda x, y: y,
    lambda x, y: -y,
    lambda x, y: tg.sigmoid(x),
    lambda x, y: tg.exp(-x),
    lambda x, y: tg.expm1(x),
    lambda x, y: 1 / tg.sigmoid(y),
    lambda x, y: y - x,
    lambda x, y: tg.cosh(x),
    lambda x, y: 2.0,
    lambda x, y: 0.0,
    lambda x, y: 1e30,
    lambda x, y: 1e-30,
)
STEPS = ("multiply", "multiply", "divide", "gate", "gate", "gated by it")


def step(v, factor, kind):
    """A value with one more factor."""
    if kind == "divide":
        return v / (1 / factor)
    if kind == "gate":
        return gate(v, factor)
    return gate(factor, v) if kind == "gated by it" else v * factor


def guarded(v, u, *, is_gated):
    """A value that is NaN where another is."""
    return tg.where(tg.isnan(u), gate(v, u) if is_gated else u, v)


def chain(number):
    """The function of x and y that a number stands for."""

    def form(x, y):
        rng = random.Random(f"chain {number}")
        pair = MEETINGS[number % len(MEETINGS)](rng.choice(ARGUMENTS)(x, y), y)
        factors = [*pair, *(rng.choice(OTHERS)(x, y) for _ in range(rng.choice((0, 1, 1, 2, 3))))]
        rng.shuffle(factors)
        made = (lambda: y, factors.pop, lambda: y * y - x)[rng.randrange(3)]()
        moved = rng.randrange(len(factors)) if rng.random() < 0.25 else None
        move = rng.choice(MOVES)
        for k, factor in enumerate(factors):
            beside = factor if moved is None or k < moved else move(factor)
            made = step(move(made) if k == moved else made, beside, rng.choice(STEPS))
            if rng.random() < 0.15:
                made = -made
            if rng.random() < 0.12:
                made = guarded(made, rng.choice((x, y)), is_gated=rng.random() < 0.6)
        return made

    return form


CHAINS = (
    *(chain(number) for number in range(COUNT)),
    lambda x, y: y * tg.exp(x) * y * tg.exp(-x),
    lambda x, y: tg.exp(x * 2) * y * tg.exp(x * -2),
    lambda x, y: tg.exp(x * 2) * y * tg.exp(x * 3),
    lambda x, y: tg.exp(x) / (tg.exp(x) + tg.exp(y) * 3),
    lambda x, y: tg.exp(x) / (tg.exp(x) + tg.exp(y) * -3),
    lambda x, y: (-tg.exp(x)) ** 3 * tg.exp(-x) * y,
    lambda x, y: tg.square(-tg.exp(x)) * tg.exp(-x) * y,
    lambda x, y: (-tg.sigmoid(x)) ** -1 * tg.sigmoid(-x),
    lambda x, y: tg.exp(x) / (1 + tg.sum(tg.exp(x))),
    lambda x, y: tg.exp(x) / (1 + tg.sum(tg.exp(x), -1))[..., None],
    lambda x, y: tg.exp(x) / tg.sum(tg.exp(x), -1),
    lambda x, y: tg.exp(x) / tg.sum(tg.exp(x), 0),
    lambda x, y: tg.exp(x) / (1 + tg.sum(tg.exp(x), -1)),
    lambda x, y: gate(tg.exp(x) * y * tg.exp(-x), tg.cos(y)) * tg.sigmoid(x),
    lambda x, y: gate(y, tg.exp(x) * tg.cosh(x) * tg.exp(-x)),
    lambda x, y: gate(y, tg.exp(x) * tg.cosh(x)) * tg.exp(-x),
    lambda x, y: y * tg.exp(-x) * (tg.exp(x) - y * tg.exp(x)),
    lambda x, y: gate(y * (tg.exp(x) + tg.exp(x) * y), tg.exp(-x)),
    lambda x, y: gate(gate(y, tg.exp(x) + tg.exp(x) * y), tg.exp(-x)),
    lambda x, y: gate(gate(y, tg.cos(y)) * tg.exp(x), tg.exp(-x)),
    lambda x, y: gate(gate(y, tg.cos(x)) * tg.sigmoid(x), 1 / tg.sigmoid(x)),
    lambda x, y: gate(tg.exp(-x) * gate(y, tg.exp(y)), tg.exp(x)) * y,
    lambda x, y: gate(gate(gate(y, tg.exp(x)), tg.cos(y)), tg.exp(-x)),
    lambda x, y: gate(gate(y, tg.expm1(x)), tg.exp(-x)) * tg.sigmoid(x),
    lambda x, y: tg.reshape(tg.exp(x[0]) * y, (-1,)) * tg.reshape(tg.exp(-x), (-1,)),
    lambda x, y: tg.reshape(tg.exp(x) * y[:1], (-1,)) * tg.reshape(tg.exp(-x), (-1,)),
    lambda x, y: tg.reshape(tg.exp(x) * y[:1], (-1,)) * tg.exp(-tg.reshape(x, (-1,))),
    lambda x, y: tg.reshape(tg.exp(tg.sum(x)) * y, (-1,)) * tg.exp(-tg.sum(x)),
    lambda x, y: tg.swapaxes(tg.exp(x[0]) * y, 0, 1) * tg.exp(-x[0])[:, None],
)

SUMS = (  # whose terms meet what is outside, or must not
    lambda x, y: tg.exp(-x) * y / (tg.exp(x) * y - tg.exp(x)),
    lambda x, y: gate(1 + y * y, tg.exp(x)) * (gate(y, tg.exp(-x)) + gate(y * 3, tg.exp(-x))),
    lambda x, y: gate(y * tg.exp(x) - tg.exp(x), tg.sigmoid(-x) * tg.sigmoid(y / (y - 1))),
    lambda x, y: gate(gate(y, tg.exp(x)) + gate(1 - y, tg.exp(x)), tg.sigmoid(-x)),
    lambda x, y: (y * tg.exp(x) - tg.exp(x)) * (tg.sigmoid(-x) * tg.exp(y)),
    lambda x, y: gate(y * tg.exp(x) - tg.exp(x), y / (y - 1)) * tg.expm1(-x),
)


def rows(y, p):
    """The sums of rows of y, guarded by p."""
    return tg.sum(guarded(y, p, is_gated=False), -1)


NORMS = (
    lambda x: tg.sum(tg.square(x)),
    lambda x: x / tg.sqrt(tg.sum(x * x)),
    lambda x: tg.sum(x**2, keepdims=True) * x,
    lambda x: tg.sum(tg.square(tg.exp(x))),
)
DISTANCES = (
    lambda x, y: tg.sum(tg.square(x - y)),
    lambda x, y: y / tg.sum(tg.square(x * tg.sin(y))),
    lambda x, y: tg.sqrt(tg.sum((x + 2 * y) ** 2)),
)
SQUARES = (  # of vectors, and of what is none
    *(of(("float64", (n,)))(form) for n in (None, 4, 70) for form in NORMS),
    *(of(("float64", (n,)), ("float64", (n,)))(form) for n in (None, 4, 70) for form in DISTANCES),
    of(("float64", (3, 4)))(lambda x: tg.sum(tg.square(tg.sum(x, 0)))),
    of(("float64", (3, 4)))(lambda x: tg.sum(tg.square(tg.reshape(x, (-1,))))),
    of(("float64", (3, 4)))(lambda x: tg.sum(tg.square(x), -1)),
    of(("float32", (4,)))(lambda x: tg.sum(tg.square(x))),
    of(("float32", (4,)))(lambda x: tg.sum(tg.square(tg.cast(x, "float64")))),
    of(("float64", (4,)))(lambda x: tg.prod(tg.square(x))),
    of(("float64", (4,)))(lambda x: tg.sum(x**3)),
)
