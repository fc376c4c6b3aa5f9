import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

import tg
from tg.graph.checks import Descriptor
from tg.graph.frozen import FrozenCheck, FrozenGraph, Node
from tg.graph.function_graph import freeze
from tg.graph.interpret import interpret
from tg.graph.nodes import Constant
from tg.types.lengths import same
from tg.types.tensor_type import TensorType

X = TensorType("float64", (None,))


def model(name="x"):
    x = tg.vector(name)
    return freeze([x], [tg.sum(tg.exp(x) * 2.0), x])


def with_constant(array):
    return FrozenGraph(0, [TensorType(array.dtype, array.shape)], [Constant(array)], [], [0])


def test_values_are_inputs_then_constants_then_results_in_topological_order():
    graph = model()
    first = graph.arity + len(graph.constants)
    numbers = [out for node in graph.nodes for out in node.outputs]
    assert numbers == list(range(first, len(graph.types)))
    assert all(k < node.outputs[0] for node in graph.nodes for k in node.inputs)
    assert graph.input_types == (X,)
    assert graph.output_types == (TensorType("float64"), X)


def test_constants_are_found_by_their_number_and_only_they():
    graph = model()
    found = [graph.constant(k) for k in range(len(graph.types))]
    assert sum(c is not None for c in found) == len(graph.constants) == 1
    assert graph.constant(0) is None
    assert graph.constant(graph.arity) is graph.constants[0]
    assert graph.constant(graph.arity + len(graph.constants)) is None


def test_graphs_are_equal_by_structure_whatever_their_names_and_lines():
    a, b = model("x"), model("y")
    assert a == b
    assert hash(a) == hash(b)
    assert a.names != b.names
    assert len({a, b}) == 1


def test_a_deferred_graph_is_made_once_where_somebody_looks_at_it():
    made = []
    graph = FrozenGraph.deferred(lambda: made.append(model()) or made[-1])
    graph.keep_as("name", [])
    assert (graph.kept_as, graph.kept_constants, graph.prepared, made) == ("name", (), None, [])
    assert not hasattr(graph, "another")
    assert made == []
    assert graph.arity == 1
    assert graph == model()
    assert hash(graph) == hash(model())
    assert (repr(graph), graph.names, graph.kept_as) == (repr(model()), model().names, "name")
    assert pickle.loads(pickle.dumps(graph)) == model()
    assert len(made) == 1
    with pytest.raises(AttributeError):
        graph.arity = 2


