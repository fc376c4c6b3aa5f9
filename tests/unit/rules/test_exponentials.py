"""What rules of exponentials take for one argument, for its negative, and for a sum of exponentials beside them."""

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.elementwise import exponential
from tg.rules.elementwise.exponential.terms import aligned_sum_of_exp, relation

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
