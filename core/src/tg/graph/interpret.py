"""Running a frozen graph node by node with `Op.perform`: what folding, inner graphs and debugging use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.op import Op


def interpret(frozen: FrozenGraph, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a frozen graph for NumPy arrays; a check that fails raises at once.

    Raises:
        TgError: as a check's descriptor says, or as an op's `perform` does.
    """
    outputs, status = interpret_with_status(frozen, arrays)
    if status:
        raise frozen.checks[status[0] - 1].descriptor.build(status[1:])
    return outputs


def interpret_with_status(frozen: FrozenGraph, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The outputs and (), or nothing and what the first failing check reports: 1 + its number, and its values."""
    with np.errstate(all="ignore"):
        return prepared(frozen).run(arrays)


def prepared(frozen: FrozenGraph) -> Prepared:
    """The graph made ready to be run many times, once."""
    runner: Prepared | None = frozen.prepared
    if runner is None:
        runner = Prepared(frozen)
        frozen.keep_prepared(runner)
    return runner


@final
class Prepared:
    """The steps of a frozen graph with all that does not change from run to run."""

    __slots__ = ("_constants", "_frozen", "_places", "_steps")

    def __init__(self, frozen: FrozenGraph) -> None:
        self._frozen = frozen
        self._constants = [c.data for c in frozen.constants]
        self._places: list[Any] = [None] * (len(frozen.types) - frozen.arity - len(self._constants))
        conditions = frozenset(c.condition for c in frozen.checks)
        uses = [tuple(k for k in dying if frozen.types[k].ndim) for dying in frozen.last_uses()]  # numbers may stay
        self._steps = [
            (node.op.perform, node.inputs, node.outputs, tuple(k for k in node.outputs if k in conditions), dying)
            for node, dying in zip(frozen.nodes[: always_fails(frozen)], uses, strict=False)
        ]

    def run(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
        """The outputs and (), or nothing and the status of the first failing check."""
        frozen, values = self._frozen, [*arrays, *self._constants, *self._places]
        for perform, inputs, outputs, conditions, dying in self._steps:
            results = perform(*[values[i] for i in inputs])
            if len(outputs) == 1:  # as most have: zip takes as long as NumPy does for a number
                (values[outputs[0]],) = results
            else:
                for number, value in zip(outputs, results, strict=True):
                    values[number] = value
            if conditions and not all(values[k] for k in conditions):
                return (), failure(frozen, values)
            for k in dying:
                values[k] = None
        status = failure(frozen, values) if frozen.checks else ()
        return (() if status else tuple([values[k] for k in frozen.outputs])), status


def always_fails(frozen: FrozenGraph) -> int | None:
    """The number of nodes that run before a check whose condition is a constant False: those earlier checks need."""
    constants = (frozen.constant(check.condition) for check in frozen.checks)
    failing = next((k for k, c in enumerate(constants) if c is not None and not c.data), None)
    if failing is None:
        return None
    needed = {check.condition for check in frozen.checks[:failing]}
    return max((k + 1 for k, node in enumerate(frozen.nodes) if not needed.isdisjoint(node.outputs)), default=0)


def failure(frozen: FrozenGraph, values: Sequence[Any]) -> tuple[int, ...]:
    """The report of the first check that is known to have failed, () if none has; its values are computed here."""
    for k, check in enumerate(frozen.checks):
        condition = values[check.condition]
        if condition is not None and not condition:
            return (k + 1, *(int(evaluate_one(frozen, number, values)) for number in check.values))
    return ()


def evaluate_one(frozen: FrozenGraph, number: int, values: Sequence[Any]) -> Any:
    """One value of a graph from those already computed."""
    memo = list(values)
    makers = {out: node for node in frozen.nodes for out in node.outputs}
    stack = [number]
    while stack:
        top = stack[-1]
        if memo[top] is not None:
            stack.pop()
            continue
        node = makers[top]
        missing = [k for k in node.inputs if memo[k] is None]
        if missing:
            stack.extend(missing)
            continue
        for out, value in zip(node.outputs, node.op.perform(*(memo[k] for k in node.inputs)), strict=True):
            memo[out] = value
    return memo[number]


def interpret_expansion(op: Op, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The results of an op that has only an expansion, for NumPy arrays."""
    inputs = tuple(Variable(TensorType(a.dtype, a.shape)) for a in arrays)
    outputs = op.expansion(*inputs)
    return interpret(freeze(inputs, (outputs,) if isinstance(outputs, Variable) else outputs), arrays)


def with_lengths(graph: FrozenGraph, lengths: Mapping[int, Any]) -> dict[int, Any]:
    """Values of a graph that follow from constants and lengths, by number: what can be lengths, and conditions of them.

    Args:
        lengths: int64 scalars that are known beforehand.
    """
    by_number = {k: c.data for k, c in enumerate(graph.constants, graph.arity) if not c.type.ndim} | dict(lengths)
    for node in graph.nodes:
        types = [graph.types[k] for k in node.outputs]
        is_length = all(not t.ndim and t.dtype in ("int64", "bool") for t in types)
        if is_length and node.op.pointwise and by_number.keys() >= set(node.inputs):
            with np.errstate(all="ignore"):
                by_number.update(zip(node.outputs, node.op.perform(*(by_number[k] for k in node.inputs)), strict=True))
    return by_number
