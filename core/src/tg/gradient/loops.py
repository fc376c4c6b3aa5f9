"""Derivatives of loops and branches: each a loop over the derivative of the step, or a choice of derivatives."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.gradient.conditions import either, has_axes
from tg.gradient.flags import as_told, by_step, condition_of, flagged_by, inside_graph, of_slices, widths
from tg.gradient.reading import FIELDS
from tg.gradient.stable import opened
from tg.gradient.steps import pulled_step, pushed_step
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable, apply
from tg.graph.traversal import inputs_of
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import add
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater_equal, less, less_equal, where
from tg.ops.loops import Cond, Scan, While
from tg.types.dtypes import numpy_dtype
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.gradient.conditions import Condition
    from tg.gradient.selection import Supports
    from tg.graph.checks import Check

Cotangents = list[Variable | None]


def vjp_scan(
    cotangents_of: Callable[..., Cotangents],
    supports: Supports,
    op: Scan,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    cotangents: Sequence[Variable | None],
) -> Cotangents:
    """The cotangents of the operands: those of carries flow backwards, of captured values they are summed.

    Each step is computed again from the carries before it, which the loop has traced. Where the support of a cotangent
    is not everywhere, it flows beside it.
    """
    n, arity = op.carries, op.body.arity
    whole = opened(op.body)
    inner, outs, checks = whole.inputs, whole.written, whole.checks
    flows = {k: dy for k, dy in enumerate(cotangents[: len(outs)]) if dy is not None}
    regularity = functools.partial(supports.regularity.of_steps, op, inputs)
    pulled = pulled_step(cotangents_of, whole, flows, n, supports, regularity)
    if pulled is None:
        return [None] * len(inputs)
    leaves, slopes, moving, inside, flags, places = pulled
    held = [k for k in range(n + op.sequences, arity) if slopes[k] is not None]  # captured values with cotangents
    slices = [k for k in range(n, n + op.sequences) if slopes[k] is not None]
    traced = {k: slopes[k] for k in slices}
    flagged = flagged_by(inside, flags, places, slopes, inner, n, held)
    sums = {k: Variable(inner[k].type) for k in held}
    after = [_or_zeros(slopes[k], inner[k]) for k in moving] + [add(sums[k], slopes[k]) for k in held]
    after += flagged.after
    beside = inside.places(traced)  # type: ignore[arg-type]
    carries, sequences, captured = op.parts(inputs)
    starts = [_or_zeros(cotangents[k], carries[k]) for k in moving]
    starts += [zeros_like(captured[k - n - op.sequences]) for k in held]
    starts += flagged.starts(supports, {k: cotangents[k] for k in moving}, [*carries, *sequences, *captured])
    results_of_steps = [*traced.values(), *beside.values()]
    reads = {id(v) for v in inputs_of([*after, *results_of_steps, *_asked(checks)])}  # type: ignore[list-item]
    states = [k for k in range(n) if id(inner[k]) in reads]
    xs = [k for k in range(n, n + op.sequences) if id(inner[k]) in reads]
    dys = [k for k in flows if k >= n]
    rest = [k for k in range(n + op.sequences, arity) if id(inner[k]) in reads]
    before = traces_of_carries(op, inputs, outputs, states)
    of_traces, of_all = of_slices(flags, places, n)
    own = [
        *(leaves[k] for k in moving),
        *sums.values(),
        *flagged.leaves,
        *(inner[k] for k in states),
        *(inner[k] for k in xs),
        *(leaves[k] for k in dys),
        *of_traces.values(),
        *of_all.values(),
        *(inner[k] for k in rest),
    ]
    operands = [*starts, *before, *(sequences[k - n] for k in xs), *(flows[k] for k in dys)]
    conditions = supports.places({k: flows[k] for k in dys})
    operands += [*(conditions[place] for place in of_traces), *(conditions[place] for place in of_all)]
    operands += [captured[k - n - op.sequences] for k in rest]
    body = freeze(own, [*after, *results_of_steps], checks)  # type: ignore[list-item]
    loop = Scan(
        body, len(starts), len(states) + len(xs) + len(dys) + len(of_traces), op.length, not op.reverse, op.told
    )
    results = apply(loop, [*inputs[: op.first], *operands])
    totals: Cotangents = [None] * len(inputs)
    ends = results[: len(moving) + len(held)]
    for v, k in zip((*ends, *results[len(starts) :]), (*moving, *held, *slices), strict=False):
        totals[op.first + k] = v
    reached = {k: totals[op.first + k] for k in (*moving, *held, *slices)}
    told = [*results[len(ends) : len(starts)], *by_step(beside, results[len(starts) + len(slices) :], reached)]
    told += flagged.same.values()
    for k, v in supports.told(reached, told, [*flagged.places, *beside, *flagged.same]).items():  # type: ignore[assignment]
        totals[op.first + k] = v
    return totals


def traces_of_carries(
    op: Scan, inputs: Sequence[Variable], outputs: Sequence[Variable], wanted: Sequence[int]
) -> list[Variable]:
    """The carries before each step: results of the loop, or of one that traces them besides."""
    body = op.body
    traces = {number: op.carries + k for k, number in reversed(list(enumerate(body.outputs[op.carries :])))}
    if all(k in traces for k in wanted):
        return [outputs[traces[k]] for k in wanted]
    more = with_outputs(body, (*body.outputs, *wanted))
    results = apply(op.with_body(more), inputs)
    return list(results[len(body.outputs) : len(body.outputs) + len(wanted)])


def with_outputs(graph: FrozenGraph, outputs: Sequence[int]) -> FrozenGraph:
    """The same graph with other outputs."""
    parts = (graph.arity, graph.types, graph.constants, graph.nodes, outputs, graph.checks)
    return FrozenGraph(*parts, graph.names, graph.origins, graph.assumed)


def jvp_scan(
    tangents_of: Callable[..., Cotangents],
    supports: Supports,
    op: Scan,
    inputs: Sequence[Variable],
    tangents: Sequence[Variable | None],
) -> Cotangents:
    """The tangents of the results: one loop of the values, their tangents, and the supports of these."""
    n = op.carries
    ts, (carries, sequences, captured) = tangents[op.first :], op.parts(inputs)
    whole = opened(op.body)
    inner, outs, checks = whole.inputs, whole.written, whole.checks
    regularity = functools.partial(supports.regularity.of_steps, op, inputs)
    flows, slopes, moving, inside, flags, places = pushed_step(tangents_of, whole, ts, n, supports, regularity)
    others = [k for k in flows if k >= n]
    traced = {k: slopes[k] for k in range(n, len(outs)) if slopes[k] is not None}
    flagged = flagged_by(inside, flags, places, slopes, inner, n, ())
    beside = inside.places(traced)  # type: ignore[arg-type]
    after = [_or_zeros(slopes[k], inner[k]) for k in moving] + flagged.after
    starts = [_or_zeros(ts[k], carries[k]) for k in moving]
    starts += flagged.starts(supports, {k: ts[k] for k in moving}, carries)
    xs, held = [k for k in others if k < n + op.sequences], [k for k in others if k >= n + op.sequences]
    of_xs, of_all = of_slices(flags, places, n, n + op.sequences)
    of_held = of_all | {p: leaf for p, leaf in flags.items() if p[0] >= n + op.sequences}
    own = [*inner[:n], *(flows[k] for k in moving), *flagged.leaves]
    own += [*inner[n : n + op.sequences], *(flows[k] for k in xs), *of_xs.values()]
    own += [*inner[n + op.sequences :], *(flows[k] for k in held), *of_held.values()]
    conditions = supports.places({k: ts[k] for k in others})  # type: ignore[misc]
    operands = [*carries, *starts, *sequences, *(ts[k] for k in xs), *(conditions[p] for p in of_xs)]
    operands += [*captured, *(ts[k] for k in held), *(conditions[p] for p in of_held)]
    body = freeze(own, [*outs[:n], *after, *traced.values(), *beside.values()], checks)  # type: ignore[list-item]
    loop = Scan(body, n + len(starts), op.sequences + len(xs) + len(of_xs), op.length, op.reverse, op.told)
    results = apply(loop, [*inputs[: op.first], *operands])
    totals: Cotangents = [None] * (len(outs) + bool(op.body.checks))
    first = n + len(starts)
    for v, k in zip((*results[n : n + len(moving)], *results[first:]), (*moving, *traced), strict=False):
        totals[k] = v
    reached = dict(enumerate(totals))
    told = [*results[n + len(moving) : first], *by_step(beside, results[first + len(traced) :], reached)]
    return [*supports.told(reached, told, [*flagged.places, *beside]).values()]


# --- while -----------------------------------------------------------------------------------------------------------


def vjp_while(
    cotangents_of: Callable[..., Cotangents],
    supports: Supports,
    op: While,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    cotangents: Sequence[Variable | None],
) -> Cotangents:
    """The cotangents of the operands: a scan backwards over all possible steps; those that were not made do nothing."""
    n, arity, most = op.carries, op.body.arity, op.max_steps
    assert most is not None
    whole = opened(op.body)
    inner, outs, checks = whole.inputs, whole.written, whole.checks
    places = [*range(n), *range(n + 1, len(outs) + 1)]  # of the body's outputs among the results
    flows = {k: dy for k, dy in ((k, cotangents[place]) for k, place in enumerate(places)) if dy is not None}
    regularity = functools.partial(supports.regularity.of_steps, op, inputs)
    pulled = pulled_step(cotangents_of, whole, flows, n, supports, regularity)
    if pulled is None:
        return [None] * len(inputs)
    leaves, slopes, moving, inside, flags, conditioned = pulled
    held = [k for k in range(n, arity) if slopes[k] is not None]
    flagged = flagged_by(inside, flags, conditioned, slopes, inner, n, held)
    of_traces, of_all = of_slices(flags, conditioned, n)
    sums = {k: Variable(inner[k].type) for k in held}
    after = [_or_zeros(slopes[k], inner[k]) for k in moving] + [add(sums[k], slopes[k]) for k in held] + flagged.after
    reads = {id(v) for v in inputs_of([*after, *_asked(checks)])}
    states = [k for k in range(n) if id(inner[k]) in reads]
    rest = [k for k in range(n, arity) if id(inner[k]) in reads]
    dys = [k for k in flows if k >= n]
    before = _while_traces(op, inputs, outputs, states)
    own = [*(leaves[k] for k in moving), *sums.values(), *flagged.leaves]
    still = len(own)
    own += [*(inner[k] for k in states), *(leaves[k] for k in dys), *of_traces.values()]
    own += [*of_all.values(), *(inner[k] for k in rest)]
    step = Cond((freeze(own, own[:still]), freeze(own, after, checks)))
    fresh = [Variable(v.type) for v in own]
    at, count = Variable(TensorType("int64")), Variable(TensorType("int64"))
    results = apply(step, [cast_variable(less(at, count), "int64"), *fresh])
    split = len(own) - len(rest) - len(of_all)
    body = freeze([*fresh[:still], at, *fresh[still:split], *fresh[split:], count], results[:still])
    starts = [_or_zeros(cotangents[k], inputs[k]) for k in moving] + [zeros_like(inputs[k]) for k in held]
    starts += flagged.starts(supports, {k: cotangents[k] for k in moving}, inputs)
    loop = Scan(body, still, 1 + len(states) + len(dys) + len(of_traces), most, True)
    numbers = as_variable(np.arange(most, dtype=np.int64))
    conditions = supports.places({k: flows[k] for k in dys})
    operands = [*starts, numbers, *before, *(flows[k] for k in dys), *(conditions[p] for p in of_traces)]
    operands += [*(conditions[p] for p in of_all), *(inputs[k] for k in rest), outputs[n]]
    totals = apply(loop, operands)
    reached = dict(zip((*moving, *held), totals, strict=False))
    told = [*totals[len(reached) : still], *flagged.same.values()]
    stated = supports.told(reached, told, [*flagged.places, *flagged.same])
    return [stated.get(k) for k in range(len(inputs))]


def _while_traces(
    op: While, inputs: Sequence[Variable], outputs: Sequence[Variable], wanted: Sequence[int]
) -> list[Variable]:
    """The carries before each step: results of the loop, or of one that traces them besides."""
    n = op.carries
    traces = {number: n + 1 + k for k, number in reversed(list(enumerate(op.body.outputs[n:])))}
    if all(k in traces for k in wanted):
        return [outputs[traces[k]] for k in wanted]
    more = While(op.condition, with_outputs(op.body, (*op.body.outputs, *wanted)), n, op.max_steps)
    first = 1 + len(op.body.outputs)
    return list(apply(more, inputs)[first : first + len(wanted)])


def jvp_while(
    tangents_of: Callable[..., Cotangents],
    supports: Supports,
    op: While,
    inputs: Sequence[Variable],
    tangents: Sequence[Variable | None],
) -> Cotangents:
    """The tangents of the results: one loop of the values, their tangents, and the supports of these."""
    n = op.carries
    whole = opened(op.body)
    inner, outs, checks = whole.inputs, whole.written, whole.checks
    (test,), conditions = op.condition.instantiate_with_checks(inner)
    regularity = functools.partial(supports.regularity.of_steps, op, inputs)
    flows, slopes, moving, inside, flags, places = pushed_step(tangents_of, whole, tangents, n, supports, regularity)
    flagged = flagged_by(inside, flags, places, slopes, inner, n, ())
    traced = {k: slopes[k] for k in range(n, len(outs)) if slopes[k] is not None}
    beside = inside.places(traced)  # type: ignore[arg-type]
    after = [_or_zeros(slopes[k], inner[k]) for k in moving] + flagged.after
    held = [k for k in flows if k >= n]
    of_held = {place: leaf for place, leaf in flags.items() if place[0] >= n}
    own = [*inner[:n], *(flows[k] for k in moving), *flagged.leaves, *inner[n:]]
    own += [*(flows[k] for k in held), *of_held.values()]
    starts = [_or_zeros(tangents[k], inputs[k]) for k in moving]
    starts += flagged.starts(supports, {k: tangents[k] for k in moving}, inputs)
    of_places = supports.places({k: tangents[k] for k in held})  # type: ignore[misc]
    operands = [*inputs[:n], *starts, *inputs[n:], *(tangents[k] for k in held), *(of_places[p] for p in of_held)]
    body = freeze(own, [*outs[:n], *after, *traced.values(), *beside.values()], checks)  # type: ignore[list-item]
    loop = While(freeze(own, [test], conditions), body, n + len(starts), op.max_steps)
    results = apply(loop, operands)  # type: ignore[arg-type]
    totals: Cotangents = [None] * (len(outs) + 1 + bool(op.inner_descriptors))
    first = n + len(starts) + 1  # of the traces, behind the number of steps
    ends = dict(zip(moving, results[n:], strict=False)) | dict(zip(traced, results[first:], strict=False))
    told = [*results[n + len(moving) : first - 1], *by_step(beside, results[first + len(traced) :], ends)]
    for k, v in supports.told(ends, told, [*flagged.places, *beside]).items():
        totals[k if k < n else k + 1] = v
    return totals


# --- cond ------------------------------------------------------------------------------------------------------------


def vjp_cond(
    cotangents_of: Callable[..., Cotangents],
    supports: Supports,
    op: Cond,
    inputs: Sequence[Variable],
    cotangents: Sequence[Variable | None],
) -> Cotangents:
    """The cotangents of the operands: those of the branch that ran, zeros by selection where it has none."""
    count = len(op.branches[0].outputs)
    flows = {k: dy for k, dy in enumerate(cotangents[:count]) if dy is not None}
    conditions = supports.places(flows)
    are_wide = widths(conditions)
    regularity = functools.partial(supports.regularity.of_all, inputs[1:])
    parts = []
    for graph in op.branches:
        inner, _, checks, outs, *_ = opened(graph)
        leaves = {k: Variable(outs[k].type) for k in flows}
        inside, flags, stated = inside_graph(
            leaves, are_wide, inner, regularity, supports.known(flows), kinks=supports.kinks
        )
        slopes = cotangents_of([outs[k] for k in flows], stated, inner, inner, supports=inside)
        parts.append(_Branch([*inner, *leaves.values(), *flags.values()], slopes, inside, checks))
    totals = _of_branches(supports, op, parts, [*inputs, *flows.values(), *conditions.values()])
    return [None, *totals] if totals else [None] * len(inputs)


def jvp_cond(
    tangents_of: Callable[..., Cotangents],
    supports: Supports,
    op: Cond,
    inputs: Sequence[Variable],
    tangents: Sequence[Variable | None],
) -> Cotangents:
    """The tangents of the results: those of the branch that runs, zeros by selection where it has none."""
    ts = {k: t for k, t in enumerate(tangents[1:]) if t is not None}
    conditions = supports.places(ts)
    are_wide = widths(conditions)
    regularity = functools.partial(supports.regularity.of_all, inputs[1:])
    parts = []
    for graph in op.branches:
        inner, written, checks, outs, *_ = opened(graph)
        flows = {k: Variable(inner[k].type) for k in ts}
        inside, flags, stated = inside_graph(
            flows, are_wide, inner, regularity, supports.known(ts), kinks=supports.kinks
        )
        slopes = tangents_of(outs, [inner[k] for k in ts], stated, inner, supports=inside)
        parts.append(_Branch([*inner, *flows.values(), *flags.values()], slopes, inside, checks, written))
    count = len(op.branches[0].outputs)
    totals = _of_branches(supports, op, parts, [*inputs, *ts.values(), *conditions.values()])
    return [*totals, *[None] * (count - len(totals) + bool(op.inner_descriptors))]


class _Branch(NamedTuple):
    """The derivative of a branch: its inputs, its results and what these are like, with supports and checks."""

    leaves: list[Variable]
    found: Cotangents
    inside: Supports
    checks: Sequence[Check]
    like: Sequence[Variable] | None = None  # the inputs, unless told


def _of_branches(supports: Supports, op: Cond, parts: Sequence[_Branch], operands: Sequence[Variable]) -> Cotangents:
    """The results of the branch that runs, in the place of each an operand or a result has."""
    size = len(parts[0].found)
    reached = [k for k in range(size) if any(part.found[k] is not None for part in parts)]
    if not reached:
        return []
    columns = {(k, field): [_condition(part, k, field) for part in parts] for k in reached for field in FIELDS}
    inner = {place: column for place, column in columns.items() if any(isinstance(s, Variable) for s in column)}
    graphs = []
    for number, part in enumerate(parts):
        like = part.leaves if part.like is None else part.like
        values = [_or_zeros(part.found[k], like[k]) for k in reached]
        flags = [as_told(column[number], like[k], whole=any(map(has_axes, column))) for (k, _), column in inner.items()]
        graphs.append(freeze(part.leaves, [*values, *flags], part.checks))
    results = apply(Cond(tuple(graphs)), operands)
    totals: Cotangents = [None] * size
    for k, v in zip(reached, results, strict=False):
        reaches = [part.found[k] is not None for part in parts]
        totals[k] = v if all(reaches) else where(_runs(operands[0], reaches), v, numpy_dtype(v.type.dtype).type(0))
    return [*supports.told(dict(enumerate(totals)), results[len(reached) :], inner).values()]


def _condition(part: _Branch, k: int, field: str) -> Condition:
    v = part.found[k]
    return False if v is None else condition_of(part.inside, v, field)


def _runs(index: Variable, branches: Sequence[bool]) -> Variable:
    """Whether one of some branches runs; an index beyond the ends runs the branch there."""
    last = len(branches) - 1
    condition: Any = False
    for k, counts in enumerate(branches):
        if counts:
            here = less_equal(index, 0) if k == 0 else greater_equal(index, last) if k == last else equal(index, k)
            condition = either(condition, here)
    return condition  # type: ignore[no-any-return]


def _or_zeros(dv: Variable | None, v: Variable) -> Variable:
    return zeros_like(v) if dv is None else dv


def _asked(checks: Sequence[Check]) -> list[Variable]:
    return [v for check in checks for v in (check.condition, *check.values)]
