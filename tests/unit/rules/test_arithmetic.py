"""Sums, products, powers, signs and gates: what becomes of them, and what stays as it was written."""

import math
import random

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.ops.elementwise.arithmetic import gate
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rewrite.phases import SPECIALIZE
from tg.rules.catalog import PASSES, RULES
from tg.rules.elementwise import arithmetic
from tg.rules.elementwise.arithmetic.trees import is_shaped_like
from tg.types.dtypes import numpy_dtype

ARITHMETIC = Rewrites(arithmetic.RULES, arithmetic.PASSES)


SPECIAL = frozenset(one.name for one in arithmetic.RULES if one.phase == SPECIALIZE)


def rewritten(inputs, outputs, **options):
    graph = FunctionGraph.of(inputs, outputs)
    return rewrite(graph, [ARITHMETIC], supported=lambda op, types: True, **options)


def plain(inputs, outputs):
    return FunctionGraph.of(inputs, outputs).freeze()


def ops(frozen):
    return sorted(node.op.name for node in frozen.nodes)


def matrices(dtype, shape=(3, 4)):
    return [tg.tensor(name, dtype=dtype, shape=shape) for name in "xyz"]


SUMS = [
    (lambda x, y, z: x + x, lambda x, y, z: x * 2),
    (lambda x, y, z: x + y + x, lambda x, y, z: x * 2 + y),
    (lambda x, y, z: y + (x + (z + x)), lambda x, y, z: y + x * 2 + z),
    (lambda x, y, z: x * 2 + y + x * 3, lambda x, y, z: x * 5 + y),
    (lambda x, y, z: (x + 1) + (y + 2), lambda x, y, z: x + y + 3),
    (lambda x, y, z: (x - 3) + (5 - y), lambda x, y, z: x - y + 2),
    (lambda x, y, z: 2 - (3 - x), lambda x, y, z: x - 1),
    (lambda x, y, z: z - (-x - y), lambda x, y, z: z + x + y),
    (lambda x, y, z: -(-x - y), lambda x, y, z: y + x),
    (lambda x, y, z: x * 3 + y * 3 - z * 3, lambda x, y, z: (x + y - z) * 3),
    (lambda x, y, z: x * 3 - y * 3, lambda x, y, z: (x - y) * 3),
    (lambda x, y, z: x - y - y - y, lambda x, y, z: x - y * 3),
    (lambda x, y, z: (x * 2 + 1) * 3 - 3, lambda x, y, z: x * 6),
    (lambda x, y, z: x + -3, lambda x, y, z: x - 3),
    (lambda x, y, z: 4 + x, lambda x, y, z: x + 4),
]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int8", "int64"])
@pytest.mark.parametrize(("before", "after"), SUMS)
def test_like_terms_constants_and_signs_of_a_sum_meet(before, after, dtype):
    inputs = matrices(dtype)
    assert rewritten(inputs, [before(*inputs)]) == plain(inputs, [after(*inputs)])
    inputs = matrices(dtype, (None, None))
    assert ops(rewritten(inputs, [before(*inputs)])) == ops(rewritten(inputs, [after(*inputs)]))


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y, z: x + y - x,
        lambda x, y, z: x * 2 - x,
        lambda x, y, z: -x - y,
        lambda x, y, z: (x + 1) * y,
        lambda x, y, z: x * y / z,
        lambda x, y, z: x / y / z,
        lambda x, y, z: x * y * x,
        lambda x, y, z: x / y * y,
        lambda x, y, z: x / x,
        lambda x, y, z: tg.sqrt(x) * tg.sqrt(y),
        lambda x, y, z: tg.square(tg.sqrt(x)),
        lambda x, y, z: x * 1e-200 * y,
        lambda x, y, z: x / tg.absolute(x),
        lambda x, y, z: tg.absolute(x * y),
        lambda x, y, z: gate(x, tg.log(y)),
        lambda x, y, z: gate(x, 1 / y),
        lambda x, y, z: tg.power(x, 1.5) ** y,
        lambda x, y, z: tg.power(tg.power(x, 3.0), 1 / 3),
    ],
)
def test_what_infinities_or_rounding_would_show_stays_as_it_was_written(formula):
    inputs = matrices("float64")
    output = formula(*inputs)
    assert rewritten(inputs, [output], exclude=SPECIAL) == plain(inputs, [output])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_small_term_that_keeps_a_sum_from_zero_stays(dtype):
    x = tg.vector("x", dtype=dtype)
    small = 1e-8 if dtype == "float32" else 1e-12
    formulas = [1 - x + small, small - (x - 1), small + (1 - x)]
    f = tg.function([x], [tg.log(y) for y in formulas], backend="perform")
    for y in f(np.ones(1, dtype)):
        np.testing.assert_allclose(y, np.log(numpy_dtype(dtype).type(small)), rtol=1e-6)


