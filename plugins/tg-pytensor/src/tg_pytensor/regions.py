"""Regions of a graph: nodes that are computed together, no path between two of which leads through another one."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from pytensor.graph.basic import Constant
from pytensor.graph.fg import FunctionGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytensor.graph.basic import Apply, Variable

SLICES = ("MakeSlice",)  # they have no array: every region that needs one makes it by itself


class Partition(NamedTuple):
    """A graph in which every region is one node."""

    graph: FunctionGraph
    names: dict[Variable, Variable]
    """The variables of the graph by those of the one that it was made of, as far as they are outside of regions."""
    left: tuple[Apply, ...]
    """The nodes, of the graph that it was made of, that are in no region."""
    origins: dict[Apply, Apply]
    """By the nodes of the graph those that they were; by that of a region the last of its nodes."""


def partition(fgraph: FunctionGraph, left: set[Apply], region: Callable[..., Any]) -> Partition | None:
    """The graph in which the nodes that are not left are in regions; None if one of these could not be made.

    A node's stage is how often its operands, and theirs, go over from a region to what is left or back. All of one
    stage can be computed together, and no two regions more than that are ever needed one after the other.

    Args:
        fgraph: a graph of PyTensor.
        left: nodes that are in no region.
        region: makes an op for inputs, outputs and nodes (the originals by those that it is given), or None.
    """
    order = fgraph.toposort()
    left = left | lazy(fgraph, left, order)
    stages = stages_of(order, left, fgraph.orderings())
    names: dict[Variable, Variable] = {v: v.clone() for v in fgraph.inputs}
    for old, new in names.items():
        new.owner = None
        names[old] = new
    origins: dict[Apply, Apply] = {}
    successes = []
    for stage, nodes in itertools.groupby(sorted(order, key=stages.__getitem__), key=stages.__getitem__):
        if stage % 2:
            for node in nodes:
                origins[copied(node, names)] = node
        else:
            successes.append(add_region(list(nodes), fgraph, names, origins, region))
    if not all(successes):
        return None
    outputs = [names.get(v, v) for v in fgraph.outputs]
    updates = getattr(fgraph, "update_mapping", None)
    graph = FunctionGraph([names[v] for v in fgraph.inputs], outputs, clone=False, update_mapping=updates)
    return Partition(graph, {**names, **constants(graph)}, tuple(n for n in order if n in left), origins)


def constants(graph: FunctionGraph) -> dict[Variable, Variable]:
    """The constants of a graph, which stand for themselves."""
    return {v: v for v in graph.variables if isinstance(v, Constant)}


def stages_of(order: Iterable[Apply], left: set[Apply], before: Any) -> dict[Apply, int]:
    """The stage of every node: an odd one of those that are left, an even one of others."""
    stages: dict[Apply, int] = {}
    for node in order:
        own = int(node in left)
        earlier = [stages[v.owner] for v in node.inputs if v.owner is not None]
        earlier += [stages[other] for other in before.get(node, ())]
        stages[node] = max((k + (k % 2 != own) for k in earlier), default=own)
    return stages


def copied(node: Apply, names: dict[Variable, Variable]) -> Apply:
    """A node of variables that have names, which gives names to its outputs."""
    new = node.clone_with_new_inputs([names.get(v, v) for v in node.inputs], strict=False)
    names.update(zip(node.outputs, new.outputs, strict=True))
    return new


def add_region(
    nodes: Sequence[Apply],
    fgraph: FunctionGraph,
    names: dict[Variable, Variable],
    origins: dict[Apply, Apply],
    region: Callable[..., Any],
) -> bool:
    """Give names to what others use of a region's results; whether there is an op for it."""
    slices = [node for node in nodes if type(node.op).__name__ in SLICES]
    arrays = [node for node in nodes if node not in slices]
    inside = set(arrays)
    results = [v for node in arrays for v in node.outputs]
    outputs = [v for v in results if any(user not in inside for user, _ in fgraph.clients[v])]
    if outputs:
        inner: dict[Variable, Variable] = {}
        originals: dict[Apply, Apply] = {}
        inputs: list[Variable] = []
        for node in nodes:
            rebuilt(node, inside, inner, originals, inputs)
        op = region(tuple(inner[v] for v in inputs), [inner[v] for v in outputs], originals)
        if op is None:  # the others are tried, too: all that fails is known at once
            names.update({v: v.type() for v in outputs})
            return False
        new = op(*[names[v] for v in inputs], return_list=True)
        names.update(zip(outputs, new, strict=True))
        origins[new[0].owner] = outputs[0].owner
    for node in slices:
        origins[copied(node, names)] = node
    return True


def rebuilt(
    node: Apply,
    inside: set[Apply],
    inner: dict[Variable, Variable],
    originals: dict[Apply, Apply],
    inputs: list[Variable],
) -> None:
    """Build a node once more from a region's own inputs, which begin where its nodes do."""
    for v in node.inputs:
        if isinstance(v, Constant) or v in inner:
            continue
        if v.owner is not None and type(v.owner.op).__name__ in SLICES:
            rebuilt(v.owner, inside, inner, originals, inputs)
        else:
            inner[v] = v.type()
            inputs.append(v)
    new = node.clone_with_new_inputs([inner.get(v, v) for v in node.inputs], strict=False)
    new.tag, originals[new] = node.tag, node
    for old, out in zip(node.outputs, new.outputs, strict=True):
        out.tag = old.tag
        inner[old] = out


def lazy(fgraph: FunctionGraph, left: set[Apply], order: Sequence[Apply]) -> set[Apply]:
    """Branches, and all that is for their sake alone, of which a part is left: nothing of it may be computed early."""
    branches = [node for node in order if type(node.op).__name__ == "IfElse"]
    if not branches:
        return set()
    always = needed(fgraph.outputs, set(branches))
    nodes: set[Apply] = set()
    for node in branches:
        own = needed(node.inputs[1:], set()) - always
        if node in left or node in nodes or own & (left | nodes):
            nodes |= own | {node}
    return nodes


def needed(wanted: Iterable[Variable], branches: set[Apply]) -> set[Apply]:
    """The nodes that something is made of; of some branches only the condition."""
    nodes: set[Apply] = set()
    waiting = [v.owner for v in wanted if v.owner is not None]
    while waiting:
        node = waiting.pop()
        if node not in nodes:
            nodes.add(node)
            inputs = node.inputs[:1] if node in branches else node.inputs
            waiting.extend(v.owner for v in inputs if v.owner is not None)
    return nodes
