"""Batches of loops and branches: each a loop, or a choice, of batched steps.

Which carries are batched is found by iteration: those that a step reaches from the ones that are, until no more are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.checks import SHAPES, Descriptor, source_of
from tg.graph.frozen import types_for
from tg.graph.function_graph import FunctionGraph, freeze
from tg.graph.nodes import Variable, apply, as_size_variable
from tg.ops.assumptions import required
from tg.ops.creation import zeros
from tg.ops.elementwise.arithmetic import add, maximum
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater_equal, less, less_equal, where
from tg.ops.length_checks import NATURAL_HINT
from tg.ops.loops import Cond, Scan, While
from tg.ops.reduction import any as reduce_any
from tg.ops.reduction import total_max
from tg.ops.shape import expand_dims_at, swapaxes
from tg.types.dtypes import numpy_dtype
from tg.types.substitution import atoms
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.op import Op


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
        outs, spread = tools.spread(outputs, values)
        reached = [k for k in range(n) if spread[k] and not flags[k]]
        if not reached:
            break
        for k in reached:
            flags[k] = True
    inside = moving[0].shape[0]
    after = [tools.lead(v, s, inside) if f else v for v, s, f in zip(outs[:n], spread[:n], flags[:n], strict=True)]
    own = [v if b else p for v, p, b in zip(wide, plain, flags, strict=True)]
    body = freeze(own, [*after, *outs[n:]], tools.checks(checks, values))
    carry_flags = batched[op.first : op.first + n]
    operands = [tools.lead(v, b, size) if f else v for v, b, f in zip(carries, carry_flags, flags[:n], strict=True)]
    operands += [swapaxes(v, 0, 1) if f else v for v, f in zip(sequences, flags[n : n + op.sequences], strict=True)]
    results = apply(op.with_body(body), [*inputs[: op.first], *operands, *captured])
    totals = [v if f else tools.unbatched(v) for v, f in zip(results[:n], flags[:n], strict=True)]
    traces = zip(results[n : len(outs)], spread[n:], strict=True)
    totals += [swapaxes(v, 0, 1) if s else tools.unbatched(v) for v, s in traces]
    return [*totals, *map(tools.unbatched, results[len(outs) :])]


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
    types = types_for(op.body, [v.symbolic_type for v in own])
    nothing = [_zeros_before(tools, op, types[number], own) for number in op.body.outputs[n : n + op.traces]]
    step = Cond((freeze(own, [*own[:n], *nothing]), op.body))
    results = apply(step, [cast_variable(less(at, count), "int64"), *own])
    after, traced = results[:n], results[n : n + op.traces]
    body = freeze([*own[:n], at, *own[n:], count], [*after, add(at, -1 if op.reverse else 1), *traced])
    start = add(most, -1) if op.reverse else as_size_variable(0)
    operands = [most, *inputs[first : first + n], start, *inputs[first + n :], inputs[0]]
    flags = [False, *batched[first : first + n], False, *batched[first + n :], True]
    outs = batch_scan(tools, Scan(body, n + 1, op.sequences, None, op.reverse, op.told), size, operands, flags)
    return [*outs[:n], *outs[n + 1 : n + 1 + op.traces]]


def _zeros_before(tools: Any, op: Scan, t: TensorType, own: Sequence[Variable]) -> Variable:
    """Zeros of the type of what a step traces, whose lengths must follow from those of what is given to it."""
    ids = {id(u) for u in own}
    unknown = any(id(getattr(atom, "owner", None)) not in ids for m in t.shape for atom in atoms(m))
    tools.need_unbatched(op, [unknown], "a length")
    lengths: Any = t.shape  # which `need_unbatched` has looked at
    return zeros(lengths, dtype=t.dtype)


def _wide_inputs(
    op: Scan, operands: Sequence[Variable], flags: Sequence[bool], batched: Sequence[bool], plain: Sequence[Variable]
) -> list[Variable]:
    """The inputs of a batched step: of carries that become batched on the way with an axis more than their own."""
    wide = []
    for k, (v, flag, has_batch, p) in enumerate(zip(operands, flags, batched, plain, strict=True)):
        if not flag:
            wide.append(p)
            continue
        shape = v.type.shape if has_batch else (None, *v.type.shape)
        if op.carries <= k < op.carries + op.sequences:  # (batch, step, ...): a slice has lost the second
            shape = (shape[0], *shape[2:])
        wide.append(Variable(v.type.with_shape(shape)))
    return wide


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
        (test,), conditions = op.condition.instantiate_with_checks(plain)
        outputs, checks = op.body.instantiate_with_checks(plain)
        (goes_on,), (differs,) = tools.spread([test], pairs)
        outs, spread = tools.spread(outputs, pairs)
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
    after = [tools.lead(v, s, inside) if f else v for v, s, f in zip(outs[:n], spread[:n], flags[:n], strict=True)]
    traced = [tools.lead(v, s, inside) for v, s in zip(outs[n:], spread[n:], strict=True)]
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
    outputs = apply(op, inner)
    results = outputs[: -1 if op.inner_descriptors else None]
    length = size if type(size) is int else None
    lengths = [] if length is not None else [as_size_variable(size)]
    loop = Scan(freeze(own, results), 0, len(sequences), length, told=())
    stacks = apply(loop, [*lengths, *sequences, *captured])
    return list(stacks[: len(results)])


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
        outs, spread = tools.spread(outputs, pairs)
        columns.append(spread)
        graphs.append((own, outs, inside, tools.checks(checks, pairs)))
    flags = [any(column) for column in zip(*columns, strict=True)]
    led = [
        freeze(
            own,
            [tools.lead(v, s, inside) if f else v for v, s, f in zip(outs, spread, flags, strict=True)],
            branch_checks,
        )
        for (own, outs, inside, branch_checks), spread in zip(graphs, columns, strict=True)
    ]
    if not batched[0]:
        results = apply(Cond(tuple(led)), inputs)
        return [v if f else tools.unbatched(v) for v, f in zip(results, flags, strict=False)]
    last = len(led) - 1
    chosen = [tools.lead(v, f, size) for v, f in zip(led[last].instantiate(inputs[1:]), flags, strict=True)]
    for k in range(last - 1, -1, -1):
        is_k = less_equal(inputs[0], k)
        branch = [tools.lead(v, f, size) for v, f in zip(led[k].instantiate(inputs[1:]), flags, strict=True)]
        chosen = [where(_as_wide(is_k, v), v, w) for v, w in zip(branch, chosen, strict=True)]
    return chosen


def _wide(v: Variable, flag: bool, has_batch: bool, p: Variable) -> Variable:
    """The input of a batched graph: with one axis more in front where it carries the batch."""
    if not flag:
        return p
    return Variable(v.type.with_shape(v.type.shape if has_batch else (None, *v.type.shape)))


def _as_wide(condition: Variable, v: Variable) -> Variable:
    """A condition for each element of a batch with as many axes as what it chooses."""
    return expand_dims_at(condition, tuple(range(-v.type.ndim + 1, 0))) if v.type.ndim > 1 else condition
