"""What of a graph is known from shapes, and what the host must compute."""

from __future__ import annotations

import tg
from tg.graph.function_graph import freeze
from tg.link.colour import colours


def coloured(inputs, *outputs):
    graph = freeze(inputs, outputs)
    return graph, colours(graph)


def test_lengths_and_arithmetic_on_them_are_known_from_shapes() -> None:
    x = tg.vector("x")
    graph, found = coloured([x], tg.mean(x))
    known = {node.op.name for node in graph.nodes if set(node.outputs) <= found.shape}
    assert known == {"AxisLength", "Cast"}
    assert found.sizes == ()
    assert found.calls == ()


def test_a_size_made_of_lengths_needs_no_value() -> None:
    x = tg.vector("x")
    assert coloured([x], tg.zeros(x.shape[0] + 1))[1].sizes == ()


def test_a_size_made_of_a_value_is_computed_on_the_host_with_what_it_depends_on() -> None:
    n = tg.scalar("n", dtype="int64")
    graph, found = coloured([n], tg.arange(n * 2 + 1))
    assert len(found.sizes) == 1
    assert 0 in found.host
    assert not set(found.sizes) & found.shape
    assert {node.op.name for node in graph.nodes if set(node.outputs) <= found.host} >= {"multiply", "add"}


def test_arrays_of_constants_are_not_computed_on_the_host() -> None:
    graph, found = coloured([], tg.arange(5) + tg.constant([1, 2, 3, 4, 5]))
    assert not any(set(node.outputs) & found.shape for node in graph.nodes)


def test_a_call_with_sizes_inside_is_told() -> None:
    x, n = tg.vector("x"), tg.scalar("n", dtype="int64")
    _, plain = coloured([x], tg.call(tg.sum, x))
    _, sized = coloured([x, n], tg.call(lambda v, m: v[:m], x, n))
    assert plain.calls == ()
    assert len(sized.calls) == 1
