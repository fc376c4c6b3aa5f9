"""Functions of inner graphs that rules are given, with backends made of NumPy; loops of Python say what is right."""

from __future__ import annotations

import numpy as np
import pytest

import tg
from tests.unit.link.test_funcify import RULES, Jit, linked
from tg.errors import NoRuleError
from tg.graph.checks import STATUS_LENGTH
from tg.graph.function_graph import freeze
from tg.link.colour import takes_graphs
from tg.link.host import sizes_inside
from tg.ops.loops import Scan


def steps(op, *operands, graphs):
    """The rule of a loop whose number of steps is known and whose steps have no checks."""
    (step,) = graphs
    carries, sequences, captured = op.parts(operands)
    length = op.length if op.length is not None else int(operands[0])
    traces = [[] for _ in range(op.traces)]
    for k in range(length):
        found = step(*carries, *(x[k] for x in sequences), *captured)
        assert type(found) is tuple
        carries = found[: op.carries]
        for trace, y in zip(traces, found[op.carries :], strict=False):
            trace.append(y)
    found = [*map(np.array, carries), *map(np.stack, traces)]
    if op.body.checks:
        found.append(np.zeros(STATUS_LENGTH, np.int64))
    return found[0] if len(found) == 1 else tuple(found)


OWN = {**RULES, Scan: steps}


def run(executable, *arrays):
    """The outputs of a second run: in the first one rules are watched, and nothing is compiled."""
    executable.run(arrays)
    return executable.run(arrays)[0]


@pytest.fixture(params=["as it is", "traced", "steps traced"])
def hooks(request):
    return {"as it is": {}, "traced": {"jit": Jit()}, "steps traced": {"inner": Jit()}}[request.param]


def test_a_rule_is_given_the_function_of_a_step(hooks) -> None:
    x, a = tg.vector("x"), tg.scalar("a")
    total, before = tg.scan(lambda c, v: (c * a + tg.sin(v), c), 0.5, x)
    _, executable = linked([x, a], [total, before], rules=OWN, **hooks)
    given, c, kept = np.linspace(0, 1, 7), 0.5, []
    for v in given:
        kept.append(c)
        c = c * 0.3 + np.sin(v)
    found = run(executable, given, np.array(0.3))
    np.testing.assert_allclose(found[0], c, rtol=1e-15)
    np.testing.assert_allclose(found[1], kept, rtol=1e-15)


def test_the_function_of_a_step_is_in_the_source_once() -> None:
    x = tg.vector("x")
    first, second = (tg.scan(lambda c, v: (c + v * v, None), 0.0, y)[0] for y in (x, x + 1))
    _, executable = linked([x], [first, second], rules=OWN)
    assert executable.source().count("def inner") == 1
    assert executable.source().count("graphs=(bound(inner0, (), constants),)") == 2


def test_a_rule_without_the_argument_is_given_none() -> None:
    x = tg.vector("x")
    _, executable = linked([x], [tg.scan(lambda c, v: (c + v, None), 0.0, x)[0]])
    assert "graphs=" not in executable.source()
    assert run(executable, np.arange(4.0))[0] == 6


def test_large_constants_in_a_step_are_made_once(hooks) -> None:
    made = []

    def to_native(array):
        made.append(array.shape)
        return np.array(array)

    x, m = tg.vector("x"), np.random.default_rng(0).normal(size=(40, 40))
    h, _ = tg.scan(lambda c, v: (tg.tanh(tg.constant(m) @ c) + v, None), tg.zeros(40), x)
    _, executable = linked([x], [h], rules=OWN, to_native=to_native, **hooks)
    made.clear()
    c = np.zeros(40)
    for v in np.ones(3):
        c = np.tanh(m @ c) + v
    np.testing.assert_allclose(run(executable, np.ones(3))[0], c, rtol=1e-12)
    assert made.count((40, 40)) <= 1


