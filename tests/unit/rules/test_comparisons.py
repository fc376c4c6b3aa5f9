"""Comparisons and choices, each rewrite by itself: what it decides is what NumPy says of every value there can be."""

import functools
import itertools

import numpy as np
import pytest

import tg
from tests.unit.rules.examine import One, admitted
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.rewrite.driver import rewrite
from tg.rules.catalog import RULES
from tg.types.dtypes import numpy_dtype

AND, OR, NOT = np.logical_and, np.logical_or, np.logical_not  # of variables as well
BY_NAME = {one.name: one for one in RULES}
COMPARISONS = {
    tg.less: np.less,
    tg.less_equal: np.less_equal,
    tg.greater: np.greater,
    tg.greater_equal: np.greater_equal,
    tg.equal: np.equal,
    tg.not_equal: np.not_equal,
}
FINITE = np.finfo(np.float64).max
FLOATS = (-np.inf, -FINITE, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, FINITE, np.inf, np.nan)
KNOWN = {  # of a float64, and which values then remain
    (): lambda v: True,
    ("not_nan",): lambda v: v == v,
    ("finite",): np.isfinite,
    ("positive",): lambda v: not v <= 0,
    ("nonnegative",): lambda v: not v < 0,
    ("negative",): lambda v: not v >= 0,
    ("nonpositive",): lambda v: not v > 0,
    ("nonzero",): lambda v: v != 0,
    ("positive", "finite"): lambda v: 0 < v < np.inf,
    ("nonpositive", "not_nan"): lambda v: v <= 0,
}


def rewritten(name, inputs, output):
    """What one rewrite alone makes of a value, and whether it fired."""
    graph = FunctionGraph.of(inputs, [output])
    kept = frozenset({"fold_constants"})
    frozen = rewrite(graph, [One(admitted(BY_NAME[name]))], supported=lambda op, types: True, exclude=kept)
    return frozen, bool(graph.fired.get(name))


def decides(fn, x, v, c):
    """What a comparison of v, which is x or made of it, with a constant is rewritten to; None where it stays."""
    frozen, fired = rewritten("comparison_beyond_limits", [x], fn(v, tg.constant(c)))
    if not fired:
        return None
    (found,) = set(interpret(frozen, [np.zeros(c.shape or (1,), numpy_dtype(x.dtype))])[0].ravel().tolist())
    return found


def decided(compare, values, c):
    """What NumPy says of all values alike; None of some and not of others."""
    found = {bool(t) for v in values for t in np.ravel(compare(v, c))}
    return found.pop() if len(found) == 1 else None


