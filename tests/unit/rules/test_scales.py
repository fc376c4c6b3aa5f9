"""Constants that meet: combined exactly, rounded once, and taken out of a value in one place."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.elementwise import arithmetic
from tg.rules.elementwise.arithmetic.scalars import (
    Scale,
    constant,
    is_in_range,
    is_moderate,
    is_normal,
    keeps_digits,
    nearest,
    rounded,
)

FLOATS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}


def values(inputs, expression, *arrays):
    """What an expression gives rewritten, and as written."""
    with np.errstate(all="ignore"):
        return [tg.function(inputs, expression, mode=mode, backend="perform")(*arrays) for mode in ("default", "off")]


def constants(inputs, expression):
    graph = tg.function(inputs, expression, backend="perform").graph
    return [c.data for c in graph.constants]


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_numbers_round_as_the_dtype_does(dtype):
    rng = np.random.default_rng(0)
    drawn = rng.standard_normal(500) * 10.0 ** rng.integers(-48, 40, 500)
    for x in (*drawn, 0.0, 65504.0, 65519.99, 65520.0, 3.4028235e38, 3.4028236e38, 1.7976931348623157e308):
        with np.errstate(all="ignore"):
            expected = float(np.array(x).astype(FLOATS[dtype]))
        found = rounded(Fraction(float(x)), dtype)
        assert (np.copysign(np.inf, x) if found is None else found) == expected


def test_numbers_of_far_more_digits_than_a_dtype_has_are_rounded():
    least = Fraction(5e-324)
    assert [rounded(v, "float64") for v in (1 - least, least - 1, 2 + least)] == [1.0, -1.0, 2.0]
    x = tg.scalar("x")
    assert values([x], 1 - (5e-324 - x), np.array(3.0)) == [4.0, 4.0]


def test_quotients_round_once():
    rng = np.random.default_rng(0)
    for p, q in rng.integers(1, 1 << 62, (500, 2)).tolist():
        assert rounded(Fraction(p, q), "float64") == p / q  # Python's quotient of integers is correctly rounded


@pytest.mark.parametrize("dtype", FLOATS)
def test_what_rounds_to_zero_to_infinity_or_to_a_subnormal_number_is_no_constant(dtype):
    info = ml_dtypes.finfo(FLOATS[dtype])
    tiny, largest = Fraction(float(info.tiny)), Fraction(float(info.max))
    assert constant(Fraction(0), dtype).data == 0
    assert constant(tiny, dtype).data == info.tiny
    assert constant(-largest, dtype).data == -info.max
    assert not is_normal(tiny / 2, dtype)
    assert not is_normal(tiny**3, dtype)
    assert not is_normal(largest * 2, dtype)


def test_scales_keep_what_divided_a_value_apart():
    x = tg.vector("x")
    assert Scale(1, 3).of(x, x).op is (x / 3).op
    assert Scale(2, 3).times(Scale(3, 2)).of(x, x) is x
    assert Scale(-2, 3).to_power(-1) == Scale(3, -2)


def test_a_constant_of_two_is_the_rounded_exact_one():
    x = tg.vector("x")
    rng = np.random.default_rng(1)
    for a, b in rng.uniform(0.1, 10, (40, 2)).tolist():
        exact = Fraction(a) / Fraction(b)
        (found,) = constants([x], x * a / b)
        assert float(found) == exact.numerator / exact.denominator
        product = Fraction(a) * Fraction(b)
        (found,) = constants([x], x / a / b)
        assert float(found) == product.numerator / product.denominator
        (found,) = constants([x], x + a + b)
        assert float(found) == float(Fraction(a) + Fraction(b))


def test_factors_whose_product_vanishes_stay_apart():
    x = tg.vector("x")
    new, old = values([x], x * 1e-200 / 1e200, np.array([1e300, np.inf, -np.inf, np.nan]))
    np.testing.assert_array_equal(new, old)


def test_a_term_with_a_vanishing_factor_is_not_dropped():
    x, y, z = (tg.vector(name) for name in "xyz")
    arrays = np.array([np.nan, np.inf]), np.ones(2), np.zeros(2)
    new, old = values([x, y, z], z + (x * 1e-200 + y) * 1e-200, *arrays)
    np.testing.assert_array_equal(new, old)


def test_a_constant_under_a_gate_counts_once():
    u, y, s = (tg.vector(name) for name in "uys")
    gradient = tg.grad(tg.sum(tg.log(u) * y * -3.0), u)  # -3 y / u, through a gate
    arrays = np.array([0.1, 0.2]), np.array([3.0, 5.0]), np.array([2.0, 4.0])
    new, _ = values([u, y, s], s * gradient * y / (s * u), *arrays)
    expected = [-3 * Fraction(y) ** 2 / Fraction(u) ** 2 for u, y in zip(*arrays[:2], strict=True)]
    np.testing.assert_allclose(new, [float(e) for e in expected], rtol=1e-14)
    c = tg.constant(np.array([2.0, 4.0]))
    new, _ = values([u, y], c * gradient * y / (c * u), *arrays[:2])
    np.testing.assert_allclose(new, [float(e) for e in expected], rtol=1e-14)


@pytest.mark.parametrize(
    "product",
    [
        lambda s, x, y, z: x * (y / z) / (s * (y / (s * z))),
        lambda s, x, y, z: s**3 * x / (s * y) * z,
        lambda s, x, y, z: -x / (s * (y / s**2)) * z,
        lambda s, x, y, z: x * s * y * s / (z * s) / s * 3,
        lambda s, x, y, z: s * tg.gate(x * -2, y) / (z * s),
        lambda s, x, y, z: s**2 / (s * x) / (y * s) * z,
        lambda s, x, y, z: (s * y) * x / (z / (s * s)) / (s**3 * x),
    ],
)
def test_what_is_left_where_a_factor_cancels_keeps_its_order(product):
    x, y, z = (tg.tensor(name, shape=(2,)) for name in "xyz")
    rng = np.random.default_rng(0)
    at = rng.uniform(-3, 3, (3, 2))
    formula = product(tg.constant(np.array([2.0, 3.0])), x, y, z)
    for size in ((1, 1, 1), (1e-200, 1, 1e-200), (1e-200, 1e-160, 1e-200), (1e200, 1e180, 1e200)):
        new, old = values([x, y, z], formula, *(v * k for v, k in zip(at, size, strict=True)))
        if np.isfinite(old).all() and old.all():
            np.testing.assert_allclose(new, old, rtol=1e-13)


def test_a_constant_is_kept_where_what_it_might_be_multiplied_by_cancels():
    x = tg.tensor("x", shape=(2, 2))
    s = tg.constant(np.array([2.0, 3.0]))
    at = np.array([[1.0, -2.0], [0.5, 0.0]])
    np.testing.assert_array_equal(values([x], s * x * 0.5 / s, at)[0], at / 2)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("inner", [lambda v: v * 3, lambda v: v / 3, lambda v: -v, lambda v: v * -0.5])
def test_what_leaves_a_gate_inside_a_power_of_it_counts_once(inner, sign):
    a, b = tg.vector("a"), tg.vector("b")
    x, y = np.array([1.5, -2.0, 0.0]), np.array([0.25, 3.0, np.inf])
    gate = tg.gate(inner(a), inner(b))
    new, old = values([a, b], gate * (gate * sign) * 2 * a / 4, x, y)
    np.testing.assert_allclose(new, old, rtol=1e-14)


def test_powers_keep_scales_that_bring_them_into_range():
    x, y, z = (tg.vector(name) for name in "xyz")
    large = np.full(2, 2.0**31)
    powers = (x * 2.0**-31) ** 16 * ((y * 2.0**-31) ** 16) * ((z * 2.0**-31) ** 16)
    np.testing.assert_array_equal(values([x, y, z], powers, large, large, large)[0], 1)
    narrow = [tg.tensor(name, "float32", (None,)) for name in "xy"]
    arrays = [np.full(2, 2.0**10, "float32"), np.ones(2, "float32")]
    scaled = (narrow[0] * np.float32(2.0**-7)) ** 16 * -narrow[1]
    np.testing.assert_array_equal(values(narrow, scaled, *arrays)[0], -(2.0**48))


def test_exponents_meet_only_where_their_product_is_a_number_of_the_dtype():
    x = tg.vector("x")
    third = 1 / 3
    new, old = values([x], (x**third) ** 3, np.array([-8.0, 8.0]))  # 3 * (1 / 3) rounds to 1, and -8 has no power 1 / 3
    np.testing.assert_allclose(new, old, rtol=1e-14)
    new, old = values([x], (x**0.25) ** 6, np.array([-8.0, 8.0]))
    np.testing.assert_allclose(new, old, rtol=1e-14)


def test_a_constant_leaves_a_power_of_at_most_sixteen_on_either_side_of_the_line():
    x, y = (tg.tensor(name, shape=(2,)) for name in "xy")
    for n, leaves in ((16, True), (17, False), (2**40, False)):
        for product in (x * (y * 1.5) ** n, x / (y * 1.5) ** n):
            found = constants([x, y], product)
            assert any(c == 1.5 for c in found) is not leaves


@pytest.mark.parametrize("inner", [1.5, -1.5, 2.25])
@pytest.mark.parametrize("outer", [-2, 2, -4, -1.5, 4])
@pytest.mark.parametrize("base", [tg.sqrt, tg.square, lambda x: x, lambda x: tg.assume(x, nonnegative=True)])
def test_a_power_of_a_power_has_the_sign_of_an_even_one_at_zero(base, inner, outer):
    x = tg.vector("x")
    at = np.array([-0.0, 0.0, 4.0, np.inf])
    new, old = values([x], (base(x) ** inner) ** outer, at)
    np.testing.assert_allclose(new, old, rtol=1e-14)


def test_a_power_of_a_quotient_does_not_overflow_before_it_is_divided():
    x = tg.vector("x")
    for power in (tg.square(x / 2.0**20), (x / 2.0**10) ** 3):
        at = np.array([1e103 if power.op is not tg.square(x).op else 1e155])
        new, old = values([x], power, at)
        assert np.isfinite(old).all()
        np.testing.assert_allclose(new, old, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_the_integer_nearest_to_zero_stands_for_all_that_wrap_to_it(dtype):
    for value in range(-600, 600):
        found = nearest(value, dtype)
        assert (found - value) % 256 == 0
        assert -128 < found <= 128


def test_zero_scales_nothing_into_range():
    assert not is_in_range(0, "float64")
    assert is_in_range(Fraction(-1, 3), "float64")
    for sign in (1, -1):
        assert is_in_range(sign * 2**256, "float64")
        assert not is_in_range(sign * 2**257, "float64")
        assert is_in_range(Fraction(sign, 2**256), "float64")
        assert not is_in_range(Fraction(sign, 2**257), "float64")


def test_a_number_that_is_as_small_as_another_is_large_may_move_where_that_may():
    for number in (2**32, Fraction(1, 2**32)):
        assert is_moderate(number)
        assert is_moderate(-number)
    assert not is_moderate(2**32 + 1)
    assert not is_moderate(Fraction(1, 2**32 + 1))
    assert not is_moderate(0)


def test_constants_that_scale_stay_in_the_derivative_by_a_quotient():
    x, y = tg.vector("x"), tg.vector("y")
    for c, at, expected in ((1e-200, (1e-300, 1e-150), 1e-200), (1e120, (1e308, 1e108), 1e212)):
        new, _ = values([x, y], tg.gate(x / y, c / y), *np.array(at)[:, None])
        assert new[0] == pytest.approx(expected, rel=1e-14)
    new, _ = values([x, y], tg.gate(1e200 / (x + y), x), np.array([1e-200]), np.array([1e150]))
    assert new[0] == pytest.approx(1e-150, rel=1e-14)
    narrow = [tg.tensor(name, "float16", (None,)) for name in "xy"]
    new, _ = values(narrow, tg.gate(narrow[0] / narrow[1], np.float16(1000) / narrow[1]), *np.float16([[1e4], [100]]))
    assert new[0] == 1000


def test_scales_that_bring_two_factors_into_range_stay_with_them():
    x, y = (tg.tensor(name, "float32", (None,)) for name in "xy")
    small, at = np.float32(2.0**-30), np.array([2.0**70], np.float32)
    np.testing.assert_array_equal(values([x, y], (x * small) * (y * small), at, at)[0], 2.0**80)


def test_half_precision_sums_are_not_scaled_out_of_range():
    x, y = (tg.tensor(name, "float16", (None,)) for name in "xy")
    arrays = [np.array([40000, 1000], "float16"), np.array([40000, -999], "float16")]
    hundredth, hundred = np.float16(0.01), np.float16(100)
    new, old = values([x, y], x * hundredth + y * hundredth - x * hundredth, *arrays)
    np.testing.assert_allclose(new.astype(float), old.astype(float), rtol=0.01)
    new, old = values([x, y], (x + y) * hundred + x, *arrays)
    np.testing.assert_allclose(new.astype(float)[1:], old.astype(float)[1:], rtol=0.01)


LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    ("formula", "points"),
    [
        (lambda a, b, c, d: a - b + a - b + a, (0.6, 0.6, 0, 0)),
        (lambda a, b, c, d: a * 2 + c * 3 + b * 2 + d * 3, (0.45, 0.45, -0.3, -0.3)),
        (lambda a, b, c, d: a / 4 + c / 2 + b / 4 + d / 2, (0.6, 0.6, -0.55, -0.55)),
        (lambda a, b, c, d: (a - b) * 3 + (b - c) * 2, (0.9, 0.9, 0.9, 0)),
        (lambda a, b, c, d: a + (b - c) - c - c, (0.6, 0.6, 0.6, 0)),
        (lambda a, b, c, d: -a - b / 4 + c - d / 4, (-0.6, 0.6, 0.5, 0.6)),
        (lambda a, b, c, d: a + abs(c) / 4 - b + abs(d) / 4, (-0.5, 0.6, 0.9, 0.9)),
        (lambda a, b, c, d: a / 0.25 - b / 0.25 + a * 2 - b * 3, (0.2, 0.2, 0, 0)),
        (
            lambda a, b, c, d: (abs(d) / 7 + a) + (b + abs(c) / 3) + tg.exp(d) / 7 + abs(a) / 3,
            (-0.6, -0.6, 0.9, 0),
        ),
    ],
)
def test_two_parts_of_a_sum_do_not_overflow_where_none_did(formula, points):
    inputs = [tg.tensor(name, "float32", (1,)) for name in "abcd"]
    arrays = [np.array([LARGEST * p], np.float32) for p in points]
    y = formula(*inputs)
    rewritten, expected = (
        tg.function(inputs, y, mode=mode, backend="perform", on_unused_input="ignore")(*arrays)
        for mode in ("default", "off")
    )
    assert np.isfinite(expected).all()
    assert not np.isnan(rewritten).any()


def test_a_value_less_nothing_does_not_overflow():
    x = tg.vector("x")
    at = np.array([1.7e308, -1.7e308])
    for formula in (x - (x - x), (x - x) + x, x + (x - x)):
        np.testing.assert_array_equal(values([x], formula, at)[0], at)
    y = abs(x) - abs(x) + abs(x) + tg.exp(-abs(x)) / 3 + tg.square(x / 1e160) / 3
    np.testing.assert_allclose(values([x], y, at)[0], abs(at), rtol=1e-9)


def test_parts_of_one_sign_are_added_up():
    inputs = [tg.vector(name) for name in "wxyz"]

    def products(w, x, y, z):
        graph = tg.function(inputs, w / 4 + x / 3 + y / 4 + z / 3, backend="perform").graph
        return sum(node.op in (tg.multiply.op, tg.divide.op) for node in graph.nodes)

    assert products(*map(tg.square, inputs)) == 2
    assert products(*(-tg.exp(v) for v in inputs)) == 2
    assert products(*inputs) == 4


def test_nothing_that_is_repeated_overflows_beside_a_zero():
    s, x = tg.tensor("s", "float32", (1,)), tg.tensor("x", "float32", (2, 1))
    arrays = np.array([LARGEST], np.float32), np.array([[0.0], [-0.0]], np.float32)
    for y in (s * x * 4, x * 3 * s, x / 0.25 * s):
        new, old = values([s, x], y, *arrays)
        np.testing.assert_array_equal(new, old)
        assert not new.any()
    r = tg.tensor("r", "float32", (1, 1))
    new, old = values([r, x], 1 / r * x * 4, np.array([[2.0**-127]], np.float32), arrays[1])
    np.testing.assert_array_equal(new, old)
    n = tg.scalar("n", "int64")
    z = tg.tensor("z", shape=(2, 1))
    new, old = values([n, z], 1e300 / tg.cast(n, "float64") * z * 2.0**31, np.array(1), np.zeros((2, 1)))
    np.testing.assert_array_equal(new, old)
    assert [float(c) for c in constants([n, s, x], 1 / tg.cast(n, "float32") * (x * s) * 2)] == [2.0]


def test_constants_that_scale_stay_inside_sums_and_matrix_products():
    v, a, b = tg.vector("v"), tg.matrix("a"), tg.matrix("b")
    new, _ = values([v], tg.sum(v * 1e-300), np.full(10, 1e308))
    assert new == pytest.approx(1e9)
    scaled = v[None] * np.array([[1e-300], [1e300], [0.5]])
    new, _ = values([v], tg.sum(scaled, axis=1), np.full(10, 1e-3))
    np.testing.assert_allclose(new, [1e-302, 1e298, 5e-3])
    new, _ = values([v], tg.sum(scaled, axis=1), np.full(10, 1e308))
    assert new[0] == pytest.approx(1e9)
    divided = v[None] / np.array([[1e300], [1e-300], [2.0]])
    new, _ = values([v], tg.sum(divided, axis=1), np.full(10, 1e308))
    assert new[0] == pytest.approx(1e9)
    large = np.full((2, 2), 1e200)
    new, _ = values([a, b], (a * 1e-160) @ (b * 1e-160), large, large)
    np.testing.assert_allclose(new, 2e80)
    new, _ = values([a, b], (a * 3.0) @ (b * 0.1), np.eye(2), np.eye(2))
    np.testing.assert_array_equal(new, np.eye(2) * float(3 * Fraction(0.1)))


def test_a_power_zero_of_an_exponential_is_one():
    v = tg.vector("v")
    found = tg.function([v], tg.exp(v) ** 0.0, exclude=["power_zero"], backend="perform")
    np.testing.assert_array_equal(found(np.array([np.inf, np.nan, -np.inf, 1.0])), 1)


def test_a_guarded_sum_is_that_of_what_the_guard_repeats():
    x, w = tg.matrix("x"), tg.tensor("w", shape=(3, 1))
    p = tg.softmax(x, axis=1)
    total = p * tg.sum(tg.where(tg.isnan(p), p, w), axis=1, keepdims=True)
    at, weights = np.arange(12.0).reshape(3, 4) / 5, np.array([[1.0], [2.0], [3.0]])
    new, _ = values([x, w], total, at, weights)
    rows = np.exp(at) / np.exp(at).sum(1, keepdims=True)
    np.testing.assert_allclose(new, rows * 4 * weights, rtol=1e-14)


@pytest.mark.parametrize("exclude", [(), ("elementwise_of_broadcast",)])
def test_what_is_shifted_by_a_repeated_maximum_is_repeated(exclude):
    x = tg.tensor("x", shape=(3, 1))
    top = tg.max(x, axis=1, keepdims=True)
    wide = x - tg.broadcast_to(top, (3, 4))
    at = np.array([[0.1], [0.5], [2.0]])
    function = tg.function(
        [x],
        [tg.softmax(wide, axis=1), tg.logsumexp(wide, axis=1, keepdims=True) + top],
        exclude=exclude,
        backend="perform",
    )
    share, total = function(at)
    np.testing.assert_allclose(share, np.full((3, 4), 0.25))
    np.testing.assert_allclose(total, at + np.log(4))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("number", [np.nan, -np.inf, -0.0])
def test_numbers_that_are_no_fractions_are_added_as_they_are(dtype, number):
    x = tg.tensor("x", dtype, (None,))
    at = np.array([1, -2, np.inf]).astype(FLOATS[dtype])
    shifted = x + tg.constant(np.array(number).astype(FLOATS[dtype]))
    new, old = (tg.function([x], shifted, mode=mode, backend="perform")(at) for mode in ("default", "off"))
    np.testing.assert_array_equal(new.astype(float), old.astype(float))


def test_a_sum_of_constants_rounds_by_no_more_than_the_least_can_spare():
    x = tg.tensor("x", "float16", (None,))
    hundred, half = np.float16(100), np.float16(0.51)
    np.testing.assert_array_equal(values([x], x + hundred + half, np.array([-100], np.float16))[0], half)
    for dtype, spared in (("float16", 32), ("bfloat16", 16), ("float32", 256), ("float64", 256)):
        odd = 1 + Fraction(1, 3)  # what no dtype holds
        assert keeps_digits(spared * odd, odd, dtype)
        assert keeps_digits(-spared * odd, odd, dtype)
        assert not keeps_digits(spared * odd + 1, odd, dtype)
        assert keeps_digits(2 * spared, 1, dtype)
    a, b = 1e3 / 3, 1e3 / 7
    assert Fraction(a) + Fraction(b) != a + b
    x, y, z = (tg.vector(name) for name in "xyz")
    graph = FunctionGraph.of([x, y, z], [(x + a) + (y + b) + (z + 0.0)])
    found = rewrite(graph, [Rewrites((), arithmetic.PASSES)], supported=lambda op, types: True)
    assert [float(c.data) for c in found.constants] == [a + b]
