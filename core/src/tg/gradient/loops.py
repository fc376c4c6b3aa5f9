"""Derivatives and batches of loops: each a loop over the derivative of the step.

Which carries take part is found by iteration: those that the derivative of a step reaches from the ones that do, until
no more are reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.checks import SHAPES, Descriptor, source_of
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import FunctionGraph, freeze
from tg.graph.nodes import Variable, apply, as_size_variable
from tg.graph.traversal import inputs_of
from tg.ops.assumptions import required
from tg.ops.creation import zeros, zeros_like
from tg.ops.elementwise.arithmetic import add, maximum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater_equal, less, less_equal, where
from tg.ops.length_checks import NATURAL_HINT
from tg.ops.loops import Cond, Scan, While
from tg.ops.reduction import any as reduce_any
from tg.ops.reduction import total_max
from tg.ops.shape import expand_dims_at, swapaxes
from tg.types.dtypes import numpy_dtype
from tg.types.lengths import atoms
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg.graph.checks import Check
    from tg.graph.op import Op

Cotangents = list[Variable | None]


def vjp_scan(
    cotangents_of: Callable[..., Cotangents],
    op: Scan,
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    cotangents: Sequence[Variable | None],
) -> Cotangents:
    """The cotangents of the operands: those of carries flow backwards, of captured values they are summed.

    Each step is computed again from the carries before it, which the loop has traced.
    """
    n, arity = op.carries, op.body.arity
    inner = [Variable(t) for t in op.body.input_types]
    made, checks = op.body.instantiate_with_checks(inner)
    flows = {k: dy for k, dy in enumerate(cotangents[: len(made)]) if dy is not None}
    pulled = _pulled(cotangents_of, inner, made, flows, n)
    if pulled is None:
        return [None] * len(inputs)
    given, found, moving = pulled
    held = [k for k in range(n + op.sequences, arity) if found[k] is not None]  # captured values with cotangents
    sums = {k: Variable(inner[k].type) for k in held}
    backwards = {k: given[k] for k in moving}
    after = [_or_zeros(found[k], inner[k]) for k in moving] + [add(sums[k], found[k]) for k in held]
    slices = [k for k in range(n, n + op.sequences) if found[k] is not None]
    traced = [found[k] for k in slices]
    carries, sequences, captured = op.parts(inputs)
    starts = [_or_zeros(cotangents[k], carries[k]) for k in moving]
    starts += [zeros_like(captured[k - n - op.sequences]) for k in held]
    reads = {id(v) for v in inputs_of([*after, *traced, *_asked(checks)])}  # type: ignore[list-item]
    states = [k for k in range(n) if id(inner[k]) in reads]
    xs = [k for k in range(n, n + op.sequences) if id(inner[k]) in reads]
    dys = [k for k in flows if k >= n]
    rest = [k for k in range(n + op.sequences, arity) if id(inner[k]) in reads]
    before = traces_of_carries(op, inputs, outputs, states)
    own = [
        *backwards.values(),
        *sums.values(),
        *(inner[k] for k in states),
        *(inner[k] for k in xs),
        *(given[k] for k in dys),
        *(inner[k] for k in rest),
    ]
    operands = [*starts, *before, *(sequences[k - n] for k in xs), *(flows[k] for k in dys)]
    operands += [captured[k - n - op.sequences] for k in rest]
    body = freeze(own, [*after, *traced], checks)  # type: ignore[list-item]
    loop = Scan(body, len(starts), len(states) + len(xs) + len(dys), op.length, not op.reverse, op.told)
    results = apply(loop, [*inputs[: op.first], *operands])
    totals: Cotangents = [None] * len(inputs)
    for at, k in enumerate((*backwards, *held, *slices)):
        totals[op.first + k] = results[at]
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
    tangents_of: Callable[..., Cotangents], op: Scan, inputs: Sequence[Variable], tangents: Sequence[Variable | None]
) -> Cotangents:
    """The tangents of the results: one loop of the values and their tangents."""
    n = op.carries
    given, (carries, sequences, captured) = tangents[op.first :], op.parts(inputs)
    inner = [Variable(t) for t in op.body.input_types]
    made, checks = op.body.instantiate_with_checks(inner)
    flows, found, wide = _pushed(tangents_of, inner, made, given, n)
    others = [k for k in flows if k >= n]
    after = [_or_zeros(found[k], inner[k]) for k in wide]
    traced = [k for k in range(n, len(made)) if found[k] is not None]
    starts = [_or_zeros(given[k], carries[k]) for k in wide]
    xs, held = [k for k in others if k < n + op.sequences], [k for k in others if k >= n + op.sequences]
    own = [*inner[:n], *(flows[k] for k in wide), *inner[n : n + op.sequences], *(flows[k] for k in xs)]
    own += [*inner[n + op.sequences :], *(flows[k] for k in held)]
    operands = [*carries, *starts, *sequences, *(given[k] for k in xs), *captured, *(given[k] for k in held)]
    body = freeze(own, [*made[:n], *after, *(found[k] for k in traced)], checks)  # type: ignore[list-item]
    loop = Scan(body, n + len(wide), op.sequences + len(xs), op.length, op.reverse, op.told)
    results = apply(loop, [*inputs[: op.first], *operands])
    totals: Cotangents = [None] * (len(made) + bool(op.body.checks))
    for at, k in enumerate(wide):
        totals[k] = results[n + at]
    for at, k in enumerate(traced):
        totals[k] = results[n + len(wide) + at]
    return totals


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
    pulled = _pulled(cotangents_of, inner, made, flows, n)
    if pulled is None:
        return [None] * len(inputs)
    given, found, moving = pulled
    held = [k for k in range(n, arity) if found[k] is not None]
    sums = {k: Variable(inner[k].type) for k in held}
    after = [_or_zeros(found[k], inner[k]) for k in moving] + [add(sums[k], found[k]) for k in held]
    reads = {id(v) for v in inputs_of([*after, *_asked(checks)])}
    states = [k for k in range(n) if id(inner[k]) in reads]
    rest = [k for k in range(n, arity) if id(inner[k]) in reads]
    dys = [k for k in flows if k >= n]
    before = _while_traces(op, inputs, outputs, states)
    own = [*(given[k] for k in moving), *sums.values(), *(inner[k] for k in states), *(given[k] for k in dys)]
    own += [inner[k] for k in rest]
    still = len(moving) + len(held)
    step = Cond((freeze(own, own[:still]), freeze(own, after, checks)))
    fresh = [Variable(v.type) for v in own]
    at, count = Variable(TensorType("int64")), Variable(TensorType("int64"))
    results = apply(step, [cast_variable(less(at, count), "int64"), *fresh])
    split = len(own) - len(rest)
    body = freeze([*fresh[:still], at, *fresh[still:split], *fresh[split:], count], results[:still])
    starts = [_or_zeros(cotangents[k], inputs[k]) for k in moving] + [zeros_like(inputs[k]) for k in held]
    loop = Scan(body, still, 1 + len(states) + len(dys), most, True)
    numbers = as_variable(np.arange(most, dtype=np.int64))
    totals = apply(loop, [*starts, numbers, *before, *(flows[k] for k in dys), *(inputs[k] for k in rest), outputs[n]])
    cotangents = [None] * len(inputs)
    for place, k in enumerate((*moving, *held)):
        cotangents[k] = totals[place]
    return cotangents


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
    tangents_of: Callable[..., Cotangents], op: While, inputs: Sequence[Variable], tangents: Sequence[Variable | None]
) -> Cotangents:
    """The tangents of the results: one loop of the values and their tangents."""
    n = op.carries
    inner = [Variable(t) for t in op.body.input_types]
    made, checks = op.body.instantiate_with_checks(inner)
    (asked,), conditions = op.condition.instantiate_with_checks(inner)
    flows, found, moving = _pushed(tangents_of, inner, made, tangents, n)
    after = [_or_zeros(found[k], inner[k]) for k in moving]
    traced = [k for k in range(n, len(made)) if found[k] is not None]
    held = [k for k in flows if k >= n]
    own = [*inner[:n], *(flows[k] for k in moving), *inner[n:], *(flows[k] for k in held)]
    starts = [_or_zeros(tangents[k], inputs[k]) for k in moving]
    operands = [*inputs[:n], *starts, *inputs[n:], *(tangents[k] for k in held)]
    body = freeze(own, [*made[:n], *after, *(found[k] for k in traced)], checks)  # type: ignore[list-item]
    loop = While(freeze(own, [asked], conditions), body, n + len(moving), op.max_steps)
    results = apply(loop, operands)  # type: ignore[arg-type]
    totals: Cotangents = [None] * (len(made) + 1 + bool(op.inner_descriptors))
    for at, k in enumerate(moving):
        totals[k] = results[n + at]
    for at, k in enumerate(traced):
        totals[k + 1] = results[n + len(moving) + 1 + at]
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
    op: Cond,
    inputs: Sequence[Variable],
    cotangents: Sequence[Variable | None],
) -> Cotangents:
    """The cotangents of the operands: those of the branch that ran, zeros where it has none."""
    count = len(op.branches[0].outputs)
    flows = {k: dy for k, dy in enumerate(cotangents[:count]) if dy is not None}
    parts = []
    for graph in op.branches:
        inner = [Variable(t) for t in graph.input_types]
        made, checks = graph.instantiate_with_checks(inner)
        given = {k: Variable(made[k].type) for k in flows}
        found = cotangents_of([made[k] for k in flows], list(given.values()), inner, leaves=inner)
        parts.append((inner, list(given.values()), found, checks))
    reached = [k for k in range(len(inputs) - 1) if any(found[k] is not None for _, _, found, _ in parts)]
    totals: Cotangents = [None] * len(inputs)
    if not reached:
        return totals
    graphs = [
        freeze([*inner, *given], [_or_zeros(found[k], inner[k]) for k in reached], checks)
        for inner, given, found, checks in parts
    ]
    results = apply(Cond(tuple(graphs)), [*inputs, *flows.values()])
    for at, k in enumerate(reached):
        totals[1 + k] = results[at]
    return totals


def jvp_cond(
    tangents_of: Callable[..., Cotangents], op: Cond, inputs: Sequence[Variable], tangents: Sequence[Variable | None]
) -> Cotangents:
    """The tangents of the results: those of the branch that runs."""
    given = {k: t for k, t in enumerate(tangents[1:]) if t is not None}
    parts = []
    for graph in op.branches:
        inner = [Variable(t) for t in graph.input_types]
        made, checks = graph.instantiate_with_checks(inner)
        flows = [Variable(inner[k].type) for k in given]
        found = tangents_of(made, [inner[k] for k in given], flows, leaves=inner)
        parts.append((inner, made, flows, found, checks))
    count = len(op.branches[0].outputs)
    reached = [k for k in range(count) if any(found[k] is not None for _, _, _, found, _ in parts)]
    totals: Cotangents = [None] * (count + bool(op.inner_descriptors))
    if not reached:
        return totals
    graphs = [
        freeze([*inner, *flows], [_or_zeros(found[k], made[k]) for k in reached], checks)
        for inner, made, flows, found, checks in parts
    ]
    results = apply(Cond(tuple(graphs)), [*inputs, *given.values()])
    for at, k in enumerate(reached):
        totals[k] = results[at]
    return totals


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


def _pulled(
    cotangents_of: Callable[..., Cotangents],
    inner: Sequence[Variable],
    made: Sequence[Variable],
    flows: Mapping[int, Variable],
    carries: int,
) -> tuple[dict[int, Variable], Cotangents, list[int]] | None:
    """The pullback of a step: what stands for cotangents of its results, those of its inputs, which carries have some.

    None where nothing flows. A carry that no step reads has some all the same: without a step it is what it began with.
    """
    moving = {k for k in flows if k < carries}
    while True:
        given = {k: Variable(made[k].type) for k in sorted({*flows, *moving})}
        found = cotangents_of([made[k] for k in given], list(given.values()), inner, leaves=inner)
        reached = {k for k in range(carries) if found[k] is not None}
        if reached <= moving:
            break
        moving |= reached
    return None if not moving and all(dx is None for dx in found) else (given, found, sorted(moving))


def _pushed(
    tangents_of: Callable[..., Cotangents],
    inner: Sequence[Variable],
    made: Sequence[Variable],
    tangents: Sequence[Variable | None],
    carries: int,
) -> tuple[dict[int, Variable], Cotangents, list[int]]:
    """The pushforward of a step: stand-ins for tangents of its inputs, those of its results, which carries have any."""
    moving = {k for k in range(carries) if tangents[k] is not None}
    others = [k for k in range(carries, len(inner)) if tangents[k] is not None]
    while True:
        flows = {k: Variable(inner[k].type) for k in (*sorted(moving), *others)}
        found = tangents_of(made, [inner[k] for k in flows], list(flows.values()), leaves=inner)
        reached = {k for k in range(carries) if found[k] is not None}
        if reached <= moving:
            return flows, found, sorted(moving)
        moving |= reached


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
