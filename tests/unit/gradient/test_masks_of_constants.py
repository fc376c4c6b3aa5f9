"""Masks of derivatives: which of them are in a graph, and that they say the same at every place of it."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tg.gradient.stable import stable
from tg.graph.traversal import sorted_applies


def names(outputs: list[tg.Variable]) -> list[str]:
    return [node.op.name for node, _ in sorted_applies(outputs)]


def test_whether_there_is_any_place_is_not_asked_of_a_sum() -> None:
    z, s, i = tg.vector("z"), tg.scalar("s"), tg.vector("i", dtype="int64")
    cost = tg.sum((tg.exp(s) * z)[i] ** 2)
    slope = tg.grad(cost, [z, s])
    reduced = [node for node, _ in sorted_applies(slope) if node.op.name == "Reduce" and node.types[0].dtype == "bool"]
    assert not reduced
    got = tg.function([z, s, i], slope)(np.array([1.0, np.inf, 2.0]), 0.0, np.array([0, 2, 0]))
    np.testing.assert_array_equal(got[0], [4.0, 0.0, 4.0])
    assert got[1] == 12.0


@pytest.mark.parametrize("length", [3, 600])
def test_unit_vectors_ask_for_one_element_each(length: int) -> None:
    x = tg.tensor("x", shape=(length,))
    at = np.zeros(length)
    at[1] = 4.0
    for direction in ("forward", "reverse"):
        slope = tg.jacobian(tg.sqrt(x), x, direction=direction).eval({x: at})
        np.testing.assert_array_equal(slope, np.diag(np.where(at > 0, 0.25, np.inf)))


def test_a_condition_for_all_is_a_scalar_however_it_was_repeated() -> None:
    x, u = tg.tensor("x", shape=(4,)), tg.scalar("u", dtype="bool")
    wide = tg.reshape(tg.broadcast_to(u, (2, 2)), (4,))
    cost = tg.sum(tg.cumsum(tg.where(wide, tg.log(x), 0.0)[np.array([0, 0, 3])]) ** 2)
    hessian = tg.function([x, u], tg.hessian(cost, x), backend="perform")
    at = np.array([2.0, 0.0, 0.0, 3.0])
    assert not hessian(at, False).any()
    assert np.isfinite(hessian(at, True)).all()


def test_what_has_no_other_stable_form_is_not_made_again() -> None:
    x = tg.vector("x")
    cost = tg.sum(x[1:]) * tg.exp(tg.sum(x[:-1]))
    (found,), fenced = stable([cost], [x])
    assert found is cost
    assert fenced(x) is x


def test_equal_values_under_unequal_lengths_are_one() -> None:
    x = tg.vector("x")
    cost = tg.log(tg.sum(tg.exp(x[1:]))) - tg.log(tg.sum(tg.exp(x[1:])))
    assert names(stable([cost], [x])[0]).count("LogSumExp") == 1