def test_what_keeps_a_deferred_graph_from_being_made_is_raised_each_time():
    makers = [model, lambda: 1 // 0, lambda: 1 // 0]
    graph = FrozenGraph.deferred(lambda: makers.pop()())
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            len(graph.nodes)
    assert graph == model()


def test_threads_that_look_at_a_deferred_graph_at_a_time_see_one():
    graphs, barrier = [], threading.Barrier(8)

    def make():
        barrier.wait()  # all threads make one
        graphs.append(model())
        return graphs[-1]

    graph = FrozenGraph.deferred(make)
    with ThreadPoolExecutor(8) as pool:
        found = [*pool.map(lambda _: (graph.constants, graph.nodes, graph.types), range(8))]
    assert len(graphs) == 8
    assert len({id(part) for parts in found for part in parts}) == 3


@pytest.mark.parametrize(
    "other",
    [
        lambda x: [tg.sum(tg.exp(x) * 2.0)],
        lambda x: [x, tg.sum(tg.exp(x) * 2.0)],
        lambda x: [tg.sum(tg.exp(x) * 2.5), x],
        lambda x: [tg.sum(tg.sin(x) * 2.0), x],
        lambda x: [tg.max(tg.exp(x) * 2.0), x],
    ],
)
def test_graphs_of_another_structure_differ(other):
    x = tg.vector("x")
    assert freeze([x], other(x)) != model()


def test_graphs_with_other_input_types_or_checks_differ():
    flag = TensorType("bool")
    plain = FrozenGraph(1, [flag], [], [], [0])
    assert plain != FrozenGraph(1, [TensorType("int8")], [], [], [0])
    assert plain != FrozenGraph(1, [flag], [], [], [0], [FrozenCheck(0, (), Descriptor("TgError", "a"))])
    assert plain != "graph"


@pytest.mark.parametrize(("a", "b"), [(0.0, -0.0), (1.0, 1), (1.0, np.float32(1.0)), (1, True), ([1.0], 1.0)])
def test_constants_that_differ_in_a_bit_make_different_graphs(a, b):
    assert with_constant(np.array(a)) != with_constant(np.array(b))
    assert with_constant(np.array(a)) == with_constant(np.array(a))


def test_frozen_graphs_are_immutable():
    with pytest.raises(AttributeError, match=r"FrozenGraph\.outputs cannot be set"):
        model().outputs = ()


def test_frozen_graphs_make_the_round_trip_through_pickle():
    graph = model()
    found = pickle.loads(pickle.dumps(graph))
    assert found == graph
    assert found.names == graph.names
    assert found.types == graph.types


def test_a_pickled_graph_keeps_inner_graphs_and_checks():
    x = tg.vector("x")
    graph = freeze([x], [tg.call(tg.max, x)])
    found = pickle.loads(pickle.dumps(graph))
    assert found == graph
    with pytest.raises(tg.DomainError):
        interpret(found, [np.zeros(0)])


def test_each_value_dies_after_its_last_use_and_outputs_never():
    x = tg.vector("x")
    a = tg.exp(x)
    b = tg.sin(a)
    c = a + b
    d = tg.cos(c)
    graph = freeze([x], [d, b])
    uses = graph.last_uses()
    dying = [k for each in uses for k in each]
    kept = {*graph.outputs, *range(graph.arity + len(graph.constants))}
    assert len(dying) == len(set(dying))
    assert set(dying) == set(range(len(graph.types))) - kept
    for at, each in enumerate(uses):
        assert all(k not in node.inputs for node in graph.nodes[at + 1 :] for k in each)


def test_a_result_that_nobody_reads_dies_at_once():
    graph = FrozenGraph(1, [X, X, X], [], [Node(tg.exp.op, (0,), (1,)), Node(tg.sin.op, (0,), (2,))], [2])
    assert graph.last_uses() == ((1,), ())


def test_what_a_check_reads_lives_to_the_end():
    x = tg.vector("x")
    graph = freeze([x], [tg.max(x)])
    dying = {k for each in graph.last_uses() for k in each}
    assert graph.checks
    assert all(c.condition not in dying and not dying & set(c.values) for c in graph.checks)


def test_a_graph_inlined_over_its_own_inputs_is_the_same_graph():
    graph = model()
    inputs = [tg.tensor(shape=t.shape, dtype=t.dtype) for t in graph.input_types]
    assert freeze(inputs, graph.instantiate(inputs)) == graph


def test_what_is_inlined_has_the_lines_of_the_graph_it_comes_from():
    graph = model()
    x = tg.vector("x")
    y, _ = graph.instantiate([x])
    assert y.loc.code is model.__code__


def test_symbolic_types_relate_the_lengths_of_results_to_those_of_inputs():
    x = tg.matrix("x")
    graph = freeze([x], [tg.concatenate([x, x], axis=0), x.T])
    (rows, columns) = graph.symbolic[0].shape
    doubled, turned = (graph.symbolic[k].shape for k in graph.outputs)
    assert same(doubled[0], 2 * rows)
    assert same(doubled[1], columns)
    assert (same(turned[0], columns), same(turned[1], rows)) == (True, True)


def test_lengths_that_a_check_makes_equal_are_one_in_the_symbolic_types():
    x, y = tg.vector("x"), tg.vector("y")
    graph = freeze([x, y], [x + y, tg.exp(y)])
    assert len(graph.checks) == 1
    shapes = [graph.symbolic[k].shape[0] for k in graph.outputs]
    assert same(*shapes)


def test_symbolic_types_keep_what_is_known_statically():
    x = tg.tensor("x", shape=(None, 3))
    graph = freeze([x], [tg.exp(x).T])
    assert all(
        b is None or same(a, b)
        for found, declared in zip(graph.symbolic, graph.types, strict=True)
        for a, b in zip(found.shape, declared.shape, strict=True)
    )


def test_interpreting_raises_for_the_first_check_in_graph_order():
    x = tg.vector("x")
    graph = freeze([x], [tg.max(x), x[5]])
    with pytest.raises(tg.DomainError, match="no elements"):
        interpret(graph, [np.zeros(0)])
    with pytest.raises(tg.BoundsError, match="index 5 is out of bounds for an axis of length 2"):
        interpret(graph, [np.zeros(2)])


def test_origins_follow_the_lines_of_a_program_downwards():
    x = tg.vector("x")
    y = tg.exp(x)
    z = tg.sin(y)
    origins = freeze([x], [z]).origins
    lines = [origins[k].locs[0].line for k in sorted(origins)]
    assert all(b == a + 1 for a, b in pairwise(lines))
