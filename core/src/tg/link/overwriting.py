"""Overwriting: new values of a program that go into the memory of inputs which its caller lends.

Where Python runs a program node by node, an interrupt may come between any two, and memory may run out. So what writes
into an input comes last, as calls that are ready to be made: functions of the library that take no memory and run no
Python, one of which is as good as the next. A caller makes all of them in one call of C (`tg.functions.lending`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.link.steps import Steps

    Writer = Callable[[int], Callable[..., Any] | None]


class Write(NamedTuple):
    """A node's function with an argument `out`, and the output and the input, by their places, that are its result."""

    function: Callable[..., Any]
    output: int
    into: int


def writes_of(
    graph: FrozenGraph,
    steps: Steps,
    pairs: Iterable[tuple[int, int]],
    roots: Sequence[Collection[int]],
    writer: Writer,
) -> dict[int, Write]:
    """The nodes that may come last, in their order, and write into inputs.

    Args:
        pairs: outputs and inputs that may share memory.
        roots: for each value those whose memory it may share.
        writer: of a node its function for that, None if it has none.
    """
    makers = {n: k for k in steps.first for n in graph.nodes[k].outputs}
    writes: dict[int, Write] = {}
    for output, into in pairs:
        node = makers.get(graph.outputs[output])
        is_new = node not in writes and all(into != w.into for w in writes.values())
        if node is not None and is_new and _fits(graph, node, into, roots):
            function = writer(node)
            if function is not None:
                writes[node] = Write(function, output, into)
    writes = {node: writes[node] for node in steps.first if node in writes}
    while True:
        wrong = _read_elsewhere(graph, steps, writes, roots) or _read_later(graph, writes, roots)
        if not wrong:
            return writes
        writes = {node: write for node, write in writes.items() if node not in wrong}


def _fits(graph: FrozenGraph, node: int, into: int, roots: Sequence[Collection[int]]) -> bool:
    """Whether the one result of a node has the shape of an input, of which it reads no view.

    Lengths that are not known are equal where the input is an operand: none of them is 1.
    """
    one, types = graph.nodes[node], graph.types
    if len(one.outputs) != 1 or types[one.outputs[0]].static != types[into].static:
        return False
    if any(into in roots[k] and k != into for k in one.inputs):
        return False
    return into in one.inputs or None not in types[into].static.shape


def _read_elsewhere(
    graph: FrozenGraph, steps: Steps, writes: dict[int, Write], roots: Sequence[Collection[int]]
) -> set[int]:
    """The nodes whose results are read by others than writes, or are outputs more than once."""
    by_value = {graph.nodes[k].outputs[0]: k for k in writes}
    others = [k for k in (*steps.first, *steps.rest) if k not in writes]
    read = {n for k in others for n in graph.nodes[k].inputs}.union(steps.conditions)
    read.update(n for place, n in enumerate(graph.outputs) if n in by_value and writes[by_value[n]].output != place)
    read.update(root for n in graph.outputs for root in roots[n] if root != n)
    return {by_value[n] for n in read if n in by_value}


def _read_later(graph: FrozenGraph, writes: dict[int, Write], roots: Sequence[Collection[int]]) -> set[int]:
    """The writes behind which another one reads what was in the input before."""
    wrong, read = set[int](), set[int]()
    for node, write in reversed(writes.items()):
        if write.into in read:
            wrong.add(node)
        read.update(root for n in graph.nodes[node].inputs for root in roots[n])
    return wrong