def test_sizes_in_a_step_that_operands_decide_are_computed_before_the_loop(hooks) -> None:
    x, w, n = tg.vector("x"), tg.vector("w"), tg.scalar("n", dtype="int64")
    total, traced = tg.scan(lambda c, v: (c + v * tg.sum(w[: n + 1]), tg.arange(n)), 0.0, x)
    _, executable = linked([x, w, n], [total, traced], rules=OWN, **hooks)
    for k in (2, 0, 3, 2):
        found = run(executable, np.ones(2), np.arange(5.0), np.array(k))
        np.testing.assert_array_equal(found[0], 2 * np.arange(5.0)[: k + 1].sum())
        np.testing.assert_array_equal(found[1], [np.arange(k)] * 2)


def test_sizes_in_a_step_of_lengths_of_computed_values_and_slices() -> None:
    x, n = tg.matrix("x"), tg.scalar("n", dtype="int64")
    y = tg.exp(x[:, :n])
    total, _ = tg.scan(lambda c, row: (c + tg.sum(row[: row.shape[0] - n + 1]) + tg.sum(tg.arange(n)), None), 0.0, y)
    _, executable = linked([x, n], [total], rules=OWN, jit=Jit())
    given = np.random.default_rng(1).normal(size=(3, 5))
    for k in (2, 4):
        wanted = sum(np.exp(row[:k])[:1].sum() + np.arange(k).sum() for row in given)
        np.testing.assert_allclose(run(executable, given, np.array(k))[0], wanted, rtol=1e-14)


def changing():
    w, k = tg.vector("w"), tg.scalar("k", dtype="int64")
    last, sums = tg.scan(lambda c, _: (c + 1, tg.sum(w[:c])), k, None, 3)
    return [w, k], [last, sums]


@pytest.mark.parametrize("hooks", [{}, {"inner": Jit()}], ids=["as it is", "steps traced"])
def test_sizes_that_change_from_step_to_step_are_computed_before_each(hooks) -> None:
    _, executable = linked(*changing(), rules=OWN, **hooks)
    given = np.arange(1.0, 7.0)
    found = run(executable, given, np.array(2))
    assert found[0] == 5
    np.testing.assert_array_equal(found[1], [given[:2].sum(), given[:3].sum(), given[:4].sum()])


def test_sizes_that_change_from_step_to_step_are_refused_where_programs_are_traced() -> None:
    with pytest.raises(NoRuleError, match=r"'toy' does not run tg.scan: a length inside changes") as caught:
        linked(*changing(), rules=OWN, jit=Jit())
    assert "tg.sum(w[:c])" in str(caught.value)


def test_a_step_is_compiled_once_for_each_tuple_of_sizes() -> None:
    inner = Jit()
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    _, executable = linked([x, n], [tg.scan(lambda c, v: (c + v, tg.arange(n)), 0.0, x)[1]], rules=OWN, inner=inner)
    executable.run([np.ones(2), np.array(3)])
    assert inner.made == 0  # what rules give is looked at in the first run
    for k in (3, 3, 4, 4, 3, 4):
        executable.run([np.ones(2), np.array(k)])
    assert inner.made == 2


def test_steps_with_loops_or_python_in_them_are_not_compiled() -> None:
    inner = Jit()
    x = tg.matrix("x")
    rows = tg.scan(lambda c, row: (c + tg.scan(lambda d, v: (d * 0.5 + v, None), 0.0, row)[0], None), 0.0, x)[0]
    doubled = tg.wrap(lambda v: 2 * v, outputs="float64")
    twice = tg.scan(lambda c, v: (c + doubled(v), None), 0.0, x[0])[0]
    _, executable = linked([x], [rows, twice], rules=OWN, inner=inner)
    given, wanted = np.arange(6.0).reshape(2, 3), 0.0
    for row in given:
        d = 0.0
        for v in row:
            d = d * 0.5 + v
        wanted += d
    assert run(executable, given) == (wanted, 2 * given[0].sum())
    assert inner.made == 1  # the loop in the loop


