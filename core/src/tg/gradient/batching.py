"""Batching: the same expression over one more leading axis of some of its inputs.

Axes are counted from the end, so most ops need nothing: operands are aligned and the batch axis stays in front. What
does not depend on the elements of the batch, as lengths do not, is computed once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg.errors import InputError, message
from tg.gradient import loop_batches
from tg.graph import loc as locs
from tg.graph.checks import Check
from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable, apply
from tg.graph.traversal import key_of, sorted_applies
from tg.ops.control import Call
from tg.ops.creation import iota
from tg.ops.custom import Custom
from tg.ops.elementwise.comparison import equal, where
from tg.ops.implicit import Implicit, SolveByProducts
from tg.ops.loops import Scan
from tg.ops.reduction import all as reduce_all
from tg.ops.reduction import reduce_sum, total_min
from tg.ops.shape import Transpose, broadcast_to, expand_dims_at
from tg.types.dtypes import is_inexact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph
    from tg.graph.nodes import Apply
    from tg.graph.op import Op
    from tg.ops.loops import Cond, While
    from tg.types.lengths import Length

    Key = tuple[int, int]


class Unbatched(NamedTuple):
    """A result of `Op.batch` that does not carry the batch."""

    variable: Variable


class Padding(NamedTuple):
    """Of a variable that is longer than an element's: the key of the element's length, and the axis, from the end."""

    length: Key
    axis: int


class BatchTools:
    """Tools that `Op.batch` is given."""

    def unbatched(self, v: Variable) -> Unbatched:
        """A result that is the same for all elements of the batch."""
        return Unbatched(v)

    def lead(self, v: Variable, batched: bool, size: int | Length) -> Variable:
        """The variable with the batch axis in front, repeated if it does not have one."""
        return v if batched else self.repeat(v, size)

    def repeat(self, v: Variable, size: int | Length) -> Variable:
        """The variable repeated along a new leading axis."""
        return broadcast_to(expand_dims_at(v, (-v.type.ndim - 1,)), (size, *v.shape))

    def vectorized(
        self, outputs: Sequence[Variable], values: dict[int, Variable], size: int | Length
    ) -> list[Variable]:
        """As the function of this name."""
        return vectorized(outputs, values, size, self)

    def spread(self, outputs: Sequence[Variable], values: dict[int, Variable]) -> tuple[list[Variable], list[bool]]:
        """The outputs over batched values, given by the ids of what they replace, and which of them carry the batch."""
        if not values:
            return list(outputs), [False] * len(outputs)
        return spread(outputs, values, next(iter(values.values())).shape[0], self)

    def checks(self, checks: Sequence[Check], values: dict[int, Variable]) -> list[Check]:
        """Checks over batched values, given by the ids of what they replace: each of all elements of the batch."""
        if not values or not checks:
            return list(checks)
        size = next(iter(values.values())).shape[0]
        operands, flags = self.spread([v for check in checks for v in (check.condition, *check.values)], values)
        rest = iter(zip(operands, flags, strict=True))
        new_checks = []
        for check in checks:
            pairs = [next(rest) for _ in (check.condition, *check.values)]
            condition, shown = self.of_all(size, [v for v, _ in pairs], [b for _, b in pairs])
            new_checks.append(Check(condition, tuple(shown), check.descriptor))
        return new_checks

    def of_all(
        self, size: int | Length, terms: Sequence[Variable], batched: Sequence[bool]
    ) -> tuple[Variable, list[Variable]]:
        """Of a condition and the integers that it shows: whether it holds for all, and those of the first that fails.

        Args:
            terms: the condition, then the integers; all are scalars but for the batch.
        """
        condition, *shown = terms
        if not any(batched):
            return condition, shown
        places = iota(size)
        first = total_min(where(condition, size, places)) if batched[0] else 0
        numbers = [
            reduce_sum(where(equal(places, first), v, 0), (-1,)) if b else v
            for v, b in zip(shown, batched[1:], strict=True)
        ]
        return reduce_all(condition) if batched[0] else condition, numbers

    def need_unbatched(self, op: Op, batched: Sequence[bool], what: str, hint: str | None = None) -> None:
        """Refuse a batch of what all elements must have in common.

        Raises:
            InputError: an operand carries the batch.
        """
        if any(batched):
            text = f"vmap: {op.name}: found {what} that depends on the element of the batch, needed one for all"
            raise InputError(message(text, hint=hint))

    def batch_default(
        self, op: Op, size: int | Length, inputs: Sequence[Variable], batched: Sequence[bool]
    ) -> Sequence[Variable]:
        """Operands aligned, the op unchanged."""
        if op.pointwise:
            return apply(op, _aligned(inputs, batched))
        return apply(op, [self.lead(v, b, size) for v, b in zip(inputs, batched, strict=True)])

    def batch_expansion(
        self, op: Op, size: int | Length, inputs: Sequence[Variable], batched: Sequence[bool]
    ) -> Sequence[Variable]:
        """The batched expansion of an op."""
        plain = [self.element(v) if b else v for v, b in zip(inputs, batched, strict=True)]
        outputs = op.expansion(*plain)
        values = {id(p): v for p, v, b in zip(plain, inputs, batched, strict=True) if b}
        return self.vectorized(outputs if isinstance(outputs, tuple) else (outputs,), values, size)

    def element(self, v: Variable) -> Variable:
        """A leaf in the place of one element of a batched variable."""
        leaf = Variable(v.type.with_shape(v.type.shape[1:]), name=v.name)
        return leaf.with_lengths(v.shape[1:])

    def batch_scan(self, op: Scan, *args: Any) -> Sequence[Any]:
        """One loop of batched steps."""
        return loop_batches.batch_scan(self, op, *args)

    def batch_while(self, op: While, *args: Any) -> Sequence[Any]:
        """One loop until no element goes on, or one for each."""
        return loop_batches.batch_while(self, op, *args)

    def batch_cond(self, op: Cond, *args: Any) -> Sequence[Any]:
        """Batched branches, or all of them."""
        return loop_batches.batch_cond(self, op, *args)

    def batch_custom(
        self, op: Custom, size: int | Length, inputs: Sequence[Variable], batched: Sequence[bool]
    ) -> Sequence[Variable]:
        """The function and its derivatives batched; what an operand without the batch gets is summed over it."""
        whole = [True]
        graph = batched_graph(self, op.graph, batched)
        forward = tuple(batched_graph(self, g, batched) for g in op.forward)
        backward = tuple(
            batched_graph(self, g, whole * g.arity, [not batched[k] for k in op.gives]) for g in op.backward
        )
        flags = [b for v, b in zip(inputs, batched, strict=True) if is_inexact(v.type.dtype)]
        tangent = tuple(batched_graph(self, g, [*batched, *flags]) for g in op.tangent)
        results = Custom(graph, forward, backward, tangent, op.gives)(*inputs)
        return results if isinstance(results, tuple) else (results,)

    def batch_implicit(
        self, op: Implicit, size: int | Length, inputs: Sequence[Variable], batched: Sequence[bool]
    ) -> Sequence[Variable]:
        """The solver and its pullback batched; what an operand without the batch gets is summed over it."""
        graph = batched_graph(self, op.graph, batched)
        whole = [True] * len(op.graph.outputs)
        summed = [not batched[k] for k in op.gives]
        flags = [*whole, *batched, True, True]
        backward = tuple(batched_graph(self, g, flags, summed) for g in op.backward)
        return apply(Implicit(graph, backward, op.gives, op.lacks), inputs)

    def batch_by_products(
        self, op: SolveByProducts, size: int | Length, inputs: Sequence[Variable], batched: Sequence[bool]
    ) -> Sequence[Variable]:
        """The vectors of a batch by batched products."""
        flags = [True, *batched[1:]]
        product, *transpose = (batched_graph(self, graph, flags) for graph in (op.product, *op.transpose))
        return apply(SolveByProducts(product, tuple(transpose)), [self.lead(inputs[0], batched[0], size), *inputs[1:]])

    def batch_call(
        self, op: Call, size: int | Length, inputs: Sequence[Variable], batched: Sequence[bool]
    ) -> Sequence[Any]:
        """A call of the batched inner graph."""
        graph = op.graph
        inner = [Variable(v.type) for v in inputs]
        plain = [v if not b else Variable(t) for v, b, t in zip(inner, batched, graph.input_types, strict=True)]
        outputs, checks = graph.instantiate_with_checks(plain)
        values = {id(p): v for p, v, b in zip(plain, inner, batched, strict=True) if b}
        wide, flags = self.spread(outputs, values)
        results = apply(Call(freeze(inner, wide, self.checks(checks, values))), inputs)
        flags += [False] * (len(results) - len(flags))  # the status
        return [v if b else Unbatched(v) for v, b in zip(results, flags, strict=True)]


def _aligned(inputs: Sequence[Variable], batched: Sequence[bool]) -> list[Variable]:
    """Pointwise operands in one rank: the batch in front, each operand's own axes at the end."""
    rank = max(v.type.ndim - int(b) for v, b in zip(inputs, batched, strict=True))
    operands = []
    for v, b in zip(inputs, batched, strict=True):
        own = v.type.ndim - int(b)
        if b and own < rank:
            operands.append(expand_dims_at(v, tuple(range(-rank, -own if own else 0))))
        elif not b and own > 0:
            operands.append(expand_dims_at(v, tuple(range(-rank - 1, -own))))
        else:
            operands.append(v)
    return operands


