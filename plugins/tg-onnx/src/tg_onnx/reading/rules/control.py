"""Graphs inside nodes: If, Loop and Scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import tg
from tg.backend import message
from tg_onnx.reading.elements import BY_DTYPE
from tg_onnx.reading.values import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import GraphProto

    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules

ENDLESS: Final = 2**62  # numbers of steps from which a loop is one without a number
MOST_UNROLLED: Final = 64  # steps of a loop whose values change their shapes


def body_of(node: Node, graph: GraphProto, operands: Sequence[Value]) -> list[Value]:
    """The results of a graph inside a node for these operands."""
    scope = node.scope.inside()
    if len(operands) != len(graph.input):
        node.refuse(f"a graph of {len(graph.input)} inputs", f"one of {len(operands)}")
    scope.values = {info.name: v for info, v in zip(graph.input, operands, strict=True)}
    return scope.read(graph)


def _if(node: Node) -> list[Value]:
    """One of two graphs; where the condition is known now, the other is not read."""
    data = node.value(0).data
    then, otherwise = node.graph("then_branch"), node.graph("else_branch")
    if data is not None:
        return body_of(node, then if bool(data.reshape(())) else otherwise, [])
    kinds: list[Any] = []

    def branch(graph: GraphProto) -> list[Variable]:
        values = body_of(node, graph, [])
        kinds.append([v.element for v in values])
        return [v.variable for v in values]

    try:
        results = tg.cond(tg.reshape(node[0], ()), lambda: branch(then), lambda: branch(otherwise))
    except (tg.ShapeError, tg.DtypeError, tg.InputError) as error:
        raise _differ(node, "branches", error) from error
    return [Value(v, kind) for v, kind in zip(results, kinds[0], strict=True)]


def _differ(node: Node, what: str, error: Exception) -> tg.NoRuleError:
    first = str(error).splitlines()[0]
    hint = node.scope.remedy(node[0]) if what == "branches" else None
    return tg.NoRuleError(message(f"{node.place}: found {what} of several types ({first}), needed one", hint=hint))


class _StopsEarly(Exception):  # noqa: N818 (a signal to read the body in another way)
    """The body computes a condition of its own."""


def _loop(node: Node) -> list[Value]:
    """A graph repeated: a number of times, as long as a condition holds, or both."""
    graph = node.graph("body")
    carried = [node.value(k) for k in range(2, len(node.inputs))]
    condition = node.value(1) if node.has(1) else None
    start = True if condition is None else condition.data
    if start is not None and not isinstance(start, bool):
        start = bool(start.reshape(()))
    limit = _limit(node)
    try:
        return _counted(node, graph, carried, condition if start is None else None, limit if start is not False else 0)
    except _StopsEarly:
        return _conditional(node, graph, carried, condition, limit)
    except (tg.ShapeError, tg.DtypeError) as error:
        if isinstance(limit, int) and limit <= MOST_UNROLLED and start is True:
            return _unrolled(node, graph, carried, limit)
        raise _differ(node, "values of a loop", error) from error


def _limit(node: Node) -> Any:
    """The number of steps: an int, a length or a scalar; None for none."""
    if not node.has(0):
        return None
    lengths = node.value(0).lengths
    if lengths is None or lengths.size != 1:
        raise tg.InputError(message(f"{node.place}: found {node[0].type} as the number of steps, needed an int64"))
    (limit,) = lengths.flat
    return None if isinstance(limit, int) and limit >= ENDLESS else limit


def _always(value: Value) -> bool:
    data = value.data
    return data is not None and bool(data.reshape(()))


def _counted(node: Node, graph: GraphProto, carried: list[Value], condition: Value | None, limit: Any) -> list[Value]:
    """A loop whose body never ends it."""
    kinds: list[Any] = []

    def step(carry: Any, _: Any) -> Any:
        number, *state = carry
        values = [Value(v, c.element) for v, c in zip(state, carried, strict=True)]
        true = Value(tg.constant(True), BY_DTYPE["bool"])
        ended, *results = body_of(node, graph, [Value(number), true, *values])
        if not _always(ended) or limit is None:
            raise _StopsEarly
        kinds[:] = [v.element for v in results]
        variables = [v.variable for v in results]
        return (number + 1, *variables[: len(state)]), tuple(variables[len(state) :])

    steps = limit
    if condition is not None:
        steps = tg.where(tg.reshape(condition.variable, ()), tg.as_variable(limit if limit is not None else 0), 0)
    start = (tg.constant(0, "int64"), *[v.variable for v in carried])
    if isinstance(steps, int) and steps == 0 and not carried:
        step(start, None)
    last, results = tg.scan(step, start, None, length=steps if steps is not None else 1)
    return [Value(v, kind) for v, kind in zip((*last[1:], *results), kinds, strict=True)]


def _conditional(
    node: Node, graph: GraphProto, carried: list[Value], condition: Value | None, limit: Any
) -> list[Value]:
    """A loop that its body may end; results of steps stand in arrays of the greatest number, cut at the end."""
    kinds: list[Any] = []
    true = Value(tg.constant(True), BY_DTYPE["bool"])

    def results_of(number: Variable, state: Sequence[Variable]) -> tuple[Variable, list[Variable]]:
        values = [Value(v, c.element) for v, c in zip(state, carried, strict=True)]
        ended, *results = body_of(node, graph, [Value(number), true, *values])
        kinds[:] = [v.element for v in results]
        return tg.reshape(ended.variable, ()), [v.variable for v in results]

    zero = tg.constant(0, "int64")
    _, trial = results_of(
        tg.scalar("step", dtype="int64"), [tg.tensor(None, v.variable.dtype, v.variable.type.shape) for v in carried]
    )
    collected = trial[len(carried) :]
    if collected and limit is None:
        node.refuse("results of each step of a loop without a number of steps", "one with a greatest number")
    shapes: list[Any] = [v.type.shape for v in collected]
    if any(n is None for shape in shapes for n in shape):
        node.refuse("results of steps whose lengths are open", "static lengths")
    arrays = [tg.zeros((limit, *shape), v.dtype) for v, shape in zip(collected, shapes, strict=True)]
    first = tg.constant(True) if condition is None else tg.reshape(condition.variable, ())

    def goes_on(carry: Any) -> Variable:
        number, more = carry[:2]
        return more if limit is None else tg.logical_and(more, number < limit)

    def step(carry: Any) -> Any:
        number, _, state, rows = carry
        more, results = results_of(number, state)
        new = [r.at[number].set(v) for r, v in zip(rows, results[len(carried) :], strict=True)]
        return number + 1, more, results[: len(carried)], new

    most = limit if isinstance(limit, int) else None
    try:
        init = (zero, first, [v.variable for v in carried], arrays)
        count, _, state, rows = tg.while_loop(goes_on, step, init, max_steps=most)
    except (tg.ShapeError, tg.DtypeError) as error:
        raise _differ(node, "values of a loop", error) from error
    variables = [*state, *[r[:count] for r in rows]]
    return [Value(v, kind) for v, kind in zip(variables, kinds, strict=True)]


def _unrolled(node: Node, graph: GraphProto, carried: list[Value], steps: int) -> list[Value]:
    """A loop of few steps, written out, since its values change their shapes."""
    true = Value(tg.constant(True), BY_DTYPE["bool"])
    rows: list[list[Value]] = []
    state = carried
    for number in range(steps):
        ended, *results = body_of(node, graph, [Value(tg.constant(number, "int64")), true, *state])
        if not _always(ended):
            node.refuse("values of a loop whose shapes change, and a condition", "one of them")
        state, collected = results[: len(carried)], results[len(carried) :]
        rows.append(collected)
    if not rows and len(graph.output) - 1 > len(carried):
        node.refuse("results of no steps", "at least one step")
    stacked = [
        Value(tg.stack([row[k].variable for row in rows]), rows[0][k].element)
        for k in range(len(graph.output) - 1 - len(carried))
    ]
    return [*state, *stacked]


def _scan(node: Node) -> list[Value]:
    """A graph applied to slices of arrays, with a state from step to step (from version 9 on)."""
    return scanned(node, [node.value(k) for k in range(len(node.inputs))])


def scanned(node: Node, operands: list[Value]) -> list[Value]:
    """The last states and the results of all steps."""
    graph, count = node.graph("body"), node.number("num_scan_inputs", 0, len(operands))
    states, sequences = operands[: len(operands) - count], operands[len(operands) - count :]
    axes = node.attr("scan_input_axes") or [0] * count
    ways = node.attr("scan_input_directions") or node.attr("directions") or [0] * count
    xs = tuple(
        tg.flip(moved, 0) if back else moved
        for v, axis, back in zip(sequences, axes, ways, strict=True)
        for moved in (tg.moveaxis(v.variable, axis, 0),)
    )
    kinds: list[Any] = []

    def step(carry: Any, parts: Any) -> Any:
        values = [Value(v, s.element) for v, s in zip((*carry, *parts), (*states, *sequences), strict=True)]
        results = body_of(node, graph, values)
        kinds[:] = [v.element for v in results]
        variables = [v.variable for v in results]
        return tuple(variables[: len(states)]), tuple(variables[len(states) :])

    try:
        last, rows = tg.scan(step, tuple(v.variable for v in states), xs)
    except (tg.ShapeError, tg.DtypeError) as error:
        raise _differ(node, "states of a scan", error) from error
    axes = node.attr("scan_output_axes") or [0] * len(rows)
    ways = node.attr("scan_output_directions") or [0] * len(rows)
    moved = [tg.moveaxis(tg.flip(v, 0) if back else v, 0, axis) for v, axis, back in zip(rows, axes, ways, strict=True)]
    return [Value(v, kind) for v, kind in zip((*last, *moved), kinds, strict=True)]


def _batched_scan(node: Node) -> list[Value]:
    """Version 8: every operand has a first axis of batches, and lengths of sequences may stand before all."""
    if node.has(0):
        node.refuse("lengths of sequences", "whole sequences")
    operands = [node.value(k) for k in range(1, len(node.inputs))]
    kinds: list[Any] = []

    def one(*variables: Variable) -> tuple[Variable, ...]:
        results = scanned(node, [Value(v, o.element) for v, o in zip(variables, operands, strict=True)])
        kinds[:] = [v.element for v in results]
        return tuple(v.variable for v in results)

    results = tg.vmap(one)(*[v.variable for v in operands])
    return [Value(v, kind) for v, kind in zip(results, kinds, strict=True)]


RULES: Final[Rules] = {
    "If": _if,
    "Loop": _loop,
    "Scan": {8: _batched_scan, 9: _scan},
}
