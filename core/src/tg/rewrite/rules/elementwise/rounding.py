"""Rules of rounding: what is whole stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.record import Elementwise
from tg.ops.elementwise.rounding import ceil, floor, rint, trunc
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import node_rule
from tg.types.dtypes import is_complex, is_inexact

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

ROUNDING: Final = (floor, ceil, trunc, rint)


def _is_whole(v: Variable) -> bool:
    if v.apply is None:
        return False
    op = v.apply.op
    if isinstance(op, Cast):
        return not is_inexact(v.apply.inputs[0].type.dtype) and not is_complex(op.dtype)
    return isinstance(op, Elementwise) and any(op.fn is fn for fn in ROUNDING)


def _of_whole(node: Apply, outputs: Any) -> Variable | None:
    (x,) = node.inputs
    return x if _is_whole(x) else None


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
)
