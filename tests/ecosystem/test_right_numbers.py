"""Programs that came out as wrong finite numbers once, alike on every backend: each against numbers of NumPy.

One of each kind of mistake: a sign or power lost in a movement, a scale counted twice, a guard of another dtype, a
constant that vanishes, a write that is lost, a fact that holds for other values only, an error that nobody made.
"""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg import plugin

BACKENDS = sorted(b.name for b in plugin.registry().backends() if b.is_available)
WAYS = [*((name, "default") for name in BACKENDS), ("perform", "strict"), ("perform", "off")]
IDS = [f"{name}-{mode}" for name, mode in WAYS]
U, Y, S = np.array([0.1, 0.2]), np.array([3.0, 5.0]), np.array([2.0, 4.0])
E = np.exp([1.0, 2.0])[:, None]
HUGE = 2.0**31


def reciprocal_exponential_beside_others():
    s, x = tg.scalar("s"), tg.vector("x")
    made = (1 / tg.exp(s))[None] * tg.exp(x)[:, None] / tg.exp(x)[:, None]
    return [s, x], made, [0.7, [1.0, 2.0]], np.full((2, 1), np.exp(-0.7))


def negative_exponential_beside_others():
    s, x = tg.scalar("s"), tg.vector("x")
    made = (-tg.exp(s))[None] * tg.exp(x)[:, None] / tg.exp(x)[:, None]
    return [s, x], made, [0.7, [1.0, 2.0]], np.full((2, 1), -np.exp(0.7))


def share_of_a_sum_beside_a_reciprocal():
    s, m = tg.scalar("s"), tg.matrix("m")
    value = np.array([[0.0, 1.0, 2.0], [3.0, -1.0, 0.5]])
    share = np.exp(value) / np.exp(value).sum(1, keepdims=True)
    made = (1 / tg.exp(s))[None] * tg.exp(m) / tg.sum(tg.exp(m), 1, keepdims=True)
    return [s, m], made, [0.7, value], np.exp(-0.7) * share


def infinite_slope_that_a_gate_hides():
    x, y = tg.vector("x"), tg.vector("y")
    made = tg.gate(y * tg.exp(x), 1 / tg.expm1(x))
    return [x, y], made, [[0.0, 1.0], [0.0, 2.0]], [0.0, 2 * np.e / np.expm1(1.0)]


def scale_under_a_gate():
    u, y, s = tg.vector("u"), tg.vector("y"), tg.constant(S)
    slope = tg.grad(tg.sum(tg.log(u) * y * -3.0), u)
    return [u, y], s * slope * y / (s * u), [U, Y], -3 * (Y / U) ** 2


def powers_beyond_the_range_of_their_product():
    x, y, z = (tg.vector(name) for name in "xyz")
    made = (x * 2.0**-31) ** 16 * ((y * 2.0**-31) ** 16) * ((z * 2.0**-31) ** 16)
    return [x, y, z], made, [[HUGE], [HUGE], [HUGE]], [1.0]


def shifts_beyond_the_width():
    r = tg.vector("r", dtype="uint32")
    return [r], (r >> 20) >> 20, [np.array([2**32 - 1, 1], np.uint32)], np.zeros(2, np.uint32)


def constants_that_vanish_together():
    x = tg.vector("x")
    return [x], x * 1e-200 / 1e200, [[1e300, np.inf, np.nan]], [1e-100, np.inf, np.nan]


def term_whose_constants_vanish():
    x, y, z = (tg.vector(name) for name in "xyz")
    return [x, y, z], z + (x * 1e-200 + y) * 1e-200, [[np.nan], [1.0], [0.0]], [np.nan]


def last_of_three_writes():
    a, b, c = (tg.vector(name) for name in "abc")
    made = tg.zeros((4,)).at[0:2].set(a).at[2:4].set(b).at[1:3].set(c)
    return [a, b, c], made, [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [1.0, 5.0, 6.0, 4.0]


def fractions_beside_counted_numbers():
    x = tg.vector("x")
    made = tg.sum(x[:, None] == np.arange(3.0), axis=1)
    return [x], made, [[0.5, 1.0, 2.5, 3.0]], np.array([0, 1, 0, 0])


def slope_at_an_infinity_that_is_computed():
    """The slope 0 of arctan at inf times the infinite slope of its argument: no rule knows the limit, which is 0."""
    s, c = tg.scalar("s"), tg.vector("c")
    return [s, c], tg.grad(tg.sum(tg.arctan(s[None] * (1 / (c - c)))), s), [2.0, [1.0, 3.0]], np.nan


def slice_of_length_one():
    m, x, k = tg.tensor("m", "float64", (None, 1)), tg.vector("x"), tg.scalar("k", dtype="int64")
    return [m, x, k], m @ x[:k], [np.arange(4.0)[:, None], [3.0, 7.0], np.int64(1)], 3 * np.arange(4.0)


def sum_over_a_divisor_that_is_repeated():
    x, w, s = tg.matrix("x"), tg.matrix("w"), tg.vector("s")
    value = np.array([[0.0, 1.0], [2.0, 3.0]])
    made = tg.exp(x) * tg.sum(w / tg.broadcast_to(s, x.shape), -1, keepdims=True)
    expected = np.exp(value) * (np.ones((2, 2)) / [2.0, 4.0]).sum(-1, keepdims=True)
    return [x, w, s], made, [value, np.ones((2, 2)), [2.0, 4.0]], expected


PROGRAMS = [
    reciprocal_exponential_beside_others,
    negative_exponential_beside_others,
    share_of_a_sum_beside_a_reciprocal,
    infinite_slope_that_a_gate_hides,
    scale_under_a_gate,
    powers_beyond_the_range_of_their_product,
    shifts_beyond_the_width,
    constants_that_vanish_together,
    term_whose_constants_vanish,
    last_of_three_writes,
    fractions_beside_counted_numbers,
    slope_at_an_infinity_that_is_computed,
    slice_of_length_one,
    sum_over_a_divisor_that_is_repeated,
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("backend", "mode"), WAYS, ids=IDS)
def test_programs_give_their_numbers(backend: str, mode: str) -> None:
    for program in PROGRAMS:
        inputs, made, arguments, expected = program()
        got = tg.function(inputs, made, backend=backend, mode=mode)(*arguments)
        np.testing.assert_allclose(got, expected, rtol=1e-12, err_msg=program.__name__)
