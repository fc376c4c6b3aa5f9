"""Rewrites for PyTorch: to what one of its functions does in a single pass. Every op has a rule or expands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.backend import (
    BACKEND,
    REASSOCIATES,
    RUNNING_RESULTS,
    STEPS_AHEAD,
    Reduce,
    Rewrites,
    arithmetic,
    node_rule,
)
from tg_torch.fused import SquaredNorm

if TYPE_CHECKING:
    from tg.backend import Apply, Variable


def _squared_norm(node: Apply, outputs: Any) -> Variable | None:
    (x,) = node.inputs
    made = x.apply
    if made is None or made.op.rule_key is not arithmetic.square:
        return None
    if node.op.fn is not arithmetic.add or x.type.ndim != 1 or x.type.dtype != "float64":  # type: ignore[attr-defined]
        return None
    found: Variable = SquaredNorm()(*made.inputs)
    return found


REWRITES: Final = Rewrites(
    rules=(
        RUNNING_RESULTS,
        node_rule(
            "squared_norm",
            keys=(Reduce,),
            below=(arithmetic.square,),
            apply=_squared_norm,
            phase=BACKEND,
            kind=REASSOCIATES,
            why="A product of vectors stores nothing; float64 has digits to spare for another order of its sum.",
            example=lambda x: Reduce(arithmetic.add, (-1,))(arithmetic.square(x[0])),
        ),
    ),
    passes=(STEPS_AHEAD,),
)
