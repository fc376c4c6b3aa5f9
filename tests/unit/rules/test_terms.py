"""What rules of exponentials know of an argument, of the terms of a sum, and of a sum of exponentials over axes."""

import numpy as np
import pytest

import tg
from tg.graph.function_graph import FunctionGraph
from tg.graph.interpret import interpret
from tg.ops.elementwise.arithmetic import add
from tg.ops.reduction import Reduce
from tg.rules.elementwise.exponential.terms import (
    aligned_sum_of_exp,
    log_of_sum,
    logs_of_sum,
    relation,
    share_of_sum,
    signed,
    sum_of_exp,
)

E = tg.exp
X, Y = np.array([[0.5, -1.0, 2.0], [1.0, 3.0, 0.0]]), np.array([[1.5, 1.0, -2.0], [0.25, -3.0, 1.0]])


def computed(inputs, outputs, *arrays):
    return interpret(FunctionGraph.of(inputs, list(outputs)).freeze(), list(arrays))


def test_functions_of_related_arguments_are_not_related():
    x, y, z = (tg.tensor(name, shape=(2, 3)) for name in "xyz")
    for u, v in (
        (x - y, y - z),
        (x - y, z - x),
        (tg.cos(x), tg.cos(-x)),
        (E(x), E(-x)),
        (x + y, -x + y),
        (x * 2.0, x * np.full((1, 3), 2.0)),
        (x * np.full((1, 3), 2.0), x * 2.0),
        (x * y, x * 2.0),
        (x * 2.0, x * y),
        (x - y, y + x),
        (x + y, y - x),
        (x - y, x - y),
        (x - y, tg.maximum(y, x)),
        (x[:, None], x[..., None]),
        (x * 2.0, x),
        (x, x - y),
    ):
        assert relation(u, v) == 0
        assert relation(v, u) == 0
        assert relation(-u, -v) == 0
    assert [relation(x * c, x * 0.5) for c in (0.5, -0.5, 1.5, -1.5)] == [1, -1, 0, 0]
    assert [relation(-(x * 0.5), x * c) for c in (0.5, -0.5)] == [-1, 1]
    assert relation(-(x - y), y - x) == 1
    assert signed(x, 1) is x
    assert relation(signed(x, -1), x) == -1


def test_the_logarithms_of_the_terms_of_a_sum_are_known_in_their_order():
    x, y = inputs = [tg.tensor(name, shape=(2, 3)) for name in "xy"]
    for total, powers in (
        (E(x) + E(y), (np.exp(X), np.exp(Y))),
        (E(x) + (E(y) + 3.0), (np.exp(X), np.exp(Y), 3.0)),
        (E(x) * 3.0 + E(y), (3 * np.exp(X), np.exp(Y))),
        (E(x) * E(y) + 0.5, (np.exp(X + Y), 0.5)),
        (E(x) * (E(y) * 3.0) + 0.5, (3 * np.exp(X + Y), 0.5)),
        (2.0 + E(x) + 0.5 + E(-y), (2.0, np.exp(X), 0.5, np.exp(-Y))),
        (E(x) + np.full((1, 1), 2.0), (np.exp(X), 2.0)),
    ):
        logs = logs_of_sum(total)
        assert len(logs) == len(powers)
        for found, power in zip(computed(inputs, logs, X, Y), powers, strict=True):
            np.testing.assert_allclose(np.exp(found), np.broadcast_to(power, found.shape), rtol=1e-14)
        (found,) = computed(inputs, [log_of_sum(logs)], X, Y)
        np.testing.assert_allclose(found, np.log(sum(powers)), rtol=1e-14)


def test_of_other_terms_no_logarithm_is_known():
    x, y = (tg.tensor(name, shape=(2, 3)) for name in "xy")
    two, three = tg.constant(2.0), tg.constant(3.0)
    for total in (
        E(x), E(x) * 2.0, x, x + y, two + three, E(x) + x, E(x) + 0.0, E(x) + -1.0, E(x) + np.inf, E(x) + np.nan,
        E(x) * -2.0 + E(y), E(x) * y + E(y), E(y) + E(x) / two, E(y) + -x * 2.0, E(y) + x * 2.0, E(x) - E(y),
        E(y) + -E(x), E(x) + np.array([[1.0, 2.0, 3.0]]), E(x) * np.array([[1.0, 2.0, 3.0]]) + E(y), E(y) + tg.sinh(x),
        E(x) + E(y) + E(-x) + E(-y) + 1.0,
    ):  # fmt: skip
        assert logs_of_sum(total) == []


def test_sums_of_exponentials_are_over_axes():
    x = tg.tensor("x", shape=(2, 3))
    rows, everything = tg.sum(E(x), 1), tg.sum(E(x))
    for total, axes in ((rows, (-1,)), (everything, (-2, -1)), (tg.sum(E(x), 0), (-2,))):
        for found, plus_one in (
            (sum_of_exp(total), False),
            (sum_of_exp(total, plus_one=True), False),
            (sum_of_exp(total + 1.0, plus_one=True), True),
        ):
            assert found is not None
            assert found.x is x
            assert (found.axes, found.plus_one) == (axes, plus_one)
    for other in (
        x, E(x), rows + 1.0, tg.max(E(x), 1), tg.sum(x, 1), Reduce(add, ())(E(x)), E(rows), tg.cumsum(E(x), 1),
        tg.sum(tg.expm1(x), 1),
    ):  # fmt: skip
        assert sum_of_exp(other) is None
    for other in (x + 1.0, rows + 2.0, rows - 1.0, E(x) + 1.0, rows + rows, rows * 1.5):
        assert sum_of_exp(other, plus_one=True) is None


def test_a_sum_stands_beside_its_exponentials_with_1_or_without():
    x, y = (tg.tensor(name, shape=(2, 3)) for name in "xy")
    rows, everything = tg.sum(E(x), 1), tg.sum(E(x))
    kept = rows[:, None]
    for total, plus_one in (
        (kept, False), (kept + 1.0, True), ((rows + 1.0)[:, None], True), (everything, False), (everything + 1.0, True),
        (everything[None, None], False), (tg.broadcast_to(everything, (2, 3)), False),
        (tg.broadcast_to(kept, (2, 3)), False), (tg.broadcast_to(kept + 1.0, (2, 3)), True),
    ):  # fmt: skip
        found = aligned_sum_of_exp(total)
        assert found is not None
        assert found.x is x
        assert found.plus_one is plus_one
    for other in (
        kept + 2.0, kept - 1.0, kept + kept, kept * 1.0, rows[None] + 1.0, rows + 1.0, everything[None], x, y + 1.0,
        tg.sum(y, 1)[:, None] + 1.0, everything + 2.0, everything[None] + 1.0, E(x) + 1.0, kept + y,
    ):  # fmt: skip
        assert aligned_sum_of_exp(other) is None


@pytest.mark.parametrize("axes", [1, 0, (0, 1)])
@pytest.mark.parametrize("plus_one", [False, True])
def test_the_share_of_an_exponential_overflows_nowhere(axes, plus_one):
    x = tg.tensor("x", shape=(2, 3))
    found = sum_of_exp(tg.sum(E(x), axes) + 1.0 if plus_one else tg.sum(E(x), axes), plus_one=plus_one)
    assert found is not None
    for at in (X, X - 800, X + 800):
        (share,) = computed([x], [share_of_sum(found)], at)
        largest = max(at.max(), 0) if plus_one else at.max()
        powers = np.exp(at - largest)
        total = powers.sum(axes, keepdims=True) + (np.exp(-largest) if plus_one else 0)
        np.testing.assert_allclose(share, powers / total, rtol=1e-12)
