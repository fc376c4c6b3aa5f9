"""Derivatives and batches of loops: each a loop over the derivative of the step.

Which carries take part is found by iteration: those that the derivative of a step reaches from the ones that do, until
no more are reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable
from tg.graph.traversal import inputs_of
from tg.ops.creation import zeros_like
from tg.ops.elementwise.arithmetic import add
from tg.ops.loops import Scan
from tg.ops.shape import swapaxes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    moving = {k for k in flows if k < n}
    while True:
        given = {k: Variable(made[k].type) for k in sorted({*flows, *moving})}
        found = cotangents_of([made[k] for k in given], list(given.values()), inner, leaves=inner)
        reached = {k for k in range(n) if found[k] is not None}
        if reached <= moving:
            break
        moving |= reached
    if all(dx is None for dx in found):
        return [None] * len(inputs)
    held = [k for k in range(n + op.sequences, arity) if found[k] is not None]  # captured values with cotangents
    sums = {k: Variable(inner[k].type) for k in held}
    backwards = {k: given[k] for k in sorted(moving)}
    after = [dx if dx is not None else zeros_like(inner[k]) for k, dx in ((k, found[k]) for k in backwards)]
    after += [add(sums[k], found[k]) for k in held]
    slices = [k for k in range(n, n + op.sequences) if found[k] is not None]
    traced = [found[k] for k in slices]
    carries, sequences, captured = op.parts(inputs)
    starts = [cotangents[k] if cotangents[k] is not None else zeros_like(carries[k]) for k in backwards]
    starts += [zeros_like(captured[k - n - op.sequences]) for k in held]
    reads = {id(v) for v in inputs_of([*after, *traced, *(v for c in checks for v in (c.condition, *c.values))])}  # type: ignore[list-item]
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
    loop = Scan(body, len(starts), len(states) + len(xs) + len(dys), op.length, not op.reverse)
    results = _results(loop, [*inputs[: op.first], *operands])
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
    parts = (body.arity, body.types, body.constants, body.nodes, (*body.outputs, *wanted), body.checks)
    more = FrozenGraph(*parts, body.names, body.origins, body.assumed)
    results = _results(op.with_body(more), inputs)
    return list(results[len(body.outputs) : len(body.outputs) + len(wanted)])


def jvp_scan(
    tangents_of: Callable[..., Cotangents], op: Scan, inputs: Sequence[Variable], tangents: Sequence[Variable | None]
) -> Cotangents:
    """The tangents of the results: one loop of the values and their tangents."""
    n = op.carries
    given, (carries, sequences, captured) = tangents[op.first :], op.parts(inputs)
    inner = [Variable(t) for t in op.body.input_types]
    made, checks = op.body.instantiate_with_checks(inner)
    moving = {k for k in range(n) if given[k] is not None}
    others = [k for k in range(n, op.body.arity) if given[k] is not None]
    while True:
        flows = {k: Variable(inner[k].type) for k in (*sorted(moving), *others)}
        found = tangents_of(made, [inner[k] for k in flows], list(flows.values()), leaves=inner)
        reached = {k for k in range(n) if found[k] is not None}
        if reached <= moving:
            break
        moving |= reached
    wide = sorted(moving)
    after = [found[k] if found[k] is not None else zeros_like(inner[k]) for k in wide]
    traced = [k for k in range(n, len(made)) if found[k] is not None]
    starts = [given[k] if given[k] is not None else zeros_like(carries[k]) for k in wide]
    xs, held = [k for k in others if k < n + op.sequences], [k for k in others if k >= n + op.sequences]
    own = [*inner[:n], *(flows[k] for k in wide), *inner[n : n + op.sequences], *(flows[k] for k in xs)]
    own += [*inner[n + op.sequences :], *(flows[k] for k in held)]
    operands = [*carries, *starts, *sequences, *(given[k] for k in xs), *captured, *(given[k] for k in held)]
    body = freeze(own, [*made[:n], *after, *(found[k] for k in traced)], checks)  # type: ignore[list-item]
    loop = Scan(body, n + len(wide), op.sequences + len(xs), op.length, op.reverse)
    results = _results(loop, [*inputs[: op.first], *operands])  # type: ignore[list-item]
    totals: Cotangents = [None] * (len(made) + bool(op.body.checks))
    for at, k in enumerate(wide):
        totals[k] = results[n + at]
    for at, k in enumerate(traced):
        totals[k] = results[n + len(wide) + at]
    return totals


def batch_scan(tools: Any, op: Scan, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> list[Variable]:
    """The results of a loop whose steps are batched, with the batch axis in front."""
    n = op.carries
    if any(batched[: op.first]):
        raise InputError(message("scan: a number of steps that differs along a batch is not available"))
    carries, sequences, captured = op.parts(inputs)
    flags = list(batched[op.first :])
    while True:
        plain = [Variable(t) for t in op.body.input_types]
        wide = _wide_inputs(op, [*carries, *sequences, *captured], flags, batched[op.first :], plain)
        outputs, checks = op.body.instantiate_with_checks(plain)
        moving = [v for v, b in zip(wide, flags, strict=True) if b]
        found, spread = tools.spread(outputs, {id(p): v for p, v, b in zip(plain, wide, flags, strict=True) if b})
        reached = [k for k in range(n) if spread[k] and not flags[k]]
        if not reached:
            break
        for k in reached:
            flags[k] = True
    inside = moving[0].shape[0]
    after = [tools.lead(v, s, inside) if f else v for v, s, f in zip(found[:n], spread[:n], flags[:n], strict=True)]
    kept = [check for check in checks if not tools.reads(check, plain, flags)]
    own = [v if b else p for v, p, b in zip(wide, plain, flags, strict=True)]
    body = freeze(own, [*after, *found[n:]], kept)
    given = batched[op.first : op.first + n]
    operands = [tools.lead(v, b, size) if f else v for v, b, f in zip(carries, given, flags[:n], strict=True)]
    operands += [swapaxes(v, 0, 1) if f else v for v, f in zip(sequences, flags[n : n + op.sequences], strict=True)]
    results = _results(op.with_body(body), [*inputs[: op.first], *operands, *captured])
    totals = [tools.lead(v, f, size) for v, f in zip(results[:n], flags[:n], strict=True)]
    traces = zip(results[n : len(found)], spread[n:], strict=True)
    totals += [swapaxes(v, 0, 1) if s else tools.lead(v, False, size) for v, s in traces]
    return [*totals, *results[len(found) :]]


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


def _results(op: Scan, operands: Sequence[Variable]) -> tuple[Variable, ...]:
    made = op(*operands)
    return made if isinstance(made, tuple) else (made,)
