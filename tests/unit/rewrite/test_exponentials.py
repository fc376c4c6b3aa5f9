"""What rules of exponentials take for one argument, for its negative, and for a sum of exponentials beside them."""

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rewrite.rules.elementwise import exponential
from tg.rewrite.rules.elementwise.exponential.terms import aligned_sum_of_exp, relation

EXPONENTIALS = Rewrites(exponential.RULES, exponential.PASSES)


def values(inputs, outputs, *arrays):
    """What outputs are rewritten by the rules of exponentials, and as written."""
    new = rewrite(FunctionGraph.of(inputs, outputs), [EXPONENTIALS], supported=lambda op, types: True)
    old = FunctionGraph.of(inputs, outputs).freeze()  # a rewrite changes its graph
    with np.errstate(all="ignore"):
        return interpret(new, list(arrays)), interpret(old, list(arrays))


def test_two_arguments_are_one_or_negatives_of_each_other():
    x, y = tg.tensor("x", shape=(1, 3)), tg.tensor("y", shape=(1, 3))
    m, n = (tg.scalar(name, dtype="int64") for name in "mn")
    assert [relation(x, v) for v in (x, -x, tg.negative(-x), y, -y)] == [1, -1, 1, 0, 0]
    assert [relation(x - y, v) for v in (x - y, y - x, -(y - x), x - x, x + y)] == [0, -1, 1, 0, 0]
    assert [relation(x * 2.0, v) for v in (x * 2.0, x * -2.0, x * 3.0, y * 2.0, x * y)] == [1, -1, 0, 0, 0]
    assert [relation(x[None], v) for v in (x[None], (-x)[None], y[None], x[..., None], x)] == [1, -1, 0, 0, 0]
    repeated = tg.broadcast_to(x, (m, 3))
    others = tg.broadcast_to(x, (m, 3)), tg.broadcast_to(-x, (m, 3)), tg.broadcast_to(x, (n, 3))
    assert [relation(repeated, v) for v in others] == [1, -1, 0]


def test_a_sum_of_exponentials_stands_beside_them_or_does_not():
    x = tg.tensor("x", shape=(3, 3))
    rows, columns = (tg.sum(tg.exp(x), axis) for axis in (1, 0))
    beside = {
        rows[:, None]: False, columns[None]: False, tg.broadcast_to(rows[:, None], (3, 3)): False,
        tg.sum(tg.exp(x)): False, tg.sum(tg.exp(x)) + 1.0: True, rows[:, None] + 1.0: True, (rows + 1.0)[:, None]: True,
    }  # fmt: skip
    for total, plus_one in beside.items():
        found = aligned_sum_of_exp(total)
        assert found is not None
        assert found.x is x
        assert found.plus_one is plus_one
    for elsewhere in (
        x, x + 1.0, rows, rows[None], columns[:, None], rows[None] + 1.0, rows + 1.0, rows[:, None] + 2.0,
        tg.sum(x, 1)[:, None], tg.max(tg.exp(x), 1)[:, None], tg.broadcast_to(rows, (3, 3)),
    ):  # fmt: skip
        assert aligned_sum_of_exp(elsewhere) is None


def test_no_nan_is_new_where_log1p_of_a_number_less_1_is_at_its_pole():
    """Of -1e-20 less 1 nothing but -1 is left, of which log1p is -inf; log is NaN of what is below 0."""
    x = tg.vector("x")
    at = np.array([-1e-20, -0.0, 0.0, 1e-20, 0.5])
    (found,), (written,) = values([x], [tg.log1p(x - 1)], at)
    np.testing.assert_array_equal(found, written)
    assert found[0] == -np.inf
    (found,), _ = values([x], [tg.log1p(tg.square(x) - 1)], at)
    np.testing.assert_allclose(found[[0, 3, 4]], 2 * np.log(np.abs(at[[0, 3, 4]])), rtol=1e-15)


def test_what_log1mexp_is_made_of_is_not_taken_apart_once_more():
    """Where log(expm1(-x)) is chosen -x is small: another choice for what overflows would be made for nothing."""
    x = tg.vector("x")
    y = tg.where(x > -np.log(2), x + tg.log(tg.expm1(-x)), tg.log1p(-tg.exp(x)))
    found = rewrite(FunctionGraph.of([x], [y]), [EXPONENTIALS], supported=lambda op, types: True)
    assert [node.op.name for node in found.nodes].count("where") == 1
    other = rewrite(FunctionGraph.of([x], [tg.log(tg.expm1(x))]), [EXPONENTIALS], supported=lambda op, types: True)
    assert [node.op.name for node in other.nodes].count("where") == 1


def test_the_logarithm_of_an_odd_negative_power_is_taken_of_what_is_never_minus_0():
    """Of -0.0 the power -3 is -inf, whose logarithm is NaN, and -3 times that of -0.0 is inf."""
    x = tg.vector("x")
    (found,), _ = values([x], [tg.log(tg.assume(x, nonzero=True) ** -3.0)], np.array([1e-200, 2.0]))
    np.testing.assert_allclose(found, -3 * np.log([1e-200, 2.0]), rtol=1e-15)
    (found,), (written,) = values([x], [tg.log(x**-3.0)], np.array([-0.0, 2.0]))
    np.testing.assert_array_equal(found, written)
    assert np.isnan(found[0])


