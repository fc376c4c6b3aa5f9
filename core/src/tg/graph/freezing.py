"""Freezing: a function graph as a closed, immutable program."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tg.graph.frozen import FrozenCheck, FrozenGraph, Node, Origin
from tg.graph.nodes import Constant
from tg.graph.traversal import sorted_applies

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.function_graph import FunctionGraph
    from tg.graph.nodes import Apply
    from tg.graph.op import Op


def frozen_of(graph: FunctionGraph) -> FrozenGraph:
    """The graph, its values numbered: inputs, constants, then the results of what its outputs and checks need."""
    applies = [node for node, _ in sorted_applies(graph.roots, boundary=graph.inputs)]
    number: dict[int, int] = {id(v): k for k, v in enumerate(graph.inputs)}
    constants: list[Constant] = []
    for v in itertools.chain(itertools.chain.from_iterable([node.inputs for node in applies]), graph.roots):
        if type(v) is Constant and id(v) not in number:
            number[id(v)] = len(number)
            constants.append(v)
    types = [v.type for v in (*graph.inputs, *constants)]
    nodes: list[Node] = []
    names, origins = {k: v.name for k, v in enumerate(graph.inputs) if v.name}, {}
    interned, given_names, given_origins = graph._made, graph.names, graph.origins
    for node in applies:
        operands = tuple([number[id(v)] for v in node.inputs])
        results = []
        for out in interned[id(node)]:
            number[id(out)] = len(types)
            results.append(len(types))
            types.append(out.type)
        name = given_names.get(id(node))
        if name is not None:
            names[results[0]] = name
        origin = given_origins.get(id(node))
        origins[len(nodes)] = origin if origin is not None else origin_of(node)
        nodes.append(Node(node.op, operands, tuple(results)))
    checks = [
        FrozenCheck(number[id(c.condition)], tuple([number[id(v)] for v in c.values]), c.descriptor)
        for c in graph.checks
    ]
    outs = [number[id(v)] for v in graph.outputs]
    values = itertools.chain(graph.inputs, *(interned[id(node)] for node in applies)) if graph.assumes else ()
    assumed = {number[id(v)]: v.assumed for v in values if hasattr(v, "assumed")}
    return FrozenGraph(len(graph.inputs), types, constants, nodes, outs, checks, names, origins, assumed)


def origin_of(node: Apply) -> Origin:
    """The user's line of an apply that no rewrite has made, and the rules noted there."""
    return Origin((node.loc,), node.loc.rules) if node.loc is not None else Origin()


def holds(frozen: FrozenGraph, is_one: Callable[[Op], bool]) -> bool:
    """Whether a graph, or one inside it, has an op of some kind."""
    return any(
        is_one(node.op) or any(holds(inner, is_one) for inner in node.op.inner_graphs()) for node in frozen.nodes
    )
