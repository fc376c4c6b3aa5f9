"""Which loops over steps run inside of loops over lanes, and which together."""

import functools

import numpy as np
import pytest

import tg
from tg import plugin
from tg.graph.function_graph import freeze
from tg.graph.interpret import interpret
from tg.ops.loops import Scan, While
from tg.plugin.coverage import coverage
from tg_native.fusion.interchange import interchanged
from tg_native.fusion.lane_loops import LaneLoop

X, Y, START, RATE = tg.vector("x"), tg.vector("y"), tg.vector("start"), tg.vector("rate")
N = tg.scalar("n", "int64")


def found(inputs, outputs, wanted, lengths=(5, 4)):
    """The loops over lanes of a graph, after a look at whether it computes what it did; `x` has the second length."""
    frozen = tg.function(inputs, outputs, backend="perform").graph
    made = interchanged(frozen)
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=lengths[v.name in "xy"]) if v.type.ndim else np.asarray(3) for v in inputs]
    for a, b in zip(interpret(frozen, arrays), interpret(made, arrays), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
    for a, b in zip(frozen.output_types, made.output_types, strict=True):
        assert a == b
    loops = [node.op for node in made.nodes if isinstance(node.op, LaneLoop)]
    assert len(loops) == wanted
    return loops, made


def decay(c, v):
    return tg.exp(-c) * v, c + v


def added(w):
    """The loops over lanes of steps that add an array of three numbers, as a constant of the step."""
    start = tg.tensor("start", shape=(3,))
    a = tg.tensor("a", shape=(3,))
    body = freeze([a, N], [a * tg.cast(N, "float64") + tg.constant(w)])
    frozen = freeze([start], [Scan(body, 1, 1, 4)(start, tg.constant(np.arange(4)))])
    return [node.op for node in interchanged(frozen).nodes if isinstance(node.op, LaneLoop)]


def test_a_loop_of_elements_is_one_over_lanes():
    (loop,), made = found([START, X], list(tg.scan(decay, START, X)), 1)
    (stage,) = loop.stages
    assert not any(type(node.op).__name__ == "Scan" for node in made.nodes)
    assert loop.element_steps == ("negative", "exp", "multiply", "add")
    assert stage.stored == (True, True)
    assert all(t.shape == () for t in stage.program.types)
    assert tg.parse(tg.to_text(made)) == made


def test_backends_are_not_asked_for_loops_over_lanes():
    (family,) = (f for f in plugin.registry().families() if LaneLoop in f.ops)
    assert family.is_lowered
    assert "LaneLoop" not in {row.op for row in coverage(plugin.registry(), ["perform"])}


def test_loops_join_that_read_what_the_one_before_traces_or_ends_with():
    c, ys = tg.scan(decay, START, X)
    d, _ = tg.scan(lambda d, v: (d * v[0] + v[1] + c, None), START, (ys, X), reverse=True)
    (loop,), _ = found([START, X], [d], 1)
    assert [stage.reverse for stage in loop.stages] == [False, True]
    assert loop.stages[0].stored == (False, False)
    assert sum(read < 0 for read in loop.stages[1].reads) == 2
    kept, _ = found([START, X], [d, ys], 1)
    assert kept[0].stages[0].stored == (False, True)


def gradient(step, *carried):
    """A value and its derivative by a rate, for each element: the sum of what some steps trace."""

    def both(rate, start):
        _, ys = tg.scan(functools.partial(step, rate), start, X, *carried)
        value = ys[-1] * 0.5
        return value, tg.grad(value, rate)

    return list(tg.vmap(both)(RATE, START))


def test_the_way_back_reads_what_takes_long_on_the_way_forward():
    (loop,), _ = found([RATE, START, X], gradient(lambda rate, c, v: (tg.tanh(rate * c + v), tg.tanh(rate * c + v))), 1)
    forward, back = ([node.op.name for node in stage.program.nodes] for stage in loop.stages)
    assert forward.count("tanh") == 1
    assert "tanh" not in back


def test_the_way_back_computes_again_what_is_soon_computed():
    (loop,), _ = found([RATE, START, X], gradient(lambda rate, c, v: (c * c * rate + v, c * c * rate)), 1)
    forward, back = ([node.op.name for node in stage.program.nodes] for stage in loop.stages)
    assert "square" in forward
    assert "square" in back


def test_a_step_at_another_place_is_another():
    """The loops read one sequence in the same direction, but the trace of the second of another number of steps."""
    c, ys = tg.scan(lambda c, v: (c + tg.sin(v * START), tg.sin(v * START)), START, X)
    d, _ = tg.scan(lambda d, v: (d * tg.sin(v[0] * START) + v[1], None), c, (X[:2], ys[:2]))
    e, _ = tg.scan(lambda d, v: (d * tg.sin(v[0] * START) + v[1], None), c, (X, ys))
    first, _ = found([START, X], [e], 1)
    assert [node.op.name for node in first[0].stages[1].program.nodes] == ["multiply", "add"]
    found([START, X], [d], 2)


def test_what_is_of_several_elements_is_between_two_loops():
    c, ys = tg.scan(decay, START, X)
    total = tg.sum(c)
    found([START, X], [tg.scan(lambda d, v: (d * v + total, None), c, X)[0]], 2)
    found([START, X], [tg.scan(lambda d, v: (d * tg.sum(v), None), START, ys)[0]], 1)  # no loop of elements
    along = tg.scan(lambda d, v: (d + v, None), START, c)[0]  # one step for each element of the first
    found([START, X], [along], 2)


def test_a_loop_that_reads_nothing_of_another_is_another():
    a, b = tg.scan(decay, START, X)[0], tg.scan(decay, RATE, Y)[0]
    found([START, RATE, X, Y], [a, b], 2)


def test_lengths_of_both_kinds():
    found([START, N], [tg.scan(lambda c, _: (c * 2, None), START, None, N)[0]], 1)
    found([START], list(tg.scan(lambda c, _: (c * 2, c), START, None, 9)), 1)


@pytest.mark.parametrize(
    "step",
    [
        lambda c, v: (c + tg.sum(c), None),
        lambda c, v: (c[::-1] + v, None),
        lambda c, v: (c + v, tg.max(c)),
        lambda c, v: (tg.cumsum(c) * v, None),
        lambda c, v: (tg.assert_(c, tg.all(c < 1e9), "found too much"), None),  # noqa: PT009 (not that of unittest)
        lambda c, v: (tg.cond(v > 0, lambda: c, lambda: c * 2), None),
    ],
)
def test_steps_that_are_more_than_elements_stay(step):
    c, ys = tg.scan(step, START, X)
    found([START, X], [c] if ys is None else [c, ys], 0)


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        (lambda go, c: tg.where(go, c / 2, c), 1),
        (lambda go, c: tg.where(go, c, c / 2), 0),
        (lambda go, c: c / 2, 0),
        (lambda go, c: tg.where(go, c / 2, -c), 0),
        (lambda go, c: tg.where(c > 0.5, c / 2, c), 0),
        (lambda go, c: c - tg.cast(go, "float64"), 0),
    ],
)
def test_a_loop_that_goes_on_for_some_elements_is_one_of_each_if_the_others_keep_what_they_have(step, wanted):
    """Otherwise what one becomes depends on how long others go on."""
    made = tg.while_loop(lambda c: tg.any(c > 1), lambda c: step(c > 1, c), START * 10, max_steps=20)
    found([START], [made], wanted)