S, W = np.linspace(-1, 2, 12).reshape(3, 4), np.linspace(3, 5, 12).reshape(3, 4)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            lambda s, w: tg.reshape(tg.exp(s[:1]) * w, (12,)) * tg.exp(s).ravel(),
            (np.exp(S[:1]) * W * np.exp(S)).ravel(),
        ),
        (
            lambda s, w: tg.exp(s) * tg.sum(w / tg.sum(tg.exp(s), 1, keepdims=True), 0, keepdims=True),
            np.exp(S) * (W / np.exp(S).sum(1, keepdims=True)).sum(0),
        ),
        (
            lambda s, w: tg.exp(s) * tg.sum(w / tg.sum(tg.exp(s), 1, keepdims=True), (0, 1), keepdims=True),
            np.exp(S) * (W / np.exp(S).sum(1, keepdims=True)).sum(),
        ),
        (
            lambda s, w: tg.exp(s) * tg.sum(w / tg.sum(tg.exp(s)), 1, keepdims=True),
            np.exp(S) * (W / np.exp(S).sum()).sum(1, keepdims=True),
        ),
        (
            lambda s, w: tg.exp(s) * tg.sum(w / tg.sum(tg.exp(s), 1, keepdims=True), 1, keepdims=True),
            np.exp(S) / np.exp(S).sum(1, keepdims=True) * W.sum(1, keepdims=True),
        ),
        (
            lambda s, w: tg.exp(s) * tg.sum(-1 / tg.sum(tg.exp(s), 1, keepdims=True), 1, keepdims=True),
            -np.exp(S) / np.exp(S).sum(1, keepdims=True),
        ),
        (lambda s, w: tg.exp(s) * 3.0 * w * 2.0 * tg.exp(-s), W * 6),
        (lambda s, w: tg.exp(s) * 0.0 * w * tg.exp(-s), W * 0),
        (lambda s, w: tg.exp(s) * 3.0 * (w / 6.0) * tg.sigmoid(-s), np.exp(S) / (1 + np.exp(S)) * W / 2),
    ],
)
def test_products_with_what_is_repeated_and_summed(build, expected):
    s, w = (tg.tensor(name, shape=(3, 4)) for name in "sw")
    found = tg.function([s, w], build(s, w), backend="perform", on_unused_input="ignore")(S, W)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


FACTORS = {
    "exp": tg.exp,
    "1 / exp": lambda u: 1 / tg.exp(u),
    "sigmoid": tg.sigmoid,
    "1 / sigmoid": lambda u: 1 / tg.sigmoid(u),
    "1 + exp": lambda u: 1 + tg.exp(u),
    "expm1": tg.expm1,
    "1 / expm1": lambda u: 1 / tg.expm1(u),
    "sinh": tg.sinh,
    "cosh": tg.cosh,
    "1 / cosh": lambda u: 1 / tg.cosh(u),
    "sum": lambda u: tg.exp(u) + tg.exp(2.0 * u),
    "1 / sum": lambda u: 1 / (tg.exp(u) + tg.exp(2.0 * u)),
}


@pytest.mark.parametrize("name", FACTORS)
def test_what_meets_across_a_gate_is_hidden_where_it_is_closed(name):
    g, u = tg.tensor("g", shape=(12,)), tg.tensor("u", shape=(12,))
    a, outputs = FACTORS[name](u), []
    for other in FACTORS.values():
        for b in (other(u), other(-u)):
            outputs += [tg.gate(g * a, b), tg.gate(tg.gate(g, a), b), tg.gate(g, a) * b, b * tg.gate(g, a)]
            outputs += [tg.gate(g, a) / b, tg.gate(g, tg.gate(g, a)) * b, tg.gate(g, a) * tg.gate(g, b)]
    at = np.tile([-800.0, 800.0, 0.0, -0.0, 1.5, -3.0], 2)
    for new, old in zip(*values([g, u], outputs, np.repeat([0.0, 2.0], 6), at), strict=True):
        closed, representable = old[:6] == 0, np.isfinite(old) & (old != 0)
        assert (new[:6][closed] == 0).all()
        np.testing.assert_allclose(new[representable], old[representable], rtol=1e-14)


