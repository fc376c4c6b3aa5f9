"""Products read as factors and written again: what is NaN in them stays so, and what a gate hides stays hidden."""

import numpy as np
import pytest

import tg
from tests.unit.rewrite.test_exponentials import EXPONENTIALS, values
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.rewrite.driver import rewrite
from tg.rewrite.rules.elementwise.exponential.factors import OTHER, Factor, Guard, Product, rebuilt

E, T = tg.exp, tg.sigmoid
G, Z, U = (v.ravel() for v in np.meshgrid([0.0, 2.0], [0.0, 3.0], [np.nan, 1.0]))


def gate(x, y):
    return np.where(x == 0, 0.0, x * y)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda g, z, u: tg.gate(tg.gate(g, E(u)) * z, E(-u)), gate(gate(G, U * 0 + 1) * Z, U * 0 + 1)),
        (lambda g, z, u: tg.gate(tg.gate(tg.gate(g, E(u)), z), E(-u)), gate(gate(gate(G, U * 0 + 1), Z), U * 0 + 1)),
        (lambda g, z, u: tg.gate(tg.gate(tg.gate(g, z), E(u)), E(-u)), gate(gate(G, Z), U * 0 + 1)),
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
    assert "divide" not in rewritten([x, y], tg.gate(move(y * share), 1 / move(share)))


def rewritten(inputs, output):
    """The names of the ops that a program has once it is rewritten by the rules of exponentials."""
    new = rewrite(FunctionGraph.of(inputs, [output]), [EXPONENTIALS], supported=lambda op, types: True)
    return [node.op.name for node in new.nodes]


def test_what_is_left_is_multiplied_and_divided_in_its_order():
    a, v, w, u = inputs = [tg.vector(letter) for letter in "avwu"]
    product = 1 / E(v) / tg.cosh(w) * a * E(u) * E(-u)
    at = [np.full(1, number) for number in (1e200, -460.0, 460.0, 1.0)]
    ((new,), _) = values(inputs, [product], *at)
    np.testing.assert_allclose(new, 2e200, rtol=1e-12)  # where a / exp(v) is 1e400


READ = {  # of a = 2, b = 3, c = 5 and u = +-800, where one exponential is infinite
    "two with gates": (lambda a, b, c, u: tg.gate(a, E(u)) * tg.gate(b, c) * E(-u), 30.0),
    "gates in the second": (lambda a, b, c, u: b * tg.gate(a, E(u)) * E(-u), 6.0),
    "gates in a divisor": (lambda a, b, c, u: tg.gate(a, E(u)) / tg.gate(b, c) * E(-u), 2 / 15),
    "gates in a divisor alone": (lambda a, b, c, u: E(u) / tg.gate(b, c) * E(-u), 1 / 15),
    "a gate in what is gated": (lambda a, b, c, u: tg.gate(a, E(u) * tg.gate(b, c)) * E(-u), 30.0),
    "a gate in a square": (lambda a, b, c, u: tg.square(E(u) * tg.gate(b, c)) * E(-u) / E(u), 225.0),
    "a guard beside a gate": (
        lambda a, b, c, u: tg.gate(a, E(u)) * tg.where(tg.isnan(c), tg.gate(b * E(c), c), b * E(c)) * E(-u),
        6 * np.exp(5.0),
    ),
    "a sign": (lambda a, b, c, u: -(-a * E(u)) * -b * E(-u), -6.0),
    "a cube": (lambda a, b, c, u: (-T(u)) ** 3 * a / T(u) ** 3, -2.0),
    "reciprocals": (lambda a, b, c, u: (-T(u)) ** -2 * a * T(u) * T(u), 2.0),
    "one reciprocal": (lambda a, b, c, u: (-T(u)) ** -1 * a * T(u), -2.0),
    "the first power": (lambda a, b, c, u: T(u) ** 1.0 * a * (1 + E(-u)), 2.0),
    "divided by reciprocals": (lambda a, b, c, u: b / T(u) ** -2 * (1 + E(-u)) * (1 + E(-u)), 3.0),
    "too many for a cube": (lambda a, b, c, u: (T(-a) * a * b * c * a * b * c) ** 3 * (1 + E(a)) * E(u) * E(-u), None),
    "too many for a cube of few products": (
        lambda a, b, c, u: (T(-a) * a * (b * c) * (a * b * c)) ** 3 * (1 + E(a)) * E(u) * E(-u),
        None,
    ),
    "a softmax": (lambda a, b, c, u: tg.softmax(u, -1) * a / tg.softmax(u, -1), 2.0),
    "at most 1": (lambda a, b, c, u: a * E(u) * tg.softmax(c, -1) * b / E(u), 3.0),
    "a square": (lambda a, b, c, u: tg.square(-T(u)) * a / T(u) / T(u), 2.0),
    "1 and an exponential": (lambda a, b, c, u: a * (1 + E(u)) * T(-u) * b, 6.0),
    "divided by 1 and an exponential": (lambda a, b, c, u: a / (1 + E(u)) / T(-u) * b, 6.0),
    "a written sum": (lambda a, b, c, u: a * (E(u) + E(2 * u)) / (E(u) + E(2 * u)), 2.0),
    "1 and two": (lambda a, b, c, u: a * (E(u) + E(2 * u) + 1) / (E(u) + E(2 * u) + 1), 2.0),
    "functions": (lambda a, b, c, u: a * tg.cosh(-u) * b / tg.cosh(u), 6.0),
}


