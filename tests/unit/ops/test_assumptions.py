"""Promised facts: kept for the value through importing and rewriting, printed, parsed, pickled; checked as promises."""

import pickle

import numpy as np
import pytest

import tg
from tg.graph.facts import facts_of, holds
from tg.graph.frozen import FrozenGraph, Node
from tg.graph.function_graph import FunctionGraph, freeze
from tg.types.tensor_type import TensorType

REFERENCE = {"backend": "perform"}


def ops(f):
    return [node.op.name for node in f.graph.nodes]


def test_an_assumption_is_removed_and_kept_as_facts_of_the_value():
    x = tg.vector("x")
    frozen = freeze([x], [tg.exp(tg.assume(tg.sin(x), positive=True, finite=True))])
    assert [node.op.name for node in frozen.nodes] == ["sin", "exp"]
    assert frozen.assumed == {1: frozenset({"finite", "positive"})}


def test_rules_see_what_was_assumed_of_inputs_and_of_results():
    x = tg.vector("x")
    promised = tg.assume(x, nonnegative=True, no_negative_zero=True)
    assert ops(tg.function([x], tg.absolute(promised), **REFERENCE)) == []
    assert ops(tg.function([x], tg.absolute(tg.assume(tg.sin(x), positive=True)), **REFERENCE)) == ["sin"]
    assert ops(tg.function([x], tg.absolute(x), **REFERENCE)) == ["absolute"]


def test_a_promise_holds_for_the_value_wherever_it_is_used():
    x = tg.vector("x")
    y = tg.exp(tg.assume(x, positive=True)) + tg.absolute(x)
    assert "absolute" not in ops(tg.function([x], y, **REFERENCE))


def test_what_replaces_a_value_inherits_what_was_assumed_of_it():
    x = tg.vector("x")
    y = tg.assume(tg.exp(tg.log(x + 0.0 * x)) * 1.0 - 1.0, positive=True)
    frozen = tg.function([x], tg.sin(y), mode="default", **REFERENCE).graph
    ((number, names),) = frozen.assumed.items()
    assert names == {"positive"}
    assert frozen.nodes[-1].inputs == (number,)


def test_two_promises_of_one_value_add_up():
    x = tg.vector("x")
    y = tg.sin(tg.assume(x, finite=True)) + tg.cos(tg.assume(x, positive=True))
    assert freeze([x], [y]).assumed == {0: frozenset({"finite", "positive"})}


def test_graphs_that_differ_in_assumptions_are_different():
    x = tg.vector("x")
    plain, promised = (freeze([x], [tg.exp(v)]) for v in (x, tg.assume(x, positive=True)))
    assert plain != promised
    assert hash(plain) != hash(promised)
    assert promised == freeze([x], [tg.exp(tg.assume(x, positive=True))])


def test_assumptions_are_printed_after_the_type_and_parsed():
    x, a = tg.vector("x"), tg.matrix("a")
    y = tg.exp(tg.assume(x, positive=True, finite=True)) + tg.sum(tg.assume(a @ a, symmetric=True))
    frozen = freeze([x, a], [y])
    text = tg.to_text(frozen)
    assert "%0 x: float64[?] {finite, positive}," in text
    assert ": float64[?, ?] {symmetric}" in text
    assert tg.parse(text) == frozen
    assert tg.parse(text).assumed == frozen.assumed


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ("{positve}", "found positve, needed a fact that is known"),
        ("{symmetric}", "symmetric: found float64"),
        ("{positive, negative}", "excludes"),
        ("{positive", "needed ','"),
    ],
)
def test_a_text_with_impossible_facts_is_refused(facts, said):
    with pytest.raises(tg.TextError, match=said):
        tg.parse(f"tg 1\ngraph(%0: float64[?] {facts}) {{\n  return %0\n}}\n")


def test_assumptions_survive_pickling_thawing_and_instantiation():
    x = tg.vector("x")
    frozen = freeze([x], [tg.exp(tg.assume(tg.sin(x), positive=True))])
    assert pickle.loads(pickle.dumps(frozen)) == frozen
    assert FunctionGraph.thaw(frozen).freeze() == frozen
    fresh = tg.vector("x")
    assert freeze([fresh], frozen.instantiate([fresh])) == frozen
    f = tg.function([x], tg.absolute(tg.assume(x, positive=True)), **REFERENCE)
    assert ops(pickle.loads(pickle.dumps(f))) == []


