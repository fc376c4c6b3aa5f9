"""The judge of the enumeration: replacements that are wrong are found, and what rounding explains is let be."""

import numpy as np
import pytest

import tg
from tests.enumerate.judge import Data, examined
from tests.enumerate.search import is_raised_by_one
from tests.fuzz.perturbation import Expectation, one_way
from tg.graph.function_graph import FunctionGraph, freeze
from tg.ops.elementwise.arithmetic import gate

NEAR = 1 + 2.0**-30


def judged(kind, before, after, *arrays, name="tame", whole=False):
    """What is said against a replacement, given two functions and arrays for their operands; None if nothing."""
    inputs = [tg.tensor(f"x{k}", a.dtype.name, a.shape) for k, a in enumerate(arrays)]
    data = Data(name, inputs, list(arrays), tame=name == "tame", infinite=name == "infinite")
    with np.errstate(all="ignore"), one_way():
        found = examined(kind, before(*inputs), after(*inputs), data, whole=whole)
    return None if found is None else found.what


def of(*values, dtype="float64"):
    return np.array(values, dtype)


WRONG = {
    "digits": (tg.log1p, lambda x: tg.log(1 + x), [of(1e-9, 0.5)], "loses digits"),
    "a few hundred units": (lambda x: x * 3, lambda x: x * (3 + 3e-13), [of(1.0, -2.0)], "not the same"),
    "a scale": (lambda x: tg.exp(x) * 2, lambda x: tg.exp(x) * 2 * NEAR, [of(0.3, -1.0)], "not the same"),
    "an order": (lambda x, y: x < y, lambda x, y: x <= y, [of(1.0, 2.0), of(1.0, 3.0)], "another value"),
    "an order of products": (
        lambda x, y: x * y * 0.5 < y, lambda x, y: x * y * 0.25 < y, [of(3.0, -2.0), of(2.0, 1.0)], "another value",
    ),
    "a hidden NaN": (lambda x: x + 1, lambda x: tg.where(tg.isnan(x), 0, x + 1), [of(np.nan, 1.0)], "a NaN is hidden"),
    "a NaN of a 0": (gate, lambda x, y: x * y, [of(0.0, 1.0), of(np.inf, 2.0)], "not the same"),
    "an infinity": (gate, lambda x, y: x / y, [of(0.0, 1.0), of(2.0, 0.0)], "not the same"),
    "a lost infinity": (lambda x: 1 / x, lambda x: 1 / (x + 1e-300), [of(0.0, 1.0)], "an infinity is lost"),
    "a diagonal": (
        lambda x: tg.diagonal(x @ x), lambda x: tg.sum(x * x, axis=1), [of([1.0, 2.0], [3.0, 4.0])], "not the same",
    ),
    "a term": (lambda x: tg.sum(x), lambda x: tg.sum(x[1:]), [of(1e-6, 1.0, 5.0)], "not the same"),
    "a complex product": (
        lambda x, y: x * y, lambda x, y: x * tg.conj(y), [of(1 + 2j, dtype="c16"), of(3 - 1j, dtype="c16")],
        "not the same",
    ),
    "a complex size": (tg.abs, lambda x: tg.abs(x) * NEAR, [of(1 + 2j, 3j, dtype="complex128")], "not the same"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WRONG))
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("data", ["tame", "hostile"])
def test_a_wrong_replacement_is_found(name, whole, data):
    before, after, arrays, what = WRONG[name]
    found = judged("reassociates", before, after, *arrays, name=data, whole=whole)
    assert found is not None
    assert what in found


def test_a_wrong_value_beside_an_ill_conditioned_one_is_found():
    """1 / log(x) has no digits at 1; elsewhere it has."""
    x = of(1.0, np.nextafter(1.0, 2.0), 2.0)
    assert judged("reassociates", lambda x: 1 / tg.log(x * 1.5 / 1.5), lambda x: 1 / tg.log(x), x) is None
    wrong = judged("reassociates", lambda x: 1 / tg.log(x * 1.5 / 1.5), lambda x: NEAR / tg.log(x), x)
    assert wrong is not None