@pytest.mark.parametrize("facts", KNOWN)
def test_what_is_known_of_a_float_decides_a_comparison_where_all_its_values_agree(facts):
    x = tg.vector("x")
    v = tg.assume(x, **dict.fromkeys(facts, True))
    values = np.array([n for n in FLOATS if KNOWN[facts](n)])
    numbers = [np.array(c) for c in (-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan)]
    for (fn, compare), c in itertools.product(COMPARISONS.items(), numbers):
        assert decides(fn, x, v, c) == decided(compare, values, c), (fn.name, c)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_numbers_of_few_digits_are_compared_as_others_are(dtype):
    x = tg.vector("x", dtype=dtype)
    v = tg.assume(x, finite=True, nonnegative=True)
    values = np.array([0.0, 1.0, 50.0])
    for (fn, compare), c in itertools.product(COMPARISONS.items(), (-np.inf, -1.0, 0.0, 1.0, np.inf, np.nan)):
        assert decides(fn, x, v, np.array(c, numpy_dtype(dtype))) == decided(compare, values, c), (fn.name, c)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_the_limits_of_integers_decide_a_comparison_where_all_of_them_agree(dtype):
    x = tg.vector("x", dtype=dtype)
    info = np.iinfo(dtype)
    values = np.array([info.min, info.min + 1, info.max // 2, info.max - 1, info.max], dtype)
    for (fn, compare), c in itertools.product(COMPARISONS.items(), values):
        assert decides(fn, x, x, np.array(c)) == decided(compare, values, c), (fn.name, c)


@pytest.mark.parametrize(
    ("source", "wide", "values"),
    [
        ("int8", "int16", range(-128, 128)),
        ("uint8", "float32", range(256)),
        ("float64", "uint8", range(256)),  # what is too large is the largest
        ("uint8", "int8", range(-128, 128)),  # what is too large wraps
    ],
)
def test_a_converted_value_has_the_limits_that_the_conversion_leaves(source, wide, values):
    x = tg.vector("x", dtype=source)
    values = np.array(values, wide)
    numbers = [np.array(n, wide) for n in (-129, -128, -1, 0, 1, 100, 127, 255, 256) if np.array(n).astype(wide) == n]
    for (fn, compare), c in itertools.product(COMPARISONS.items(), numbers):
        assert decides(fn, x, tg.cast(x, wide), c) == decided(compare, values, c), (fn.name, c)


@pytest.mark.parametrize("facts", [("positive", "finite"), ("negative", "finite"), ("nonzero", "not_nan")])
def test_a_comparison_with_several_numbers_is_decided_where_all_of_them_agree(facts):
    x = tg.vector("x")
    v = tg.assume(x, **dict.fromkeys(facts, True))
    values = np.array([n for n in FLOATS if fact_holds_of(n, facts)])[:, None]
    for several in ([-1.0, 0.0], [0.0, -0.0], [0.0, 1.0], [-1.0, 1.0], [np.nan, np.nan], [np.nan, 0.0], [np.nan, 1.0]):
        c = np.array(several)
        for fn, compare in COMPARISONS.items():
            wanted = decided(compare, values, c) if not np.isnan(c).any() or np.isnan(c).all() else None
            assert decides(fn, x, v, c) == wanted, (fn.name, several)


def fact_holds_of(number, facts):
    return all(KNOWN[(name,)](number) for name in facts)


def test_a_complex_number_other_than_0_may_have_a_part_that_is_0():
    z = tg.vector("z", dtype="complex128")
    c = np.array([3j])
    frozen, _ = rewritten("comparison_beyond_limits", [z], tg.equal(tg.assume(z, nonzero=True), tg.constant(c)))
    assert interpret(frozen, [c])[0].tolist() == [True]


def test_two_constants_are_not_exchanged_for_ever():
    two, three = (tg.constant(np.array(n)) for n in (2.0, 3.0))
    assert not rewritten("comparison_with_constant_second", [], tg.less(two, three))[1]


# --- values that were converted ---------------------------------------------------------------------------------------


ORDINARY = np.array([0, 1, 3, 44, 100, 127, 128, 2**24 + 1, 0.1, 0.5, 1 + 1e-9])


def compared(wide):
    """The comparisons that a dtype has."""
    return [(fn, f) for fn, f in COMPARISONS.items() if fn in (tg.equal, tg.not_equal) or "complex" not in wide]


@pytest.mark.parametrize(
    ("source", "wide", "numbers"),
    [
        ("int8", "float64", [3.0, 300.0]),
        ("int8", "float64", [0.5]),
        ("uint8", "int16", [-1]),
        ("bool", "int8", [0, 1, 2]),
        ("bool", "int8", [0, 1, 1]),
        ("float32", "float64", [0.1]),
        ("float32", "complex128", [0.5 + 1e-300j]),
        ("int64", "float32", [2.0**24]),
    ],
)
def test_converted_values_are_compared_in_their_own_dtype_with_numbers_that_it_has(source, wide, numbers):
    x = tg.tensor("x", source, (None, 1))
    at, c = ORDINARY.astype(source)[:, None], np.array(numbers, wide)
    for fn, compare in compared(wide):
        frozen, _ = rewritten("comparison_of_converted", [x], fn(tg.cast(x, wide), tg.constant(c)))
        np.testing.assert_array_equal(interpret(frozen, [at])[0], compare(at.astype(wide), c))


@pytest.mark.parametrize(
    ("first", "second", "wide"),
    [
        ("int8", "uint8", "int16"),
        ("float32", "float32", "complex64"),
        ("bool", "bool", "float32"),
        ("float64", "float64", "float32"),
    ],
)
def test_values_are_compared_before_they_are_converted_where_that_is_the_same(first, second, wide):
    x, y = tg.tensor("x", first, (None, 1)), tg.tensor("y", second, (None,))
    with np.errstate(all="ignore"):
        a, b = ORDINARY.astype(first)[:, None], ORDINARY.astype(second)
    for fn, compare in compared(wide):
        frozen, _ = rewritten("comparison_of_converted", [x, y], fn(tg.cast(x, wide), tg.cast(y, wide)))
        np.testing.assert_array_equal(interpret(frozen, [a, b])[0], compare(a.astype(wide), b.astype(wide)))


def test_a_number_of_two_parts_was_not_converted():
    a, b = tg.vector("a"), tg.vector("b")
    z = tg.ops.elementwise.complex.complex(a, b)
    frozen, fired = rewritten("comparison_of_converted", [a, b], tg.equal(tg.cast(a, "complex128"), z))
    assert interpret(frozen, [np.array([1.0, 1.0]), np.array([0.0, 1.0])])[0].tolist() == [True, False]
    assert not fired


# --- choices ----------------------------------------------------------------------------------------------------------

SIGNED = (0.0, -0.0, 1.0, 2.0)
PARTS = tuple(complex(a, b) for a, b in itertools.product(SIGNED[:3], repeat=2))


@pytest.mark.parametrize(("dtype", "numbers"), [("float64", SIGNED), ("complex128", PARTS), ("int8", (0, 1, 2))])
def test_only_a_choice_of_1_and_0_without_a_sign_is_a_cast(dtype, numbers):
    c, at = tg.vector("c", dtype="bool"), np.array([True, False])
    fired = 0
    for pair in itertools.product(numbers, repeat=2):
        a, b = (np.array(n, dtype) for n in pair)
        frozen, is_cast = rewritten("where_one_or_zero", [c], tg.where(c, a, b))
        assert interpret(frozen, [at])[0].tobytes() == np.where(at, a, b).tobytes(), pair
        fired += is_cast
    assert fired == 2


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (lambda c, w, x: tg.absolute(w), lambda c, w: np.abs(w)),
        (lambda c, w, x: 10 - w, lambda c, w: 10 - w),
        (lambda c, w, x: tg.maximum(w, 3), lambda c, w: np.maximum(w, 3)),
        (lambda c, w, x: w * w, lambda c, w: w * w),
        (lambda c, w, x: tg.cast(w, "float32"), lambda c, w: w.astype(np.float32)),
        (lambda c, w, x: tg.where(w > 2, w, 1), lambda c, w: np.where(w > 2, w, 1)),
    ],
)
def test_a_function_of_two_numbers_is_a_choice_of_two(formula, expected):
    c, x = tg.vector("c", dtype="bool"), tg.vector("x", dtype="int64")
    at = np.array([True, False])
    for choice, data in ((tg.where(c, 5, -2), np.where(at, 5, -2)), (tg.cast(c, "int64"), at.astype(np.int64))):
        frozen, fired = rewritten("constant_choices", [c, x], formula(c, choice, x))
        assert fired
        found = interpret(frozen, [at, at.astype(np.int64)])[0]
        np.testing.assert_array_equal(found, expected(at, data), strict=True)


