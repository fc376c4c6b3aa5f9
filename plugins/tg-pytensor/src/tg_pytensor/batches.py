"""Ops of matrices and vectors, applied to every one of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg_pytensor.conversion import rule_of
from tg_pytensor.registry import convert

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg_pytensor.conversion import Conversion


@convert.register("Blockwise", whole=True)
def blockwise(conversion: Conversion, node: Any) -> Any:
    """The op of each matrix or vector: its rule with leading axes where it takes them, else under `tg.vmap`."""
    op = node.op
    inner = op._create_dummy_core_node(node.inputs)
    depth = node.inputs[0].type.ndim - len(op.inputs_sig[0])
    operands = same_batches([conversion[v] for v in node.inputs], [v.type.shape[:depth] for v in node.inputs])
    rule = rule_of(inner)
    if rule.batched:
        return conversion.of_node(rule, inner, operands)

    def each(*lanes: Any) -> tuple[Any, ...]:
        results = conversion.of_node(rule, inner, lanes)
        return tuple(results) if isinstance(results, list | tuple) else (results,)

    return in_lanes(each, operands, depth)


def same_batches(operands: Sequence[Any], batches: Sequence[Sequence[int | None]]) -> list[Any]:
    """Operands of which it is made sure that their leading axes have one length, but where that is known to be 1."""
    if not batches[0]:
        return list(operands)
    wanted = [list(x.shape) for x in operands]
    for k in range(len(batches[0])):
        longer = [lengths[k] for lengths, batch in zip(wanted, batches, strict=True) if batch[k] != 1]
        for lengths, batch in zip(wanted, batches, strict=True):
            if batch[k] != 1:
                lengths[k] = longer[0]
    return [tg.specify_shape(x, lengths) for x, lengths in zip(operands, wanted, strict=True)]


def in_lanes(each: Callable[..., tuple[Any, ...]], operands: Sequence[Any], depth: int) -> tuple[Any, ...]:
    """A function of lanes along so many leading axes; an operand with one lane is there for all of the others."""
    if not depth:
        return each(*operands)
    single = [x.type.shape[0] == 1 for x in operands]
    taken = [first(x) if one else x for x, one in zip(operands, single, strict=True)]
    if all(single):
        return tuple(tg.expand_dims(y, 0) for y in in_lanes(each, taken, depth - 1))
    axes = tuple(None if one else 0 for one in single)
    return tuple(tg.vmap(lambda *lanes: in_lanes(each, lanes, depth - 1), in_axes=axes)(*taken))


def first(x: Any) -> Any:
    """The only element along the first axis: of a constant a constant, which some rules need."""
    return tg.constant(x.data[0]) if isinstance(x, tg.Constant) else x[0]