@pytest.mark.parametrize("function", [tg.exp, tg.expm1, tg.sinh, tg.cosh, tg.sigmoid, lambda u: 1 + tg.exp(u)])
def test_the_terms_of_an_argument_are_not_those_of_a_product(function):
    w, x = tg.vector("w"), tg.vector("x")
    for inner in (w * tg.exp(-x) + tg.exp(-x), w * tg.exp(-x) - tg.exp(-x)):
        (new,), (old,) = values([w, x], [function(inner) * tg.exp(x)], np.array([0.5, 2.0]), np.array([1.0, -0.5]))
        np.testing.assert_allclose(new, old, rtol=1e-14)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda a, b, c, u: a * (E(u) * b - E(u) * c) / E(u), 0.0),
        (lambda a, b, c, u: (E(u) * b - E(u) * c) * a * T(-u), 0.0),
        (lambda a, b, c, u: (E(u) * b + E(u) * c) / a * T(-u), 1.0),
        (lambda a, b, c, u: -(E(u) * b - E(u) * c - E(u) * b) / a / E(u), 1.0),
        (lambda a, b, c, u: E(-u) * -(-(E(u) * b) + E(u) * c * 0.5) / a, 0.5),
        (lambda a, b, c, u: tg.gate(E(u) * b - E(u) * c, T(-u)) * a, 0.0),
        (lambda a, b, c, u: E(-u) * (E(u) * b + E(u) * 0.0) / a, 1.0),
        (lambda a, b, c, u: E(-u) * (E(u) * 0.0 + E(u) * b) / a, 1.0),
    ],
)
def test_the_terms_of_a_sum_meet_what_is_outside_and_no_other_factor(build, expected):
    inputs = [tg.vector(letter) for letter in "abcu"]
    ((new,), _) = values(inputs, [build(*inputs)], *(np.full(1, number) for number in (1e200, 1e200, 1e200, 0.0)))
    np.testing.assert_allclose(new, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda a, b, u: a * (E(u) * b - E(u)) / E(u), 4.0),
        (lambda a, b, u: -(a * -(E(u) * b - E(u) * a + E(u)) / E(u)), 4.0),
        (lambda a, b, u: a / (E(u) + E(u) * b) * E(u), None),
        (lambda a, b, u: (E(u) * b - E(u)) * T(-u) * a * b, [0.0, 12.0]),
        (lambda a, b, u: tg.gate(a * (E(u) - E(u) * b), 1 / E(u)), -4.0),
        (lambda a, b, u: tg.gate(tg.gate(a, E(u)) + tg.gate(b, E(u)), T(-u)), [0.0, 5.0]),
        (lambda a, b, u: (E(u) * b - E(u) * a) * (T(-u) * E(a)), [0.0, np.exp(2.0)]),
        (lambda a, b, u: (1 + E(b)) * T(-u) * (E(u) * b - E(u) * a), [0.0, 1 + np.exp(3.0)]),
        (lambda a, b, u: (E(-u) + E(-u) / T(a)) * (1 + E(u)), [np.inf, 2 + np.exp(-2.0)]),
        (lambda a, b, u: (E(a) * a * E(-u) + E(a) * b * E(-u)) * E(u), 5 * np.exp(2.0)),
    ],
)
def test_the_terms_of_a_sum_meet_what_is_outside_where_it_overflows(build, expected):
    inputs = [tg.vector(letter) for letter in "abu"]
    ((new,), _) = values(inputs, [build(*inputs)], np.full(2, 2.0), np.full(2, 3.0), np.array([-800.0, 800.0]))
    np.testing.assert_allclose(new, np.nan if expected is None else expected, rtol=1e-14)


@pytest.mark.parametrize(
    "build",
    [
        lambda a, b, x, w: (a * E(x) - b * E(x)) * (T(-x) * E(w)),
        lambda a, b, x, w: (a * E(x) - b * E(x)) / (E(-w) / T(-x)),
        lambda a, b, x, w: (T(-x) * (1 + E(w))) * (a * E(x) - b * E(x)),
        lambda a, b, x, w: (a * E(x) - b) * (T(-x) * E(w)),
        lambda a, b, x, w: (a - b * E(x)) * (tg.cosh(w) * T(-x)),
        lambda a, b, x, w: tg.gate(a * E(x) - b * E(x), T(-x) * E(w)),
    ],
)
def test_an_exponential_that_meets_no_term_of_a_sum_stays_outside(build):
    inputs = [tg.vector(letter) for letter in "abxw"]
    for at, expected in (
        ((1e200, 1e200, 0.0, 460.0), 0.0),
        ((0.0, 0.0, 1.0, 460.0), 0.0),
        ((2.0, 1.0, 0.0, 1.0), None),
    ):
        ((new,), (old,)) = values(inputs, [build(*inputs)], *(np.full(1, number) for number in at))
        np.testing.assert_allclose(new, old if expected is None else expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            lambda a, c, x, y: tg.gate(a * E(x) + E(x), c) * tg.expm1(-x),
            [np.nan, np.nan, np.nan, 9 * (1 - np.e), np.nan],
        ),
        (lambda a, c, x, y: tg.gate(E(-x) * y, E(x) * a + E(x) * c), [0.0, 0.0, np.nan, 20.0, np.nan]),
        (lambda a, c, x, y: tg.gate(y, (E(x) * a + E(x) * c) * E(-x)), [0.0, 0.0, 0.0, 20.0, np.nan]),
        (lambda a, c, x, y: E(-x) * y / (E(x) * a + E(x) * c), [np.nan, np.nan, np.nan, 4 / 5 * np.exp(-2), np.nan]),
        (lambda a, c, x, y: y / (E(x) * a + E(x) * c) * E(x), [np.nan, np.nan, np.nan, 4 / 5, np.nan]),
        (lambda a, c, x, y: tg.gate(y, E(x)) * (tg.gate(a - 2, 1 / E(x)) + tg.gate(a * a - 4, E(-x))), None),
    ],
)
def test_the_terms_of_a_sum_behind_a_gate_or_a_line_stay(build, expected):
    inputs = [tg.vector(letter) for letter in "acxy"]
    expected = [0.0, 0.0, np.nan, 0.0, np.nan] if expected is None else expected
    at = [2.0, 2, 1, 2, 2], [np.nan, np.nan, 1, 3, 2], [0.0, 1, np.nan, 1, np.nan], [0.0, 0, 0, 4, 4]
    ((new,), (old,)) = values(inputs, [build(*inputs)], *map(np.array, at))
    np.testing.assert_allclose(old, expected, rtol=1e-14)
    np.testing.assert_allclose(new, expected, rtol=1e-14)


