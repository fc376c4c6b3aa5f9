"""Products read as factors and written again: what is NaN in them stays so, and what a gate hides stays hidden."""

import numpy as np
import pytest

import tg
from tests.unit.rewrite.test_exponentials import values

E, T = tg.exp, tg.sigmoid
G, Z, U = (v.ravel() for v in np.meshgrid([0.0, 2.0], [0.0, 3.0], [np.nan, 1.0]))


def gate(x, y):
    return np.where(x == 0, 0.0, x * y)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda g, z, u: tg.gate(tg.gate(g, E(u)) * z, E(-u)), gate(gate(G, U * 0 + 1) * Z, U * 0 + 1)),
        (lambda g, z, u: tg.gate(tg.gate(tg.gate(g, E(u)), z), E(-u)), gate(gate(gate(G, U * 0 + 1), Z), U * 0 + 1)),
        (lambda g, z, u: tg.gate(tg.gate(g, E(u) * z), E(-u)), gate(G, (U * 0 + 1) * Z)),
        (lambda g, z, u: tg.gate(g, E(u) * z * E(-u)), gate(G, (U * 0 + 1) * Z)),
        (lambda g, z, u: tg.gate(g * E(u) * E(-u), z), gate(G * (U * 0 + 1), Z)),
        (lambda g, z, u: tg.gate(tg.gate(g / tg.cosh(z), E(u)), E(-u) * tg.sinh(z)), gate(G, U * 0 + 1) * np.tanh(Z)),
        (lambda g, z, u: -tg.gate(tg.gate(g, -E(u)) * z, E(-u)), gate(gate(G, U * 0 + 1) * Z, U * 0 + 1)),
    ],
)
def test_a_gate_hides_nan_by_what_stands_before_it_alone(build, expected):
    inputs = [tg.vector(name) for name in "gzu"]
    ((new,), (old,)) = values(inputs, [build(*inputs)], G, Z, U)
    np.testing.assert_allclose(new, expected, rtol=1e-14)
    np.testing.assert_allclose(old, expected, rtol=1e-14)


S = np.array([[np.nan] * 3, [np.nan] * 3, [0.0, 1.0, 2.0], [-900.0, -800.0, -801.0]])
W = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 0.0], [1.0, -1.0, 0.0], [2.0, 1.0, 0.0]])
TERMS = {  # of w and a sum of exponentials: what is summed, what is left of it, and where it is NaN if the divisor is
    "behind a gate": (lambda w, t: tg.gate(w, 1 / t), W, W != 0),
    "two gates": (lambda w, t: tg.gate(tg.gate(w, 1 / t), abs(w)), W * abs(W), W != 0),
    "twice": (lambda w, t: tg.gate(w, 1 / t) * (3.0 / t) * t, 3 * W, True),
    "beside a gate": (lambda w, t: tg.gate(w, abs(w)) / t, W * abs(W), True),
    "a quotient": (lambda w, t: w / t, W, True),
}


@pytest.mark.parametrize("name", TERMS)
def test_nan_of_a_divisor_that_leaves_a_sum_is_shown_where_a_term_showed_it(name):
    s, w = (tg.tensor(letter, shape=(4, 3)) for letter in "sw")
    build, left, shown = TERMS[name]
    t = tg.sum(tg.exp(s), 1, keepdims=True)
    total = tg.sum(build(w, t), 1, keepdims=True)
    largest = S.max(1, keepdims=True)
    shares = np.exp(S - largest) / np.exp(S - largest).sum(1, keepdims=True)
    left = left.sum(1, keepdims=True)
    nan = np.where(np.any(np.isnan(S) & shown, 1, keepdims=True), np.nan, 0)
    news, _ = values([s, w], [total * tg.exp(s), tg.gate(total, tg.exp(s)), total * t, tg.gate(total, t)], S, W)
    for new, expected in zip(
        news, (left * shares, gate(left + nan, shares), left + 0 * S[:, :1], left + nan), strict=True
    ):
        np.testing.assert_allclose(new, expected, rtol=1e-14)


@pytest.mark.parametrize("move", [lambda v: v.reshape((6,)), lambda v: v.T, lambda v: v[None]])
def test_a_share_of_what_is_masked_is_0_where_it_is_moved(move):
    x, y = (tg.tensor(name, shape=(2, 3)) for name in "xy")
    share = tg.softmax(tg.where(x > 0, x, -np.inf), -1)
    at = np.array([[0.5, -1.0, 2.0], [-0.5, 1.0, 3.0]]), np.array([[2.0, 3.0, 4.0], [5.0, 6.0, 7.0]])
    ((new,), _) = values([x, y], [tg.gate(move(y * share), 1 / move(share))], *at)
    np.testing.assert_allclose(new, move(np.where(at[0] > 0, at[1], 0)), rtol=1e-14)
