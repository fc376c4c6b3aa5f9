"""Values of scalar programs that are not above 0: what core's facts say, and a row less its own largest element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.graph.facts import NONE, facts_of
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import FunctionGraph
from tg.ops.elementwise.arithmetic import add, maximum, subtract
from tg.ops.elementwise.comparison import isfinite, where
from tg.ops.elementwise.exponential import exp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tg.graph.frozen import Node
    from tg_native.fusion.loop import Stage
    from tg_native.loops.staging import Staging

ASKED: Final = frozenset((exp.op,))
"""The ops whose rules have a form for such operands."""


def never_positive(frozen: FrozenGraph, nonpositive: Iterable[int] = ()) -> frozenset[int]:
    """The operands of `ASKED` in a scalar program of which none is above 0; NaN may be.

    Args:
        nonpositive: values that are so whatever core says.
    """
    operands = {node.inputs[0] for node in frozen.nodes if node.op in ASKED}
    if not operands:
        return frozenset()
    assumed = dict(frozen.assumed)
    for k in operands.intersection(nonpositive):
        assumed[k] = assumed.get(k, NONE) | {"nonpositive"}
    numbers = sorted(operands)
    parts = frozen.arity, frozen.types, frozen.constants, frozen.nodes
    values = FunctionGraph.thaw(FrozenGraph(*parts, tuple(numbers), assumed=assumed)).outputs
    return frozenset(k for k, v in zip(numbers, values, strict=True) if "nonpositive" in facts_of(v))


def below_their_maxima(stage: Stage, staging: Staging) -> list[int]:
    """The values of a stage's program that are elements of an operand less the largest of the row that they are in."""
    return [node.outputs[0] for node, element, j in _differences(stage) if _is_maximum_of(element, j, staging)]


def shifted_in_sums(s: int, staging: Staging) -> frozenset[int]:
    """Elements less the largest of their row where that is finite, of which only exponentials are summed over the row.

    Elsewhere 0 is taken off (`tg.ops.softmax.powers_of`): an infinite element may have others above 0 beside it, whose
    exponentials may as well be infinite, for so is their sum.
    """
    stage, shifted = staging.op.stages[s], list[int]()
    for node, element, j in _differences(stage):
        top = _source_of_finite(j, staging)
        if top is not None and _is_maximum_of(element, top, staging) and _is_only_summed(node.outputs[0], s, staging):
            shifted.append(node.outputs[0])
    return frozenset(shifted)


def _is_only_summed(number: int, s: int, staging: Staging) -> bool:
    """Whether nothing is made of a value but sums of its exponentials over rows."""
    program = staging.op.stages[s].program
    powers = [node.outputs[0] for node in program.nodes if number in node.inputs and node.op in ASKED]
    readers = [node for node in program.nodes if not {number, *powers}.isdisjoint(node.inputs)]
    results = [(j, r) for j, r in staging.numbered(s) if program.outputs[r.value] in (number, *powers)]
    return len(readers) == len(powers) and all(r.fn is add and staging.is_scalar(j) for j, r in results)


def _differences(stage: Stage) -> Iterator[tuple[Node, int, int]]:
    """Steps that subtract the result of an earlier stage from elements, with the number of the operand and of that."""
    for node in stage.program.nodes:
        if node.op == subtract.op and all(k < stage.program.arity for k in node.inputs):
            element, row = (stage.reads[k] for k in node.inputs)
            if element >= 0 and row < 0:
                yield node, element, ~row


def _source_of_finite(j: int, staging: Staging) -> int | None:
    """The result that is a result where it is finite, which else is 0."""
    s, result = staging.results[j]
    stage = staging.op.stages[s]
    nodes = {node.outputs[0]: node for node in stage.program.nodes}
    chosen = nodes.get(stage.program.outputs[result.value])
    if result.fn is not None or chosen is None or chosen.op != where.op:
        return None
    test, value, other = chosen.inputs
    is_finite = test in nodes and nodes[test].op == isfinite.op and nodes[test].inputs == (value,)
    if not is_finite or value >= stage.program.arity or not _is_zero(other, stage.program):
        return None
    read = stage.reads[value]
    return ~read if read < 0 else None


def _is_zero(number: int, program: FrozenGraph) -> bool:
    k = number - program.arity
    return 0 <= k < len(program.constants) and not program.constants[k].data.any()


def _is_maximum_of(operand: int, j: int, staging: Staging) -> bool:
    s, result = staging.results[j]
    stage = staging.op.stages[s]
    value = stage.program.outputs[result.value]
    return result.fn is maximum and value < stage.program.arity and stage.reads[value] == operand