CANCELLED = {  # of a = b = c = 1e200 and u = -600: sums that are 0, of terms that are infinite if all factors meet
    "a product": lambda a, b, c, u: (a * E(u) * c - b * E(u) * c) * E(-u),
    "a quotient": lambda a, b, c, u: (a * E(u) * c - b * E(u) * c) / E(u),
    "behind a gate": lambda a, b, c, u: tg.gate(a * E(u) * c - b * E(u) * c, E(-u)),
    "an exponential of two shares": lambda a, b, c, u: (a * T(-u) - b * T(-u)) / T(u),
    "1 and an exponential": lambda a, b, c, u: (a * (1 + E(u)) - b * (1 + E(u))) * E(-u),
    "1 and an exponential outside": lambda a, b, c, u: (a * E(u) * c - b * E(u) * c) * (1 + E(-u)),
}


@pytest.mark.parametrize("name", CANCELLED)
def test_terms_that_cancel_meet_nothing_that_makes_them_infinite(name):
    inputs = [tg.vector(letter) for letter in "abcu"]
    ((new,), _) = values(inputs, [CANCELLED[name](*inputs)], *(np.full(1, n) for n in (1e200, 1e200, 1e200, -600.0)))
    np.testing.assert_array_equal(new, [0.0])


def test_what_is_multiplied_with_a_sum_stands_behind_the_gates_of_its_terms():
    c, x, v, y = (tg.vector(letter) for letter in "cxvy")
    product = (tg.gate(c, E(v)) + E(x) * c) * (T(tg.log(y)) * T(-x))
    at = [1.0, 1.0], [0.5, 0.5], [np.nan, 2.0], [0.0, 3.0]
    ((new,), (old,)) = values([c, x, v, y], [product], *map(np.array, at))
    np.testing.assert_allclose(new, old, rtol=1e-14)
    assert np.isnan(new[0])


def test_the_terms_of_a_sum_meet_what_is_behind_a_finite_gate():
    a, b, c, v, x = (tg.vector(letter) for letter in "abcvx")
    f = tg.assume(c, finite=True)
    products = (
        tg.gate(a * E(x) - b * E(x), f) * E(-x),
        tg.gate(a * E(x) - b * E(x), f * T(-x)),
        tg.gate(a * E(x) - b * E(x), T(-x) / f),  # may be infinite
        tg.gate(a * T(v) * E(x) + b * E(x), T(v) / f) * tg.expm1(-x),
    )
    new, old = values([a, b, c, v, x], products, *(np.full(1, number) for number in (5.0, 2.0, 4.0, 0.0, 800.0)))
    np.testing.assert_allclose(new, [[12.0], [12.0], [np.nan], [-np.inf]])
    new, old = values([a, b, c, v, x], products, *(np.full(1, number) for number in (5.0, 2.0, 0.0, 0.0, 0.0)))
    np.testing.assert_allclose(new, [[0.0], [0.0], [np.inf], [np.nan]])
    np.testing.assert_allclose(old, [[0.0], [0.0], [np.inf], [np.nan]])


def test_a_guard_stays_where_what_it_guards_meets_others():
    g, u, x = (tg.vector(name) for name in "gux")
    p, q = (tg.where(tg.isnan(u), u, g * tg.sigmoid(v)) for v in (-x, x))
    products = p * tg.exp(x), tg.exp(x) * p, p / tg.exp(-x), tg.exp(x) / q, tg.gate(p, tg.exp(x)), tg.gate(tg.exp(x), p)
    at = np.array([2.0, 2.0]), np.array([np.nan, 1.0]), np.array([0.5, -1.5])
    for new, old in zip(*values([g, u, x], products, *at), strict=True):
        np.testing.assert_allclose(new, old, rtol=1e-14)
        assert np.isnan(new[0])


E, T, G, X, N = tg.exp, tg.sigmoid, tg.gate, tg.expm1, np.nan
HIDING = {  # at g = h = 2, z = 0 and u = nan: what gates hide of u, and what they do not
    "a zero that would go behind": (lambda g, h, z, u: G(X(z), tg.cosh(u)) * E(-z), 0.0),
    "an infinite exponent that would go behind": (
        lambda g, h, z, u: G(G(g, E(tg.log(z))), T(u)) * T(-tg.log(z)),
        0.0,
    ),
    "a zero that would go in front": (lambda g, h, z, u: G(G(g / tg.cosh(z), T(u)), tg.sinh(z)), N),
    "a zero that would go in front of a guard": (
        lambda g, h, z, u: G(G(G(g, E(u)) * E(-z), E(-u)), T(z)) * X(z),
        N,
    ),
    "a zero behind a guard": (lambda g, h, z, u: G((G(g, E(u)) + G(h, E(u))) * X(z), E(-u)), N),
    "a zero in front of a guard": (lambda g, h, z, u: G((G(g * X(z), E(u)) + G(h * X(z), E(u))), E(-u)), 0.0),
    "a zero behind a guard that was there": (
        lambda g, h, z, u: (tg.where(tg.isnan(u), G(g * E(z), u), g * E(z)) + h * E(z)) * X(z) * E(-z),
        N,
    ),
    "a zero beside a guard at its gate": (lambda g, h, z, u: G(g, E(u) * z * E(-u)), N),
}


@pytest.mark.parametrize("name", HIDING)
def test_gates_hide_what_they_hid_before_factors_met(name):
    inputs = [tg.vector(letter) for letter in "ghzu"]
    build, expected = HIDING[name]
    (new,), (old,) = values(inputs, [build(*inputs)], *(np.full(1, number) for number in (2.0, 2.0, 0.0, np.nan)))
    np.testing.assert_array_equal(old, [expected])
    np.testing.assert_array_equal(new, [expected])