def test_an_even_power_of_a_size_is_none_of_the_complex_number():
    z = tg.tensor("z", dtype="complex128", shape=(3, 4))
    n = tg.constant(4.0)
    assert rewritten([z], [tg.power(tg.absolute(z), n)], exclude=SPECIAL) == plain([z], [tg.power(tg.absolute(z), n)])


def test_terms_of_finite_values_cancel():
    x, y, _ = matrices("float64")
    n = tg.cast(tg.tensor("n", dtype="int32", shape=(3, 4)), "float64")
    inputs = [n.apply.inputs[0], y]
    assert rewritten(inputs, [n + y - n]) == plain(inputs, [y])
    assert rewritten(inputs, [n * 2 + y - n]) == plain(inputs, [n + y])
    assert rewritten([x, y], [x * 2 + y - x], mode="default") == plain([x, y], [x * 2 + y - x])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_integer_terms_cancel_modulo_the_width(dtype):
    x, y, _ = inputs = matrices(dtype)
    assert rewritten(inputs, [x + y - x]) == plain(inputs, [y])
    byte = dtype.endswith("int8")
    assert rewritten(inputs, [x * 100 + y + x * 99 + x * 58]) == plain(inputs, [x + y if byte else x * 257 + y])
    assert rewritten(inputs, [x * 100 + y + x * 99 + x * 57]) == plain(inputs, [y if byte else x * 256 + y])
    assert rewritten(inputs, [(x + 100) + (y + 100) + 56]) == plain(inputs, [x + y if byte else x + y + 256])


def test_quotients_by_one_number_are_added_up_as_one():
    inputs = x, y, z = matrices("float64")
    assert rewritten(inputs, [x / 3 + y / 3 - z / 3]) == plain(inputs, [(x + y - z) / 3])


def test_a_factor_is_multiplied_into_a_sum_where_that_is_cheaper():
    inputs = x, y, _ = matrices("float64")
    assert rewritten(inputs, [(x * 2 + y) * 0.5]) == plain(inputs, [x + y * 0.5])


def test_multiples_of_integers_are_by_the_number_nearest_to_zero():
    inputs = x, y, _ = matrices("uint8")
    assert rewritten(inputs, [x * 255 + y * 3]) == plain(inputs, [y * 3 - x])
    assert rewritten(inputs, [x * 255 + y]) == plain(inputs, [y - x])
    assert rewritten(inputs, [(x + 128) + (y + 127)]) == plain(inputs, [x + y - 1])
    assert rewritten([x], [x * 51 * 5]) == plain([x], [-x])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_terms_of_half_precision_share_what_makes_them_larger(dtype):
    inputs = x, y, _ = matrices(dtype)
    for written, shared, narrow in (
        (x * 1.5 + y * 1.5, (x + y) * 1.5, True),
        (x / 0.75 + y / 0.75, (x + y) / 0.75, True),
        (x * 0.75 + y * 0.75, (x + y) * 0.75, False),
        (x / 3 + y / 3, (x + y) / 3, False),
    ):
        expected = shared if narrow or dtype != "float16" else written
        assert rewritten(inputs, [written]) == plain(inputs, [expected])


