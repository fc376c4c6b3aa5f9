"""Expressions are pickled whole: sharing, names, lines and derivatives stay, however deep they are."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tg
from tg.graph.pickled import TABLES


def again(value):
    return pickle.loads(pickle.dumps(value))


def test_an_expression_is_the_same_after_pickling():
    x, s = tg.vector("x"), tg.shared(np.array([2.0, 3.0]), "s")
    y = tg.named(tg.exp(x) * s, "rate") + tg.constant([1.0, 2.0]) + tg.call(tg.sin, tg.stop_gradient(x))
    new_x, new_y = again((x, y))
    assert (new_x.name, new_x.type) == ("x", x.type)
    assert np.array_equal(new_y.eval({new_x: [1.0, 2.0]}), y.eval({x: [1.0, 2.0]}))
    gradients = [tg.grad(tg.sum(b), a).eval({a: [1.0, 2.0]}) for a, b in ((x, y), (new_x, new_y))]
    assert np.array_equal(*gradients)
    assert tg.to_text(new_y, provenance=False) == tg.to_text(y, provenance=False)


def test_what_is_shared_stays_shared():
    x = tg.vector("x")
    hidden = tg.exp(x)
    cost = tg.sum(hidden * hidden)
    for order in ((cost, hidden, x), (x, hidden, cost)):
        found = {v.type.ndim if v.apply is None else v.op.name: v for v in again(order)}
        new_x, new_hidden, new_cost = found[1], found["exp"], found["Reduce"]
        assert new_cost.apply.inputs[0].apply.inputs[0] is new_hidden
        assert tg.grad(new_cost, new_hidden).eval({new_x: [0.0]}).tolist() == [2.0]
    assert not TABLES


def test_results_of_one_apply_stay_results_of_one_apply():
    x = tg.vector("x")
    total, product = tg.call(lambda v: (tg.sum(v), tg.prod(v)), x)
    new_product, new_total = again((product, total))
    assert new_product.apply is new_total.apply
    f = tg.function([x], [total, product], backend="perform")
    new_x = new_total.inputs[0]
    assert f([2.0, 3.0]) == tg.function([new_x], [new_total, new_product], backend="perform")([2.0, 3.0])


def test_an_expression_of_any_depth_is_pickled():
    x = tg.scalar("x")
    y = x
    for _ in range(5000):
        y = tg.sin(y)
    new = again(y)
    assert float(new.eval({leaf(new): 1.0})) == float(y.eval({x: 1.0}))


def leaf(v):
    while v.apply is not None:
        (v,) = v.inputs
    return v


def test_lengths_with_names_and_lines_of_the_user_are_kept():
    n = tg.dim("n")
    x, y = tg.vector("x", shape=(n,)), tg.vector("y", shape=(n,))
    new_x, new_y, new = again((x, y, (bad := x[1:] + y)))
    assert (str(new.loc), new.loc.file) == (str(bad.loc), bad.loc.file)
    assert new.loc.line == bad.loc.line
    assert again(new).loc.source == bad.loc.source
    with pytest.raises(tg.ShapeError, match=r"test_pickled.py:\d+ "):
        tg.function([new_x, new_y], new, backend="perform")([1.0, 2.0], [3.0, 4.0])


def test_a_copy_is_the_variable_and_a_deep_copy_an_expression_of_its_own():
    x = tg.vector("x")
    y = tg.exp(x)
    assert copy.copy(y) is y
    new_x, new_y = copy.deepcopy([x, y])
    assert new_x is not x
    assert new_y.eval({new_x: [0.0]}).tolist() == [1.0]


def test_what_was_pickled_is_rewritten_as_before() -> None:
    x = tg.scalar("x", dtype="int64")
    y, there = pickle.loads(pickle.dumps((x + (-1), x)))
    assert y.op is (x + 1).op
    assert tg.function([there], y, backend="perform")(5) == 4
