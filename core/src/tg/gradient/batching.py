"""Batching: the same expression over one more leading axis of some of its inputs.

Axes are counted from the end, so most ops need nothing: operands are aligned and the batch axis stays in front.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.errors import InputError, message
from tg.gradient import loops
from tg.graph import loc as locs
from tg.graph.function_graph import freeze
from tg.graph.nodes import Variable
from tg.graph.traversal import ancestors, key_of, sorted_applies
from tg.ops.control import Call
from tg.ops.shape import broadcast_to, expand_dims_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.checks import Check
    from tg.graph.op import Op
    from tg.ops.loops import Cond, Scan, While
    from tg.types.lengths import Length


class BatchTools:
    """What `Op.batch` is given."""

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
        known = _over_batch(outputs, values, self)
        return [known.get(id(v), v) for v in outputs], [id(v) in known for v in outputs]

    def reads(self, check: Check, inputs: Sequence[Variable], batched: Sequence[bool]) -> bool:
        """Whether a check asks of inputs that carry the batch."""
        return _reads(check, {id(v): v for v, b in zip(inputs, batched, strict=True) if b})

    def need_unbatched(self, op: Op, batched: Sequence[bool]) -> None:
        """Refuse a batch of positions or sizes.

        Raises:
            InputError: an operand carries the batch.
        """
        if any(batched):
            raise InputError(message(f"{op.name}: positions that differ along a batch are not available"))

    def batch_default(
        self, op: Op, size: int | Length, inputs: Sequence[Variable], batched: Sequence[bool]
    ) -> Sequence[Variable]:
        """Operands aligned, the op unchanged."""
        if op.pointwise:
            found = op(*_aligned(inputs, batched))
        elif len(inputs) == 1:
            found = op(*inputs)
        else:
            found = op(*(self.lead(v, b, size) for v, b in zip(inputs, batched, strict=True)))
        return found if isinstance(found, tuple) else (found,)

    def batch_scan(self, op: Scan, *given: Any) -> Sequence[Variable]:
        """One loop of batched steps."""
        return loops.batch_scan(self, op, *given)

    def batch_while(self, op: While, *given: Any) -> Sequence[Variable]:
        """One loop until no element goes on, or one for each."""
        return loops.batch_while(self, op, *given)

    def batch_cond(self, op: Cond, *given: Any) -> Sequence[Variable]:
        """Batched branches, or all of them."""
        return loops.batch_cond(self, op, *given)

    def batch_call(
        self, op: Call, size: int | Length, inputs: Sequence[Variable], batched: Sequence[bool]
    ) -> Sequence[Variable]:
        """A call of the batched inner graph."""
        graph = op.graph
        inner = [Variable(v.type) for v in inputs]
        moving = [v for v, b in zip(inner, batched, strict=True) if b]
        plain = [v if not b else Variable(t) for v, b, t in zip(inner, batched, graph.input_types, strict=True)]
        outputs, checks = graph.instantiate_with_checks(plain)
        pairs = {id(p): v for p, v, b in zip(plain, inner, batched, strict=True) if b}
        found = vectorized(outputs, pairs, moving[0].shape[0])
        made = Call(freeze(inner, found, [check for check in checks if not _reads(check, pairs)]))(*inputs)
        return made if isinstance(made, tuple) else (made,)


def _reads(check: Check, values: dict[int, Variable]) -> bool:
    """Whether a check asks of variables that are given by their ids."""
    return any(id(v) in values for v in ancestors([check.condition, *check.values]))


def _aligned(inputs: Sequence[Variable], batched: Sequence[bool]) -> list[Variable]:
    """Pointwise operands in one rank: the batch in front, each operand's own axes at the end."""
    rank = max(v.type.ndim - int(b) for v, b in zip(inputs, batched, strict=True))
    found = []
    for v, b in zip(inputs, batched, strict=True):
        own = v.type.ndim - int(b)
        if b and own < rank:
            found.append(
                expand_dims_at(v, tuple(range(-rank, -own))) if own else expand_dims_at(v, tuple(range(-rank, 0)))
            )
        elif not b and own > 0:
            found.append(expand_dims_at(v, tuple(range(-rank - 1, -own))))
        else:
            found.append(v)
    return found


TOOLS = BatchTools()


def vectorized(
    outputs: Sequence[Variable], values: dict[int, Variable], size: int | Length, tools: BatchTools = TOOLS
) -> list[Variable]:
    """The outputs with inputs, given by id, replaced by ones that have a leading batch axis; all outputs carry it."""
    known = _over_batch(outputs, values, tools, size)
    return [tools.lead(known.get(id(v), v), id(v) in known, size) for v in outputs]


def _over_batch(
    outputs: Sequence[Variable], values: dict[int, Variable], tools: BatchTools, size: int | Length | None = None
) -> dict[int, Variable]:
    """What becomes of each variable, by its id, that depends on those that carry the batch."""
    known: dict[int, Variable] = dict(values)
    if size is None:
        size = next(iter(values.values())).shape[0]
    results_made: dict[tuple[int, int], Variable] = {}  # a result may be more than one variable

    def meet(variables: Sequence[Variable]) -> None:
        for v in variables:
            if id(v) not in known and key_of(v) in results_made:
                known[id(v)] = results_made[key_of(v)]

    for node, results in sorted_applies(outputs):
        meet(node.inputs)
        flags = [id(v) in known for v in node.inputs]
        if not any(flags):
            continue
        operands = [known.get(id(v), v) for v in node.inputs]
        with locs.at(node.loc):
            made = node.op.batch(tools, size, operands, flags)
        for k, (old, new) in enumerate(zip(results, made, strict=False)):
            results_made[id(node), k + 1] = new
            if old is not None:
                known[id(old)] = new
    meet(outputs)
    return known
