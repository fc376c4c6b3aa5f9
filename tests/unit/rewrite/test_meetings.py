"""Factors that meet across gates: what is hidden stays hidden, what is shown stays shown, wherever the two stand."""

import functools
import itertools

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.rewrite.pattern import is_made_by
from tg.rewrite.rules.elementwise.exponential.factors import OTHER, Factor, Guard, Operand, Product, rebuilt
from tg.rewrite.rules.elementwise.exponential.meetings import simplify

FUNCTIONS = {
    "exp": np.exp, "expm1": np.expm1, "sinh": np.sinh, "cosh": np.cosh, "sigmoid": lambda u: 1 / (1 + np.exp(-u)),
}  # fmt: skip
KINDS = [(kind, sign, power) for kind in FUNCTIONS for sign in (1, -1) for power in (1, -1)]
SHARES = {  # sums of exponentials, and what has a share of one, which are values of their own
    "sum": (lambda u: tg.exp(u) + tg.exp(u * 2.0), lambda u: np.exp(u) + np.exp(2 * u)),
    "total": (lambda u: tg.sum(tg.exp(u), -1, keepdims=True), np.exp),  # of rows of length 1
    "1 + total": (lambda u: tg.sum(tg.exp(u), -1, keepdims=True) + 1.0, lambda u: 1 + np.exp(u)),
    "softmax": (lambda u: tg.softmax(u, -1), lambda u: np.exp(u) / np.exp(u)),
}
EVERY = [*KINDS, *((kind, 1, power) for kind in SHARES for power in (1, -1))]
GRID = np.meshgrid([0.0, 2.0], [0.0, 3.0, np.nan], [0.0, 0.5, 1.0, 7.0, np.nan])
Y, C, Z = (v.reshape(-1, 1) for v in GRID)


def factor(kind, u, sign, power, stage=0):
    """A factor as reading finds it."""
    if kind in FUNCTIONS:
        return Factor(kind, u, sign, power, stage, bounded=kind == "sigmoid")
    value = SHARES[kind][0](u)
    return Factor("softmax" if kind == "softmax" else "sum", value, 1, power, stage, bounded=kind == "softmax")


def number(kind, u, sign, power):
    """What a factor is, by NumPy."""
    fn = FUNCTIONS.get(kind) or SHARES[kind][1]
    return fn(sign * u) ** float(power)


def computed(factors):
    """The product of numbers at stages: odd ones are gates, which a 0 of what stands before closes."""
    made = np.ones(factors[0][1].shape)
    for stage, some in itertools.groupby(sorted(factors, key=lambda f: f[0]), lambda f: f[0]):
        part = np.prod([v for _, v in some], axis=0)
        made = np.where(made == 0, 0, made * part) if stage % 2 else made * part
    return made


def of(product, inputs, *arrays):
    """The value of a product."""
    return interpret(FunctionGraph.of(inputs, [rebuilt(product)]).freeze(), list(arrays))[0]


@functools.cache
def meeting():
    """The pairs that meet where no gate is."""
    u = tg.tensor("u", shape=(None, 1))
    pairs = itertools.product(EVERY, EVERY)
    return [(a, b) for a, b in pairs if simplify(Product(factor(a[0], u, *a[1:]), factor(b[0], u, *b[1:])))]


