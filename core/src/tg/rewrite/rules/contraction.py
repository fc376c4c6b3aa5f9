"""Rules of products that sum over an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.ops.contraction import MatMul
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.shape import expand_dims_at
from tg.rewrite.phases import SIGNED_ZERO, SPECIALIZE
from tg.rewrite.rule import node_rule
from tg.types.dtypes import BOOL

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _outer(node: Apply, outputs: Any) -> Variable | None:
    x, y = node.inputs
    if x.type.dtype == BOOL or 1 not in (x.type.shape[-1], y.type.shape[-2]):
        return None
    return multiply(x, y)


RULES = (
    node_rule(
        "matmul_over_one",
        keys=(MatMul,),
        apply=_outer,
        phase=SPECIALIZE,
        kind=SIGNED_ZERO,
        why="A sum of one product is the product, which fuses with what surrounds it.",
        example=lambda x, y: MatMul()(expand_dims_at(x, (-1,)), expand_dims_at(y, (-2,))),
    ),
)
