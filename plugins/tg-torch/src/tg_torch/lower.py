"""Rewrites for PyTorch: to what one of its functions does in a single pass. Every op has a rule or expands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.arithmetic import add, gate, square
from tg.ops.reduction import Reduce
from tg.plugin import Rewrites
from tg.rewrite.phases import BACKEND, REASSOCIATES
from tg.rewrite.rule import node_rule, rule
from tg_torch.fused import SquaredNorm, through_tanh

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _squared_norm(node: Apply, outputs: Any) -> Variable | None:
    (x,) = node.inputs
    made = x.apply
    if made is None or made.op.rule_key is not square:
        return None
    if node.op.fn is not add or x.type.ndim != 1 or x.type.dtype != "float64":  # type: ignore[attr-defined]
        return None
    found: Variable = SquaredNorm()(*made.inputs)
    return found


REWRITES: Final = Rewrites(
    rules=(
        rule(
            "cotangent_through_tanh",
            match=lambda dy, y: gate(dy, 1 - square(y)),
            replace=through_tanh,
            phase=BACKEND,
            kind=REASSOCIATES,
            why="PyTorch's own pass back through tanh needs neither the square nor the difference in memory.",
        ),
        node_rule(
            "squared_norm",
            keys=(Reduce,),
            below=(square,),
            apply=_squared_norm,
            phase=BACKEND,
            kind=REASSOCIATES,
            why="A product of vectors stores nothing; float64 has digits to spare for another order of its sum.",
            example=lambda x: Reduce(add, (-1,))(square(x[0])),
        ),
    )
)