def test_a_call_in_a_step_and_a_loop_in_a_call(hooks) -> None:
    x = tg.vector("x")
    calls, _ = tg.scan(lambda c, v: (tg.call(lambda p, q: tg.sin(p) * q, c, v), None), 1.0, x)
    loops = tg.call(lambda y: tg.scan(lambda c, v: (c + v * v, None), 0.0, y)[0], x)
    _, executable = linked([x], [calls, loops], rules=OWN, **hooks)
    given, c = np.linspace(1, 2, 5), 1.0
    for v in given:
        c = np.sin(c) * v
    found = run(executable, given)
    np.testing.assert_allclose(found[0], c, rtol=1e-14)
    np.testing.assert_allclose(found[1], (given**2).sum(), rtol=1e-15)


def test_the_last_of_what_a_step_with_checks_gives_is_its_status() -> None:
    seen = []

    def watched(op, *operands, graphs):
        return steps(op, *operands, graphs=[lambda *a: seen.append(graphs[0](*a)) or seen[-1]])

    w, i = tg.vector("w"), tg.vector("i", dtype="int64")
    _, executable = linked([w, i], [tg.scan(lambda c, k: (c + w[k], None), 0.0, i)[0]], rules={**RULES, Scan: watched})
    executable.run([np.arange(3.0), np.array([0, 2, 5])])
    assert [found[-1] is None for found in seen] == [True, True, False]
    assert seen[-1][-1][0] != 0


def test_graphs_with_loops_are_told_from_those_with_calls() -> None:
    x = tg.vector("x")
    loop = tg.scan(lambda c, v: (c + v, None), 0.0, x)[0]
    assert takes_graphs(freeze([x], [loop]))
    assert takes_graphs(freeze([x], [tg.call(lambda y: tg.scan(lambda c, v: (c + v, None), 0.0, y)[0], x)]))
    assert not takes_graphs(freeze([x], [tg.call(tg.sum, x)]))


def test_what_a_step_reads_tells_whether_its_sizes_are_fixed() -> None:
    for inputs, outputs, is_fixed in ((*changing(), False), (*fixed(), True)):
        graph = freeze(inputs, outputs)
        (node,) = (n for n in graph.nodes if isinstance(n.op, Scan))
        (found,) = sizes_inside(node, "sizes", np.asarray)
        assert found is not None
        assert found.is_fixed is is_fixed


def fixed():
    w, n = tg.vector("w"), tg.scalar("n", dtype="int64")
    return [w, n], list(tg.scan(lambda c, _: (c + 1, tg.sum(w[:n])), 0, None, 3))


def test_a_step_whose_checks_shapes_decide_does_not_tell_a_status_where_they_hold() -> None:
    seen = []

    def watched(op, *operands, graphs):
        return steps(op, *operands, graphs=[lambda *a: seen.append(graphs[0](*a)) or seen[-1]])

    m, h = tg.matrix("m"), tg.vector("h")
    last = tg.scan(lambda c, _: (tg.tanh(m @ c), None), h, None, 2)[0]
    _, executable = linked([m, h], [last], rules={**RULES, Scan: watched}, jit=Jit())
    a, b = np.array([[0.5, 1], [0, 1]]), np.ones(2)
    np.testing.assert_allclose(executable.run([a, b])[0][0], np.tanh(a @ np.tanh(a @ b)), rtol=1e-15)
    assert [found[-1] for found in seen] == [None, None]


def test_a_choice_that_shapes_decide_is_made_where_they_are_known(hooks) -> None:
    def where(*arrays):
        seen.append(arrays)
        return np.where(*arrays)

    seen = []
    x, y = tg.vector("x", shape=(2,)), tg.vector("y")
    chosen = tg.where(tg.greater(y.shape[0], 2), x, x * 3)
    _, executable = linked([x, y], [chosen, x * 3], rules={**OWN, tg.where: where}, **hooks)
    given = np.array([1.0, 2.0])
    for n, factor in ((3, 1), (1, 3)):
        found = run(executable, given, np.ones(n))
        np.testing.assert_array_equal(found[0], given * factor)
        assert not any(np.may_share_memory(found[0], v) for v in (given, found[1]))
    assert seen == []
