"""Values of scalar programs that are never above 0: what core's facts say, and a row less its own largest element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.graph.facts import NONE, facts_of
from tg.graph.frozen import FrozenGraph
from tg.graph.function_graph import FunctionGraph
from tg.ops.elementwise.arithmetic import maximum, subtract
from tg.ops.elementwise.exponential import exp

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    numbers, arity = [], stage.program.arity
    for node in stage.program.nodes:
        if node.op != subtract.op or any(k >= arity for k in node.inputs):
            continue
        element, largest = (stage.reads[k] for k in node.inputs)
        if element >= 0 and largest < 0 and _is_maximum_of(element, ~largest, staging):
            numbers.append(node.outputs[0])
    return numbers


def _is_maximum_of(operand: int, j: int, staging: Staging) -> bool:
    s, result = staging.results[j]
    stage = staging.op.stages[s]
    value = stage.program.outputs[result.value]
    return result.fn is maximum and value < stage.program.arity and stage.reads[value] == operand
