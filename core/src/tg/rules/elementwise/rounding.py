"""Rules of rounding: what is whole stays, and signs move outwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.facts import holds
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.rounding import ceil, floor, rint, trunc
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import node_rule, rule
from tg.types.dtypes import is_integer

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

ROUNDING: Final = (floor, ceil, trunc, rint)
MIRRORED: Final = ((floor, ceil), (ceil, floor), (trunc, trunc), (rint, rint))


def _of_whole(node: Apply, outputs: Any) -> Variable | None:
    (x,) = node.inputs
    return x if holds(x, "whole") else None


def _truncated(node: Apply, outputs: Any) -> Variable | None:
    """An integer of what was truncated: the conversion truncates."""
    (y,) = node.inputs
    op: Any = node.op
    return op(y.inputs[0]) if is_integer(op.dtype) else None


def _of_negative(fn: Any) -> Any:
    return lambda x: fn(-x)


def _negated(fn: Any) -> Any:
    return lambda x: -fn(x)


RULES = (
    node_rule(
        "round_whole",
        keys=ROUNDING,
        apply=_of_whole,
        phase=CANONICALIZE,
        kind=EXACT,
        why="What has been rounded, or was an integer, is whole.",
        example=lambda x: floor(rint(x)),
    ),
    node_rule(
        "integer_of_truncated",
        keys=(Cast,),
        apply=_truncated,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A conversion to integers truncates.",
        example=lambda x: Cast("int32")(trunc(x)),
        below=(trunc,),
    ),
    *(
        rule(
            f"{fn.name}_of_negative",
            match=_of_negative(fn),
            replace=_negated(other),
            phase=CANONICALIZE,
            kind=EXACT,
            why="Signs move outwards, where they meet sums and other signs.",
        )
        for fn, other in MIRRORED
    ),
)
