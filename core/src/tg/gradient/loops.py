"""Derivatives and batches of loops: each a loop over the derivative of the step.

Which carries take part is found by iteration: those that the derivative of a step reaches from the ones that do, until
no more are reached.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tg.gradient.conditions import either, wide
from tg.gradient.reading import FIELDS, asked_inside
from tg.gradient.regular import Regularity
from tg.gradient.selection import Supports
from tg.graph.checks import SHAPES, Descriptor, source_of
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import FunctionGraph, freeze
from tg.graph.nodes import Variable, apply, as_size_variable
from tg.graph.traversal import inputs_of
from tg.ops.assumptions import required
from tg.ops.creation import zeros, zeros_like
from tg.ops.elementwise.arithmetic import add, maximum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater_equal, less, less_equal, logical_or, where
from tg.ops.length_checks import NATURAL_HINT
from tg.ops.loops import Cond, Scan, While
from tg.ops.reduction import any as reduce_any
from tg.ops.reduction import total_max
from tg.ops.shape import expand_dims_at, swapaxes
from tg.types.dtypes import BOOL, numpy_dtype
from tg.types.lengths import atoms
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.gradient.selection import Place
    from tg.graph.checks import Check
    from tg.graph.op import Op

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
    inner = [Variable(t) for t in op.body.input_types]
    made, checks = op.body.instantiate_with_checks(inner)
    flows = {k: dy for k, dy in enumerate(cotangents[: len(made)]) if dy is not None}
    pulled = _pulled(cotangents_of, inner, made, flows, n, supports, lambda: supports.regularity.of_steps(op, inputs))
    if pulled is None:
        return [None] * len(inputs)
    given, found, moving, inside, flags = pulled
    held = [k for k in range(n + op.sequences, arity) if found[k] is not None]  # captured values with cotangents
    slices = [k for k in range(n, n + op.sequences) if found[k] is not None]
    traced = {k: found[k] for k in slices}
    flagged = _flagged(inside, flags, found, inner, n, held)
    sums = {k: Variable(inner[k].type) for k in held}
    after = [_or_zeros(found[k], inner[k]) for k in moving] + [add(sums[k], found[k]) for k in held]
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
    of_traces = {place: leaf for place, leaf in flags.items() if place[0] >= n}
    own = [
        *(given[k] for k in moving),
        *sums.values(),
        *flagged.leaves,
        *(inner[k] for k in states),
        *(inner[k] for k in xs),
        *(given[k] for k in dys),
        *of_traces.values(),
        *(inner[k] for k in rest),
    ]
    operands = [*starts, *before, *(sequences[k - n] for k in xs), *(flows[k] for k in dys)]
    operands += [supports.places({k: flows[k]})[k, field] for k, field in of_traces]
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
    told = [*results[len(ends) : len(starts)], *results[len(starts) + len(slices) :]]
    reached = {k: totals[op.first + k] for k in (*moving, *held, *slices)}
    for k, v in supports.told(reached, told, [*flagged.places, *beside]).items():  # type: ignore[assignment]
        totals[op.first + k] = v
    return totals


def traces_of_carries(
    op: Scan, inputs: Sequence[Variable], outputs: Sequence[Variable], wanted: Sequence[int]
) -> list[Variable]:
    """The carries before each step: results of the loop, or of one that traces them besides."""
    body = op.body
    kept = {number: op.carries + k for k, number in reversed(list(enumerate(body.outputs[op.carries :])))}
    if all(k in kept for k in wanted):
        return [outputs[kept[k]] for k in wanted]
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
    given, (carries, sequences, captured) = tangents[op.first :], op.parts(inputs)
    inner = [Variable(t) for t in op.body.input_types]
    made, checks = op.body.instantiate_with_checks(inner)
    known = functools.partial(supports.regularity.of_steps, op, inputs)
    flows, found, wide, inside, flags = _pushed(tangents_of, inner, made, given, n, supports, known)
    others = [k for k in flows if k >= n]
    traced = {k: found[k] for k in range(n, len(made)) if found[k] is not None}
    flagged = _flagged(inside, flags, found, inner, n, ())
    beside = inside.places(traced)  # type: ignore[arg-type]
    after = [_or_zeros(found[k], inner[k]) for k in wide] + flagged.after
    starts = [_or_zeros(given[k], carries[k]) for k in wide]
    starts += flagged.starts(supports, {k: given[k] for k in wide}, carries)
    xs, held = [k for k in others if k < n + op.sequences], [k for k in others if k >= n + op.sequences]
    of_xs = {p: leaf for p, leaf in flags.items() if n <= p[0] < n + op.sequences}
    of_held = {p: leaf for p, leaf in flags.items() if p[0] >= n + op.sequences}
    own = [*inner[:n], *(flows[k] for k in wide), *flagged.leaves]
    own += [*inner[n : n + op.sequences], *(flows[k] for k in xs), *of_xs.values()]
    own += [*inner[n + op.sequences :], *(flows[k] for k in held), *of_held.values()]
    conditions = supports.places({k: given[k] for k in others})  # type: ignore[misc]
    operands = [*carries, *starts, *sequences, *(given[k] for k in xs), *(conditions[p] for p in of_xs)]
    operands += [*captured, *(given[k] for k in held), *(conditions[p] for p in of_held)]
    body = freeze(own, [*made[:n], *after, *traced.values(), *beside.values()], checks)  # type: ignore[list-item]
    loop = Scan(body, n + len(starts), op.sequences + len(xs) + len(of_xs), op.length, op.reverse, op.told)
    results = apply(loop, [*inputs[: op.first], *operands])
    totals: Cotangents = [None] * (len(made) + bool(op.body.checks))
    first = n + len(starts)
    for v, k in zip((*results[n : n + len(wide)], *results[first:]), (*wide, *traced), strict=False):
        totals[k] = v
    told = [*results[n + len(wide) : first], *results[first + len(traced) :]]
    return [*supports.told(dict(enumerate(totals)), told, [*flagged.places, *beside]).values()]


def batch_scan(tools: Any, op: Scan, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> list[Any]:
    """The results of a loop whose steps are batched, with the batch axis in front."""
    if op.first and batched[0]:
        return _batch_count(tools, op, size, inputs, batched)
    n = op.carries
    carries, sequences, captured = op.parts(inputs)
    flags = list(batched[op.first :])
    while True:
        plain = [Variable(t) for t in op.body.input_types]
        wide = _wide_inputs(op, [*carries, *sequences, *captured], flags, batched[op.first :], plain)
        outputs, checks = op.body.instantiate_with_checks(plain)
        moving = [v for v, b in zip(wide, flags, strict=True) if b]
        values = {id(p): v for p, v, b in zip(plain, wide, flags, strict=True) if b}
        found, spread = tools.spread(outputs, values)
        reached = [k for k in range(n) if spread[k] and not flags[k]]
        if not reached:
            break
        for k in reached:
            flags[k] = True
    inside = moving[0].shape[0]
    after = [tools.lead(v, s, inside) if f else v for v, s, f in zip(found[:n], spread[:n], flags[:n], strict=True)]
    own = [v if b else p for v, p, b in zip(wide, plain, flags, strict=True)]
    body = freeze(own, [*after, *found[n:]], tools.checks(checks, values))
    given = batched[op.first : op.first + n]
    operands = [tools.lead(v, b, size) if f else v for v, b, f in zip(carries, given, flags[:n], strict=True)]
    operands += [swapaxes(v, 0, 1) if f else v for v, f in zip(sequences, flags[n : n + op.sequences], strict=True)]
    results = apply(op.with_body(body), [*inputs[: op.first], *operands, *captured])
    totals = [v if f else tools.unbatched(v) for v, f in zip(results[:n], flags[:n], strict=True)]
    traces = zip(results[n : len(found)], spread[n:], strict=True)
    totals += [swapaxes(v, 0, 1) if s else tools.unbatched(v) for v, s in traces]
    return [*totals, *map(tools.unbatched, results[len(found) :])]


def _batch_count(tools: Any, op: Scan, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> list[Any]:
    """The results of a loop whose number of steps differs along the batch: as many steps as the longest has.

    After its last step an element keeps its carries, and its traces are 0: they are as long as those of the longest.
    """
    n, first = op.carries, op.first
    fine, shown = tools.of_all(size, [greater_equal(inputs[0], 0), inputs[0]], [True, True])
    failure = Descriptor("ShapeError", "shape: found the length {0}, needed one of at least 0", NATURAL_HINT)
    most = required(maximum(total_max(inputs[0]), 0), fine, shown, failure)
    own = [Variable(t) for t in op.body.input_types]
    at, count = Variable(TensorType("int64")), Variable(TensorType("int64"))
    nothing = [_zeros_before(tools, op, v, own) for v in op.body.instantiate(own)[n:]]
    step = Cond((freeze(own, [*own[:n], *nothing]), op.body))
    results = apply(step, [cast_variable(less(at, count), "int64"), *own])
    after, traced = results[:n], results[n : n + op.traces]
    body = freeze([*own[:n], at, *own[n:], count], [*after, add(at, -1 if op.reverse else 1), *traced])
    start = add(most, -1) if op.reverse else as_size_variable(0)
    operands = [most, *inputs[first : first + n], start, *inputs[first + n :], inputs[0]]
    flags = [False, *batched[first : first + n], False, *batched[first + n :], True]
    found = batch_scan(tools, Scan(body, n + 1, op.sequences, None, op.reverse, op.told), size, operands, flags)
    return [*found[:n], *found[n + 1 : n + 1 + op.traces]]


def _zeros_before(tools: Any, op: Scan, v: Variable, own: Sequence[Variable]) -> Variable:
    """Zeros like what a step traces, whose lengths must be those of what is given to it."""
    known = {id(u) for u in own}
    unknown = any(id(getattr(atom, "owner", None)) not in known for m in v.shape for atom in atoms(m))
    tools.need_unbatched(op, [unknown], "a length")
    return zeros(v.shape, dtype=v.type.dtype)


def _wide_inputs(
    op: Scan, operands: Sequence[Variable], flags: Sequence[bool], given: Sequence[bool], plain: Sequence[Variable]
) -> list[Variable]:
    """The inputs of a batched step: of carries that become batched on the way with an axis more than their own."""
    found = []
    for k, (v, flag, has_batch, p) in enumerate(zip(operands, flags, given, plain, strict=True)):
        if not flag:
            found.append(p)
            continue
        shape = v.type.shape if has_batch else (None, *v.type.shape)
        if op.carries <= k < op.carries + op.sequences:  # (batch, step, ...): a slice has lost the second
            shape = (shape[0], *shape[2:])
        found.append(Variable(v.type.with_shape(shape)))
    return found


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
    inner = [Variable(t) for t in op.body.input_types]
    made, checks = op.body.instantiate_with_checks(inner)
    places = [*range(n), *range(n + 1, len(made) + 1)]  # of the body's outputs among the results
    flows = {k: dy for k, dy in ((k, cotangents[place]) for k, place in enumerate(places)) if dy is not None}
    pulled = _pulled(cotangents_of, inner, made, flows, n, supports, lambda: supports.regularity.of_steps(op, inputs))
    if pulled is None:
        return [None] * len(inputs)
    given, found, moving, inside, flags = pulled
    held = [k for k in range(n, arity) if found[k] is not None]
    flagged = _flagged(inside, flags, found, inner, n, held)
    of_traces = {place: leaf for place, leaf in flags.items() if place[0] >= n}
    sums = {k: Variable(inner[k].type) for k in held}
    after = [_or_zeros(found[k], inner[k]) for k in moving] + [add(sums[k], found[k]) for k in held] + flagged.after
    reads = {id(v) for v in inputs_of([*after, *_asked(checks)])}
    states = [k for k in range(n) if id(inner[k]) in reads]
    rest = [k for k in range(n, arity) if id(inner[k]) in reads]
    dys = [k for k in flows if k >= n]
    before = _while_traces(op, inputs, outputs, states)
    own = [*(given[k] for k in moving), *sums.values(), *flagged.leaves]
    still = len(own)
    own += [*(inner[k] for k in states), *(given[k] for k in dys), *of_traces.values(), *(inner[k] for k in rest)]
    step = Cond((freeze(own, own[:still]), freeze(own, after, checks)))
    fresh = [Variable(v.type) for v in own]
    at, count = Variable(TensorType("int64")), Variable(TensorType("int64"))
    results = apply(step, [cast_variable(less(at, count), "int64"), *fresh])
    split = len(own) - len(rest)
    body = freeze([*fresh[:still], at, *fresh[still:split], *fresh[split:], count], results[:still])
    starts = [_or_zeros(cotangents[k], inputs[k]) for k in moving] + [zeros_like(inputs[k]) for k in held]
    starts += flagged.starts(supports, {k: cotangents[k] for k in moving}, inputs)
    loop = Scan(body, still, 1 + len(states) + len(dys) + len(of_traces), most, True)
    numbers = as_variable(np.arange(most, dtype=np.int64))
    conditions = supports.places({k: flows[k] for k in dys})
    operands = [*starts, numbers, *before, *(flows[k] for k in dys), *(conditions[p] for p in of_traces)]
    totals = apply(loop, [*operands, *(inputs[k] for k in rest), outputs[n]])
    reached = dict(zip((*moving, *held), totals, strict=False))
    stated = supports.told(reached, totals[len(reached) : still], flagged.places)
    return [stated.get(k) for k in range(len(inputs))]


def _while_traces(
    op: While, inputs: Sequence[Variable], outputs: Sequence[Variable], wanted: Sequence[int]
) -> list[Variable]:
    """The carries before each step: results of the loop, or of one that traces them besides."""
    n = op.carries
    kept = {number: n + 1 + k for k, number in reversed(list(enumerate(op.body.outputs[n:])))}
    if all(k in kept for k in wanted):
        return [outputs[kept[k]] for k in wanted]
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
    inner = [Variable(t) for t in op.body.input_types]
    made, checks = op.body.instantiate_with_checks(inner)
    (asked,), conditions = op.condition.instantiate_with_checks(inner)
    known = functools.partial(supports.regularity.of_steps, op, inputs)
    flows, found, moving, inside, flags = _pushed(tangents_of, inner, made, tangents, n, supports, known)
    flagged = _flagged(inside, flags, found, inner, n, ())
    traced = {k: found[k] for k in range(n, len(made)) if found[k] is not None}
    beside = inside.places(traced)  # type: ignore[arg-type]
    after = [_or_zeros(found[k], inner[k]) for k in moving] + flagged.after
    held = [k for k in flows if k >= n]
    of_held = {place: leaf for place, leaf in flags.items() if place[0] >= n}
    own = [*inner[:n], *(flows[k] for k in moving), *flagged.leaves, *inner[n:]]
    own += [*(flows[k] for k in held), *of_held.values()]
    starts = [_or_zeros(tangents[k], inputs[k]) for k in moving]
    starts += flagged.starts(supports, {k: tangents[k] for k in moving}, inputs)
    given = supports.places({k: tangents[k] for k in held})  # type: ignore[misc]
    operands = [*inputs[:n], *starts, *inputs[n:], *(tangents[k] for k in held), *(given[p] for p in of_held)]
    body = freeze(own, [*made[:n], *after, *traced.values(), *beside.values()], checks)  # type: ignore[list-item]
    loop = While(freeze(own, [asked], conditions), body, n + len(starts), op.max_steps)
    results = apply(loop, operands)  # type: ignore[arg-type]
    totals: Cotangents = [None] * (len(made) + 1 + bool(op.inner_descriptors))
    first = n + len(starts) + 1  # of the traces, behind the number of steps
    ends = dict(zip(moving, results[n:], strict=False)) | dict(zip(traced, results[first:], strict=False))
    told = [*results[n + len(moving) : first - 1], *results[first + len(traced) :]]
    for k, v in supports.told(ends, told, [*flagged.places, *beside]).items():
        totals[k if k < n else k + 1] = v
    return totals


def batch_while(tools: Any, op: While, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> list[Any]:
    """The results of a loop over a batch.

    Where elements end at different steps those that have ended keep what they had. If a check could fail in what is
    computed for these, each element has a loop of its own: a check that lengths decide, which are those of all, cannot.
    """
    n = op.carries
    flags, plain = list(batched), [Variable(t) for t in op.body.input_types]
    while True:
        wide = [_wide(v, f, b, p) for v, f, b, p in zip(inputs, flags, batched, plain, strict=True)]
        pairs = {id(p): v for p, v, f in zip(plain, wide, flags, strict=True) if f}
        (asked,), conditions = op.condition.instantiate_with_checks(plain)
        outputs, checks = op.body.instantiate_with_checks(plain)
        (goes_on,), (differs,) = tools.spread([asked], pairs)
        found, spread = tools.spread(outputs, pairs)
        reached = [k for k in range(n) if (spread[k] or differs) and not flags[k]]
        if not reached:
            break
        for k in reached:
            flags[k] = True
    if differs and any(map(_asks_values, op.inner_graphs())):
        return by_element(op, size, inputs, batched)
    moving = [v for v, f in zip(wide, flags, strict=True) if f]
    inside = moving[0].shape[0]
    own = [v if f else p for v, p, f in zip(wide, plain, flags, strict=True)]
    after = [tools.lead(v, s, inside) if f else v for v, s, f in zip(found[:n], spread[:n], flags[:n], strict=True)]
    traced = [tools.lead(v, s, inside) for v, s in zip(found[n:], spread[n:], strict=True)]
    operands = [tools.lead(v, b, size) if f else v for v, b, f in zip(inputs, batched, flags, strict=True)]
    if not differs:
        condition = freeze(own, [goes_on], tools.checks(conditions, pairs))
        body = freeze(own, [*after, *traced], tools.checks(checks, pairs))
        results = apply(While(condition, body, n, op.max_steps), operands)
        steps = tools.unbatched(results[n])
        traces = results[n + 1 : n + 1 + len(traced)]
    else:
        steps_inside = Variable(TensorType("int64", (None,)))
        after = [where(_as_wide(goes_on, v), v, own[k]) for k, v in enumerate(after)]
        traced = [where(_as_wide(goes_on, v), v, numpy_dtype(v.type.dtype).type(0)) for v in traced]
        counted = add(steps_inside, cast_variable(goes_on, "int64"))
        own = [*own[:n], steps_inside, *own[n:]]
        loop = While(freeze(own, [reduce_any(goes_on)]), freeze(own, [*after, counted, *traced]), n + 1, op.max_steps)
        zeros = tools.repeat(as_variable(np.int64(0)), size)
        results = apply(loop, [*operands[:n], zeros, *operands[n:]])
        steps, traces = results[n], results[n + 2 : n + 2 + len(traced)]
    carries = [v if f else tools.unbatched(v) for v, f in zip(results[:n], flags[:n], strict=True)]
    return [*carries, steps, *(swapaxes(v, 0, 1) for v in traces)]


def _asks_values(graph: FrozenGraph) -> bool:
    """Whether a graph has a check that more than lengths decide."""
    return any(source_of(check.condition) != SHAPES for check in FunctionGraph.thaw(graph).checks)


def by_element(op: Op, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> list[Variable]:
    """The results of an op for a batch, one element after another."""
    sequences = [v for v, b in zip(inputs, batched, strict=True) if b]
    captured = [v for v, b in zip(inputs, batched, strict=True) if not b]
    slices = iter([Variable(v.type.with_shape(v.type.shape[1:])) for v in sequences])
    held = iter([Variable(v.type) for v in captured])
    inner = [next(slices) if b else next(held) for b in batched]
    own = [
        *(v for v, b in zip(inner, batched, strict=True) if b),
        *(v for v, b in zip(inner, batched, strict=True) if not b),
    ]
    made = apply(op, inner)
    results = made[: -1 if op.inner_descriptors else None]
    known = size if type(size) is int else None
    lengths = [] if known is not None else [as_size_variable(size)]
    loop = Scan(freeze(own, results), 0, len(sequences), known, told=())
    found = apply(loop, [*lengths, *sequences, *captured])
    return list(found[: len(results)])


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
    known = functools.partial(supports.regularity.of_all, inputs[1:])
    parts = []
    for graph in op.branches:
        inner = [Variable(t) for t in graph.input_types]
        made, checks = graph.instantiate_with_checks(inner)
        given = {k: Variable(made[k].type) for k in flows}
        inside, flags, stated = _inside(given, conditions, inner, known)
        found = cotangents_of([made[k] for k in flows], stated, inner, inner, supports=inside)
        parts.append(_Branch([*inner, *given.values(), *flags.values()], found, inside, checks))
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
    given = {k: t for k, t in enumerate(tangents[1:]) if t is not None}
    conditions = supports.places(given)
    known = functools.partial(supports.regularity.of_all, inputs[1:])
    parts = []
    for graph in op.branches:
        inner = [Variable(t) for t in graph.input_types]
        made, checks = graph.instantiate_with_checks(inner)
        flows = {k: Variable(inner[k].type) for k in given}
        inside, flags, stated = _inside(flows, conditions, inner, known)
        found = tangents_of(made, [inner[k] for k in given], stated, inner, supports=inside)
        parts.append(_Branch([*inner, *flows.values(), *flags.values()], found, inside, checks, made))
    count = len(op.branches[0].outputs)
    totals = _of_branches(supports, op, parts, [*inputs, *given.values(), *conditions.values()])
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
        flags = [wide(column[number], like[k]) for (k, _), column in inner.items()]
        graphs.append(freeze(part.leaves, [*values, *flags], part.checks))
    results = apply(Cond(tuple(graphs)), operands)
    totals: Cotangents = [None] * size
    for k, v in zip(reached, results, strict=False):
        reaches = [part.found[k] is not None for part in parts]
        totals[k] = v if all(reaches) else where(_runs(operands[0], reaches), v, numpy_dtype(v.type.dtype).type(0))
    return [*supports.told(dict(enumerate(totals)), results[len(reached) :], inner).values()]


def _condition(part: _Branch, k: int, field: str) -> Any:
    v = part.found[k]
    return False if v is None else getattr(asked_inside(part.inside.of(v)), field)


def _runs(index: Variable, branches: Sequence[bool]) -> Variable:
    """Whether one of some branches runs; an index beyond the ends runs the branch there."""
    last = len(branches) - 1
    found: Any = False
    for k, counts in enumerate(branches):
        if counts:
            here = less_equal(index, 0) if k == 0 else greater_equal(index, last) if k == last else equal(index, k)
            found = either(found, here)
    return found  # type: ignore[no-any-return]


def batch_cond(tools: Any, op: Cond, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> list[Any]:
    """The results for a batch: of a common branch, or by each element's own.

    Where elements have different branches all are computed; if a check could fail in one, element after element.
    """
    if batched[0] and op.inner_descriptors:
        return by_element(op, size, inputs, batched)
    graphs, columns = [], []
    for graph in op.branches:
        plain = [Variable(t) for t in graph.input_types]
        wide = [_wide(v, b, b, p) for v, b, p in zip(inputs[1:], batched[1:], plain, strict=True)]
        outputs, checks = graph.instantiate_with_checks(plain)
        pairs = {id(p): v for p, v, b in zip(plain, wide, batched[1:], strict=True) if b}
        own = [v if b else p for v, p, b in zip(wide, plain, batched[1:], strict=True)]
        inside = next((v.shape[0] for v, b in zip(own, batched[1:], strict=True) if b), size)
        found, spread = tools.spread(outputs, pairs)
        columns.append(spread)
        graphs.append((own, found, inside, tools.checks(checks, pairs)))
    flags = [any(column) for column in zip(*columns, strict=True)]
    led = [
        freeze(own, [tools.lead(v, s, inside) if f else v for v, s, f in zip(found, spread, flags, strict=True)], kept)
        for (own, found, inside, kept), spread in zip(graphs, columns, strict=True)
    ]
    if not batched[0]:
        results = apply(Cond(tuple(led)), inputs)
        return [v if f else tools.unbatched(v) for v, f in zip(results, flags, strict=False)]
    last = len(led) - 1
    chosen = [tools.lead(v, f, size) for v, f in zip(led[last].instantiate(inputs[1:]), flags, strict=True)]
    for k in range(last - 1, -1, -1):
        is_k = less_equal(inputs[0], k)
        made = [tools.lead(v, f, size) for v, f in zip(led[k].instantiate(inputs[1:]), flags, strict=True)]
        chosen = [where(_as_wide(is_k, v), v, w) for v, w in zip(made, chosen, strict=True)]
    return chosen


# --- what they share -------------------------------------------------------------------------------------------------


class _Step(NamedTuple):
    """The derivative of a step."""

    given: dict[int, Variable]  # stand for the cotangents of its results, or the tangents of its inputs, by number
    found: Cotangents
    moving: list[int]  # the carries that have some
    inside: Supports
    flags: dict[Place, Variable]  # stand for conditions of what is given


def _pulled(
    cotangents_of: Callable[..., Cotangents],
    inner: Sequence[Variable],
    made: Sequence[Variable],
    flows: Mapping[int, Variable],
    carries: int,
    supports: Supports,
    known: Callable[[], Sequence[int]],
) -> _Step | None:
    """The pullback of a step; None where nothing flows.

    A carry that no step reads has some all the same: without a step it is what it began with.
    """
    moving = {k for k in flows if k < carries}
    places = dict.fromkeys(supports.places(flows))
    while True:
        given = {k: Variable(made[k].type) for k in sorted({*flows, *moving})}
        inside, flags, stated = _inside(given, places, inner, known)
        found = cotangents_of([made[k] for k in given], stated, inner, inner, supports=inside)
        reached = {k for k in range(carries) if found[k] is not None}
        more = _grown(places, inside, found, reached | moving, {k for k in reached | moving if k not in flows})
        if reached <= moving and not more:
            break
        moving |= reached
        places |= more
    if not moving and all(dx is None for dx in found):
        return None
    return _Step(given, found, sorted(moving), inside, flags)


def _pushed(
    tangents_of: Callable[..., Cotangents],
    inner: Sequence[Variable],
    made: Sequence[Variable],
    tangents: Sequence[Variable | None],
    carries: int,
    supports: Supports,
    known: Callable[[], Sequence[int]],
) -> _Step:
    """The pushforward of a step."""
    moving = {k for k in range(carries) if tangents[k] is not None}
    others = [k for k in range(carries, len(inner)) if tangents[k] is not None]
    places = dict.fromkeys(supports.places({k: t for k, t in enumerate(tangents) if t is not None}))
    while True:
        flows = {k: Variable(inner[k].type) for k in (*sorted(moving), *others)}
        inside, flags, stated = _inside(flows, places, inner, known)
        found = tangents_of(made, [inner[k] for k in flows], stated, inner, supports=inside)
        reached = {k for k in range(carries) if found[k] is not None}
        more = _grown(places, inside, found, reached | moving, {k for k in reached | moving if tangents[k] is None})
        if reached <= moving and not more:
            return _Step(flows, found, sorted(moving), inside, flags)
        moving |= reached
        places |= more


def _inside(
    given: Mapping[int, Variable],
    places: Iterable[Place],
    inner: Sequence[Variable],
    known: Callable[[], Sequence[int]],
) -> tuple[Supports, dict[Place, Variable], list[Variable]]:
    """Supports of what stands for values inside a graph, leaves for the conditions at these places, and the values.

    Of the graph's inputs it is `known` whether they are regular.
    """
    inside = Supports(Regularity(inner, known))
    flags = {(k, field): Variable(given[k].type.with_dtype(BOOL)) for k, field in places}
    fields = {k: {field: flags[k, field] for field in FIELDS if (k, field) in flags} for k in given}
    return inside, flags, [inside.stated(v, fields[k]) for k, v in given.items()]


def _grown(
    places: Mapping[Place, Any], inside: Supports, found: Cotangents, moving: set[int], from_zeros: set[int]
) -> dict[Place, None]:
    """Further places of conditions that carries have: what they begin with is zeros, or a step makes them."""
    more = {(k, "selected"): None for k in sorted(from_zeros) if (k, "selected") not in places}
    made = inside.places({k: v for k in sorted(moving) if (v := found[k]) is not None})
    return more | {place: None for place in made if place not in places}


class _Flagged(NamedTuple):
    """Conditions that flow through a loop beside what they are of."""

    places: list[Place]
    leaves: list[Variable]
    after: list[Variable]

    def starts(
        self, supports: Supports, given: Mapping[int, Variable | None], operands: Sequence[Variable]
    ) -> list[Variable]:
        """What they begin with: the condition of what is given, nowhere where that is zeros."""
        return [
            wide(
                getattr(asked_inside(supports.of(v)), field) if (v := given.get(k)) is not None else False, operands[k]
            )
            for k, field in self.places
        ]


def _flagged(
    inside: Supports,
    flags: Mapping[Place, Variable],
    found: Cotangents,
    inner: Sequence[Variable],
    carries: int,
    held: Sequence[int],
) -> _Flagged:
    """The conditions of carries after a step, and of sums over all steps."""
    places, leaves, after = [], [], []
    for (k, field), leaf in flags.items():
        if k < carries:
            v = found[k]
            places.append((k, field))
            leaves.append(leaf)
            after.append(wide(False if v is None else getattr(asked_inside(inside.of(v)), field), inner[k]))
    for place, condition in inside.places({k: v for k in held if (v := found[k]) is not None}).items():
        places.append(place)
        leaves.append(Variable(condition.type))
        after.append(logical_or(leaves[-1], condition))
    return _Flagged(places, leaves, after)


def _or_zeros(dv: Variable | None, v: Variable) -> Variable:
    return zeros_like(v) if dv is None else dv


def _asked(checks: Sequence[Check]) -> list[Variable]:
    return [v for check in checks for v in (check.condition, *check.values)]


def _wide(v: Variable, flag: bool, has_batch: bool, p: Variable) -> Variable:
    """The input of a batched graph: with one axis more in front where it carries the batch."""
    if not flag:
        return p
    return Variable(v.type.with_shape(v.type.shape if has_batch else (None, *v.type.shape)))


def _as_wide(condition: Variable, v: Variable) -> Variable:
    """A condition for each element of a batch with as many axes as what it chooses."""
    return expand_dims_at(condition, tuple(range(-v.type.ndim + 1, 0))) if v.type.ndim > 1 else condition
