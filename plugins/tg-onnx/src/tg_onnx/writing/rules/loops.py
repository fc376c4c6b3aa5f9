"""Loops and branches: `Scan`, `Loop` and `If`, whose graphs read what they capture from the graph around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.backend import Call, loops

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg_onnx.writing.scope import Scope, Value


def _inputs(body: Scope, operands: Sequence[Value], *, are_slices: bool = False) -> list[Value]:
    """New values inside a graph, like operands or like their slices."""
    return [body.input(v.dtype, v.shape[1:] if are_slices else v.shape) for v in operands]


def scan(op: Any, w: Scope, *operands: Value) -> tuple[Value, ...]:
    """A `Scan`; one without sequences runs over the numbers of its steps."""
    carries, sequences, captured = op.parts(operands)
    body = w.inner()
    if not sequences:
        n = operands[0] if op.length is None else w.constant(np.int64(op.length))
        ends = w.constant(np.int64(0)), n, w.constant(np.int64(1))
        over = [w("Range", *ends, shape=(op.length,))]
    else:
        over = list(sequences)
    inside = _inputs(body, carries), _inputs(body, over, are_slices=True)
    slices = inside[1] if sequences else []
    outputs = body.write(op.body, [*inside[0], *slices, *captured])
    graph = body.graph([*inside[0], *inside[1]], outputs)
    attributes: dict[str, Any] = {"num_scan_inputs": len(over)}
    if op.reverse:
        attributes["scan_input_directions"] = [1] * len(over)
        if op.traces:
            attributes["scan_output_directions"] = [1] * op.traces
    count = len(outputs)
    types = [(v.dtype, v.shape) for v in w.results[:count]]
    return w.several("Scan", [*carries, *over], types, body=graph, **attributes)


def while_(op: Any, w: Scope, *operands: Value) -> tuple[Value, ...]:
    """A `Loop`, whose condition is computed before the first step and after each; traces end in zeros."""
    carries, captured = list(operands[: op.carries]), list(operands[op.carries :])
    zero, one = w.constant(np.int64(0)), w.constant(np.int64(1))
    (goes_on,) = w.write(op.condition, operands)
    body = w.inner()
    at, before = body.input("int64", ()), body.input("bool", ())
    inside, steps = _inputs(body, carries), body.input("int64", ())
    outputs = body.write(op.body, [*inside, *captured])
    after = outputs[: op.carries]
    (again,) = body.write(op.condition, [*after, *captured])
    counted = body("Add", steps, one)
    graph = body.graph([at, before, *inside, steps], [again, *after, counted, *outputs[op.carries :]])
    most = None if op.max_steps is None else w.constant(np.int64(op.max_steps))
    results = w.results[: op.carries + 1 + op.traces]
    types = [(v.dtype, v.shape) for v in results[: op.carries + 1]]
    types += [(v.dtype, (None, *v.shape[1:])) for v in results[op.carries + 1 :]]
    results_of_loop = w.several("Loop", [most, goes_on, *carries, zero], types, body=graph)
    traces = results_of_loop[op.carries + 1 :]
    padded = [
        _filled(w, v, like.shape, results_of_loop[op.carries])
        for v, like in zip(traces, results[op.carries + 1 :], strict=True)
    ]
    return (*results_of_loop[: op.carries + 1], *padded)


def _filled(w: Scope, v: Value, shape: Sequence[Any], steps: Value) -> Value:
    """Slices of the steps that were results_of_loop, and zeros for those that were not."""
    rest = w("Sub", w.constant(np.int64(shape[0])), steps)
    sizes = w.sizes([rest, *(n if isinstance(n, int) else w.length(v, k) for k, n in enumerate(shape) if k)])
    zeros = w("Expand", w.like(v, 0), sizes, shape=(None, *shape[1:]))
    return w("Concat", v, zeros, axis=0, shape=shape)


def cond(op: Any, w: Scope, index: Value, *operands: Value) -> tuple[Value, ...]:
    """An `If`, or several, one in the other."""
    return _chosen(
        op.branches, w, index, operands, [(v.dtype, v.shape) for v in w.results[: len(op.branches[0].outputs)]]
    )


def _chosen(
    branches: Sequence[Any], w: Scope, index: Value, operands: Sequence[Value], types: Sequence[Any]
) -> tuple[Value, ...]:
    if len(branches) == 1:
        return w.write(branches[0], operands)
    if len(branches) == 2 and index.is_by("Cast") and index.operands[0].dtype == "bool":
        later = index.operands[0]
    else:
        later = w("Greater", index, w.constant(np.int64(0)))
    first, other = w.inner(), w.inner()
    rest = index if len(branches) == 2 else other("Sub", index, w.constant(np.int64(1)))
    graphs = {
        "else_branch": first.graph([], first.write(branches[0], operands)),
        "then_branch": other.graph([], _chosen(branches[1:], other, rest, operands, types)),
    }
    return w.several("If", [later], types, **graphs)


RULES: Final[Mapping[object, Callable[..., Any]]] = {
    loops.Scan: scan,
    loops.While: while_,
    loops.Cond: cond,
    Call: lambda op, w, *operands: w.write(op.graph, operands),
}