def test_parts_that_may_overflow_come_first_only_where_others_would_be_added_up_before():
    inputs = x, y, z = matrices("float64")
    a, b, c, d = (tg.absolute(v) for v in (x + 1, y + 1, x * y, y * z))
    kept = (a + b) / 7 + x + (c + d) / 3
    assert rewritten(inputs, [a / 7 + x + b / 7 + c / 3 + d / 3]) == plain(inputs, [kept])
    u, v = (tg.minimum(w, 0.0) for w in (x, z))  # what is subtracted is of the sign of what is added
    assert rewritten(inputs, [c - u - v + a / 7 + b / 7]) == plain(inputs, [c - u - v + (a + b) / 7])
    moved = (a + b) / 7 + x + y
    assert rewritten(inputs, [x + y + a / 7 + b / 7]) == plain(inputs, [moved])


def test_values_that_are_used_elsewhere_are_not_computed_anew():
    x, y, _ = inputs = matrices("float64")
    shared = x + y
    outputs = [shared, shared + x, tg.sin(x * 2), x * 2 + y * 2]
    assert rewritten(inputs, outputs) == plain(inputs, [shared, shared + x, tg.sin(x * 2), x * 2 + y * 2])


PRODUCTS = [
    (lambda x, y, z: x * 2 * y, lambda x, y, z: x * y * 2),
    (lambda x, y, z: (x * 2) * (y * -3), lambda x, y, z: x * y * -6),
    (lambda x, y, z: -x * y * -z, lambda x, y, z: x * y * z),
    (lambda x, y, z: x * x * x, lambda x, y, z: tg.square(x) * x),
    (lambda x, y, z: tg.square(x * 3) * y, lambda x, y, z: tg.square(x) * y * 9),
]
QUOTIENTS = [
    (lambda x, y, z: x * (1 / y), lambda x, y, z: x / y),
    (lambda x, y, z: (3 / y) * x * 2, lambda x, y, z: x / y * 6),
    (lambda x, y, z: x / (1 / y), lambda x, y, z: x * y),
    (lambda x, y, z: 1 / (x / y), lambda x, y, z: y / x),
    (lambda x, y, z: x / 3 / 5, lambda x, y, z: x / 15),
    (lambda x, y, z: x / 3 * y, lambda x, y, z: x * y / 3),
    (lambda x, y, z: -0.5 * tg.square((x - y) / 3), lambda x, y, z: tg.square(x - y) * (-0.5 / 9)),
    (lambda x, y, z: gate(x * 2, y * 3), lambda x, y, z: gate(x, y) * 6),
    (lambda x, y, z: gate(-x, y / -3), lambda x, y, z: gate(x, y) / 3),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("before", "after"), PRODUCTS)
