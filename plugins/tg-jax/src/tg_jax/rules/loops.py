"""Loops of inner graphs: `lax.scan`, and `lax.fori_loop` where the number of steps is an operand like others.

Where a step has checks the first status that is not 0 is kept: steps after it are computed, and their results not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax
import jax.numpy as jnp
from jax import lax

from tg import ShapeError
from tg.backend import STATUS_LENGTH, message
from tg.backend import loops as t
from tg_jax.rules.indexing import MAY_NOT_RUN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import Rule


def _traced(function: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """The function of an inner graph, traced as what may not run."""

    def run(*arguments: Any) -> tuple[Any, ...]:
        token = MAY_NOT_RUN.set(True)
        try:
            return function(*arguments)
        finally:
            MAY_NOT_RUN.reset(token)

    return run


def scan(op: t.Scan, *operands: Any, graphs: Sequence[Callable[..., tuple[Any, ...]]]) -> Any:
    """A loop over the steps; another number of them compiles nothing where nothing has an axis of that length."""
    (function,) = map(_traced, graphs)
    inits, sequences, captured = op.parts(operands)
    n, checked = op.carries, bool(op.body.checks)
    length = op.length if op.length is not None else operands[0]
    start = [jnp.asarray(v) for v in inits] + ([jnp.zeros(STATUS_LENGTH, jnp.int64)] if checked else [])

    def step(carries: Any, slices: Any) -> tuple[Any, Any]:
        results = function(*carries[:n], *slices, *captured)
        after = [lax.convert_element_type(v, c.dtype) for v, c in zip(results, carries[:n], strict=False)]
        if checked:  # a status None: shapes tell that none fails
            first = carries[n]
            after.append(first if results[-1] is None else _first_failure(first, results[-1]))
        return after, list(results[n : n + op.traces])

    if op.counts_only:
        results = lax.fori_loop(0, length, lambda _, carries: step(carries, ())[0], start)
    else:
        if isinstance(length, int):
            carries, traces = lax.scan(step, start, list(sequences), length, reverse=op.reverse)
        else:  # a symbol, which lax.scan takes of a sequence alone
            places = [jnp.arange(length, dtype=jnp.int64)]
            carries, traces = lax.scan(
                lambda c, rows: step(c, rows[1:]), start, [*places, *sequences], reverse=op.reverse
            )
        results = [*carries[:n], *traces, *carries[n:]]
    if checked and op.reverse:
        results[-1] = results[-1].at[-1].set(length - 1 - results[-1][-1])
    return results[0] if len(results) == 1 else tuple(results)


def _first_failure(status: Any, other: Any) -> Any:
    """The status of a loop after a step with another: as long as none has failed its last element counts steps."""
    steps = status[-1]
    told = other.at[-1].set(jnp.where(other[0] != 0, steps, steps + 1))
    return jnp.where(status[0] == 0, told, status)


def while_loop(op: t.While, *operands: Any, graphs: Sequence[Callable[..., tuple[Any, ...]]]) -> Any:
    """`lax.while_loop`, which asks behind each step, before the next: so a check in the condition has its status.

    A loop without checks carries no status: XLA's runtime takes its time for each part of a step, however little.
    """
    condition, body = map(_traced, graphs)
    n, most, captured = op.carries, op.max_steps, operands[op.carries :]
    start = [jnp.asarray(v) for v in operands[:n]]
    clear = [jnp.zeros(STATUS_LENGTH, jnp.int64)] if op.inner_descriptors else []

    def asked(carries: Sequence[Any], steps: Any) -> tuple[Any, list[Any]]:
        goes_on, *status = condition(*carries, *captured)
        may = True if most is None else steps < most
        has_status = status and status[0] is not None
        return goes_on & may, [jnp.where(may, status[0].at[-1].set(steps), *clear)] if has_status else clear

    refused = op.refused([v.shape for v in operands])

    def step(state: Any) -> Any:
        carries, steps, traces, _, _ = state
        if refused:  # no step can run on operands of such shapes: its check fails
            return carries, steps, traces, jnp.asarray(False), [_status(refused).at[-1].set(steps)]
        results = body(*carries, *captured)
        after = [lax.convert_element_type(v, c.dtype) for v, c in zip(results, carries, strict=False)]
        traces = [y.at[steps].set(v) for y, v in zip(traces, results[n : n + op.traces], strict=True)]
        may_fail = op.body.checks and results[-1] is not None
        goes_on, status = asked(after, steps + 1)
        if may_fail:
            first = shifted(results[-1], len(op.condition.checks)).at[-1].set(steps)
            status = [jnp.where(first[0] != 0, first, *status)]
        return after, steps + 1, traces, goes_on, status

    shapes = [t.shape for t in op.body.output_types[n:]] if refused else []
    if not refused:
        shapes = [y.shape for y in jax.eval_shape(body, *start, *captured)[n : n + op.traces]]
    dtypes = [t.numpy_dtype for t in op.body.output_types[n:]]
    traces = [jnp.zeros((most or 0, *shape), dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    zero = jnp.zeros((), jnp.int64)
    if most == 0:  # JAX refuses to trace how a step would write where there is no place
        return (*start, zero, *traces, *clear)

    def goes_on(state: Any) -> Any:
        return state[3] & (state[4][0][0] == 0) if clear else state[3]

    carries, steps, traces, _, status = lax.while_loop(goes_on, step, (start, zero, traces, *asked(start, zero)))
    return (*carries, steps, *traces, *status)


def cond(op: t.Cond, index: Any, *operands: Any, graphs: Sequence[Callable[..., tuple[Any, ...]]]) -> Any:
    """`lax.switch`: the branches not taken do not run, but what all give is as long as what the first does.

    A branch that cannot run on operands of such shapes is not traced: it is its check that fails.
    """
    count, types = len(op.branches[0].outputs), op.branches[0].output_types
    refused = [op.refused(k, [v.shape for v in operands]) for k in range(len(graphs))]
    # where no branch can run with such lengths, they may be any
    shapes: list[tuple[Any, ...]] = [tuple(n or 0 for n in t.shape) for t in types]
    may_run = [k for k, status in enumerate(refused) if not status]
    if may_run and any(None in t.shape for graph in op.branches for t in graph.output_types):
        shapes = [y.shape for y in jax.eval_shape(_traced(graphs[may_run[0]]), *operands)[:count]]

    def branch(k: int) -> Callable[..., Any]:
        def run(*operands: Any) -> list[Any]:
            if refused[k]:
                zeros = [jnp.zeros(shape, t.numpy_dtype) for shape, t in zip(shapes, types, strict=True)]
                return [*zeros, shifted(_status(refused[k]), op.first_check(k))]
            outputs = _traced(graphs[k])(*operands)
            results = [lax.convert_element_type(v, t.numpy_dtype) for v, t in zip(outputs[:count], types, strict=True)]
            for number, shape in enumerate(shapes):
                results[number] = _as_long(op, number, results[number], shape)
            if op.inner_descriptors:
                may_fail = op.branches[k].checks and outputs[-1] is not None
                results.append(
                    shifted(outputs[-1], op.first_check(k)) if may_fail else jnp.zeros(STATUS_LENGTH, jnp.int64)
                )
            return results

        return run

    results = lax.switch(index, [branch(k) for k in range(len(graphs))], *operands)
    return results[0] if len(results) == 1 else tuple(results)


def _as_long(op: t.Cond, number: int, y: Any, shape: tuple[int, ...]) -> Any:
    """A result of a branch that is as long as the first's.

    Where lengths of operands make it another, a check of the branch fails if it runs: what it gives is not read.

    Raises:
        ShapeError: the branch computes how long it is.
    """
    if y.shape == shape:
        return y
    if not op.has_known_lengths(number):
        both = f"{list(shape)} and {list(y.shape)}"
        hint = 'backend="perform" runs it'
        raise ShapeError(message(f"cond: result {number}: found {both}, needed one shape for XLA", hint=hint))
    return jnp.zeros(shape, y.dtype)


def _status(status: Sequence[int]) -> Any:
    """A status as an array."""
    return jnp.asarray([*status, *([0] * STATUS_LENGTH)][:STATUS_LENGTH], jnp.int64)


def shifted(status: Any, before: int) -> Any:
    """The status of a graph whose checks come behind so many others."""
    return status.at[0].add(jnp.where(status[0] != 0, before, 0)) if before else status


RULES: Final[dict[object, Rule]] = {t.Scan: scan, t.While: while_loop, t.Cond: cond}