@pytest.mark.sampled(4)
@np.errstate(all="ignore")
@pytest.mark.parametrize("stages", [(s, t) for s in range(4) for t in range(s, 4)])
@pytest.mark.parametrize("other", range(4))
@pytest.mark.parametrize("infinity", [1, -1])
def test_what_meets_is_as_hidden_as_before(stages, other, infinity):
    y, c, z = inputs = [tg.tensor(name, shape=(None, 1)) for name in "ycz"]
    u, at = infinity * tg.log(z), infinity * np.log(Z)
    expected, kept, outputs, names = [], [], [], []
    made = {(one, stage): factor(one[0], u, *one[1:], stage) for one in EVERY for stage in set(stages)}
    for a, b in meeting():
        numbers = [(0, Y), (other, C), *((s, number(n[0], at, *n[1:])) for n, s in zip((a, b), stages, strict=True))]
        factors = [
            Factor(OTHER, y),
            Factor(OTHER, c, stage=other, bounded=True),
            made[a, stages[0]],
            made[b, stages[1]],
        ]
        product = Product(*sorted(factors, key=lambda f: f.stage))
        if simplify(product):
            names.append((a, b))
            outputs.append(rebuilt(product))
            expected.append(computed(numbers))
            without = computed([numbers[0], (other, np.full(C.shape, 3.0)), *numbers[2:]])
            kept.append(np.isnan(expected[-1]) & (np.isnan(Z) | ~np.isnan(without)))
    new = interpret(FunctionGraph.of(inputs, outputs).freeze(), [Y, C, Z])
    for name, x, v, is_kept in zip(names, new, expected, kept, strict=True):
        is_number = ~np.isnan(v)
        np.testing.assert_allclose(x[is_number], v[is_number], rtol=1e-14, err_msg=str(name))
        assert np.isnan(x[is_kept]).all(), name