def test_assumptions_inside_a_call_stay_inside():
    x = tg.vector("x")
    y = tg.call(lambda v: tg.absolute(tg.assume(v, positive=True)), x) + tg.absolute(x)
    frozen = tg.function([x], y, **REFERENCE).graph
    assert frozen.assumed == {}
    assert "absolute" in [node.op.name for node in frozen.nodes]


def test_the_derivative_of_an_assumption_is_the_identity():
    x = tg.vector("x")
    y = tg.sum(tg.assume(x, positive=True) ** 3)
    np.testing.assert_array_equal(tg.grad(y, x).eval({x: [1.0, 2.0]}), [3.0, 12.0])
    t = tg.jvp(tg.assume(x, finite=True) * 2, x, tg.constant([1.0, 1.0]))
    np.testing.assert_array_equal((t[1] if isinstance(t, tuple) else t).eval({x: [5.0, 6.0]}), [2.0, 2.0])


def test_a_known_fact_needs_no_assumption():
    x = tg.vector("x")
    y = tg.exp(x)
    assert tg.assume(y, nonnegative=True) is y


def test_facts_of_an_expression_hold_while_it_is_built():
    a = tg.matrix("a", shape=(3, 3))
    assert holds(tg.assume(a, positive_definite=True), "symmetric")
    assert {"lower_triangular"} <= facts_of(tg.matrix_transpose(tg.assume(a, upper_triangular=True)))


@pytest.mark.parametrize("mode", ["default", "strict", "off"])
def test_an_assumption_costs_nothing_in_any_mode(mode):
    x = tg.vector("x")
    f = tg.function([x], tg.exp(tg.assume(x, finite=True)), mode=mode, **REFERENCE)
    assert ops(f) == ["exp"]
    np.testing.assert_array_equal(f([0.0]), [1.0])


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: tg.assume(tg.vector("x"), positve=True), tg.InputError, "hint: positive is close"),
        (lambda: tg.assume(tg.vector("x"), positive=False), tg.InputError, "positive: found False, needed True"),
        (lambda: tg.assume(tg.vector("x"), positive=True, nonpositive=True), tg.InputError, "excludes"),
        (lambda: tg.assume(tg.vector("x"), symmetric=True), tg.ShapeError, "needed square matrices"),
        (lambda: tg.assume(tg.matrix("x", shape=(2, 3)), diagonal=True), tg.ShapeError, "needed square matrices"),
        (lambda: tg.assume(tg.scalar("x", dtype="complex64"), positive=True), tg.DtypeError, "no order"),
        (lambda: tg.assume(tg.scalar("x", dtype="uint8"), negative=True), tg.DtypeError, "not below 0"),
        (lambda: tg.assume(tg.constant([1.0, -1.0]), positive=True), tg.InputError, "does not hold"),
    ],
)
def test_impossible_promises_are_refused(make, error, said):
    with pytest.raises(error, match=said):
        make()


def test_a_frozen_graph_made_by_hand_has_no_assumptions():
    x = TensorType("float64", (None,))
    assert FrozenGraph(1, [x, x], [], [Node(tg.exp.op, (0,), (1,))], [1]).assumed == {}


def test_an_assumption_comes_through_all_that_rewriting_does():
    x, y = tg.vector("x"), tg.vector("y")
    v = (x + 0) * (y + 0)
    promised = tg.assume(tg.log(1 + tg.exp(v)), finite=True)
    other = tg.log(1 + tg.exp(v * 1))
    f = tg.function([x, y], [tg.sin(promised) + tg.cos(other), tg.exp(promised - 0.0) - 1], **REFERENCE)
    ((number, names),) = f.graph.assumed.items()
    assert names == {"finite"}
    (made,) = [node for node in f.graph.nodes if number in node.outputs]
    assert made.op.name == "softplus"
