"""Loops of inner graphs, in Python: a call of the step's function for each, until a check in it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from tg import InputError
from tg.backend import STATUS_LENGTH, message
from tg.backend import loops as t
from tg_torch.rules.elementwise.cast import DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import Rule
    from tg_torch.place import Place


def scan(
    op: t.Scan, *operands: Any, graphs: Sequence[Callable[..., Sequence[torch.Tensor]]], context: Place
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """A loop over the steps; what they trace is written into its place, what no step has reached is 0."""
    (step,) = graphs
    carries, sequences, captured = op.parts(operands)
    n, has_checks = op.carries, bool(op.body.checks)
    length = _number_of_steps(op.length if op.length is not None else operands[0])
    slices = [_whole_rows(x, context).unbind(0) for x in sequences]
    if context.is_part and context.mesh is None and length:
        return _unrolled(op, step, carries, slices, captured, range(length))
    traces: list[torch.Tensor] = []
    rows: list[Sequence[torch.Tensor]] = []
    status = None
    for place in reversed(range(length)) if op.reverse else range(length):
        outputs = step(*carries, *(x[place] for x in slices), *captured)
        carries, values = outputs[:n], outputs[n : n + op.traces]
        if not traces:
            traces = [y.new_zeros((length, *y.shape)) for y in values]
            rows = [y.unbind(0) for y in traces]
        for row, y in zip(rows, values, strict=True):
            row[place].copy_(y)
        status = _failed(outputs[-1], 0, place) if has_checks else None
        if status is not None:
            break
    if not length:
        types = op.body.output_types[n:]
        traces = [
            torch.zeros((0, *shape), dtype=DTYPES[t.dtype], device=context.device)
            for shape, t in zip(op.trace_shapes(operands), types, strict=True)
        ]
    results = [*map(torch.clone, carries), *traces]  # a step may give an operand, a constant, or two carries in one
    if has_checks:
        held = torch.zeros(STATUS_LENGTH, dtype=torch.int64, device=context.device)
        results.append(held if status is None else status)
    return results[0] if len(results) == 1 else tuple(results)


def _number_of_steps(length: Any) -> int:
    """The number of steps, which a trace has one after the other.

    Raises:
        InputError: it is a symbol in a program that is exported for many lengths.
    """
    if isinstance(length, torch.SymInt) and torch.compiler.is_exporting():
        text = f"traceable: scan: found the symbol {length} for the number of steps, needed a number on backend 'torch'"
        hint = 'a program of PyTorch has each step of its own; backend="jax" exports loops for any number'
        raise InputError(message(text, hint=hint))
    return max(0, int(length))


def _whole_rows(x: torch.Tensor, context: Place) -> torch.Tensor:
    """A sequence of which each process has all rows, or its part of each."""
    if context.mesh is None:
        return x
    from tg_torch.spread import with_whole_axis

    return with_whole_axis(x, 0)


def _unrolled(
    op: t.Scan,
    step: Callable[..., Sequence[torch.Tensor]],
    carries: Sequence[torch.Tensor],
    slices: Sequence[Sequence[torch.Tensor]],
    captured: Sequence[torch.Tensor],
    places: Sequence[int],
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """All steps, of which no value is looked at; the status is that of the first step that fails."""
    n, has_checks = op.carries, bool(op.body.checks)
    rows: list[Sequence[torch.Tensor]] = []
    status: torch.Tensor | None = None
    for place in reversed(places) if op.reverse else places:
        outputs = step(*carries, *(x[place] for x in slices), *captured)
        carries = outputs[:n]
        rows.append(outputs[n : n + op.traces])
        if has_checks:
            told = torch.cat([outputs[-1][:-1], outputs[-1].new_full((1,), place)])
            status = told if status is None else torch.where(status[0] == 0, told, status)
    if op.reverse:
        rows.reverse()
    results = [*map(torch.clone, carries), *(torch.stack(list(column)) for column in zip(*rows, strict=True))]
    if status is not None:
        results.append(torch.where(status[0] == 0, torch.zeros_like(status), status))
    return results[0] if len(results) == 1 else tuple(results)


def while_loop(
    op: t.While, *operands: Any, graphs: Sequence[Callable[..., Sequence[torch.Tensor]]], context: Place
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """A loop as long as the condition holds and no check fails."""
    condition, body = graphs
    n, captured, status, steps = op.carries, operands[op.carries :], None, 0
    carries: Sequence[torch.Tensor] = operands[:n]
    traces: list[torch.Tensor] = []
    while op.max_steps is None or steps < op.max_steps:
        goes_on, *told = condition(*carries, *captured)
        status = _failed(told[-1], 0, steps) if op.condition.checks else None
        if status is not None or not goes_on:
            break
        outputs = body(*carries, *captured)
        status = _failed(outputs[-1], len(op.condition.checks), steps) if op.body.checks else None
        if status is not None:
            break
        carries, values = outputs[:n], outputs[n : n + op.traces]
        if not traces:
            traces = [y.new_zeros((op.max_steps or 0, *y.shape)) for y in values]
        for trace, y in zip(traces, values, strict=True):
            trace[steps] = y
        steps += 1
    if not traces:
        types = op.body.output_types[n:]
        traces = [
            torch.zeros((op.max_steps or 0, *shape), dtype=DTYPES[t.dtype], device=context.device)
            for shape, t in zip(op.trace_shapes(operands), types, strict=True)
        ]
    count = torch.tensor(steps, dtype=torch.int64, device=context.device)
    return (*map(torch.clone, carries), count, *traces, *_status(op, status, context))


def cond(
    op: t.Cond,
    index: torch.Tensor,
    *operands: Any,
    graphs: Sequence[Callable[..., Sequence[torch.Tensor]]],
    context: Place,
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """The branch that runs; where values are not known all do, and one is chosen."""
    if context.is_part and context.mesh is None:
        return _chosen(op, index, operands, graphs)
    k = op.branch(int(index))
    outputs = graphs[k](*operands)
    status = _failed(outputs[-1], op.first_check(k)) if op.branches[k].checks else None
    results = [*map(torch.clone, outputs[: len(op.branches[k].outputs)]), *_status(op, status, context)]
    return results[0] if len(results) == 1 else tuple(results)


def _chosen(
    op: t.Cond,
    index: torch.Tensor,
    operands: Sequence[Any],
    graphs: Sequence[Callable[..., Sequence[torch.Tensor]]],
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """The results of all branches, chosen by the index; beyond the last it is the last that runs."""
    results: list[torch.Tensor] = []
    for k, graph in enumerate(graphs):
        outputs, branch = [*graph(*operands)], op.branches[k]
        values = outputs[: len(branch.outputs)]
        if op.inner_descriptors:
            status = outputs[-1] if branch.checks else index.new_zeros(STATUS_LENGTH, dtype=torch.int64)
            first = torch.where(status[:1] == 0, 0, status[:1] + op.first_check(k))
            values.append(torch.cat([first, status[1:]]))
        is_last = k == len(graphs) - 1
        runs = index.to(torch.int64) >= k if is_last else index.to(torch.int64) == k
        results = [torch.where(runs, new, old) for new, old in zip(values, results, strict=True)] if results else values
    return results[0] if len(results) == 1 else tuple(results)


def _failed(status: torch.Tensor | None, before: int, step: int | None = None) -> torch.Tensor | None:
    """The status of a graph whose checks come behind so many others; None where none of them has failed.

    Args:
        step: of a loop.
    """
    if status is None or not status[0]:
        return None
    new_status = status.clone()
    new_status[0] += before
    if step is not None:
        new_status[-1] = step
    return new_status


def _status(op: t.While | t.Cond, status: torch.Tensor | None, context: Place) -> list[torch.Tensor]:
    """The status as a result, if the op has one."""
    if not op.inner_descriptors:
        return []
    return [torch.zeros(STATUS_LENGTH, dtype=torch.int64, device=context.device) if status is None else status]


RULES: Final[dict[object, Rule]] = {t.Scan: scan, t.While: while_loop, t.Cond: cond}