def test_what_is_left_of_an_operand_stays_together():
    r, p, x, y = (tg.vector(name) for name in "rpxy")
    product = (r * tg.exp(x)) * (p * tg.exp(-y)) * tg.sigmoid(-x)
    at = np.full(1, 1e200), np.full(1, 1e200), np.zeros(1), np.full(1, 460.0)
    (new,), (old,) = values([r, p, x, y], [product], *at)
    np.testing.assert_allclose(new, old, rtol=1e-14)


OVERFLOWING = {  # of a = b = 1e200, x = 1e-300, z = 0, u = -600 and w = 460: the product without what cancels
    "exponentials": (lambda a, b, x, z, u, w: a * E(u) * b * x / E(u), 1e100),
    "beside a 0": (lambda a, b, x, z, u, w: a * E(u) * b * z / E(u), 0.0),
    "the other way round": (lambda a, b, x, z, u, w: a / E(-u) * b * x * E(-u), 1e100),
    "two and a third behind": (lambda a, b, x, z, u, w: E(u) * a * b * x / E(u), 1e100),
    "a divisor": (lambda a, b, x, z, u, w: a * E(u) * b / (1 / x) / E(u), 1e100),
    "what is left has a sign": (lambda a, b, x, z, u, w: a * T(u) * -b * x * (1 + E(-u)), -1e100),
    "sums": (lambda a, b, x, z, u, w: a * (E(u) + E(2 * u)) * b * x / (E(u) + E(2 * u)), 1e100),
    "a function is left": (lambda a, b, x, z, u, w: a * T(u) * b * x / T(-u), 1e100 * np.exp(-600)),
    "a small constant": (lambda a, b, x, z, u, w: a * E(u) * b * 1e-100 * x / E(u), 1.0),
    "at most 1": (lambda a, b, x, z, u, w: a * E(u) * T(z) * b * x / E(u), 5e99),
    "inside an operand": (lambda a, b, x, z, u, w: x * (a * E(u) * b * x / E(u)), 1e-200),
    "one of them in an operand": (lambda a, b, x, z, u, w: (a * E(u) * b) * (x * E(-u)), 1e100),
    "a sum": (lambda a, b, x, z, u, w: (E(u) * b + E(u) * z) * a * x / E(u), 1e100),
    "in front of a gate": (lambda a, b, x, z, u, w: tg.gate(a * E(u) * b * x, 1 + x) / E(u), 1e100),
    "behind a gate": (lambda a, b, x, z, u, w: tg.gate(x, a * E(u) * b * x / E(u)), 1e-200),
    "a constant above 1": (lambda a, b, x, z, u, w: 1.5e108 * a * E(u) * 1.5 * x / E(u), 2.25e8),
    "over a constant below 1": (lambda a, b, x, z, u, w: 1.5e108 * a * E(u) / 0.5 * x / E(u), 3e8),
    "at least 1": (lambda a, b, x, z, u, w: a * E(u) * tg.cosh(w) * x / E(u), 1e-100 * np.cosh(460)),
    "a sum without 1": (
        lambda a, b, x, z, u, w: a * E(u) / tg.sum(E(-w), keepdims=True) * x / E(u),
        1e-100 * np.exp(460),
    ),
    "an exponential of 1 and a sum": (
        lambda a, b, x, z, u, w: a * E(u) / E(-(1 + tg.sum(E(tg.log(w - 1)), keepdims=True))) * x / E(u),
        1e-100 * np.exp(460),
    ),
    "divisors in front": (lambda a, b, x, z, u, w: E(z) / x / 1e290 * b / E(z), 1e210),
    "the reciprocal of a share": (
        lambda a, b, x, z, u, w: a * E(u) * (E(z) + E(w)) * x / (E(z) * E(u)),
        1e-100 * np.exp(460),
    ),
}


@pytest.mark.parametrize("name", OVERFLOWING)
def test_nothing_cancels_where_what_is_left_overflows_on_the_way(name):
    inputs = [tg.vector(letter) for letter in "abxzuw"]
    build, expected = OVERFLOWING[name]
    at = [np.full(1, number) for number in (1e200, 1e200, 1e-300, 0.0, -600.0, 460.0)]
    ((new,), _) = values(inputs, [build(*inputs)], *at)
    np.testing.assert_allclose(new, expected, rtol=1e-12)


