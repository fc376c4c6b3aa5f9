"""Where a factor is 0 because its operand is infinite is asked of operands that may be, and told element by element."""

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.ops.elementwise.arithmetic import hypot, reciprocal
from tg.ops.reduction import Reduce
from tg.ops.shape import expand_dims_at
from tg.rewrite.rules.elementwise.exponential.factors import FUNCTIONS, Factor
from tg.rewrite.rules.elementwise.exponential.zeros import closed_by, hidden

ABOVE, BELOW, BOTH, NEVER = {1}, {-1}, {1, -1}, set()
AT = np.array([[0.0, 2.0, -0.0, 1.0], [-0.0, -3.0, 4.0, 0.0]]), np.array([[1.0, 0.0, 2.0, -0.0], [-1.0, 5.0, 0.5, 3.0]])


def masked(x):
    return tg.where(x > 0, x, -np.inf)


def extreme(fn, x):
    """The extreme of each row, or an infinity where rows are empty."""
    return expand_dims_at(Reduce(fn, (-1,), total=True)(x), (-1,))


def computed(inputs, output):
    with np.errstate(all="ignore"):
        return interpret(FunctionGraph.of(inputs, [output]).freeze(), list(AT))[0]


OPERANDS = {  # the infinities that a function of finite numbers has
    "an input": (lambda x, y: x, NEVER),
    "sum": (lambda x, y: x + y * 2, NEVER),
    "logarithm": (lambda x, y: tg.log(x), BELOW),
    "binary logarithm": (lambda x, y: tg.log2(x), BELOW),
    "decimal logarithm": (lambda x, y: tg.log10(x), BELOW),
    "negative logarithm": (lambda x, y: -tg.log(x), ABOVE),
    "logarithm in a sum": (lambda x, y: y + tg.log(x), BELOW),
    "logarithm that is subtracted": (lambda x, y: y - tg.log(x), ABOVE),
    "logarithm less another value": (lambda x, y: tg.log(x) - y, BELOW),
    "two logarithms": (lambda x, y: tg.log(x) - tg.log(y), BOTH),
    "logarithm of what is infinite": (lambda x, y: tg.log(1 / tg.square(x)), BOTH),  # 0 of a large number
    "mask": (lambda x, y: masked(x), BELOW),
    "mask above": (lambda x, y: tg.where(x > 0, x, np.inf), ABOVE),
    "number for some": (lambda x, y: x + np.array([0.0, np.inf, -np.inf, 1.0]), BOTH),
    "finite numbers": (lambda x, y: x + np.array([0.0, 1.0, -2.0, 1.0]), NEVER),
    "reciprocal": (lambda x, y: 1 / x, BOTH),
    "quotient": (lambda x, y: y / x, BOTH),
    "quotient by a number": (lambda x, y: x / 3.0, NEVER),
    "quotient of a mask": (lambda x, y: masked(x) / 3.0, BOTH),
    "quotient by what is not 0": (lambda x, y: y / tg.cosh(x), NEVER),
    "reciprocal of what is not 0": (lambda x, y: reciprocal(tg.cosh(x)), NEVER),
    "known to be finite": (lambda x, y: tg.assume(tg.log(x), finite=True), NEVER),
    "exponential": (lambda x, y: tg.exp(x), NEVER),
    "exponential of a logarithm": (lambda x, y: tg.exp(tg.log(x)), NEVER),
    "exponential of what is infinite": (lambda x, y: tg.exp(-tg.log(x)), ABOVE),
    "expm1 of what is infinite": (lambda x, y: tg.expm1(1 / x), ABOVE),
    "exp2 of what is infinite": (lambda x, y: tg.exp2(1 / x), ABOVE),
    "softplus of what is infinite": (lambda x, y: tg.softplus(1 / x), ABOVE),
    "root": (lambda x, y: tg.sqrt(1 / x), ABOVE),
    "logaddexp": (lambda x, y: tg.logaddexp(masked(x), masked(y)), BELOW),
    "absolute": (lambda x, y: tg.absolute(tg.log(x)), ABOVE),
    "square": (lambda x, y: tg.square(tg.log(x)), ABOVE),
    "cosh": (lambda x, y: tg.cosh(masked(x)), ABOVE),
    "hypot": (lambda x, y: hypot(y, masked(x)), ABOVE),
    "sinh": (lambda x, y: tg.sinh(masked(x)), BELOW),
    "arcsinh": (lambda x, y: tg.arcsinh(masked(x)), BELOW),
    "bounded": (lambda x, y: tg.sigmoid(masked(x)) + tg.tanh(1 / x) + tg.arctan(1 / x), NEVER),
    "waves": (lambda x, y: tg.sin(x) + tg.cos(y), NEVER),
    "smaller": (lambda x, y: tg.minimum(masked(x), y), BELOW),
    "larger": (lambda x, y: tg.maximum(-masked(x), y), ABOVE),
    "clipped": (lambda x, y: tg.clip(masked(x), -np.inf, 3.0), BELOW),
    "multiple": (lambda x, y: x * 2.0, NEVER),
    "multiple of a mask": (lambda x, y: masked(x) * 2.0, BELOW),
    "half of a mask": (lambda x, y: masked(x) * 0.5, BELOW),
    "none of a mask": (lambda x, y: masked(x) * 0.0, None),
    "negative multiple of a mask": (lambda x, y: masked(x) * -2.0, ABOVE),
    "infinite multiple": (lambda x, y: x * np.inf, BOTH),
    "infinite negative multiple": (lambda x, y: x * -np.inf, BOTH),
    "product": (lambda x, y: x * y, NEVER),
    "product with a mask": (lambda x, y: masked(x) * y, BOTH),
    "product with a mask on the right": (lambda x, y: y * masked(x), BOTH),
    "several multiples of a mask": (lambda x, y: masked(x) * np.array([1.0, -2.0, -1.0, 1.0]), BOTH),
    "several multiples of a mask beside it": (lambda x, y: masked(x) * np.array([[1.0, -2.0, -1.0, 1.0]]), BOTH),
    "moved": (lambda x, y: tg.swapaxes(tg.swapaxes(masked(x), 0, 1)[:, None], 0, 2)[:, 0], BELOW),
    "read": (lambda x, y: tg.concatenate([masked(x)[:, 1:], y[:, :1]], 1), BELOW),
    "converted": (lambda x, y: tg.cast(tg.cast(masked(x), "float32"), "float64"), BELOW),
    "running sum": (lambda x, y: tg.cumsum(masked(x), 1), BELOW),
    "running product": (lambda x, y: tg.cumprod(-tg.log(tg.absolute(x)), 1), BOTH),
    "total": (lambda x, y: tg.sum(masked(x), 1, keepdims=True) + y, BELOW),
    "total of finite ones": (lambda x, y: tg.sum(x, 1, keepdims=True) + y, NEVER),
    "matrices": (lambda x, y: x @ y.T, NEVER),
    "matrices of a mask": (lambda x, y: masked(x) @ y.T, BOTH),
    "least of a mask": (lambda x, y: y + tg.min(masked(x), 1, keepdims=True), BELOW),
    "largest of a mask above": (lambda x, y: y + tg.max(-masked(x), 1, keepdims=True), ABOVE),
    "largest, or of nothing": (lambda x, y: y + extreme(tg.maximum, x), BELOW),
    "least, or of nothing": (lambda x, y: y + extreme(tg.minimum, x), ABOVE),
    "largest of a mask above, or of nothing": (lambda x, y: y + extreme(tg.maximum, -masked(x)), BOTH),
    "least of a mask, or of nothing": (lambda x, y: y + extreme(tg.minimum, masked(x)), BOTH),
    "below its logsumexp": (lambda x, y: x - tg.logsumexp(x, 1, keepdims=True), NEVER),
    "below its maximum": (lambda x, y: masked(x) - tg.max(masked(x), 1, keepdims=True), None),
    "another function of what is not 0": (lambda x, y: tg.log1p(-tg.cosh(x)), BOTH),
    "power": (lambda x, y: tg.absolute(x) ** y, None),
    "tangent": (lambda x, y: tg.tan(x), None),
}