def test_constants_and_signs_of_a_product_are_one_and_outermost(before, after, dtype):
    inputs = matrices(dtype)
    assert rewritten(inputs, [before(*inputs)]) == plain(inputs, [after(*inputs)])
    inputs = matrices(dtype, (None, None))
    assert ops(rewritten(inputs, [before(*inputs)])) == ops(rewritten(inputs, [after(*inputs)]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("before", "after"), QUOTIENTS)
def test_constants_and_signs_of_a_quotient_are_one_and_outermost(before, after, dtype):
    inputs = matrices(dtype)
    assert rewritten(inputs, [before(*inputs)]) == plain(inputs, [after(*inputs)])
    inputs = matrices(dtype, (None, None))
    assert ops(rewritten(inputs, [before(*inputs)])) == ops(rewritten(inputs, [after(*inputs)]))


def test_products_of_one_value_are_a_power_where_that_is_cheaper():
    x = tg.tensor("x", shape=(3, 4))
    for count, name in ((3, "power"), (4, "power"), (8, "power"), (9, "multiply"), (20, "multiply"), (21, "power")):
        found = rewritten([x], [math.prod([x] * (count - 1), start=x)], exclude=SPECIAL)
        assert found.nodes[-1].op.name == name
    for count, name in ((17, "multiply"), (18, "power")):  # and one product more by what leaves the square
        found = rewritten([x], [math.prod([x] * count, start=tg.square(x * 3))], exclude=SPECIAL)
        assert found.nodes[-2].op.name == name


def test_a_number_that_scales_does_not_cancel():
    x, y, _ = inputs = matrices("float64")
    small = tg.constant(1e-200)
    assert rewritten(inputs, [x * small / (y * small)]) == plain(inputs, [x * small / (y * small)])


def test_a_constant_multiplies_what_is_repeated():
    s = tg.scalar("s")
    x = tg.matrix("x")
    assert rewritten([s, x], [s * 0.5 * x * 0.25]) == plain([s, x], [s * 0.125 * x])
    assert rewritten([s, x], [x / s * 0.5 * s]) == plain([s, x], [x / s * (s * 0.5)])
    assert rewritten([s, x], [s * 6 * x * 0.5]) == plain([s, x], [s * 3 * x])
    assert rewritten([s, x], [s / x * 0.5]) == plain([s, x], [s * 0.5 / x])
    assert rewritten([s, x], [s * -6 * x * -1]) == plain([s, x], [s * 6 * x])
    assert rewritten([s, x], [gate(s, x) * 0.5 * x * 0.5]) == plain([s, x], [gate(s, x) * x * 0.25])
    assert rewritten([s, x], [gate(s * 2, x) * 3]) == plain([s, x], [gate(s, x) * 6])
    t = tg.scalar("t")
    assert rewritten([s, t, x], [t * (s * 0.5 * x)]) == plain([s, t, x], [t * (s * 0.5 * x)])


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint8"])
def test_a_sign_stays_outermost_beside_what_is_repeated(dtype):
    s, x = tg.scalar("s", dtype), tg.matrix("x", dtype)
    graph = FunctionGraph.of([s, x], [-(s * x)])
    found = rewrite(graph, [Rewrites((), arithmetic.PASSES)], supported=lambda op, types: True)
    assert found == plain([s, x], [-(s * x)])  # from where rules would bring it back


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize(("rows", "is_smaller"), [(3, False), (4, True), (50, True), (None, False)])
def test_quotients_are_made_of_the_factor_that_is_repeated(rows, is_smaller, times):
    x, y = tg.tensor("x", shape=(1, 3)), tg.tensor("y", shape=(1, 3))
    z = tg.tensor("z", shape=(rows, 3))
    found = z * x
    for _ in range(times):
        found = found / y
    frozen = rewritten([x, y, z], [found])
    divided = [frozen.types[node.outputs[0]].shape for node in frozen.nodes if node.op.name == "divide"]
    assert divided == [(1, 3) if is_smaller else (rows, 3)] * times
    given = [np.array([a]) for a in ([0.5, -2.0, 3.0], [4.0, 0.1, -7.0])]
    arrays = [*given, np.random.default_rng(0).normal(size=(rows or 5, 3))]
    wanted = arrays[2] * arrays[0] / arrays[1] ** times
    np.testing.assert_allclose(interpret(frozen, arrays)[0], wanted, rtol=1e-15)


def test_quotients_of_halves_stay_as_they_are():
    x, y, z = (tg.tensor(name, "float16", shape) for name, shape in zip("xyz", ((1,), (1,), (50,)), strict=True))
    frozen = rewritten([x, y, z], [z * x / y])
    assert [frozen.types[node.outputs[0]].shape for node in frozen.nodes if node.op.name == "divide"] == [(50,)]


def test_a_constant_that_may_make_infinity_of_what_is_repeated_stays_outside():
    s = tg.scalar("s")
    x = tg.matrix("x")
    assert rewritten([s, x], [s * 2 * x * 3]) == plain([s, x], [s * x * 6])
    assert rewritten([s, x], [x / s * 2 * s]) == plain([s, x], [x / s * s * 2])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda x: (x**3) ** 2, lambda x: tg.square(x) * tg.square(tg.square(x))),
        (lambda x: (x**2) ** 1.25, lambda x: tg.square(x) * tg.sqrt(tg.absolute(x))),
        (lambda x: (x**4) ** 0.5, tg.square),
        (lambda x: tg.sqrt(x**6), lambda x: tg.absolute(x) * tg.square(x)),
        (lambda x: (-x) ** 3, lambda x: -(x * tg.square(x))),
        (lambda x: tg.absolute(x) ** 4, lambda x: tg.square(tg.square(x))),
        (lambda x: x**-2, lambda x: 1 / tg.square(x)),
        (lambda x: 2**x, tg.exp2),
        (lambda x: 1**x, tg.ones_like),
        (lambda x: tg.sign(x) * tg.absolute(x), lambda x: x),
        (lambda x: x * tg.sign(x), tg.absolute),
        (lambda x: tg.absolute(x * -3), lambda x: tg.absolute(x) * 3),
        (lambda x: tg.cbrt(x) ** 3, lambda x: x),
        (lambda x: tg.square(tg.sqrt(tg.absolute(x))), tg.absolute),
        (lambda x: tg.hypot(-x, 0), tg.absolute),
    ],
)
def test_a_power_or_sign_has_its_cheapest_form(before, after):
    x = tg.tensor("x", shape=(3, 4))
    assert rewritten([x], [before(x)]) == plain([x], [after(x)])


