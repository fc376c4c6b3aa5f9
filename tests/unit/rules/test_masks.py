"""Comparisons, masks, conversions, extremes, rounding, bits and complex parts come to their simplest form."""

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph, freeze
from tg.graph.interpret import interpret
from tg.ops.cumulative import Accumulate
from tg.ops.elementwise.arithmetic import add
from tg.ops.elementwise.comparison import logical_or
from tg.ops.indexing import Scatter, SliceUpdate
from tg.ops.reduction import Reduce
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.catalog import PASSES, RULES

CORE = Rewrites(RULES, PASSES)


def rewritten(inputs, output):
    return rewrite(FunctionGraph.of(inputs, [output]), [CORE], supported=lambda op, types: True)


def check(dtype, before, after, count=1):
    inputs = [tg.tensor(f"x{k}", dtype=dtype, shape=(3, 4)) for k in range(count)]
    found, wanted = (rewritten(inputs, tg.as_variable(f(*inputs))) for f in (before, after))
    assert found == wanted


def truth(value):
    return tg.broadcast_to(tg.constant(np.array(value)), (3, 4))


BOOL = [
    (lambda a, b: tg.where(a, True, False), lambda a, b: a),
    (lambda a, b: tg.where(a, False, True), lambda a, b: ~a),
    (lambda a, b: tg.where(a, b, False), lambda a, b: a & b),
    (lambda a, b: tg.where(a, True, b), lambda a, b: a | b),
    (lambda a, b: a & (a | b), lambda a, b: a),
    (lambda a, b: a | (a & b), lambda a, b: a),
    (lambda a, b: a & (~a | b), lambda a, b: a & b),
    (lambda a, b: a & ~a, lambda a, b: truth(False)),
    (lambda a, b: a | ~a, lambda a, b: truth(True)),
    (lambda a, b: a ^ a, lambda a, b: truth(False)),
    (lambda a, b: ~a & ~b, lambda a, b: ~(a | b)),
    (lambda a, b: tg.where(a, tg.where(a, 1.0, 2.0), 3.0), lambda a, b: tg.where(a, 1.0, 3.0)),
    (lambda a, b: tg.exp(tg.where(a, 0.0, 1.0)), lambda a, b: tg.where(a, 1.0, np.exp(1.0))),
    (lambda a, b: tg.where(a, 1.0, 0.0), lambda a, b: tg.cast(a, "float64")),
    (lambda a, b: tg.cast(a, "float32") != 0, lambda a, b: a),
    (lambda a, b: tg.cast(a, "int8") > 0.5, lambda a, b: a),
    (lambda a, b: tg.cast(a, "int64") == 0, lambda a, b: ~a),
    (lambda a, b: tg.cast(a, "float64") < -1, lambda a, b: truth(False)),
    (lambda a, b: tg.cast(a, "int32") < tg.cast(b, "int32"), lambda a, b: a < b),
    (lambda a, b: a * b, lambda a, b: a & b),
    (lambda a, b: tg.isnan(tg.cast(a, "float64")), lambda a, b: truth(False)),
    (lambda a, b: tg.where(a, tg.where(b, 1.0, 2.0), 2.0), lambda a, b: tg.where(a & b, 1.0, 2.0)),
]


@pytest.mark.parametrize(("before", "after"), BOOL)
def test_logic(before, after):
    check("bool", before, after, 2)


INTEGERS = [
    (lambda x: tg.maximum(tg.maximum(x, 1), 2), lambda x: tg.maximum(x, 2)),
    (lambda x: tg.minimum(tg.maximum(x, 1), 2), lambda x: tg.clip(x, 1, 2)),
    (lambda x: tg.clip(tg.clip(x, 0, 10), 2, 5), lambda x: tg.clip(x, 2, 5)),
    (lambda x: tg.clip(tg.clip(x, 0, 1), 2, 5), lambda x: tg.clip(x, 2, 2)),
    (lambda x: tg.maximum(x, x) - x, tg.zeros_like),
    (lambda x: x & x, lambda x: x),
    (lambda x: x ^ x, tg.zeros_like),
    (lambda x: (x & 6) & 3, lambda x: x & 2),
    (lambda x: (x << 1) << 2, lambda x: x << 3),
    (
        lambda x: (x >> 2) << 2,
        lambda x: x & -4 if x.dtype.startswith("int") else x & (2 ** (8 * np.dtype(x.dtype).itemsize) - 4),
    ),
    (lambda x: (x == 3) | (x < 3), lambda x: x <= 3),
    (lambda x: ~(x < 3), lambda x: x >= 3),
    (lambda x: (x < 3) & (x < 5), lambda x: x < 3),
    (lambda x: (x < 3) | (x < 5), lambda x: x < 5),
    (lambda x: x - x == 0, lambda x: truth(True)),
    (lambda x: x > 3, lambda x: x > 3),
    (lambda x: tg.isfinite(x), lambda x: truth(True)),
]