@pytest.mark.parametrize("name", OPERANDS)
@pytest.mark.parametrize("end", [1, -1])
def test_an_exponential_is_zero_where_its_operand_is_infinite(name, end):
    inputs = [tg.tensor(n, shape=(2, 4)) for n in "xy"]
    build, ends = OPERANDS[name]
    u = build(*inputs)
    closed = closed_by(Factor("exp", u, sign=-end))
    if ends is not None:
        assert (closed is not None) is (end in ends)
    if closed is not None:
        np.testing.assert_array_equal(computed(inputs, closed), computed(inputs, u) == end * np.inf)


def test_a_value_below_its_maximum_or_above_its_minimum_has_one_end():
    x, y = (tg.tensor(n, shape=(2, 4)) for n in "xy")
    z = tg.where(x > 0, y / x, y)
    for bound, end in ((tg.max, -1), (tg.logsumexp, -1), (tg.min, 1)):
        for difference in (
            z - bound(z, 1, keepdims=True),
            z - tg.broadcast_to(bound(z, 1, keepdims=True), (2, 4)),
            z - bound(z),
        ):
            assert closed_by(Factor("exp", difference, sign=-end)) is not None
            assert closed_by(Factor("exp", difference, sign=end)) is None
    for either in (z - tg.max(y / x, 1, keepdims=True), z - tg.sum(z, 1, keepdims=True), z - z[:1]):
        assert closed_by(Factor("exp", either)) is not None
        assert closed_by(Factor("exp", either, sign=-1)) is not None


def test_the_maximum_of_another_row_is_no_bound():
    x = tg.tensor("x", shape=(2, 2))
    z = 1 / x
    at = np.array([[0.0, 2.0], [1.0, 3.0]])
    for bound, largest in (
        (tg.max(z, 1)[None], [np.inf, 1.0]),
        (tg.broadcast_to(tg.max(z, 1)[None], (2, 2)), [np.inf, 1.0]),
        (tg.max(z, 0)[:, None], [[np.inf], [0.5]]),
    ):
        closed = closed_by(Factor("exp", z - bound, sign=-1))
        assert closed is not None
        with np.errstate(all="ignore"):
            (told,) = interpret(FunctionGraph.of([x], [closed]).freeze(), [at])
            np.testing.assert_array_equal(told, 1 / at - largest == np.inf)