def test_a_batch_of_loops_that_ask_is_one_over_lanes():
    def count(start):
        return tg.while_loop(lambda c: c[0] > 0.1, lambda c: (c[0] * 0.5, c[1] + 1), (start, 0))[1]

    (loop,), made = found([START], [tg.vmap(count)(START)], 1)
    assert loop.stages[0].asks
    assert loop.stages[0].length is None
    assert tg.parse(tg.to_text(made)) == made


def test_how_many_steps_were_made_in_all_is_asked_of_one_loop():
    body = freeze([a := tg.vector("a")], [tg.where(a > 1, a / 2, a)])
    condition = freeze([b := tg.vector("b")], [tg.any(b > 1)])
    last, steps = While(condition, body, 1, 20)(START)
    found([START], [last], 1)
    found([START], [last, steps], 0)


def test_a_trace_of_another_length_stays():
    _, ys = tg.scan(lambda c, v: (c + v, tg.zeros(2) + v), START, X)
    found([START, X], [ys], 0)


def test_numbers_are_no_elements():
    found([X], list(tg.scan(lambda c, v: (c + v, c), 0.0, X)), 0)
    found([START, X], [tg.scan(lambda c, v: ((c[0] * v, c[1] + v), None), (START, 1.0), X)[0][0]], 1)


def scans(made):
    """The loops over steps that are left, each by the names of its ops."""
    return [[node.op.name for node in one.op.body.nodes] for one in made.nodes if isinstance(one.op, Scan)]


@pytest.mark.parametrize("reverse", [False, True])
def test_numbers_that_are_carried_beside_arrays_get_a_loop_of_their_own(reverse):
    (c, d), (s, u, w) = tg.scan(
        lambda c, v: ((c[0] * tg.exp(c[1]), tg.exp(c[1]) + v[0]), (c[0] + v[1], c[1], v[0] > 0)),
        (START, 1.0),
        (X, Y),
        reverse=reverse,
    )
    lengths = (4, 4)
    (loop,), made = found([START, X, Y], [c, d, s, u, w], 1, lengths)
    assert loop.element_steps == ("multiply", "add")
    ((*names,),) = scans(made)
    assert sorted(names) == ["add", "exp", "greater"]
    assert tg.parse(tg.to_text(made)) == made
    found([START, X, Y], [c, s], 1, lengths)


def test_numbers_get_no_loop_of_their_own_where_the_rest_stays():
    both = list(tg.scan(lambda c, v: ((c[0][::-1] * v, c[1] + v), None), (START, 1.0), X)[0])
    _, made = found([START, X], both, 0)
    assert len(scans(made)) == 1


def test_numbers_that_depend_on_arrays_stay_with_them():
    both = list(tg.scan(lambda c, v: ((c[0] * v, c[1] + tg.max(c[0])), None), (START, 1.0), X)[0])
    _, made = found([START, X], both, 0)
    assert len(scans(made)) == 1


def test_the_steps_of_both_loops_are_as_many_as_a_number_says():
    both = list(tg.scan(lambda c, _: ((c[0] * c[1], c[1] + 1), None), (START, 1.0), None, N)[0])
    _, made = found([START, N], both, 1)
    assert len(scans(made)) == 1


def test_constants_that_are_one_number_are_that_and_others_stay():
    (loop,) = added(np.ones(3))
    assert [float(c.data) for c in loop.stages[0].program.constants] == [1.0]
    assert added(np.array([0.0, -0.0, 0.0])) == []