def test_a_power_below_zero_of_a_root_shows_the_sign_of_zero():
    x = tg.vector("x")
    root = tg.sqrt(tg.assume(x, nonnegative=True))
    assert rewritten([x], [root**-3], exclude=SPECIAL) == plain([x], [root**-3])
    assert "sqrt" not in ops(rewritten([x], [root**3], exclude=SPECIAL))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_divisions_by_powers_of_two_are_shifts_and_masks_of_arrays(dtype):
    x = tg.vector("x", dtype=dtype)
    assert rewritten([x], [x // 8, x % 8]) == plain([x], [x >> 3, x & 7])
    n = tg.scalar("n", dtype=dtype)
    assert rewritten([n], [n // 8, n % 8]) == plain([n], [n // 8, n % 8])


def test_a_value_whose_length_only_the_tree_knows_keeps_it():
    x, s = tg.vector("x"), tg.vector("s")
    known = tg.assume(s, finite=True, nonzero=True)
    product = tg.function([s, x], known * x * 2 / known, backend="perform")
    np.testing.assert_array_equal(product(np.array([2.0, 3.0, 5.0]), np.array([0.5])), [1, 1, 1])
    np.testing.assert_array_equal(product(np.array([3.0]), np.array([0.5, 2])), [1, 4])


def test_a_shape_is_one_only_for_values_of_one_dtype():
    x, y = tg.tensor("x", "float32", (3,)), tg.tensor("y", "float64", (3,))
    assert is_shaped_like(x, x)
    assert not is_shaped_like(x, y)


GRADIENTS = {
    "norm": (lambda x, y, s: tg.sqrt(tg.sum(x * x)), {"gate"}),
    "huber": (lambda x, y, s: tg.sum(tg.where(tg.absolute(x) < 1, 0.5 * x**2, tg.absolute(x) - 0.5)), {"gate", "add"}),
    "normal": (lambda x, y, s: tg.sum(-0.5 * ((x - y) / s) ** 2 - tg.log(s)), {"gate"}),
    "cube": (lambda x, y, s: tg.sum(x**3), {"gate", "where", "power"}),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradient_has_no_dead_zeros(name):
    cost, gone = GRADIENTS[name]
    x, y, s = tg.tensor("x", shape=(5,)), tg.tensor("y", shape=(5,)), tg.scalar("s")
    wrt = [x, s] if name == "normal" else [x]
    graph = FunctionGraph.of([x, y, s], tg.grad(cost(x, y, s), wrt))
    rewrites = Rewrites(RULES, PASSES)
    found = rewrite(graph, [rewrites], supported=lambda op, types: True)
    assert not gone & {node.op.name for node in found.nodes}


@pytest.mark.long
def test_a_tree_of_any_depth_is_one_sweep():
    x, y, _ = inputs = matrices("float64")
    total = x
    for k in range(20_000):
        total = (total + y if k % 2 else total * 2 * y) if k % 3 else -total
    found = rewritten(inputs, [total])
    assert len(found.nodes) < 40_000


OPERATIONS = {
    "float": [
        lambda a, b, c: a + b, lambda a, b, c: a - b, lambda a, b, c: a * b, lambda a, b, c: a / b,
        lambda a, b, c: -a, lambda a, b, c: a * c, lambda a, b, c: a / c, lambda a, b, c: c - a, lambda a, b, c: c / a,
        lambda a, b, c: tg.square(a), lambda a, b, c: a**3, lambda a, b, c: gate(a, b), lambda a, b, c: a + b * c - a,
    ],
    "int": [
        lambda a, b, c: a + b, lambda a, b, c: a - b, lambda a, b, c: a * b, lambda a, b, c: -a, lambda a, b, c: a * c,
        lambda a, b, c: c - a, lambda a, b, c: tg.square(a), lambda a, b, c: a**3, lambda a, b, c: a // c,
        lambda a, b, c: a % c, lambda a, b, c: a + b * c - a,
    ],
}  # fmt: skip


def formula(rng, leaves, depth, operations, constants):
    if depth == 0:
        return rng.choice(leaves)
    a, b = (formula(rng, leaves, depth - 1 - rng.randrange(min(2, depth)), operations, constants) for _ in range(2))
    return rng.choice(operations)(a, b, rng.choice(constants))


@pytest.mark.parametrize("seed", range(120))
def test_random_arithmetic_has_the_same_values(seed):
    rng = random.Random(seed)
    dtype = rng.choice(["float64", "int8", "uint8", "int32"])
    is_float = dtype == "float64"
    constants = [2.0, -3.0, 0.5, 7.0, -1.0] if is_float else [2, 3, 7, 1]
    leaves = [tg.tensor(n, dtype=dtype, shape=s) for n, s in zip("xyz", ((3, 4), (1, 4), ()), strict=True)]
    output = formula(rng, leaves, 5, OPERATIONS["float" if is_float else "int"], constants)
    before, after = plain(leaves, [output]), rewritten(leaves, [output])
    draw = np.random.default_rng(seed)
    shapes = [(3, 4), (1, 4), ()]
    if not is_float:
        arrays = [draw.integers(0, 120, s).astype(numpy_dtype(dtype)) for s in shapes]
        np.testing.assert_array_equal(interpret(after, arrays)[0], interpret(before, arrays)[0])
        return
    arrays = [draw.uniform(0.5, 2, s) * draw.choice([-1, 1], s) for s in shapes]
    with np.errstate(all="ignore"):
        want, got = interpret(before, arrays)[0], interpret(after, arrays)[0]
        np.testing.assert_allclose(
            got, want, rtol=1e-7, atol=1e-9 * max(1, np.abs(want[np.isfinite(want)]).max(initial=0))
        )
        hostile = [draw.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -2.0, 0.5], s) for s in shapes]
        hidden = np.isnan(interpret(before, hostile)[0]) & ~np.isnan(interpret(after, hostile)[0])
    assert not hidden.any()


def test_a_quotient_divided_again_is_rewritten_though_its_new_form_may_be_its_own():
    x = tg.vector("x")
    y = x * x + 1
    frozen = rewrite(FunctionGraph.of([x], [1 / y / y]), [ARITHMETIC], supported=lambda op, types: True)
    given = np.array([-2.0, 0.0, 0.5, 1e200])
    np.testing.assert_allclose(interpret(frozen, [given])[0], [0.04, 1.0, 0.64, 0.0])