def test_what_a_rare_rounding_turns_over_may_be_as_far_as_that_and_no_farther():
    """x * y - x * z + ... in a product of matrices that is 0 but for the rounding of its products."""
    x = of([3.0, -20.0, 1.3, -2.5], [2.0, -1.0, -20.0, -20.0], [20.0, 20.0, 1.3, -2.5], [-2.0, 3.0, -0.7, 2.0])
    before = lambda x: 1 / (tg.diagonal(x @ x)[:1] + 1e-190)  # noqa: E731
    other = lambda x: 1 / (tg.sum(x * x.T, axis=1)[:1] + 1e-190)  # noqa: E731
    assert judged("reassociates", before, other, x) is None
    assert judged("reassociates", before, lambda x: other(x) * 1e30, x) is not None


def test_what_has_two_uses_may_be_rounded_otherwise_for_each_of_them():
    """y * d - z * d is 0 for equal y and z whatever d is; d owes all that it is to the rounding of 1e8 + x."""
    x, y = of(0.1, 0.3), of(3.0, -2.0)
    d, other = (lambda x: x + 1e8 - 1e8 - x), (lambda x: x + 3e8 - 3e8 - x)

    def before(x, y, z):
        once = d(x)
        return once * y - z * once

    after = lambda x, y, z: d(x) * y - z * other(x)  # noqa: E731
    assert judged("reassociates", before, after, x, y, y) is None
    assert judged("reassociates", before, lambda *at: after(*at) * 1e4, x, y, y) is not None


def over_itself(difference):
    """D / d of a difference d, computed once."""

    def quotient(*at):
        d = difference(*at)
        return d / d

    return quotient


@pytest.mark.parametrize("data", ["tame", "hostile"])
@pytest.mark.parametrize("whole", [False, True])
def test_a_nan_of_a_difference_that_cancels_is_let_be_where_no_digit_was_left(whole, data):
    """Of 1 - exp(x) + x, which is -x * x / 2, rounding leaves x as it is written, and 0 of what is better rounded."""
    written = over_itself(lambda x: 1 - tg.exp(x) + x)
    rounded = over_itself(lambda x: x - tg.expm1(x))
    for x in (of(1e-20, 4e-12), of(4e-12, dtype="float32")):
        assert judged("reassociates", written, rounded, x, name=data, whole=whole) is None


