"""Shapes that users state: once stated, what follows needs no statement of its own.

That a length is the stated one has a check of its own, made when the program was imported; from then on it is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.record import Elementwise
from tg.ops.shape import SpecifyShape
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import node_rule, rule_of
from tg.rules.shape.outward import applied
from tg.rules.shape.terms import is_shape_of, made_by, same_shape

if TYPE_CHECKING:
    from tg.graph.nodes import Variable


@rule_of(Elementwise, Cast, kind=EXACT, below=(SpecifyShape,), example=lambda x: -SpecifyShape(x.type.shape)(x))
def _elementwise_of_specified(op: Any, *inputs: Variable) -> Variable | None:
    """Elements do not depend on what is known of their operand's shape, unless it shows that they repeat.

    Rules of functions meet one another, and the lengths are known all the same.
    """
    operands = [v.inputs[0] if _is_statement(v) else v for v in inputs]
    return None if all(a is b for a, b in zip(operands, inputs, strict=True)) else applied(op, operands)


def _is_statement(v: Variable) -> bool:
    if not made_by(v, SpecifyShape):
        return False
    shape, stated = v.inputs[0].type.shape, v.type.shape
    return is_shape_of(v.inputs[0], v.shape) and all(a == 1 or b != 1 for a, b in zip(shape, stated, strict=True))


RULES = (
    node_rule(
        "specify_shape_known",
        keys=(SpecifyShape,),
        apply=same_shape,
        phase=CANONICALIZE,
        kind=EXACT,
        why="It says nothing new.",
        example=lambda x: SpecifyShape(x.type.shape)(x),
    ),
    _elementwise_of_specified,
)