@pytest.mark.parametrize("name", READ)
def test_factors_are_found_in_products_of_all_forms(name):
    inputs = [tg.vector(letter) for letter in "abcu"]
    build, expected = READ[name]
    ((new,), _) = values(inputs, [build(*inputs)], *(np.full(2, n) for n in (2.0, 3.0, 5.0)), np.array([-800.0, 800.0]))
    expected = 900.0**3 / (1 + np.exp(2.0)) ** 2 if expected is None else expected
    np.testing.assert_allclose(new, expected, rtol=1e-13)


@pytest.mark.parametrize(
    "other",
    [
        lambda a, b, c: a,
        lambda a, b, c: tg.gate(a, c),
        lambda a, b, c: tg.gate(b, a),
        lambda a, b, c: b * c,
        lambda a, b, c: tg.gate(c, b),
    ],
)
@pytest.mark.parametrize("condition", [tg.isnan, tg.isfinite])
def test_what_is_no_guard_is_computed_as_it_is_written(other, condition):
    a, b, c, u = inputs = [tg.vector(letter) for letter in "abcu"]
    y = b * E(u)
    choices = tg.where(condition(c), other(a, y, c), y) * E(-u), tg.where(condition(c), other(a, y, c), y) * E(u)
    at = np.array([2.0, 0.0, 2.0]), np.array([3.0, 3.0, 0.0]), np.array([np.nan, 5.0, np.nan]), np.full(3, 0.5)
    for new, old in zip(*values(inputs, choices, *at), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-14)


def softmax(x, axis):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


LARGE, WEIGHTS = np.array([[800.0, 801.0, 799.0], [802.0, 800.0, 801.5]]), np.array([[1.0, 2.0, 4.0], [3.0, 5.0, 7.0]])
TAKEN_OUT = {  # of a sum of exponentials that is infinite
    "repeated": (lambda w, s: E(s) * total(w / tg.broadcast_to(total(E(s)), (2, 3))), (1, 1)),
    "of all": (lambda w, s: E(s) * total(w / tg.sum(E(s))), (1, None)),
    "of all, repeated": (lambda w, s: E(s) * total(w / tg.broadcast_to(tg.sum(E(s)), (2, 3))), (1, None)),
    "of all, over all": (lambda w, s: E(s) * tg.sum(w / tg.sum(E(s))), (None, None)),
    "over all, kept": (
        lambda w, s: E(s) * tg.sum(w / tg.sum(E(s), (0, 1), keepdims=True), (0, 1), keepdims=True),
        (None, None),
    ),
    "kept later": (lambda w, s: E(s) * tg.sum(w / total(E(s)), 1)[:, None], (1, 1)),
    "along the other axis": (lambda w, s: E(s) * tg.sum(w / tg.sum(E(s), 0, keepdims=True), 0, keepdims=True), (0, 0)),
    "a quotient that is kept": (lambda w, s: (tg.sum(w, 1) / tg.sum(E(s), 1))[:, None] * E(s), (1, 1)),
    "1 beside it": (lambda w, s: (tg.sum(w, 1) / (tg.sum(E(s), 1) + 1.0))[:, None] * E(s), (1, 1)),
    "a product": (lambda w, s: E(s) * total((w / 2.0) / total(E(s)) * 2.0), (1, 1)),
    "in a square": (lambda w, s: tg.square(total(w / total(E(s))) * E(s)) / total(w), None),
}