def batched_graph(
    tools: BatchTools, graph: FrozenGraph, batched: Sequence[bool], summed: Sequence[bool] = ()
) -> FrozenGraph:
    """A graph over one more leading axis of some inputs; all its outputs have it, or are summed over it."""
    plain = [Variable(t) for t in graph.input_types]
    wide = [Variable(v.type.with_shape((None, *v.type.shape))) if b else v for v, b in zip(plain, batched, strict=True)]
    outputs, checks = graph.instantiate_with_checks(plain)
    pairs = {id(p): w for p, w, b in zip(plain, wide, batched, strict=True) if b}
    results = vectorized(outputs, pairs, next(iter(pairs.values())).shape[0], tools)
    if summed:
        results = [reduce_sum(v, (-v.type.ndim,)) if s else v for v, s in zip(results, summed, strict=True)]
    return freeze(wide, results, tools.checks(checks, pairs))


TOOLS = BatchTools()


def vectorized(
    outputs: Sequence[Variable], values: dict[int, Variable], size: int | Length, tools: BatchTools = TOOLS
) -> list[Variable]:
    """The outputs with inputs, given by id, replaced by ones that have a leading batch axis; all outputs carry it."""
    results, flags = spread(outputs, values, size, tools)
    return [tools.lead(v, b, size) for v, b in zip(results, flags, strict=True)]