@pytest.mark.parametrize(
    "formula",
    [
        lambda c, w, x: w + x,
        lambda c, w, x: tg.where(c, 5, -2) + tg.where(x > 0, 5, -2),
        lambda c, w, x: w + tg.cast(c, "int64"),
        lambda c, w, x: tg.absolute(tg.where(c, x, -2)),
        lambda c, w, x: tg.absolute(tg.where(c, np.array([5, 6]), -2)),
        lambda c, w, x: tg.absolute(tg.cast(x, "int8")),
        lambda c, w, x: tg.power(w, w),  # which checks its exponent
    ],
)
def test_a_function_of_more_than_two_numbers_is_computed(formula):
    c, x = tg.vector("c", dtype="bool"), tg.vector("x", dtype="int64")
    assert not rewritten("constant_choices", [c, x], formula(c, tg.where(c, 5, -2), x))[1]


@pytest.mark.parametrize(
    ("name", "formula", "fires"),
    [
        ("where_decided_inside", lambda where, c, d, x, y, z: where(c, where(c, x, y), z), True),
        ("where_decided_inside", lambda where, c, d, x, y, z: where(c, x, where(c, y, z)), True),
        ("where_decided_inside", lambda where, c, d, x, y, z: where(c, where(d, x, y), z), False),
        ("where_decided_inside", lambda where, c, d, x, y, z: where(c, x, where(d, y, z)), False),
        ("where_decided_below", lambda where, c, d, x, y, z: where(c, where(c, x, y) * z, 0.0), True),
        ("where_decided_below", lambda where, c, d, x, y, z: where(c, -(where(c, x, y) / z) + x, y), True),
        ("where_decided_below", lambda where, c, d, x, y, z: where(c, where(d, x, y) * z, 0.0), False),
        ("where_decided_below", lambda where, c, d, x, y, z: where(c, x, where(c, x, y) * z), False),
        ("where_of_joined_conditions", lambda where, c, d, x, y, z: where(c, where(d, x, y), y), True),
        ("where_of_joined_conditions", lambda where, c, d, x, y, z: where(c, x, where(d, x, y)), True),
        ("where_of_joined_conditions", lambda where, c, d, x, y, z: where(c, where(d, y, x), y), False),
        ("where_of_joined_conditions", lambda where, c, d, x, y, z: where(c, x, where(d, y, x)), False),
        ("where_decided_inside", lambda where, c, d, x, y, z: where(AND(c, d), where(d, x, y), z), True),
        ("where_decided_inside", lambda where, c, d, x, y, z: where(OR(c, d), x, where(d, y, z)), True),
        ("where_decided_inside", lambda where, c, d, x, y, z: where(OR(c, d), where(d, x, y), z), False),
        ("where_decided_inside", lambda where, c, d, x, y, z: where(AND(c, d), x, where(d, y, z)), False),
        ("where_decided_below", lambda where, c, d, x, y, z: where(AND(d, c), where(OR(c, d), x, y) * z, 0.0), True),
        ("where_decided_below", lambda where, c, d, x, y, z: where(OR(c, d), where(AND(c, d), x, y) * z, 0.0), False),
        ("where_same", lambda where, c, d, x, y, z: where(c, x, x), True),
        ("sum_of_masked_alike", lambda where, c, d, x, y, z: where(c, x, 0.0) + where(c, y, 0.0), True),
        ("sum_of_masked_alike", lambda where, c, d, x, y, z: where(c, x, 0.0) - where(c, y, 0.0), True),
        ("sum_of_masked_alike", lambda where, c, d, x, y, z: where(c, x, 0.0) + where(d, y, 0.0), False),
        ("sum_of_masked_alike", lambda where, c, d, x, y, z: where(c, x, 0.0) - where(c, y, z), False),
        ("sum_of_masked_alike", lambda where, c, d, x, y, z: where(c, x, z) + where(c, y, 0.0), False),
        ("masked_negative", lambda where, c, d, x, y, z: where(c, -x, 0.0), True),
        ("masked_negative", lambda where, c, d, x, y, z: where(c, -x, y), False),
    ],
)
def test_choices_of_choices_are_what_numpy_chooses(name, formula, fires):
    names = [tg.vector(n, dtype="bool") for n in "cd"] + [tg.vector(n) for n in "xyz"]
    bits = np.array(list(itertools.product((True, False), repeat=2))).T
    arrays = [*bits, *(np.full(4, n) for n in (1.0, 2.0, 3.0))]
    frozen, fired = rewritten(name, names, formula(tg.where, *names))
    assert interpret(frozen, arrays)[0].tolist() == formula(np.where, *arrays).tolist()
    assert fired is fires