def total(v):
    return tg.sum(v, 1, keepdims=True)


@pytest.mark.parametrize("name", TAKEN_OUT)
def test_a_divisor_leaves_a_sum_for_the_exponentials_outside(name):
    s, w = (tg.tensor(letter, shape=(2, 3)) for letter in "sw")
    build, axes = TAKEN_OUT[name]
    ((new,), _) = values([s, w], [build(w, s)], LARGE, WEIGHTS)
    outer, inner = axes or (1, 1)
    expected = WEIGHTS.sum(outer, keepdims=True) * softmax(LARGE, inner)
    np.testing.assert_allclose(
        new, expected**2 / WEIGHTS.sum(1, keepdims=True) if axes is None else expected, rtol=1e-12
    )


@pytest.mark.parametrize("is_gated", [True, False])
@pytest.mark.parametrize("quotient", [lambda w, t: w / t, lambda w, t: tg.gate(w, 1 / t)])
def test_a_guard_of_terms_is_as_hidden_where_their_divisor_has_left(is_gated, quotient):
    s, w, u = (tg.tensor(letter, shape=(2, 3)) for letter in "swu")
    weights, at = np.array([[0.0, 1.0, 2.0], [3.0, 5.0, 0.5]]), np.array([[np.nan, 1.0, 1.0], [np.nan, 1.0, 1.0]])
    y = quotient(w, total(E(s)))
    guarded = tg.where(tg.isnan(u), tg.gate(y, u) if is_gated else u, y)
    ((new,), _) = values([s, w, u], [total(guarded) * E(s)], LARGE, weights, at)
    left = np.where(np.isnan(at), gate(weights, at) if is_gated else at, weights).sum(1, keepdims=True)
    np.testing.assert_allclose(new, left * softmax(LARGE, 1), rtol=1e-12)


STAYING = {  # as NumPy computes them
    "a product of quotients": (lambda w, s, v, n: v.exp(s) * v.prod(w / n(v.exp(s)), 1, keepdims=True)),
    "products": lambda w, s, v, n: v.exp(s) * n(w * n(v.exp(s))),
    "nothing else": lambda w, s, v, n: v.exp(s) * n(1 / n(v.exp(s))),
    "below a line": lambda w, s, v, n: v.exp(w) / n(w / n(v.exp(s))) * v.exp(-w),
    "the other axis": lambda w, s, v, n: v.exp(s) * v.sum(w / n(v.exp(s)), 0, keepdims=True) * v.exp(-s),
    "the other axis, not kept": lambda w, s, v, n: v.exp(s[0]) * v.sum(w / n(v.exp(s)), 0) * v.exp(-s[0]),
    "twice divided": lambda w, s, v, n: n(w / n(v.exp(s))) / n(v.exp(s)) * v.exp(s),
    "a sum of two": lambda w, s, v, n: v.exp(s) * n(w / (v.exp(s) + v.exp(w))),
    "two axes": lambda w, s, v, n: v.exp(s) * v.sum(w / n(v.exp(s)), (0, 1), keepdims=True),
    "a maximum": lambda w, s, v, n: v.exp(s) * v.max(w / v.exp(s), 1, keepdims=True),
    "one row": lambda w, s, v, n: v.exp(s) * n(w / v.sum(v.exp(s), 1)[0]),
    "rows along columns": lambda w, s, v, n: v.exp(s[:, :2]) * n(w[:, :2] / v.sum(v.exp(s[:, :2]), 1)[None]),
    "no exponential": lambda w, s, v, n: v.exp(s) * n(w / n(s)) * v.exp(-s),
}