def spread(
    outputs: Sequence[Variable], values: dict[int, Variable], size: int | Length, tools: BatchTools = TOOLS
) -> tuple[list[Variable], list[bool]]:
    """The outputs with inputs, given by id, replaced by batched ones, and which of them carry the batch."""
    memo = {(k, 0): (v, True) for k, v in values.items()}  # by keys of variables: what they become
    padded: dict[Key, Padding] = {}
    with locs.at(None):
        for node, results in sorted_applies(outputs):
            entries = [memo.get(key_of(v), (v, False)) for v in node.inputs]
            operands, flags = [v for v, _ in entries], [b for _, b in entries]
            if all(new is old for new, old in zip(operands, node.inputs, strict=True)):
                continue
            locs.fix(node.loc)
            fresh = _over_batch(node, tools, size, operands, flags, padded)
            for old, new in zip(results, fresh, strict=False):
                if old is not None:
                    memo[key_of(old)] = (new.variable, False) if type(new) is Unbatched else (new, True)
    _need_whole(tools, outputs, padded)
    pairs = [memo.get(key_of(v), (v, False)) for v in outputs]
    return [v for v, _ in pairs], [b for _, b in pairs]


def _over_batch(
    node: Apply,
    tools: BatchTools,
    size: int | Length,
    operands: Sequence[Variable],
    flags: Sequence[bool],
    padded: dict[Key, Padding],
) -> Sequence[Any]:
    """The results of a node on operands of which some carry the batch."""
    op = node.op
    if type(op) is Scan and op.first and flags[0]:
        _need_counted(node, op, tools, padded)
    elif type(op) is Transpose and key_of(node.inputs[0]) in padded:
        padding = padded[key_of(node.inputs[0])]
        padded[id(node), 1] = padding._replace(axis=op.axes.index(padding.axis) - len(op.axes))
    elif op.pointwise and len(paddings := {padded.get(key_of(v)) for v in node.inputs}) == 1 and None not in paddings:
        padded[id(node), 1] = padded[key_of(node.inputs[0])]
    else:
        _need_whole(tools, node.inputs, padded)
        tools.need_unbatched(op, [flags[k] for k in op.size_operands(len(operands))], "a length")
    return op.batch(tools, size, operands, flags) if any(flags) else [Unbatched(v) for v in apply(op, operands)]


def _need_counted(node: Apply, op: Scan, tools: BatchTools, padded: dict[Key, Padding]) -> None:
    """Refuse a loop of as many steps as each element asks for, unless its sequences are traces of such a loop.

    Its own traces are then as long as those of the element that asks for most.
    """
    count = key_of(node.inputs[0])
    carries, sequences, captured = op.parts(node.inputs)
    fitting = [padded.get(key_of(v)) == Padding(count, -v.type.ndim) for v in sequences]
    tools.need_unbatched(op, [not fits for fits in fitting], "a length")
    _need_whole(tools, [*carries, *captured], padded)
    for k in range(op.carries, op.carries + op.traces):
        padded[id(node), k + 1] = Padding(count, -len(node.types[k].shape))


def _need_whole(tools: BatchTools, variables: Sequence[Variable], padded: dict[Key, Padding]) -> None:
    """Refuse variables of which each element would have another length."""
    for v in variables:
        if key_of(v) in padded and v.apply is not None:
            tools.need_unbatched(v.apply.op, [True], "a length")
