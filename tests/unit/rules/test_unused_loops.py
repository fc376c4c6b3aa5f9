"""Loops: what nobody reads is not kept, what does not change is no carry, and values stay as they are."""

import numpy as np
import pytest

import tg
from tg.errors import BoundsError
from tg.graph.function_graph import FunctionGraph, freeze
from tg.graph.interpret import interpret
from tg.graph.nodes import apply
from tg.ops.control import Call
from tg.ops.loops import Cond, Scan, While
from tg.plugin.records import Rewrites
from tg.rewrite.driver import rewrite
from tg.rules.catalog import PASSES, RULES

CORE = Rewrites(RULES, PASSES)
X, Y, S = tg.vector("x"), tg.vector("y"), tg.scalar("s")
K, N = tg.scalar("k", "int64"), tg.scalar("n", "int64")
Z = tg.tensor("z", shape=(40,))
ARRAYS = {
    X: np.array([0.5, -1.0, 2.0]),
    Y: np.array([3.0, 1.0, -2.0]),
    S: 0.25,
    K: np.int64(2),
    N: np.int64(3),
    Z: np.linspace(-1.5, 1.5, 40),
}


def rewritten(*outputs):
    """A program after rewriting, whose values stay as they were."""
    graph = FunctionGraph.of(list(ARRAYS), list(outputs))
    before = graph.freeze()
    after = rewrite(FunctionGraph.of(list(ARRAYS), list(outputs)), [CORE], supported=lambda op, types: True)
    arrays = [np.asarray(v) for v in ARRAYS.values()]
    for a, b in zip(interpret(before, arrays), interpret(after, arrays), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
    return after


def loops(*outputs):
    """The loops that are left of a program."""
    return [node.op for node in rewritten(*outputs).nodes if isinstance(node.op, Scan)]


def facts(op):
    """Carries, sequences, results for each step, what is captured."""
    return op.carries, op.sequences, op.traces, op.body.arity - op.carries - op.sequences


def test_the_carries_that_derivatives_need_are_not_kept_without_one():
    c, ys = tg.scan(lambda c, v: (tg.tanh(c * S + v), c * v), 0.0, X)
    assert [facts(op) for op in loops(c, ys)] == [(1, 1, 1, 1)]
    assert [facts(op) for op in loops(c)] == [(1, 1, 0, 1)]
    assert [facts(op) for op in loops(ys)] == [(1, 1, 1, 1)]


def test_a_carry_that_nobody_reads_goes_with_what_only_it_needs():
    (a, b), (ys, zs) = tg.scan(
        lambda c, v: ((c[0] * c[0] + v[0], tg.sin(c[1] * v[1]) + S), (c[0], c[1])), (0.0, 1.0), (X, Y)
    )
    assert [facts(op) for op in loops(a)] == [(1, 1, 0, 0)]
    assert [facts(op) for op in loops(ys)] == [(1, 1, 1, 0)]
    assert [facts(op) for op in loops(b)] == [(1, 1, 0, 1)]
    assert [facts(op) for op in loops(a, zs)] == [(2, 2, 1, 1)]
    assert "sin" not in {node.op.name for op in loops(a) for node in op.body.nodes}


def test_a_carry_that_another_needs_stays():
    (a, _), _ = tg.scan(lambda c, v: ((c[0] + c[1], c[1] * v), None), (0.0, 1.0), X)
    assert [facts(op) for op in loops(a)] == [(2, 1, 0, 0)]


def test_a_carry_that_does_not_change_is_captured():
    (a, b), ys = tg.scan(lambda c, v: ((c[0] * c[1] + v, c[1]), c[1] * v), (0.0, S), X)
    assert [facts(op) for op in loops(a, b, ys)] == [(1, 1, 1, 1)]
    assert loops(b) == []


def test_carries_that_change_places_do_change():
    (a, b), _ = tg.scan(lambda c, v: ((c[1], c[0]), None), (S, S + 1), X)
    assert [facts(op) for op in loops(a, b)] == [(2, 0, 0, 0)]


def test_equal_results_of_steps_are_one():
    c, (ys, zs, before) = tg.scan(lambda c, v: (c + v, (c * v, c * v, c)), 0.0, X)
    assert [facts(op) for op in loops(c, ys, zs, before)] == [(1, 1, 2, 0)]
    c, (ys, zs) = tg.scan(lambda c, v: (c + v, (c, c)), 0.0, X)
    assert [facts(op) for op in loops(ys, zs)] == [(1, 1, 1, 0)]


def test_what_is_captured_and_not_read_goes():
    _, (ys, _zs) = tg.scan(lambda c, v: (c * v, (c * S, v * tg.exp(K))), 1.0, X)
    assert [facts(op) for op in loops(ys)] == [(1, 1, 1, 1)]


def test_a_loop_that_nobody_reads_is_none_unless_it_can_fail():
    _, still = tg.scan(lambda c, v: ((c[0] + v, c[1]), None), (0.0, S), X)[0]
    assert loops(still) == []
    failing, _ = tg.scan(lambda c, _: ((c[0] + 1, c[1]), X[c[0]]), (0, S), None, 3)
    assert [facts(op)[0] for op in loops(failing[1])] == [1]


def test_a_check_stays_with_what_it_reads():
    """Four steps are one too many for three elements, whether anybody reads what is found there or not."""
    (_, still), _ = tg.scan(lambda c, _: ((c[0] + 1, c[1]), X[c[0]]), (0, S), None, 4)
    frozen = rewrite(FunctionGraph.of(list(ARRAYS), [still]), [CORE], supported=lambda op, types: True)
    with pytest.raises(tg.BoundsError, match="index 3 is out of bounds"):
        interpret(frozen, [np.asarray(v) for v in ARRAYS.values()])


@pytest.mark.parametrize("count", [20, 30])
def test_a_length_that_turns_out_to_be_known_is_no_operand(count):
    n = tg.constant(np.int64(count))
    c, ys = tg.scan(lambda c, _: (c * S + 1, c), 1.0, None, n + 0)
    (op,) = loops(c, ys)
    assert op.length == count
    known = tg.scan(lambda c, v: (c + v, None), 0.0, tg.zeros(count) + S)[0]
    assert [op.length for op in loops(known)] == [count]


def test_a_length_that_is_not_known_is_one():
    c, ys = tg.scan(lambda c, _: (c * S + 1, c), 1.0, None, N)
    assert [op.length for op in loops(c, ys)] == [None]


def test_inner_loops_lose_what_is_not_read_too():
    def outer(c, v):
        (a, _), _ys = tg.scan(lambda d, u: ((d[0] + u, tg.sin(d[1]) + v), d[1]), (c, v), X)
        return a, None

    (op,) = loops(tg.scan(outer, 0.0, X)[0])
    (inner,) = [node.op for node in op.body.nodes if isinstance(node.op, Scan)]
    assert facts(inner) == (1, 1, 0, 0)


def test_value_and_gradient_need_two_loops():
    c, ys = tg.scan(lambda c, v: (tg.tanh(c * S + v), c), 0.0, X)
    assert len(loops(c, tg.sum(ys), tg.grad(c + tg.sum(ys), S))) == 2


def test_branches_lose_the_results_that_nobody_reads_and_what_only_these_need():
    e = tg.exp(Y)
    a = tg.cond(S > 0, lambda: (X + 1, tg.sum(e)), lambda: (X * S, S))[0]
    graph = FunctionGraph.of(list(ARRAYS), [a])
    frozen = rewrite(graph, [CORE], supported=lambda op, types: True)
    (op,) = [node.op for node in frozen.nodes if isinstance(node.op, Cond)]
    assert [len(g.outputs) for g in op.branches] == [1, 1]
    assert not any("exp" in str(node.op) for node in frozen.nodes)
    arrays = [np.asarray(v) for v in ARRAYS.values()]
    np.testing.assert_array_equal(interpret(frozen, arrays)[0], ARRAYS[X] + 1)
    arrays[2] = np.asarray(-0.5)
    np.testing.assert_array_equal(interpret(frozen, arrays)[0], ARRAYS[X] * -0.5)


def calls(*outputs):
    """The calls that are left of a program, and what it gives."""
    graph = FunctionGraph.of(list(ARRAYS), list(outputs))
    frozen = rewrite(graph, [CORE], supported=lambda op, types: True)
    found = interpret(frozen, [np.asarray(v) for v in ARRAYS.values()])
    return [node.op.graph for node in frozen.nodes if isinstance(node.op, Call)], found


def test_a_call_gives_what_is_read_and_is_given_what_that_needs():
    a, b = tg.vector("a"), tg.vector("b")
    sums, others = apply(Call(freeze([a, b], [tg.cumsum(tg.sin(a)), tg.cumsum(b)])), [X, Y])
    assert [(g.arity, len(g.outputs)) for g in calls(sums, others)[0]] == [(2, 2)]
    (graph,), (found,) = calls(sums)
    assert (graph.arity, len(graph.outputs)) == (1, 1)
    np.testing.assert_array_equal(found, np.cumsum(np.sin(ARRAYS[X])))


def test_a_call_of_which_less_is_read_fails_as_before():
    a, i = tg.vector("a"), tg.scalar("i", "int64")
    taken, total = apply(Call(freeze([a, i], [a[i], tg.cumsum(a)])), [X, K + N])[:2]
    for outputs in ([taken, total], [total]):
        with pytest.raises(BoundsError, match="index 5 is out of bounds for an axis of length 3"):
            calls(*outputs)


def test_a_step_calls_for_what_it_hands_on():
    a, b = tg.scalar("a"), tg.scalar("b")
    graph = freeze([a, b], [tg.sin(a), tg.exp(b)])
    c, _ = tg.scan(lambda c, v: (tuple(apply(Call(graph), [c[0] + v[0], c[1] + v[1]])), None), (0.0, 1.0), (X, Y))
    (op,) = loops(c[0])
    assert facts(op) == (1, 1, 0, 0)


def test_a_carry_that_only_a_branch_reads_for_itself_goes():
    """The derivative by one variable of a loop that asks does not add up that by the others."""

    def step(c, v):
        return tg.cond(v > 0, lambda: (tg.sin(c[0]) * v, c[1] + c[0]), lambda: (c[0] + 1, c[1] * S)), None

    (a, b), _ = tg.scan(step, (0.5, 0.0), X)
    assert [facts(op)[0] for op in loops(a)] == [1]
    assert [facts(op)[0] for op in loops(b)] == [2]
    last = tg.while_loop(lambda c: c < 9, lambda c: c * c + tg.sin(S), tg.sum(X * X), max_steps=4)
    (op,) = loops(tg.grad(last, X))
    assert op.carries == 1
    graph = FunctionGraph.of(list(ARRAYS), [tg.grad(last, X)])
    found = interpret(
        rewrite(graph, [CORE], supported=lambda op, types: True), [np.asarray(v) for v in ARRAYS.values()]
    )

    def by_hand(x):
        c = np.sum(x * x)
        for _ in range(4):
            if not c.real < 9:
                break
            c = c * c + np.sin(0.25)
        return c

    for k in range(3):
        moved = ARRAYS[X].astype(complex)
        moved[k] += 1e-20j
        np.testing.assert_allclose(found[0][k], by_hand(moved).imag / 1e-20, rtol=1e-12)


def test_branches_that_can_fail_do_so_without_their_results():
    def then():
        return X + 1, tg.log(Y)[K + 3]

    a, _ = tg.cond(S > 0, then, lambda: (X, 0.0))
    graph = FunctionGraph.of(list(ARRAYS), [a])
    frozen = rewrite(graph, [CORE], supported=lambda op, types: True)
    arrays = [np.asarray(v) for v in ARRAYS.values()]
    with pytest.raises(BoundsError):
        interpret(frozen, arrays)
    arrays[2] = np.asarray(-0.5)
    np.testing.assert_array_equal(interpret(frozen, arrays)[0], ARRAYS[X])


# --- conditions that depend on the step alone -------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
def test_a_condition_that_is_carried_of_constants_is_a_sequence_of_them(reverse):
    at = tg.constant(np.arange(40) == 7)
    (c, last), (ys, seen) = tg.scan(
        lambda c, v: ((tg.where(c[1], c[0] * v[0], c[0] + v[0]), c[1] | v[1]), (c[0] + v[0], c[1])),
        (0.5, False),
        (Z, at),
        reverse=reverse,
    )
    assert [facts(op) for op in loops(c, last, ys, seen)] == [(1, 2, 1, 0)]
    assert [facts(op) for op in loops(last, seen)] == []


def test_conditions_of_arrays_and_of_counts_are_sequences_of_constants():
    (c, _, _), _ = tg.scan(
        lambda c, v: (
            (
                tg.where(c[1], c[0] * v, c[0] + tg.cast(tg.any(c[1]), "float64")),
                tg.concatenate([tg.ones(1, dtype="bool"), c[1][:-1]]),
                ~c[2],
            ),
            None,
        ),
        (S * np.ones(3), np.zeros(3, bool), False),
        Z,
    )
    assert [facts(op) for op in loops(c)] == [(1, 3, 0, 0)]


def test_a_condition_of_what_a_step_computes_stays():
    (c, d), _ = tg.scan(lambda c, v: ((c[0] + tg.where(c[1], v, 2.0), c[1] | (v > 1)), None), (0.0, False), Z)
    assert [facts(op) for op in loops(c, d)] == [(2, 1, 0, 0)]


def test_a_condition_that_begins_with_what_is_given_stays():
    (c, d), _ = tg.scan(lambda c, v: ((c[0] + tg.where(c[1], v, 2.0), ~c[1]), None), (0.0, S > 0), Z)
    assert [facts(op) for op in loops(c, d)] == [(2, 1, 0, 0)]


def test_conditions_of_steps_that_are_checked_are_known_as_well():
    def step(c, v):
        held = tg.assert_(c[0], tg.all(tg.where(c[1], c[0], 1.0) < 1e6), "found too much")  # noqa: PT009
        return (held + tg.where(c[1], v, 2.0), ~c[1]), None

    (c, d), _ = tg.scan(step, (0.0, False), Z)
    assert [facts(op) for op in loops(c, d)] == [(1, 2, 0, 0)]


def whiles(graph):
    """The While ops of a graph and of those inside."""
    found = [node.op for node in graph.nodes if isinstance(node.op, While)]
    return found + [op for node in graph.nodes for g in node.op.inner_graphs() for op in whiles(g)]


def noted(x, limit, mode="promise"):
    """A loop of a number, how many steps it has made, a sum that nobody needs, and all numbers."""

    def body(c):
        count, v, total, seen = c
        return count + 1, v * 1.5, total + v * S, seen.at[count].set(v, mode=mode)

    return tg.while_loop(lambda c: c[1] < limit, body, (0, x, 0.0, tg.zeros(64)), max_steps=60)


def test_carries_of_while_loops_that_nobody_reads_are_left_out():
    (op,) = whiles(rewritten(noted(S, 100.0)[1]))
    assert op.carries == 1
    (op,) = whiles(rewritten(*noted(S, 100.0)[1:3]))
    assert op.carries == 2
    (op,) = whiles(rewritten(noted(S, 100.0)[3]))
    assert op.carries == 3  # the number of steps says where to write


def test_carries_of_a_while_loop_in_a_scan_are_left_out_with_those_of_the_scan():
    def body(c):
        count, v, seen = c
        return count + 1, v * 1.5, seen.at[count].set(v, mode="promise")

    def step(carry, limit):
        carry = tg.while_loop(lambda c: c[1] < limit, body, carry)
        return carry, carry[1]

    begun = (tg.constant(0), S, tg.zeros(64))
    (count, _, seen), ends = tg.scan(step, begun, tg.cumsum(tg.abs(X)))
    (op,) = whiles(rewritten(ends))
    assert op.carries == 1
    (op,) = whiles(rewritten(ends, count, seen))
    assert op.carries == 3


def test_a_while_loop_that_can_fail_keeps_what_its_checks_read():
    after = rewritten(noted(S, 100.0, "raise")[1])
    (op,) = whiles(after)
    assert op.carries == 2
    assert op.inner_descriptors


def test_traces_of_while_loops_that_nobody_reads_are_left_out():
    _, v, total, _ = noted(S, 100.0)
    (op,) = whiles(rewritten(v, total))
    assert not op.traces
    gradient = tg.grad(total, S)
    assert any(op.traces for op in whiles(rewritten(gradient)))