@pytest.mark.parametrize(("before", "after"), INTEGERS)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_integers(before, after, dtype):
    check(dtype, before, after)


@pytest.mark.parametrize(
    ("dtype", "before", "known"),
    [
        ("uint8", lambda x: x >= 0, True),
        ("uint64", lambda x: x < 0, False),
        ("int8", lambda x: x > 127, False),
        ("int8", lambda x: x <= 1000, True),
        ("int8", lambda x: x == 1000, False),
        ("int16", lambda x: x != 1e6, True),
        ("int64", lambda x: x < np.inf, True),
        ("float64", lambda x: tg.exp(x) < 0, False),
        ("float64", lambda x: tg.absolute(x) == -1, False),
        ("float64", lambda x: x > np.inf, False),
        ("float32", lambda x: tg.equal(x, np.nan), False),
        ("float32", lambda x: tg.not_equal(x, np.nan), True),
        ("float64", lambda x: x < x, False),
    ],
)
def test_a_comparison_that_is_known(dtype, before, known):
    check(dtype, before, lambda x: truth(known))


@pytest.mark.parametrize(
    "before", [lambda x: x < np.inf, lambda x: tg.exp(x) >= 0, lambda x: x == x, lambda x: ~(x < 1)]
)
def test_a_comparison_that_nan_decides_is_not_known(before):
    x = tg.matrix("x")
    graph = rewritten([x], before(x))
    assert graph.nodes


FLOATS = [
    (lambda x: tg.maximum(x, -np.inf), lambda x: x),
    (lambda x: tg.minimum(tg.maximum(x, 0.0), 6.0), lambda x: tg.clip(x, 0.0, 6.0)),
    (lambda x: tg.maximum(tg.clip(x, 0.0, 6.0), 2.0), lambda x: tg.clip(x, 2.0, 6.0)),
    (lambda x: tg.clip(x, -np.inf, 3.0), lambda x: tg.minimum(x, 3.0)),
    (lambda x: tg.clip(tg.exp(x), 0.0, 3.0), lambda x: tg.minimum(tg.exp(x), 3.0)),
    (lambda x: tg.maximum(x, -x), tg.absolute),
    (lambda x: tg.where(x < 0, -x, x), tg.absolute),
    (lambda x: x == x, lambda x: ~tg.isnan(x)),
    (lambda x: tg.isnan(x) | tg.isinf(x), lambda x: ~tg.isfinite(x)),
    (lambda x: ~tg.isnan(x) & ~tg.isinf(x), tg.isfinite),
    (lambda x: tg.isnan(tg.exp(-x) + 2), tg.isnan),
    (lambda x: tg.isfinite(-x), tg.isfinite),
    (lambda x: -x < 2, lambda x: x > -2),
    (lambda x: -x < -tg.exp(x), lambda x: x > tg.exp(x)),
    (lambda x: tg.floor(tg.ceil(x)), tg.ceil),
    (lambda x: tg.cos(-x), tg.cos),
    (lambda x: tg.where(x == 2.0, 2.0, x), lambda x: x),
    (lambda x: tg.real(tg.cast(x, "complex128")), lambda x: tg.cast(x, "float64")),
    (lambda x: tg.exp(x) ** 2.5, lambda x: tg.exp(x * 2.5)),
    (lambda x: tg.exp(x) * tg.exp(x * x), lambda x: tg.exp(x + x * x)),
    (lambda x: tg.log(x**6), lambda x: 6 * tg.log(tg.absolute(x))),
]