CANCELLING = {  # of a = 2, b = 3 and u = +-800, where one exponential is infinite: what is left
    "one between": (lambda a, b, u: a * E(u) * b / E(u), 6.0),
    "two, and nothing in front": (lambda a, b, u: E(u) * a * b / E(u), 6.0),
    "all in front": (lambda a, b, u: a * b * a * E(u) / E(u), 12.0),
    "all behind": (lambda a, b, u: a * E(u) / E(u) * b * a * b, 36.0),
    "an operand between": (lambda a, b, u: a * E(u) * (b * a * b) / E(u), 36.0),
    "at most 1": (lambda a, b, u: a * E(u) * T(b - b) * (b / b) / E(u), 1.0),
    "the reciprocal of what is at least 1": (lambda a, b, u: a * E(u) / tg.cosh(b - b) * b / E(u), 6.0),
    "1 and a sum": (lambda a, b, u: a * E(u) / (1 + tg.sum(E(b - b))) * b / E(u), 2.0),
    "a constant of at most 1": (lambda a, b, u: a * E(u) * 0.5 * b / E(u), 3.0),
    "over a constant of at least 1": (lambda a, b, u: a * E(u) / 2.0 * b / E(u), 3.0),
    "at least 1 behind": (lambda a, b, u: a * E(u) * b * 2.0 / E(u), 12.0),
    "over what is at most 1 behind": (lambda a, b, u: a * E(u) * b * (1 + E(b - b)) / E(u), 12.0),
    "an operand of several between": (lambda a, b, u: a * E(u) * (b * T(b - b) * b) / E(u), 9.0),
    "a share between": (lambda a, b, u: a * E(u) * tg.sinh(b) * b / (tg.cosh(b) * E(u)), 6 * np.tanh(3)),
    "minus 1": (lambda a, b, u: a * E(u) * -1.0 * b / E(u), -6.0),
    "over minus 1": (lambda a, b, u: a * E(u) / -1.0 * b / E(u), -6.0),
    "a share": (lambda a, b, u: a * E(u) * b * a * b / (1 + E(u)), None),
    "a share, from behind": (lambda a, b, u: a / (1 + E(u)) * b * a * b * E(u), None),
}


@pytest.mark.parametrize("name", CANCELLING)
def test_what_cancels_does_so_where_no_product_on_the_way_is_larger(name):
    inputs = [tg.vector(letter) for letter in "abu"]
    build, expected = CANCELLING[name]
    ((new,), _) = values(inputs, [build(*inputs)], np.full(2, 2.0), np.full(2, 3.0), np.array([-800.0, 800.0]))
    np.testing.assert_allclose(new, [0.0, 36.0] if expected is None else expected, rtol=1e-12)


def test_what_a_gate_hides_stays_hidden_where_an_argument_is_nan():
    g, u = tg.vector("g"), tg.vector("u")
    e, f = tg.exp(u), tg.exp(-u)
    hidden = (
        tg.gate(tg.gate(g, e), f),
        tg.gate(tg.gate(tg.gate(g, e), g + 1), f),
        tg.gate(g, e * f),
        tg.gate(g, e) * tg.gate(g, f),
    )
    shown = tg.gate(g * e, f), tg.gate(g, e) * f, g * e * f, tg.gate(g * e * f, f * f)
    at = np.array([0.0, 2.0, 0.0, 2.0]), np.array([np.nan, np.nan, 1.0, 1.0])
    new, old = values([g, u], [*hidden, *shown], *at)
    for k, (x, y) in enumerate(zip(new, old, strict=True)):
        np.testing.assert_allclose(x, y, rtol=1e-14)
        np.testing.assert_array_equal(np.isnan(x), [k >= len(hidden), True, False, False], str(k))


@pytest.mark.parametrize(
    "build",
    [
        lambda x, y: tg.exp(x) / (1 + tg.exp(x)),
        lambda x, y: tg.exp(x) / (tg.exp(x) + tg.exp(y)),
        lambda x, y: tg.exp(x) * y * tg.exp(-x),
        lambda x, y: tg.sinh(x) / tg.cosh(x),
    ],
)
def test_complex_exponentials_meet_nothing(build):
    x, y = (tg.vector(name, dtype="complex128") for name in "xy")
    (new,), (old,) = values([x, y], [build(x, y)], np.array([1 + 2j, 3j]), np.array([0.5 - 1j, 2 + 0j]))
    assert new.tobytes() == old.tobytes()


@pytest.mark.parametrize(
    ("build", "expected", "multiplied", "divided"),
    [
        (lambda a, b, u: 1 / (a * E(u)) * b * E(u), 3.0 / 2.0, 0, 1),
        (lambda a, b, u: E(u) * (1 / E(u) / a / b), 1 / 6, 1, 1),
        (lambda a, b, u: E(u) * (1 / (a * E(u) * b)), 1 / 6, 1, 1),
        (lambda a, b, u: b * E(u) * (1 / E(u) / tg.cosh(a) / b), 1 / np.cosh(2.0), 1, 1),
        (lambda a, b, u: E(u) * b / (a * E(u)), 3 / 2, 0, 1),
        (lambda a, b, u: b * E(u) / (E(u) / a), 6.0, 1, 0),
    ],
)
def test_what_is_left_is_written_with_few_products_and_quotients(build, expected, multiplied, divided):
    inputs = [tg.vector(letter) for letter in "abu"]
    new = rewrite(FunctionGraph.of(inputs, [build(*inputs)]), [EXPONENTIALS], supported=lambda op, types: True)
    (value,) = interpret(new, [np.full(2, 2.0), np.full(2, 3.0), np.array([-800.0, 800.0])])
    np.testing.assert_allclose(value, expected, rtol=1e-15)
    names = [node.op.name for node in new.nodes]
    assert (names.count("multiply"), names.count("divide")) == (multiplied, divided)


def test_a_0_stays_in_front_of_what_may_be_infinite_beside_it():
    a, b, u = (tg.vector(letter) for letter in "abu")
    product = a * E(u) * b * 0.0 / (E(u) + E(2 * u))
    ((new,), _) = values([a, b, u], [product], np.full(1, 1e200), np.full(1, 1e200), np.full(1, -600.0))
    assert new == 0