NEW_NANS = {
    "digits that were there": (lambda x: x / x, over_itself(lambda x: x + 1e20 - 1e20), of(0.5)),
    "a difference that has digits": (
        over_itself(lambda x: 1 - tg.exp(x)), over_itself(lambda x: 1 - tg.exp(x + 1e20 - 1e20)), of(0.5),
    ),
    "an element beside one without digits": (
        over_itself(lambda x: 1 - tg.exp(x) + x),
        lambda x: tg.where(x < 1, 1.0, over_itself(lambda x: x + 1e20 - 1e20)(x)), of(1e-20, 2.0),
    ),
    "a quotient of infinities": (
        over_itself(lambda x: 1 - tg.exp(x) + x), over_itself(lambda x: (1 - tg.exp(x) + x) * 1e200 * 1e200), of(1e-20),
    ),
    "a difference of infinities": (
        over_itself(lambda x: 1 - tg.exp(x) + x), lambda x: 1 + (x * 1e300 * 1e300 - x * 1e300 * 1e300), of(1e-20),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEW_NANS)
@pytest.mark.parametrize("whole", [False, True])
def test_a_nan_that_rounding_does_not_explain_on_both_sides_is_found(name, whole):
    written, replaced, x = NEW_NANS[name]
    assert judged("reassociates", written, replaced, x, whole=whole) == "a NaN is new, reassociates"


def test_no_exact_replacement_makes_a_nan_of_what_has_no_digits():
    written, rounded = over_itself(lambda x: 1 - tg.exp(x) + x), over_itself(lambda x: x - tg.expm1(x))
    assert judged("exact", written, rounded, of(1e-20)) is not None


def test_an_overflow_that_comes_is_let_be_on_hostile_arrays_alone():
    """Of x * (y * z) and x * y * z the second overflows at 1e200, 1e200 and 1e-300; its sine is NaN then."""
    arrays = of(1e200), of(1e200), of(1e-300)
    before, after = (lambda x, y, z: x * (y * z)), (lambda x, y, z: x * y * z)
    assert judged("reassociates", before, after, *arrays, name="hostile") is None
    assert judged("reassociates", before, after, *arrays) == "overflows, reassociates"
    sines = (lambda x, y, z: tg.sin(1e-100 * before(x, y, z))), (lambda x, y, z: tg.sin(1e-100 * after(x, y, z)))
    assert judged("reassociates", *sines, *arrays, name="hostile", whole=True) is None
    assert judged("reassociates", *sines, *arrays, name="hostile") == "a NaN is new, reassociates"
    assert judged("reassociates", *sines, *arrays, whole=True) == "a NaN is new, reassociates"


def test_a_comparison_that_an_underflow_decides_is_let_be_on_hostile_arrays_alone():
    x, y, z = of(-800.0), of(5e-324), of(0.0)
    before, after = (lambda x, y, z: z <= x * y * 0.0625), (lambda x, y, z: z <= x * (y * 0.0625))
    assert judged("reassociates", before, after, x, y, z, name="hostile") is None
    assert judged("reassociates", before, after, x, y, z) == "another value, reassociates"


def test_an_exact_replacement_has_the_same_bits():
    assert judged("exact", lambda x: x / 3, lambda x: x * (1 / 3), of(5.0)) is not None
    assert judged("exact", lambda x: x + 0, lambda x: x, of(-0.0)) is not None
    assert (
        judged("exact", lambda x, y: x * y, lambda x, y: y * x, of(1 + 2j, dtype="c16"), of(3 - 0.1j, dtype="c16"))
        is None
    )


def test_of_two_checks_that_fail_either_may_raise_and_no_other():
    n = tg.scalar("n", dtype="int64")
    frozen = FunctionGraph.of([n], [tg.min(tg.zeros(n)) + tg.zeros(n)[0]]).freeze()
    arrays = [np.array(0)]
    assert is_raised_by_one(frozen, arrays, tg.DomainError("another text"))
    assert is_raised_by_one(frozen, arrays, tg.BoundsError("another text"))
    assert not is_raised_by_one(frozen, arrays, tg.ShapeError("another text"))
    assert not is_raised_by_one(frozen, [np.array(3)], tg.DomainError("another text"))


@pytest.mark.parametrize(("dtype", "is_told"), [("float64", True), ("complex128", False)])
def test_what_libraries_do_not_agree_on_at_0_is_not_told_of_complex_numbers(dtype, is_told):
    x = tg.vector("x", dtype)
    expected = Expectation(freeze([x], [x / x]), [np.array([0.0, 2.0], dtype)])
    assert (expected.confirmed([np.array([np.inf, 1.0], dtype)]) is not None) == is_told


def test_a_subnormal_that_rewriting_brings_in_may_be_0_where_such_are_taken_for_0():
    x = tg.vector("x", "float32")
    small = np.array([1e-19], "float32")
    before, rewritten = (freeze([x], [one]) for one in ((x * -3.0) * (x * 9.0), (x * x) * -27.0))
    found = [np.array([-0.0], "float32")]  # of x * x, which is subnormal
    assert Expectation(before, [small]).confirmed(found, flushes=True) is not None
    assert Expectation(rewritten, [small]).confirmed(found, flushes=True) is None
    assert Expectation(rewritten, [small]).confirmed(found) is not None