def rows(values):
    return tg.sum(tg.exp(values), -1, keepdims=True)


FACTORS = {  # a factor of an operand that may be infinite on either side and of another one
    **{kind: (lambda u, v, kind=kind: (kind, u, FUNCTIONS[kind])) for kind in FUNCTIONS},
    "softmax": lambda u, v: ("softmax", tg.softmax(tg.where(v > 0, u, -np.inf)), None),
    "moved softmax": lambda u, v: (
        "softmax",
        tg.swapaxes(tg.softmax(tg.where(v > 0, u, -np.inf)), 0, 1)[:, None],
        None,
    ),
    "rows": lambda u, v: ("sum", rows(tg.where(v > 2, u, -np.inf)), None),
    "repeated rows": lambda u, v: ("sum", tg.broadcast_to(rows(u), u.shape), None),
    "1 and rows": lambda u, v: ("sum", rows(u) + 1, None),
    "1 and expanded rows": lambda u, v: ("sum", tg.sum(tg.exp(u), -1)[:, None] + 1, None),
    "two terms": lambda u, v: ("sum", tg.exp(u) + tg.exp(1 / v), None),
    "one infinite term": lambda u, v: ("sum", tg.exp(v) + tg.exp(u), None),
    "a number": lambda u, v: ("sum", tg.exp(u) + 0.5, None),
    "all": lambda u, v: ("sum", tg.sum(tg.exp(tg.where(v > 4, u * 2 + 1, -np.inf))), None),
}


@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.parametrize("power", [1, -1])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_factor_is_zero_where_it_says(name, power, sign):
    inputs = [tg.tensor(n, shape=(2, 4)) for n in "xy"]
    u = 1 / inputs[0]
    kind, operand, function = FACTORS[name](u if name in FUNCTIONS else sign * u, inputs[1])
    factor = Factor(kind, operand, sign=sign if function else 1, power=power)
    value = operand if function is None else function(sign * operand)
    with np.errstate(all="ignore"):
        found = computed(inputs, value) ** float(power)
    zero = found == 0
    if kind == "sinh" and power > 0:
        zero = np.zeros_like(zero)
    closed = closed_by(factor)
    assert closed is not None or not zero.any()
    if closed is not None:
        assert closed.type.ndim == operand.type.ndim
        told, zero, found = np.broadcast_arrays(computed(inputs, closed), zero, found)
        np.testing.assert_array_equal(told | np.isnan(found), zero | np.isnan(found))
        hid = hidden(factor, closed).value()
        with np.errstate(all="ignore"):
            left = computed(inputs, hid.v) ** float(hid.power)
        np.testing.assert_array_equal(left, np.where(told, 0, found))


def test_a_factor_that_is_never_zero_is_not_asked():
    x, y = (tg.tensor(n, shape=(2, 4)) for n in "xy")
    u = 1 / x
    never = (
        Factor("sigmoid", u, power=-1), Factor("expm1", u), Factor("sinh", u), Factor("cosh", u), Factor("other", u),
        Factor("sum", rows(u) + 1), Factor("sum", tg.exp(u) + tg.exp(y)), Factor("sum", tg.exp(y) + tg.exp(u)),
        Factor("softmax", tg.softmax(u), power=-1), Factor("softmax", tg.softmax(x)), Factor("sum", rows(x)),
        Factor("exp", y), Factor("sum", rows(tg.log(x)), power=-1), Factor("cosh", rows(u)), Factor("other", rows(u)),
        Factor("expm1", rows(u)), Factor("sigmoid", rows(u), power=-1),
    )  # fmt: skip
    assert [closed_by(f) for f in never] == [None] * len(never)


def test_a_function_of_a_sum_of_exponentials_is_zero_where_the_sum_is_infinite():
    x, y = (tg.tensor(n, shape=(2, 4)) for n in "xy")
    total = tg.sum(tg.exp(1 / x))
    closed = closed_by(Factor("exp", total, power=-1))
    assert closed is not None
    assert computed([x, y], closed)
    assert not computed([x, y], tg.equal(total, 0))


def test_a_sum_of_no_exponentials_is_zero():
    x = tg.tensor("x", shape=(2, None))
    closed = closed_by(Factor("sum", rows(masked(x))))
    assert closed is not None
    for at, expected in ((np.zeros((2, 0)), [[True], [True]]), (np.array([[-1.0], [1.0]]), [[True], [False]])):
        (told,) = interpret(FunctionGraph.of([x], [closed]).freeze(), [at])
        np.testing.assert_array_equal(told, expected)


def test_a_value_with_many_uses_is_looked_at_once():
    u = tg.vector("u")
    for _ in range(15):
        u = u - tg.sin(u) * u
    assert closed_by(Factor("exp", u)) is None