@pytest.mark.parametrize("name", STAYING)
def test_sums_of_quotients_are_what_they_are(name):
    s, w = (tg.tensor(letter, shape=(2, 3)) for letter in "sw")
    at = LARGE - 800.5, WEIGHTS
    ((new,), _) = values([s, w], [STAYING[name](w, s, tg, total)], *at)
    expected = STAYING[name](at[1], at[0], np, lambda v: np.sum(v, 1, keepdims=True))
    np.testing.assert_allclose(new, expected, rtol=1e-12)


def test_only_sums_of_exponentials_leave_a_sum():
    s, w, z = (tg.tensor(letter, shape=(2, 3)) for letter in "swz")
    product = E(s) * total(w / z[:, :1]) * E(-s)
    ((new,), _) = values([s, w, z], [product], LARGE, np.full((2, 3), 1e308), np.full((2, 3), 1e10))
    np.testing.assert_allclose(new, np.full((2, 3), 3e298), rtol=1e-12)  # though the sum of w is infinite


RETURNING = {  # to the sum of w that it left: a divisor that meets none where others meet
    "a quotient": lambda w, t, u: E(u) * total(w / t) * E(-u),
    "behind a gate": lambda w, t, u: E(u) * total(tg.gate(w, 1 / t)) * E(-u),
    "in an operand": lambda w, t, u: E(u) * (total(w / t) * E(-u)),
    "moved": lambda w, t, u: E(u) * tg.broadcast_to(total(w / t), (2, 3)) * E(-u),
    "in a square": lambda w, t, u: tg.square(T(u) * total(w / t)) / T(u) / T(u) / total(w / t),
    "beside a sum": lambda w, t, u: (E(u) * 3.0 - E(u)) * (total(w / t) * E(-u)) / 2.0,
    "one of two": lambda w, t, u: E(u) * total(w / t) * total(0.5 / t) * t * E(-u) * 2.0,
    "in an operand that is small": lambda w, t, u: E(u) * w * (total(w / t) / w * E(-u)),
    "in an operand of an operand": lambda w, t, u: E(u) * (w * (total(w / t) / w * E(-u))),
}


@pytest.mark.parametrize("name", RETURNING)
def test_a_divisor_that_meets_none_returns_to_the_sum_that_it_left(name):
    s, w, u = (tg.tensor(letter, shape=(2, 3)) for letter in "swu")
    at = np.array([[400.0, 401.0, 402.0], [403.0, 400.0, 400.5]]), np.full((2, 3), 1e308), np.full((2, 3), -100.0)
    ((new,), _) = values([s, w, u], [RETURNING[name](w, total(E(s)), u)], *at)
    expected = (at[1] / np.exp(at[0]).sum(1, keepdims=True)).sum(1, keepdims=True)
    np.testing.assert_allclose(new, np.broadcast_to(expected, new.shape), rtol=1e-12)