@pytest.mark.parametrize(
    ("formula", "fires"),
    [
        (lambda b, c, d: AND(AND(b, c), OR(c, d)), True),
        (lambda b, c, d: AND(AND(b, AND(c, d)), AND(d, b)), True),
        (lambda b, c, d: OR(AND(b, AND(c, d)), AND(d, b)), True),
        (lambda b, c, d: OR(OR(b, c), OR(OR(b, d), c)), True),
        (lambda b, c, d: AND(OR(b, c), OR(OR(b, d), c)), True),
        (lambda b, c, d: AND(OR(AND(b, c), AND(b, d)), OR(b, NOT(c))), True),
        (lambda b, c, d: OR(AND(b, c), AND(b, d)), False),
        (lambda b, c, d: AND(OR(b, c), OR(b, d)), False),
        (lambda b, c, d: AND(AND(b, c), AND(c, d)), False),
        (lambda b, c, d: AND(AND(b, NOT(c)), OR(c, d)), False),
    ],
)
def test_a_condition_that_follows_from_another_is_not_asked_beside_it(formula, fires):
    names = [tg.vector(n, dtype="bool") for n in "bcd"]
    bits = np.array(list(itertools.product((True, False), repeat=3))).T
    program = formula(*names)
    frozen, fired = rewritten("implied_condition", names, program)
    plain = FunctionGraph.of(names, [program]).freeze()
    assert interpret(frozen, list(bits))[0].tolist() == interpret(plain, list(bits))[0].tolist()
    assert fired is fires