def test_a_softmax_that_is_moved_meets_its_reciprocal_behind_a_gate():
    g, x = tg.tensor("g", shape=(2, 3)), tg.tensor("x", shape=(3, 2))
    p = tg.softmax(tg.where(x > 0, x, -np.inf), 0)
    at = np.array([[1.0, 0.0, 2.0], [3.0, 4.0, 5.0]]), np.array([[-1.0, 1.0], [0.5, 2.0], [3.0, -2.0]])
    for moved in (p.T, tg.reshape(p, (2, 3))):
        ((new,), (old,)) = values([g, x], [tg.gate(g * moved, 1 / moved)], *at)
        np.testing.assert_allclose(new, old, rtol=1e-14)
        assert (new == 0).sum() == 3


def test_a_sum_of_exponentials_meets_its_reciprocal_behind_a_gate_as_a_scalar():
    g, x = tg.scalar("g"), tg.tensor("x", shape=(2, 2))
    total = tg.sum(tg.exp(tg.where(x > 0, x, -np.inf)))
    new = rewrite(
        FunctionGraph.of([g, x], [tg.gate(g * total, 1 / total)]), [EXPONENTIALS], supported=lambda op, types: True
    )
    assert "divide" not in [node.op.name for node in new.nodes]
    for at, expected in ((1.0, 3.0), (-1.0, 0.0)):
        with np.errstate(all="ignore"):
            (found,) = interpret(new, [np.array(3.0), np.array([[at, -2.0], [-3.0, -0.5]])])
        assert found == expected


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda a, b, x, v: tg.gate(a * E(x) - b * E(x), T(-x) * T(v)), [0.0, np.nan, 0.0, 0.3]),
        (lambda a, b, x, v: tg.gate(a * E(x) - b * E(x), T(v) * T(-x)), [0.0, np.nan, 0.0, 0.3]),
        (lambda a, b, x, v: tg.gate(-(b * E(x) - a * E(x)), T(-x) * tg.softmax(v)), [0.0, np.nan, 0.0, np.nan]),
        (lambda a, b, x, v: tg.gate(tg.gate(a - 2, E(v)) + a - b, T(-v)), [0.0, np.nan, -np.e / (1 + np.e), 1.1]),
        (lambda a, b, x, v: tg.gate(tg.gate(a - b, E(v)) + tg.gate(b - a, E(v)), T(-v)), [0.0, np.nan, 0.0, 0.0]),
        (
            lambda a, b, x, v: tg.gate(tg.gate(a, E(v)) + tg.gate(b, E(v)) * E(x), T(-v)),
            [np.nan, np.nan, 2 * np.e / (1 + np.e), 2.4],
        ),
    ],
)
def test_a_gate_hides_what_is_nan_where_the_terms_of_a_sum_cancel(build, expected):
    inputs = [tg.vector(letter) for letter in "abxv"]
    at = [
        np.array(some) for some in ([2.0, 2.0, 1.0, 3.0], [2.0, 1.0, 1.0, 1.8], [0.0] * 4, [np.nan, np.nan, 1.0, 0.0])
    ]
    ((new,), (old,)) = values(inputs, [build(*inputs)], *at)
    np.testing.assert_allclose(new, expected, rtol=1e-14)
    np.testing.assert_allclose(old, expected, rtol=1e-14)


def test_what_a_guard_asks_for_is_not_multiplied_until_it_vanishes():
    b, u, v, x, w = (tg.vector(letter) for letter in "buvxw")
    y = b * E(x)
    product = (tg.where(tg.isnan(u), tg.gate(y, u), y) + v * E(x)) * (T(-x) * T(w))
    at = [np.full(2, number) for number in (1e-150, np.nan, 1.0, -200.0, -400.0)]
    ((new,), (old,)) = values([b, u, v, x, w], [product], *at)
    assert np.isnan(old).all()
    assert np.isnan(new).all()


@pytest.mark.parametrize("quotient", [lambda v, t: v / t, lambda v, t: v * (1 / t)])
def test_what_a_guard_asks_for_is_no_share_that_vanishes_where_its_exponential_does_not(quotient):
    b, u, v, s = inputs = [tg.tensor(letter, shape=(1, 2)) for letter in "buvs"]
    y = b * E(s)
    product = quotient(guard(u, y, is_gated=True) + v * E(s), tg.sum(E(s), 1, keepdims=True))
    at = [np.full((1, 2), number) for number in (1.0, np.nan, 1.0)]
    ((new,), (old,)) = values(inputs, [product], *at, np.array([[-500.0, 500.0]]))
    assert np.isnan(old).all()
    assert np.isnan(new).all()


@pytest.mark.parametrize("function", [tg.exp, tg.tanh])
def test_a_guard_stays_beside_functions_of_a_complex_infinity(function):
    p, y = (tg.vector(letter, dtype="complex128") for letter in "py")
    sums = tg.where(tg.isnan(p), p, y) + function(p), function(p) - tg.where(tg.isnan(p), p, y)
    at = np.array([complex(-np.inf, np.nan), complex(np.nan, 1.0), 2j]), np.array([1j, 1j, 1j])
    for new, old in zip(*values([p, y], sums, *at), strict=True):
        assert new.tobytes() == old.tobytes()
        np.testing.assert_array_equal(np.isnan(new), [True, True, False])


def guard(p, y, *, is_gated=False):
    return tg.where(tg.isnan(p), tg.gate(y, p) if is_gated else p, y)