def test_a_sum_that_does_not_stand_beside_its_exponentials_meets_none():
    y, w = (tg.tensor(letter, shape=(2, 3)) for letter in "yw")
    s = -tg.log(y)
    t = tg.sum(E(s), 1)
    outputs = tg.gate(tg.sum(w / t[:, None], 1), t), t / tg.sum(E(s), 0)[1:]
    at = np.array([[0.0, 1.0, 2.0], [1.0, 0.5, 0.25]]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    (first, second), _ = values([y, w], outputs, *at)
    np.testing.assert_allclose(first, [0.0, 15.0], rtol=1e-14)  # 1 / inf closes the gate
    with np.errstate(divide="ignore"):
        powers = 1 / at[0]
    np.testing.assert_allclose(second, powers.sum(1) / powers.sum(0)[1:], rtol=1e-14)


@pytest.mark.parametrize(
    ("terms", "guards"),
    [
        (lambda w, z, s, t: tg.gate(w, 1 / t), 1),
        (lambda w, z, s, t: tg.gate(w, tg.softmax(s, 1) / t), 0),
        (lambda w, z, s, t: tg.softmax(s, 1) * tg.gate(w, z / t), 0),
        (lambda w, z, s, t: tg.gate(w, z / t) / t, 0),
        (lambda w, z, s, t: w * z / t, 0),
        (lambda w, z, s, t: tg.gate(w, z / t / t), 0),
        (lambda w, z, s, t: tg.gate(w, z / tg.sum(E(s))), 1),
        (lambda w, z, s, t: tg.gate(w, tg.softmax(s, 0) / t), 1),
        (lambda w, z, s, t: tg.gate(w, tg.softmax(z, 1) / t), 1),
        (lambda w, z, s, t: tg.gate(tg.gate(w, z / t) * z, tg.softmax(s, 1)), 1),
        (lambda w, z, s, t: tg.gate(tg.where(tg.isnan(tg.softmax(s, 1)), tg.softmax(s, 1), w), 1 / t), 1),
    ],
)
def test_a_divisor_leaves_a_guard_where_nothing_else_in_the_terms_is_nan_with_it(terms, guards):
    s, w, z = (tg.tensor(letter, shape=(2, 3)) for letter in "swz")
    names = rewritten([s, w, z], tg.gate(total(terms(w, z, s, total(E(s)))), E(s)))
    assert "Reduce" in names
    assert names.count("isnan") == guards


def test_only_what_has_exponentials_is_taken_apart():
    a, b, c, u = inputs = [tg.tensor(letter, shape=(2, 3)) for letter in "abcu"]
    names = rewritten(inputs, E(u) * tg.reshape(a * b, (2, 3)) * tg.square(c) * E(-u))
    assert "square" in names
    names = rewritten(inputs, E(tg.reshape(u, (6,))) * tg.reshape(a * b, (6,)) * E(-tg.reshape(u, (6,))))
    assert names.count("Reshape") == 2  # of a * b, and of u that may be NaN


def test_a_value_that_is_used_again_and_again_is_not_read_as_often():
    x = tg.vector("x")
    v = E(x)
    for _ in range(40):
        v = v * v
    ((new,), _) = values([x], [v], np.array([0.0, 2.0**-40]))
    np.testing.assert_allclose(new, [1.0, np.e], rtol=1e-3)


def test_a_sum_in_a_divisor_is_one_factor():
    s, w = (tg.tensor(letter, shape=(2, 3)) for letter in "sw")
    product = E(s) / total(tg.gate(w, 1 / total(E(w)))) * E(-s)
    ((new,), _) = values([s, w], [product], LARGE, WEIGHTS)
    expected = np.exp(WEIGHTS).sum(1, keepdims=True) / WEIGHTS.sum(1, keepdims=True)
    np.testing.assert_allclose(new, np.broadcast_to(expected, (2, 3)), rtol=1e-12)


def test_a_written_sum_of_scalars_divides_what_it_did():
    s, a, b = tg.tensor("s", shape=(2, 3)), tg.scalar("a"), tg.scalar("b")
    product = total(tg.gate(s, tg.softmax(s, 1) / (E(a) + E(b)))) * E(a)
    ((new,), _) = values([s, a, b], [product], WEIGHTS, np.array(1.0), np.array(2.0))
    expected = (WEIGHTS * softmax(WEIGHTS, 1)).sum(1, keepdims=True) / (1 + np.e)
    np.testing.assert_allclose(new, expected, rtol=1e-12)


MOVED = {  # products that are moved, and of what the exponential of u meets them
    "all alike": (lambda w, u: E(u) * w, lambda u: u, 1),
    "one row of them": (lambda w, u: E(u[:1]) * w, lambda u: u, None),
    "one row beside all": (lambda w, u: E(u) * w[:1], lambda u: u, None),
    "1 beside one row": (lambda w, u: (E(u[:1]) + np.ones((2, 3))) * w, lambda u: u, None),
    "a scalar": (lambda w, u: E(u[0, 0]) * w, lambda u: u[0, 0], 1),
}


@pytest.mark.parametrize("name", MOVED)
@pytest.mark.parametrize("move", [lambda v: v.reshape((6,)), lambda v: v.T, lambda v: v[:, None]])
def test_a_product_is_moved_factor_by_factor_where_all_have_its_elements(name, move):
    w, u = (tg.tensor(letter, shape=(2, 3)) for letter in "wu")
    build, argument, left = MOVED[name]
    beside = argument(u)
    beside = move(beside) if beside.type.ndim else beside
    ((new,), (old,)) = values([w, u], [move(build(w, u)) * E(-beside)], WEIGHTS, WEIGHTS - 3)
    np.testing.assert_allclose(new, old, rtol=1e-13)
    if left is not None:
        ((new,), _) = values([w, u], [move(build(w, u)) * E(-beside)], WEIGHTS, LARGE)
        np.testing.assert_allclose(new, move(WEIGHTS), rtol=1e-13)


def test_rows_are_moved_where_there_is_one_of_them_alone():
    w, u = (tg.tensor(letter, shape=(2, 3)) for letter in "wu")
    ((new,), _) = values([w, u], [(E(u[:1]) * w).T * E(-u[:1].T)], WEIGHTS, LARGE)
    np.testing.assert_allclose(new, WEIGHTS.T, rtol=1e-13)


def test_a_sum_that_is_moved_away_from_its_exponentials_meets_none():
    y, w = (tg.tensor(name, shape=(2, 3)) for name in "yw")
    t = total(E(-tg.log(y)))
    at = np.array([[0.0, 1.0, 2.0], [1.0, 0.5, 0.25]]), WEIGHTS
    ((new,), _) = values([y, w], [tg.gate((w / t).T, t.T)], *at)
    np.testing.assert_allclose(new, WEIGHTS.T * [[0.0, 1.0]], rtol=1e-14)  # 1 / inf closes the gate


def test_powers_that_are_no_products_of_few_factors_stay():
    a, u = inputs = [tg.vector(letter) for letter in "au"]
    at = np.array([2.0, 3.0]), np.array([-1.0, 0.5])
    sigmoid = 1 / (1 + np.exp(-at[1]))
    for power, number in ((0.5, 0.5), (-0.5, -0.5), (1.5, 1.5), (4.0, 4.0), (-4.0, -4.0), (a, at[0]), (0.0, 0.0)):
        product = T(u) ** power * a / T(u)
        ((new,), _) = values(inputs, [product], *at)
        np.testing.assert_allclose(new, sigmoid**number * at[0] / sigmoid, rtol=1e-14)
    ((new,), _) = values(inputs, [T(u) ** -1.0 / T(u) * a], *at)
    np.testing.assert_allclose(new, at[0] / sigmoid**2, rtol=1e-14)
    assert "power" in rewritten(inputs, T(u) ** 4.0 * a / T(u))
    assert "power" in rewritten(inputs, T(u) ** -4.0 * a * T(u))


@pytest.mark.parametrize(
    "other",
    [
        lambda w, y, u: w,
        lambda w, y, u: tg.gate(w, u),
        lambda w, y, u: tg.gate(y, w),
        lambda w, y, u: tg.gate(u, y),
        lambda w, y, u: tg.gate(y, u),
        lambda w, y, u: y * u,
    ],
)
@pytest.mark.parametrize("condition", [tg.isnan, tg.isfinite])
def test_terms_with_what_is_no_guard_are_computed_as_written(other, condition):
    s, w, u = (tg.tensor(letter, shape=(2, 3)) for letter in "swu")
    y = (w - 1.0) / total(E(s))
    sums = total(tg.where(condition(u), other(w, y, u), y)) * E(s)
    at = np.array([[np.nan, 1.0, 2.0], [3.0, 1.0, np.nan]])
    ((new,), (old,)) = values([s, w, u], [sums], LARGE - 800, WEIGHTS, at)
    np.testing.assert_allclose(new, old, rtol=1e-13)


def test_a_divisor_and_what_is_gated_keep_their_gates():
    a, b, u, x = inputs = [tg.vector(letter) for letter in "abux"]
    products = (
        E(x) / tg.gate(b, E(x)),
        tg.gate(a * E(-x), tg.gate(b, E(x) * E(u))),
        tg.gate(a * E(-x), tg.gate(b, E(u)) * E(x)),
    )
    at = np.full(3, 2.0), np.array([3.0, 3.0, 0.0]), np.array([0.5, np.nan, np.nan]), np.full(3, 1.5)
    (quotient, *gates), _ = values(inputs, products, *at)
    np.testing.assert_allclose(quotient, [1 / 3, 1 / 3, np.inf], rtol=1e-14)
    for product in gates:
        np.testing.assert_allclose(product, [6 * np.exp(0.5), np.nan, 0.0], rtol=1e-14)


def test_a_factor_that_meets_none_stays_as_it_is_written():
    w, u, x = inputs = [tg.tensor(letter, shape=(2, 3)) for letter in "wux"]
    assert "sigmoid" not in rewritten(inputs, w * (1 + E(u)) * E(x) * E(-x))
    assert "sigmoid" not in rewritten(inputs, tg.reshape(w * (1 + E(u)), (6,)) * E(x.ravel()) * E(-x.ravel()))


def test_a_product_is_repeated_as_often_as_an_operand_says():
    w, u, n = tg.tensor("w", shape=(1, 3)), tg.tensor("u", shape=(1, 3)), tg.scalar("n", dtype="int64")
    product = tg.broadcast_to(E(u) * w, (n, 3)) * E(-tg.broadcast_to(u, (n, 3)))
    ((new,), _) = values([w, u, n], [product], WEIGHTS[:1], LARGE[:1], np.array(2))
    np.testing.assert_allclose(new, np.repeat(WEIGHTS[:1], 2, 0), rtol=1e-14)


@pytest.mark.parametrize("stages", [(1, 0), (3, 1), (1, 3), (0, 3), (2, 1), (3, 3)])
@pytest.mark.parametrize("sign", [1, -1])
def test_guards_are_written_at_their_stages(stages, sign):
    g, z, u, v = inputs = [tg.vector(letter) for letter in "gzuv"]
    at = [w.ravel() for w in np.meshgrid([0.0, 2.0], [0.0, 3.0], [np.nan, 1.0], [np.nan, 1.0])]
    factors = Factor(OTHER, g), Factor(OTHER, z, stage=2)
    made = rebuilt(Product(*factors, sign=sign, guards=tuple(map(Guard, (u, v), stages))))
    assert made is not None
    expected = np.ones(16)
    for stage in range(4):
        given = {0: [at[0]], 2: [at[1]]}.get(stage, [])
        given += [w * 0 + 1 for w, k in zip(at[2:], stages, strict=True) if k == stage]
        for w in given:
            expected = gate(expected, w) if stage % 2 and stage != 0 else expected * w
    (new,) = interpret(FunctionGraph.of(inputs, [made]).freeze(), at)
    np.testing.assert_array_equal(new, sign * expected)


def test_what_nothing_stands_before_is_gated_by_nothing():
    g, z = inputs = [tg.vector(letter) for letter in "gz"]
    made = rebuilt(Product(Factor(OTHER, g, stage=1), Factor(OTHER, z, stage=2)))
    assert made is not None
    (new,) = interpret(FunctionGraph.of(inputs, [made]).freeze(), [np.array([2.0, np.nan]), np.array([3.0, 0.0])])
    np.testing.assert_array_equal(new, [6.0, np.nan])
    assert rebuilt(Product()) is None
    assert rebuilt(Product(sign=-1)) is None