@pytest.mark.parametrize(("before", "after"), FLOATS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats(before, after, dtype):
    check(dtype, before, after)


@pytest.mark.parametrize("fn", [tg.isnan, tg.isinf, tg.isfinite])
def test_complex_numbers_are_nan_or_infinite_as_their_negatives_and_conjugates_are(fn):
    for wrap in (lambda z: -z, tg.conj, lambda z: -tg.conj(-z)):
        check("complex128", lambda z: fn(wrap(z)), fn)  # noqa: B023 (called at once)
    z = tg.matrix("z", dtype="complex128")
    for wrap in (tg.exp, tg.square, tg.absolute):
        assert any(node.op.name == wrap.name for node in rewritten([z], fn(wrap(z))).nodes)


@pytest.mark.parametrize("wide", ["int16", "float32", "float64"])
def test_values_are_compared_in_the_dtype_that_they_had(wide):
    check("int8", lambda x, y: tg.cast(x, wide) < tg.cast(y, wide), lambda x, y: x < y, 2)
    check("int8", lambda x: tg.cast(x, wide) < np.array(3, wide), lambda x: x < 3)


def test_an_exponential_that_is_used_elsewhere_is_not_computed_anew():
    x, y = tg.matrix("x"), tg.matrix("y")
    graph = FunctionGraph.of([x, y], [tg.exp(x) * tg.exp(y), tg.exp(x)])
    found = rewrite(graph, [CORE], supported=lambda op, types: True)
    assert sum(node.op.name == "exp" for node in found.nodes) == 2


@pytest.mark.parametrize(("before", "after"), [*INTEGERS, *FLOATS])
def test_what_is_rewritten_is_not_rewritten_again(before, after):
    for dtype in ("int32", "float64"):
        x = tg.tensor("x", dtype=dtype, shape=(3, 4))
        try:
            output = tg.as_variable(before(x))
        except tg.errors.TgError:
            continue
        once = rewritten([x], output)
        again = FunctionGraph.thaw(once)
        assert rewrite(again, [CORE], supported=lambda op, types: True) == once


# --- a scalar condition stays outside of masks ------------------------------------------------------------------------

u = tg.scalar("u", dtype="bool")
MASK = tg.constant(np.arange(12).reshape(3, 4) % 3 == 0)
PLACES = tg.constant(np.array([2, 0, 2]))


@pytest.mark.parametrize(
    "move",
    [
        lambda mask: mask[1:, ::2],
        lambda mask: mask[PLACES],
        lambda mask: Reduce(logical_or, (-2,))(mask),
        lambda mask: Accumulate(add, -1)(mask),
        lambda mask: SliceUpdate((1,), (1,))(tg.constant(np.zeros((3, 6), bool)), mask),
        lambda mask: Scatter((-2,), add)(tg.constant(np.zeros((5, 4), bool)), mask, PLACES),
        lambda mask: mask | (u & ~MASK),
        lambda mask: SliceUpdate((1,), (1,))(tg.broadcast_to(tg.constant(False), (3, 6)), MASK),
    ],
)
def test_of_a_guarded_mask_a_constant_is_left(move):
    value = move(u & MASK)
    found = rewritten([u], value)
    assert [node.op.name for node in found.nodes] in (["logical_and"], [], ["BroadcastTo"])
    for truth in (False, True):
        (got,) = interpret(found, [np.array(truth)])
        (want,) = interpret(freeze([u], [value]), [np.array(truth)])
        np.testing.assert_array_equal(got, want)


def test_a_mask_that_is_the_same_along_the_axes_of_a_sum_chooses_after_it():
    x, c = tg.tensor("x", shape=(3, 4)), tg.tensor("c", dtype="bool", shape=(3, 1))
    found = rewritten([x, c], tg.sum(tg.where(c, x, 0.0), axis=1))
    assert found == rewritten([x, c], tg.where(tg.squeeze(c, 1), tg.sum(x, axis=1), 0.0))
    other = tg.sum(tg.where(c, x, 0.0), axis=0)
    assert [node.op.name for node in rewritten([x, c], other).nodes] == ["where", "Reduce"]


def test_a_choice_is_decided_by_a_condition_that_it_is_a_part_of():
    x, y = (tg.tensor(n, shape=(3, 4)) for n in "xy")
    a, b = (tg.tensor(n, dtype="bool", shape=(3, 4)) for n in "ab")
    inner = tg.where(a, x, 0.0) * y
    assert rewritten([x, y, a, b], tg.where(a & b, inner, 1.0)) == rewritten([x, y, a, b], tg.where(a & b, x * y, 1.0))
