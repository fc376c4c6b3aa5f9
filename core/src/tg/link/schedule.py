"""In which order the nodes and checks of a graph run, and what each is the last to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tg.ops.shape import AxisLength

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tg.graph.frozen import FrozenGraph


class Run(NamedTuple):
    """Run a node; nothing after it reads the values `dying`."""

    node: int
    dying: tuple[int, ...]


class Test(NamedTuple):
    """Leave the program if a check fails."""

    check: int


def schedule(
    graph: FrozenGraph, makers: Mapping[int, int], waiting: Mapping[int, Collection[int]] | None = None
) -> list[Run | Test]:
    """Checks in their order, each after what it needs and no more, then all other nodes.

    So nothing runs that an earlier check forbids, and the first check that fails is the first of the graph.

    Args:
        waiting: nodes that write where others read, with those others: behind them and all checks, each runs as early
            as it can, and what it alone needs runs right before it.
    """
    order, waiting = _Order(graph, makers), waiting or {}
    for k, check in enumerate(graph.checks):
        order.place((check.condition, *check.values))
        order.steps.append(Test(k))
    order.place(n for n in graph.outputs if makers.get(n) not in waiting)
    order.place(n for node in waiting for n in graph.nodes[node].inputs if makers.get(n) not in waiting)
    order.place(graph.outputs)
    order.place(n for node in graph.nodes for n in node.outputs)
    steps = _brought_forward(graph, makers, order.steps, waiting) if waiting else order.steps
    return with_last_uses(graph, steps, graph.outputs)


def _brought_forward(
    graph: FrozenGraph, makers: Mapping[int, int], steps: list[int | Test], waiting: Mapping[int, Collection[int]]
) -> list[int | Test]:
    """The steps in an order of which each waiting node, with what it alone needs, runs as early as it can."""
    place = {step: at for at, step in enumerate(steps) if not isinstance(step, Test)}
    checked = max((at for at, step in enumerate(steps) if isinstance(step, Test)), default=-1)
    uses = _uses(graph, makers)
    behind: dict[int, list[int]] = {}  # steps, by the place behind which they come
    moved: set[int] = set()
    for node, others in waiting.items():
        own = _needed_alone(node, graph, makers, uses)
        needed = {makers[n] for k in own for n in graph.nodes[k].inputs if n in makers}
        at = max((place[k] for k in (*needed, *others) if k not in own), default=-1)
        later = [k for k in own if place[k] > max(at, checked)]
        behind.setdefault(max(at, checked), []).extend(later)
        moved.update(later)
    order: list[int | Test] = []
    for at in range(-1, len(steps)):
        order += [step for step in steps[max(at, 0) : at + 1] if step not in moved]
        order += sorted(behind.get(at, ()), key=lambda k: place[k])
    return order


def _uses(graph: FrozenGraph, makers: Mapping[int, int]) -> dict[int, int]:
    """The number of reads of the results of each node."""
    uses = dict.fromkeys(range(len(graph.nodes)), 0)
    read = [n for check in graph.checks for n in (check.condition, *check.values)]
    for n in (*graph.outputs, *read, *(n for node in graph.nodes for n in node.inputs)):
        if n in makers:
            uses[makers[n]] += 1
    return uses


def _needed_alone(node: int, graph: FrozenGraph, makers: Mapping[int, int], uses: Mapping[int, int]) -> set[int]:
    """A node and those whose results nothing else needs."""
    own, stack, counts = {node}, [node], dict[int, int]()
    while stack:
        for n in graph.nodes[stack.pop()].inputs:
            if n in makers:
                below = makers[n]
                counts[below] = counts.get(below, 0) + 1
                if counts[below] == uses[below]:
                    own.add(below)
                    stack.append(below)
    return own


def plan_schedule(graph: FrozenGraph, makers: Mapping[int, int], wanted: Iterable[int]) -> list[Run | Test]:
    """Only what some values need, with the checks that need nothing else but arithmetic on scalars and lengths."""
    order = _Order(graph, makers)
    wanted = sorted(wanted)
    order.place(wanted)
    values = {n for k in order.placed for n in graph.nodes[k].outputs}
    values.update(n for n in range(len(graph.types)) if n not in makers)
    for k, node in enumerate(graph.nodes):
        reads_scalars = all(n in values and graph.types[n].ndim == 0 for n in node.inputs)
        if k not in order.placed and (reads_scalars or (isinstance(node.op, AxisLength) and node.inputs[0] in values)):
            values.update(n for n in node.outputs if graph.types[n].ndim == 0)
    for k, check in enumerate(graph.checks):
        cone = (check.condition, *check.values)
        if values.issuperset(cone):
            order.place(cone)
            order.steps.append(Test(k))
    return with_last_uses(graph, order.steps, wanted)


class _Order:
    """Nodes placed one after another, each after those that make its operands."""

    def __init__(self, graph: FrozenGraph, makers: Mapping[int, int]) -> None:
        self.graph, self.makers = graph, makers
        self.steps: list[int | Test] = []
        self.placed: set[int] = set()

    def place(self, roots: Iterable[int]) -> None:
        """Place the nodes that some values need."""
        stack = [self.makers[k] for k in roots if k in self.makers][::-1]
        while stack:
            top = stack[-1]
            if top in self.placed:
                stack.pop()
                continue
            below = (self.makers[k] for k in self.graph.nodes[top].inputs if k in self.makers)
            missing = [k for k in below if k not in self.placed]
            if missing:
                stack.extend(reversed(missing))
                continue
            self.placed.add(stack.pop())
            self.steps.append(top)


def with_last_uses(graph: FrozenGraph, steps: list[int | Test], outputs: Iterable[int]) -> list[Run | Test]:
    """Steps, each node with the values that nothing reads after it; `outputs` are read in the end."""
    live = set(outputs)
    entries: list[Run | Test] = []
    for step in reversed(steps):
        if isinstance(step, Test):
            check = graph.checks[step.check]
            live.update((check.condition, *check.values))
            entries.append(step)
            continue
        node = graph.nodes[step]
        dying = tuple(k for k in dict.fromkeys((*node.inputs, *node.outputs)) if k not in live)
        live.update(dying)
        entries.append(Run(step, dying))
    return entries[::-1]