POINTS = np.array([[-3.0], [-0.5], [0.7], [2.0]])
AMOUNTS = {
    **{one: number(one[0], POINTS, *one[1:]) for one in KINDS},
    "1": np.ones(POINTS.shape), "tanh": np.tanh(POINTS), "tanh of half": np.tanh(POINTS / 2),
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("a", KINDS)
@pytest.mark.parametrize("b", KINDS)
def test_two_functions_meet_where_they_amount_to_one_that_is_not_0_over_0(a, b):
    u = tg.tensor("u", shape=(None, 1))
    product = Product(factor(a[0], u, *a[1:]), factor(b[0], u, *b[1:]))
    value = number(a[0], POINTS, *a[1:]) * number(b[0], POINTS, *b[1:])
    one = any(np.allclose(value, sign * v, rtol=1e-12) for v in AMOUNTS.values() for sign in (1, -1))
    poles = a[0] == b[0] and a[0] in ("expm1", "sinh") and a[2] != b[2]
    assert simplify(product) == (one and not poles)
    np.testing.assert_allclose(of(product, [u], POINTS), value, rtol=1e-14)
    assert product.sign in (1, -1)
    assert len(product.guards) == (not product.factors)
    for f in product.factors if one and not poles else ():
        if f.bounded:
            assert (np.abs(of(Product(f), [u], POINTS)) ** f.power <= 1).all()


@pytest.mark.parametrize("a", KINDS)
def test_functions_meet_of_one_argument_and_of_its_negative_alone(a):
    u, v = (tg.tensor(name, shape=(None, 1)) for name in "uv")
    first = factor(a[0], u - v, *a[1:])
    for b in KINDS:
        assert not simplify(Product(first, factor(b[0], u, *b[1:])))
        product = Product(first, factor(b[0], v - u, -b[1], b[2]))
        assert simplify(product) == ((a, b) in meeting())
        value = number(a[0], POINTS, *a[1:]) * number(b[0], POINTS, *b[1:])
        np.testing.assert_allclose(of(product, [u, v], POINTS, 0 * POINTS), value, rtol=1e-14)


@pytest.mark.parametrize("kind", SHARES)
@pytest.mark.parametrize("power", [1, -1])
def test_a_share_of_a_sum_meets_its_exponential_and_a_sum_itself(kind, power):
    u = tg.tensor("u", shape=(None, 1))
    one = factor(kind, u, 1, power)
    for name, other in (("exp", (1, -power)), ("exp", (1, power)), ("exp", (-1, -power)), (kind, (1, -power))):
        second = factor("exp", u, *other) if name == "exp" else one.to_power(-1)
        value = number(kind, POINTS, 1, power) * number(name, POINTS, *other)
        for pair in ((one, second), (second, one)):
            product = Product(*pair)
            assert simplify(product) == (name == kind or (other == (1, -power) and kind != "softmax"))
            assert product.sign == 1
            np.testing.assert_allclose(of(product, [u], POINTS), value, rtol=1e-14)
            if name == "exp" and kind != "softmax" and other == (1, -power):
                (share,) = product.factors
                assert (share.bounded, share.power) == (True, -power)


def test_the_sign_of_what_has_met_is_multiplied_with_that_of_the_product():
    u = tg.tensor("u", shape=(None, 1))
    for sign in (1, -1):
        product = Product(factor("expm1", u, 1, 1), factor("exp", u, -1, 1), sign=sign)
        assert simplify(product)
        assert product.sign == -sign


ROWS = np.array(list(itertools.product([0.0, 2.0], [0.0, 3.0, np.nan], [0.0, 0.5, np.nan], [0.0, 7.0, np.nan])))
BESIDE = {  # sums of exponentials of rows of two
    "written": lambda x: tg.exp(x) + tg.exp(x[:, ::-1]), "total": lambda x: tg.sum(tg.exp(x), -1, keepdims=True),
}  # fmt: skip


@pytest.mark.sampled(4)
@np.errstate(all="ignore")
@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.parametrize("stages", list(itertools.product(range(4), range(4))))
@pytest.mark.parametrize("other", range(4))
@pytest.mark.parametrize("is_infinite", [True, False])
def test_what_others_of_a_row_are_nan_for_is_as_hidden_in_a_share_as_in_their_sum(name, stages, other, is_infinite):
    w, c, z = inputs = [tg.tensor(n, shape=(None, length)) for n, length in zip("wcz", (1, 1, 2), strict=True)]
    at = [ROWS[:, :1], ROWS[:, 1:2], ROWS[:, 2:] + (0 if is_infinite else 0.25)]
    x = tg.log(z) if is_infinite else tg.assume(tg.log(z), finite=True)
    factors = [
        Factor(OTHER, w), Factor(OTHER, c, stage=other, bounded=True), Factor("exp", x, stage=stages[0]),
        Factor("sum", BESIDE[name](x), power=-1, stage=stages[1]),
    ]  # fmt: skip
    product = Product(*sorted(factors, key=lambda f: f.stage))
    if not simplify(product):
        assert is_infinite
        assert other > 0
        return

    def expected(c, z):
        numbers = (0, at[0]), (other, c), (stages[0], z), (stages[1], 1 / z.sum(1, keepdims=True))
        return computed([(k, np.broadcast_to(v, z.shape)) for k, v in numbers])

    numbers = expected(at[1], at[2])
    (new,) = interpret(FunctionGraph.of(inputs, [rebuilt(product)]).freeze(), at)
    new = np.broadcast_to(new, numbers.shape)
    np.testing.assert_allclose(new[~np.isnan(numbers)], numbers[~np.isnan(numbers)], rtol=1e-14)
    without = expected(np.full(at[1].shape, 3.0), at[2]), expected(at[1], np.where(np.isnan(at[2]), 1.0, at[2]))
    for others in without:
        assert np.isnan(new[np.isnan(numbers) & ~np.isnan(others)]).all()


HIDDEN, STAYS, SHOWN = "0 where the exponential is", "beside the 0 of the exponential", "beside its NaN"
SHARED = {  # the stages of an exponential and of its sum: how the share stands where operands are infinite, and if not
    (0, 0): ((), ()), (0, 2): ((), ()), (1, 1): ((), ()), (1, 2): ((), ()), (2, 0): ((), ()), (1, 0): ((), ()),
    (2, 1): ((SHOWN,), (SHOWN,)), (3, 1): ((), ()), (3, 2): ((), ()), (1, 3): ((HIDDEN,), ()),
    (0, 1): ((STAYS, SHOWN), (SHOWN,)), (2, 3): ((STAYS, SHOWN), (SHOWN,)),
}  # fmt: skip


@pytest.mark.parametrize("stages", SHARED)
def test_what_an_exponential_is_0_and_nan_for_stays_where_its_share_is_behind_another_gate(stages):
    z = tg.tensor("z", shape=(None, 1))
    for u, expected in zip((tg.log(z), z), SHARED[stages], strict=True):
        pair = factor("exp", u, 1, 1, stages[0]), factor("sum", u, 1, -1, stages[1])
        product = Product(*sorted(pair, key=lambda f: f.stage))
        assert simplify(product)
        *staying, share = product.factors
        found = [HIDDEN] * is_made_by(share.u, tg.where) + [STAYS] * len(staying) + [SHOWN] * len(product.guards)
        assert found == list(expected)
        assert [f.stage for f in staying] == [stages[0]] * len(staying)
        assert [(g.u, g.stage) for g in product.guards] == [(u, 0)] * len(product.guards)


@pytest.mark.parametrize("stages", [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (1, 3), (2, 3)])
def test_it_is_asked_for_an_infinite_operand_only_where_a_gate_is_closed_by_it(stages):
    y, z = (tg.tensor(name, shape=(None, 1)) for name in "yz")
    first, last = stages
    for u, may_close in ((tg.log(z), first < last and last % 2 == 1), (z, False)):
        pair = factor("exp", u, 1, 1, first), factor("exp", u, -1, 1, last)
        product = Product(Factor(OTHER, y), *pair)
        assert simplify(product)
        closing = [f for f in product.factors if f.kind == OTHER and f.u is not y]
        assert [(f.stage, f.bounded) for f in closing] == [(first, True)] * may_close
        assert [g.stage for g in product.guards] == [first if first % 2 and last % 2 else 0]
        product = Product(Factor(OTHER, y), factor("exp", u, 1, 1, first), factor("sigmoid", u, -1, 1, last))
        assert simplify(product)
        assert any(f.kind == "sigmoid" for f in product.factors)
        assert any(f.kind == OTHER and f.u is not y for f in product.factors) == may_close


def test_nothing_is_guarded_where_what_is_left_is_nan_as_well():
    y, u = (tg.tensor(name, shape=(None, 1)) for name in "yu")
    pair = [factor("exp", u, 1, 1), factor("exp", u, -1, 1)]
    at = lambda *stages: [f.at(s) for f, s in zip(pair, stages, strict=True)]  # noqa: E731
    beside = {  # what is left, and its stage: guards, and where it stands then
        ("cosh", 1, 0, (0, 0)): ([], 0), ("cosh", 1, 1, (0, 0)): ([0], 1), ("cosh", 1, 2, (1, 1)): ([], 2),
        ("cosh", 1, 1, (1, 1)): ([], 1), ("cosh", 1, 1, (1, 3)): ([], 1), ("cosh", 1, 3, (1, 1)): ([1], 3),
        ("sigmoid", 1, 1, (0, 0)): ([], 0), ("sigmoid", 1, 3, (1, 1)): ([], 1), ("sigmoid", -1, 1, (0, 0)): ([0], 1),
        ("sigmoid", 1, 1, (1, 1)): ([], 1),
    }  # fmt: skip
    for (kind, power, stage, stages), (guards, stands) in beside.items():
        left = factor(kind, u, 1, power, stage)
        product = Product(*sorted([Factor(OTHER, y), *at(*stages), left], key=lambda f: f.stage))
        assert simplify(product)
        assert ([g.stage for g in product.guards], product.factors[-1].stage) == (guards, stands), (kind, stage)


def test_what_is_left_says_nothing_of_another_value_and_all_of_its_own():
    u, v = (tg.tensor(name, shape=(None, 1)) for name in "uv")
    pair = [factor("exp", u, 1, 1), factor("exp", u, -1, 1)]
    lefts = (  # what is left, guards, and where it stands then
        (factor("cosh", v, 1, 1), [0], 0), (Factor(OTHER, u), [], 0), (Factor(OTHER, -u, power=-1), [], 0),
        (Factor(OTHER, v), [0], 0), (Factor(OTHER, u, stage=1, bounded=True), [0], 1),
        (factor("sigmoid", v, 1, 1, 1), [0], 1),
    )  # fmt: skip
    for left, guards, stands in lefts:
        product = Product(*pair, left)
        assert simplify(product)
        assert ([g.stage for g in product.guards], product.factors[-1].stage) == (guards, stands), left
    product = Product(*pair, factor("sigmoid", v, 1, 1, 1), factor("sigmoid", u, 1, 1, 3))
    assert simplify(product)
    assert [(f.u, f.stage) for f in product.factors] == [(u, 0), (v, 1)]


@pytest.mark.parametrize(
    ("shape", "axis", "one", "cancels"),
    [
        ((3, 4), -1, False, True), ((3, 0), -1, False, False), ((3, None), -1, False, False), ((3, 0), -1, True, True),
        ((None, 1), -1, False, True), ((0, 4), 0, False, False), ((2, 4), (0, 1), False, True),
    ],
)  # fmt: skip
def test_a_sum_cancels_where_it_is_known_to_have_terms(shape, axis, one, cancels):
    x = tg.tensor("x", shape=shape)
    total = tg.sum(tg.exp(x), axis, keepdims=True)
    f = Factor("sum", total + 1.0 if one else total)
    assert simplify(Product(f, f.to_power(-1))) == cancels
    assert not simplify(Product(f, f))
    assert simplify(Product(Factor("exp", f.u), Factor("exp", f.u, power=-1)))


def test_each_term_of_a_written_sum_has_its_share():
    at = [np.array([[0.5], [-1.0]]), np.array([[2.0], [0.25]]), np.array([[-0.75], [1.5]])]
    x, y, z = inputs = [tg.tensor(name, shape=(None, 1)) for name in "xyz"]
    total, number = (
        Factor("sum", tg.exp(x) + (tg.exp(y) + tg.exp(z) * 2.0), power=-1),
        np.exp(at) * [[[1]], [[1]], [[2]]],
    )
    for k, u in enumerate((x, y)):
        for order in (1, -1):
            product = Product(*[factor("exp", u, 1, 1), total][::order])
            assert simplify(product)
            np.testing.assert_allclose(of(product, inputs, *at), number[k] / number.sum(0), rtol=1e-14)
    for other in (factor("exp", x, -1, 1), factor("exp", x, 1, -1), factor("exp", z, 1, 1)):
        assert not simplify(Product(other, total))
    product = Product(factor("exp", y, 1, -1), total.to_power(-1))
    assert simplify(product)
    np.testing.assert_allclose(of(product, inputs, *at), number.sum(0) / number[1], rtol=1e-14)


OVER, MINUS = ("sigmoid", 1, -1), ("expm1", 1, -1)  # 1 + exp(-u), and 1 / expm1(u)
PLACES = (  # two factors and their stages: where what they amount to stands, None where they do not meet
    (("exp", 1, 1), OVER, {(0, 0): 0, (0, 1): 0, (0, 2): 0, (1, 1): 1, (1, 2): None, (1, 3): 1, (2, 3): 2}),
    (OVER, ("exp", 1, 1), {(0, 0): 0, (0, 1): None, (0, 2): 2, (1, 1): 1, (1, 2): 2, (1, 3): 3, (2, 3): None}),
    (("exp", 1, 1), MINUS, {(0, 1): None, (0, 2): 2, (1, 2): 2, (1, 3): 3}),
    (MINUS, ("exp", 1, 1), {(0, 1): 0, (0, 2): 0, (1, 2): None, (1, 3): 1}),
    (("exp", -1, 1), ("expm1", 1, 1), {(0, 1): 0, (0, 2): 0, (1, 2): None, (1, 3): 1}),
    (("expm1", 1, 1), ("exp", -1, 1), {(0, 1): None, (0, 2): 2, (1, 2): 2, (1, 3): 3}),
    (("sigmoid", 1, 1), ("sigmoid", -1, -1), {(0, 0): 0, (0, 1): None, (0, 2): None, (1, 2): None, (1, 3): 3}),
    (("exp", -1, 1), ("sigmoid", 1, 1), {(0, 1): 0, (0, 2): 0, (1, 2): 2, (1, 3): 1}),
    (("exp", 1, -1), ("sum", 1, 1), {(0, 0): 0, (0, 1): None, (0, 2): None, (1, 2): None, (1, 3): 3}),
    (("sum", 1, 1), ("exp", 1, -1), {(0, 0): 0, (0, 1): None, (0, 2): None, (1, 2): None, (1, 3): 3}),
    (("exp", 1, 1), ("sum", 1, -1), {(0, 0): 0, (0, 1): 1, (0, 2): 0, (1, 2): 2, (1, 3): 1, (2, 3): 3}),
    (("sum", 1, -1), ("exp", 1, 1), {(0, 0): 0, (0, 1): 0, (0, 2): 0, (1, 2): 1, (1, 3): 1, (2, 3): 2}),
    (("expm1", 1, 1), ("sigmoid", -1, 1), {(0, 1): 0, (0, 2): 0, (1, 2): 2, (1, 3): 1}),
    (("sinh", 1, 1), ("cosh", 1, -1), {(0, 1): 0, (0, 2): 0, (1, 2): 2, (1, 3): 1}),
)


@pytest.mark.parametrize("row", range(len(PLACES)))
def test_what_two_amount_to_stands_where_it_is_finite_or_as_hidden(row):
    u = tg.tensor("u", shape=(None, 1))
    a, b, places = PLACES[row]
    for stages, expected in places.items():
        pair = [factor(one[0], u, *one[1:], stage) for one, stage in zip((a, b), stages, strict=True)]
        product = Product(*pair)
        assert simplify(product) == (expected is not None), stages
        assert expected is None or [f.stage for f in product.factors] == [expected], stages


@pytest.mark.parametrize(("stage", "meets"), [(0, True), (1, False), (2, False), (3, True)])
def test_what_is_infinite_where_neither_is_stays_hidden_by_the_first_alone(stage, meets):
    u, c = (tg.tensor(name, shape=(None, 1)) for name in "uc")
    pair = [factor(kind, u, *about) for kind, *about in ((*OVER, 1), ("exp", 1, 1, 3))]
    product = Product(*sorted([factor("cosh", c, 1, 1, stage), *pair], key=lambda f: f.stage))
    assert simplify(product) == meets


@pytest.mark.parametrize("stages", [(2, 5), (1, 3)])
@pytest.mark.parametrize("stage", range(8))
def test_a_factor_that_is_0_at_0_meets_where_no_gate_is_in_between(stages, stage):
    u, c = (tg.tensor(name, shape=(None, 1)) for name in "uc")
    first, last = stages
    pair = [factor("cosh", u, 1, -1, first), factor("sinh", u, 1, 1, last)]
    meets = stage % 2 == 0 or not first < stage <= last
    other = Factor(OTHER, c, stage=stage, bounded=True)
    product = Product(*sorted([other, *pair], key=lambda f: f.stage))
    assert simplify(product) == meets
    guarded = Product(*pair, guards=(Guard(c, stage),))
    assert simplify(guarded) == meets


@pytest.mark.parametrize("within", [(), (Operand(1),)])
def test_what_two_amount_to_stands_in_the_place_of_one_of_them(within):
    u, *others = (tg.tensor(name, shape=(None, 1)) for name in "uabc")
    a, b, c = (factor("cosh", v, 1, 1, 2)._replace(within=within) for v in others)
    last = factor("exp", u, 1, 1, 2)._replace(within=within)
    product = Product(factor(*OVER[:1], u, *OVER[1:]), a, b, last, c)
    assert simplify(product)
    assert [f.u for f in product.factors] == [a.u, b.u, u, c.u]
    assert [(f.stage, f.within) for f in product.factors] == [(2, within)] * 4


@pytest.mark.parametrize("stage", range(5))
def test_what_is_0_nowhere_meets_across_what_is_gated(stage):
    u, c = (tg.tensor(name, shape=(None, 1)) for name in "uc")
    pair = [factor("exp", u, -1, 1), factor("sigmoid", u, 1, 1, 3)]
    assert simplify(Product(*sorted([Factor(OTHER, c, stage=stage), *pair], key=lambda f: f.stage)))


def test_a_share_of_1_stands_in_any_case_and_others_where_no_product_is_larger():
    y, u = (tg.tensor(name, shape=(None, 1)) for name in "yu")
    exp, reciprocal = factor("exp", u, 1, 1), factor("exp", u, -1, 1)
    over, expm1, share = factor(OVER[0], u, *OVER[1:]), factor("expm1", u, 1, 1), factor("sigmoid", u, 1, 1)
    below, hyperbolic = factor("sigmoid", u, -1, 1), (factor("sinh", u, 1, 1), factor("cosh", u, 1, -1))
    rows = ((exp, over), False), ((reciprocal, expm1), False)
    for pair, stands in (*rows, ((reciprocal, share), True), ((expm1, below), True), (hyperbolic, True)):
        assert simplify(Product(Factor(OTHER, y), *pair)) == stands
        assert simplify(Product(*pair, Factor(OTHER, y)))