GUARDED_SUMS = {  # of a softmax p along rows, y and z: a product with a sum, and whether the guard in it goes
    "a sum of rows": (lambda p, y, z: p * tg.sum(guard(p, y), -1, keepdims=True), True),
    "from the other side": (lambda p, y, z: tg.sum(guard(p, y), -1, keepdims=True) * p, True),
    "gated": (lambda p, y, z: p * tg.sum(guard(p, y, is_gated=True), -1, keepdims=True), True),
    "a negative sum": (lambda p, y, z: p * -tg.sum(guard(p, y), -1, keepdims=True), True),
    "negative before it is expanded": (lambda p, y, z: p * (-tg.sum(guard(p, y), -1))[:, None], True),
    "negative twice": (lambda p, y, z: p * tg.negative((-tg.sum(guard(p, y), -1))[:, None]), True),
    "repeated": (lambda p, y, z: p * tg.broadcast_to(tg.sum(guard(p, y), -1, keepdims=True), (3, 3)), True),
    "of a vector": (lambda p, y, z: tg.softmax(z) * tg.sum(guard(tg.softmax(z), y[0])), True),
    "of one of the other operands": (lambda p, y, z: y * tg.sum(guard(p, y), -1, keepdims=True), False),
    "a sum of columns": (lambda p, y, z: p * tg.sum(guard(p, y), 0, keepdims=True), False),
    "a sum of all": (lambda p, y, z: p * tg.sum(guard(p, y)), False),
    "beside columns": (lambda p, y, z: p * tg.sum(guard(p, y), -1)[None], False),
    "a maximum": (lambda p, y, z: p * tg.max(guard(p, y), -1, keepdims=True), False),
    "of another softmax": (lambda p, y, z: tg.softmax(y, -1) * tg.sum(guard(p, y), -1, keepdims=True), False),
    "of a softmax along columns": (lambda p, y, z: tg.softmax(y, 0) * tg.sum(guard(p, y), -1, keepdims=True), False),
    "of a number that is repeated": (lambda p, y, z: p * tg.sum(guard(p, y[:, :1]), -1, keepdims=True), False),
    "of a running sum": (lambda p, y, z: tg.cumsum(z) * tg.sum(guard(tg.cumsum(z), y[0])), False),
    "of a sine": (lambda p, y, z: tg.sin(z) * tg.sum(guard(tg.sin(z), y[0])), False),
    "nothing guarded": (lambda p, y, z: p * tg.sum(y, -1, keepdims=True), False),
}


@pytest.mark.parametrize("name", GUARDED_SUMS)
def test_a_guard_in_a_sum_goes_where_a_softmax_is_nan_along_all_of_it(name):
    x, y, z = tg.tensor("x", shape=(3, 3)), tg.tensor("y", shape=(3, 3)), tg.tensor("z", shape=(3,))
    build, goes = GUARDED_SUMS[name]
    output = build(tg.softmax(x, -1), y, z)
    new = rewrite(FunctionGraph.of([x, y, z], [output]), [EXPONENTIALS], supported=lambda op, types: True)
    assert ("isnan" not in [node.op.name for node in new.nodes]) is (goes or name == "nothing guarded")
    at = np.array([[1.0, np.nan, 2.0], [0.0, 1.0, 3.0], [-1.0, 2.0, 0.5]])
    numbers = np.array([[1.0, 2.0, -4.0], [3.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    for vector in ([1.0, 2.0, 0.0], [np.nan, 1.0, 2.0], [1.0, np.nan, 2.0]):
        (found,), (expected,) = values([x, y, z], [output], at, numbers, np.array(vector))
        np.testing.assert_allclose(found, expected, rtol=1e-15)


GUARDS = {  # of p, y and z: a sum with a guard, and whether the guard goes
    "itself": (lambda p, y, z: guard(p, y) - p, True),
    "on the right": (lambda p, y, z: p + guard(p, y), True),
    "gated": (lambda p, y, z: guard(p, y, is_gated=True) + p, True),
    "negative": (lambda p, y, z: -guard(p, y) - p, True),
    "subtracted": (lambda p, y, z: tg.exp(p) - guard(p, y), True),
    "a product": (lambda p, y, z: guard(p, y) + z * p, True),
    "a quotient": (lambda p, y, z: guard(p, y) + z / p, True),
    "behind a product": (lambda p, y, z: guard(p, y) + tg.tanh(z * p) * y, True),
    "gated by another": (lambda p, y, z: guard(p, y) + tg.gate(p, z), True),
    "a gate that hides it": (lambda p, y, z: guard(p, y) + tg.gate(z, p), False),
    "a function that hides it": (lambda p, y, z: guard(p, y) + tg.where(p > 0, p, z), False),
    "another": (lambda p, y, z: guard(p, y) + z * y, False),
    "no guard": (lambda p, y, z: tg.where(tg.isnan(p), z, y) - p, False),
    "a guard of another": (lambda p, y, z: guard(z, y) + p, False),
}


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_goes_where_the_other_term_is_nan_with_it(name):
    inputs = [tg.vector(letter) for letter in "pyz"]
    build, goes = GUARDS[name]
    output = build(*inputs)
    new = rewrite(FunctionGraph.of(inputs, [output]), [EXPONENTIALS], supported=lambda op, types: True)
    assert ("isnan" not in [node.op.name for node in new.nodes]) is goes
    at = [np.nan, np.nan, 2.0, -1.0], [1.0, 0.0, 3.0, 0.0], [0.0, 2.0, np.nan, np.nan]
    (found,), (expected,) = values(inputs, [output], *map(np.array, at))
    np.testing.assert_array_equal(found, expected)