def test_as_many_conditions_are_looked_at_as_there_are_in_a_few():
    names = [tg.vector(f"c{k}", dtype="bool") for k in range(200)]
    every, some = functools.reduce(tg.logical_and, names), functools.reduce(tg.logical_or, names[::-1])
    frozen, _ = rewritten("implied_condition", names, every & some)
    arrays = [np.array([k != 7, True, False]) for k in range(200)]
    assert interpret(frozen, arrays)[0].tolist() == [False, True, False]


# --- NaN and infinities -----------------------------------------------------------------------------------------------

TESTS = {tg.isnan: np.isnan, tg.isinf: np.isinf, tg.isfinite: np.isfinite}
CHANGES = [
    (tg.negative, np.negative),
    (tg.absolute, np.abs),
    (tg.rint, np.rint),
    (tg.exp, np.exp),
    (tg.square, np.square),
    (lambda x: x + 2, lambda x: x + 2),
    (lambda x: x * 2, lambda x: x * 2),
    (lambda x: x / 0.25, lambda x: x / 0.25),
    (lambda x: x * 0, lambda x: x * 0),
    (lambda x: x - np.inf, lambda x: x - np.inf),
    (lambda x: 2 / x, lambda x: 2 / x),
    (lambda x: x * x, lambda x: x * x),
    (tg.sqrt, np.sqrt),
]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_what_is_asked_of_an_operand_is_true_of_the_result(dtype):
    x = tg.vector("x", dtype=dtype)
    largest = np.finfo(dtype).max
    values = [0, -0.0, 1, -1, largest, -largest, np.inf, -np.inf, np.nan]
    if dtype == "complex128":
        values = [complex(a, b) for a, b in itertools.product(values, repeat=2)]
        changes = [*CHANGES[:2], *CHANGES[3:8], (tg.conj, np.conj), (tg.sqrt, np.sqrt)]
    else:
        changes = [
            *CHANGES,
            *((lambda x, t=t: tg.cast(x, t), lambda x, t=t: x.astype(t)) for t in ("float16", "float64")),
        ]
    at = np.array(values, dtype)
    with np.errstate(all="ignore"):
        for (fn, test), (change, expected) in itertools.product(TESTS.items(), changes):
            frozen, _ = rewritten("finiteness_of_operand", [x], fn(change(x)))
            found, wanted = interpret(frozen, [at])[0], test(expected(at))
            assert found.tolist() == wanted.tolist(), (fn.name, expected)


@pytest.mark.parametrize("fn", TESTS)
def test_a_number_that_gets_more_digits_is_asked_before_it_is_converted(fn):
    x = tg.vector("x", dtype="float32")
    frozen, fired = rewritten("finiteness_of_operand", [x], fn(tg.cast(x, "float64")))
    assert fired
    assert [node.op.name for node in frozen.nodes] == [fn.name]
