"""Loops of inner graphs, in Python: a call of the step's function for each, evaluated every hundred steps.

MLX has no control flow, and a graph of thousands of steps would hold all that they compute. Where the steps have checks
their statuses are looked at when they are evaluated: the steps after one that fails are computed up to then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import STATUS_LENGTH
from tg.backend import loops as t
from tg_mlx.arrays import NATIVE, copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tg.backend import Rule

STEPS: Final = 100  # that are evaluated at once


def scan(op: t.Scan, *operands: Any, graphs: Sequence[Callable[..., Sequence[Any]]]) -> Any:
    """A loop over the steps; what a failing check has left out of the traces is 0."""
    (step,) = graphs
    carries, sequences, captured = op.parts(operands)
    n, has_checks = op.carries, bool(op.body.checks)
    length = max(0, int(op.length if op.length is not None else operands[0]))
    parts: list[list[Any]] = [[] for _ in range(op.traces)]
    status = mx.zeros(STATUS_LENGTH, mx.int64)
    for places in _parts(length, reverse=op.reverse):
        trace_rows: list[Sequence[Any]] = []
        statuses: dict[int, Any] = {}  # by places
        for place in places:
            outputs = step(*carries, *(x[place] for x in sequences), *captured)
            carries = outputs[:n]
            trace_rows.append(outputs[n : n + op.traces])
            if has_checks and outputs[-1] is not None:
                statuses[place] = outputs[-1]
        if op.reverse:
            trace_rows.reverse()
        columns = [mx.stack([*column]) for column in zip(*trace_rows, strict=True)]
        for part, rows in zip(parts, columns, strict=True):
            part.append(rows)
        mx.eval(carries, columns, [*statuses.values()])
        if statuses:
            status = _first_failure(statuses)
            if status[0]:
                break
    traces = [_joined(part, length, reverse=op.reverse) for part in parts] if length else _empty(op, operands)
    results = [*map(copy, carries), *traces]  # a step may give an operand, a constant, or two carries in one
    if has_checks:
        results.append(status)
    return results[0] if len(results) == 1 else tuple(results)


def _parts(length: int, *, reverse: bool) -> Iterator[range]:
    """The steps that are evaluated at once, each as places in the order of steps."""
    for first in range(0, length, STEPS):
        places = range(first, min(first + STEPS, length))
        yield range(length - 1 - places[0], length - 2 - places[-1], -1) if reverse else places


def _first_failure(statuses: Mapping[int, Any]) -> Any:
    """The first status that tells of a failure, of those of steps by their places; zeros where none does."""
    codes: Any = mx.stack([*statuses.values()])[:, 0].tolist()
    first = next((place for place, code in zip(statuses, codes, strict=True) if code), None)
    return mx.zeros(STATUS_LENGTH, mx.int64) if first is None else _told(statuses[first], 0, first)


def _told(status: Any, before: int, step: int) -> Any:
    """The status of a failing check that comes behind so many others, in a step of a loop."""
    new_status = status + mx.array([before, *[0] * (STATUS_LENGTH - 1)], mx.int64)
    new_status[-1] = step
    return new_status


def _joined(parts: Sequence[Any], length: int, *, reverse: bool) -> Any:
    """A trace of its parts, in the order of steps; zeros where there are too few."""
    missing = length - sum(x.shape[0] for x in parts)
    if missing:
        parts = [*parts, mx.zeros((missing, *parts[0].shape[1:]), parts[0].dtype)]
    return mx.concatenate([*reversed(parts)] if reverse else [*parts]) if len(parts) > 1 else parts[0]


def _empty(op: t.Scan, operands: Sequence[Any]) -> list[Any]:
    types = op.body.output_types[op.carries :]
    shapes = op.trace_shapes(operands)
    return [mx.zeros((0, *shape), NATIVE[t.dtype]) for shape, t in zip(shapes, types, strict=True)]


def while_loop(op: t.While, *operands: Any, graphs: Sequence[Callable[..., Sequence[Any]]]) -> Any:
    """A loop as long as the condition holds and no check fails; each condition is evaluated."""
    condition, body = graphs
    n, captured, steps = op.carries, operands[op.carries :], 0
    status = mx.zeros(STATUS_LENGTH, mx.int64)
    carries: Sequence[Any] = operands[:n]
    rows: list[Sequence[Any]] = []
    while op.max_steps is None or steps < op.max_steps:
        goes_on, *told = condition(*carries, *captured)
        if op.condition.checks and told[-1] is not None and told[-1][0]:
            status = _told(told[-1], 0, steps)
            break
        if not goes_on:
            break
        outputs = body(*carries, *captured)
        if op.body.checks and outputs[-1] is not None and outputs[-1][0]:
            status = _told(outputs[-1], len(op.condition.checks), steps)
            break
        carries = outputs[:n]
        rows.append(outputs[n : n + op.traces])
        mx.eval(carries, rows[-1])
        steps += 1
    traces = [mx.stack([*column]) for column in zip(*rows, strict=True)]
    missing = (op.max_steps or 0) - steps
    types, shapes = op.body.output_types[n:], op.trace_shapes(operands)
    zeros = [mx.zeros((missing, *shape), NATIVE[t.dtype]) for shape, t in zip(shapes, types, strict=True)]
    whole = [mx.concatenate([*pair]) for pair in zip(traces, zeros, strict=True)] if traces else zeros
    results = (*map(copy, carries), mx.array(steps, mx.int64), *whole)
    return (*results, status) if op.inner_descriptors else results


def cond(op: t.Cond, index: Any, *operands: Any, graphs: Sequence[Callable[..., Sequence[Any]]]) -> Any:
    """The branch that runs: the number is evaluated."""
    k = op.branch(int(index.item()))
    outputs = graphs[k](*operands)
    results = [*map(copy, outputs[: len(op.branches[k].outputs)])]
    if op.inner_descriptors:
        status = mx.zeros(STATUS_LENGTH, mx.int64)
        if op.branches[k].checks and outputs[-1] is not None:
            before = mx.array([op.first_check(k), *[0] * (STATUS_LENGTH - 1)], mx.int64)
            status = mx.where(outputs[-1][0] != 0, outputs[-1] + before, outputs[-1])
        results.append(status)
    return results[0] if len(results) == 1 else tuple(results)


RULES: Final[dict[object, Rule]] = {t.Scan: scan, t.While: while_loop, t.Cond: cond}
