"""Rules of gates: a cotangent through a partial derivative that needs no protection is a product, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import (
    gate,
    multiply,
)
from tg.rewrite.phases import CANONICALIZE, EXACT, SIGNED_ZERO
from tg.rewrite.rule import node_rule, rule
from tg.rewrite.rules.elementwise.arithmetic.analysis import (
    is_finite,
)

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _gate_of_constant(node: Apply, outputs: Any) -> Any:
    dy, d = node.inputs
    if not isinstance(dy, Constant) or not dy.data.size:
        return None
    if not dy.data.any():
        return 0
    return multiply(dy, d) if dy.data.all() else None


def _gate_of_finite(node: Apply, outputs: Any) -> Variable | None:
    dy, d = node.inputs
    return multiply(dy, d) if is_finite(d) else None


RULES = (
    node_rule(
        "gate_of_constant",
        keys=(gate,),
        apply=_gate_of_constant,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A gate is closed where the cotangent is 0 and a product where it is not.",
        example=lambda x: gate(Constant(np.asarray(2, x.type.numpy_dtype)), x),
    ),
    rule(
        "gate_of_negative",
        match=lambda x, d: gate(-x, d),
        replace=lambda x, d: -gate(x, d),
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="A sign moves out of a gate, so that what it hides meets its partner.",
    ),
    node_rule(
        "gate_of_finite",
        keys=(gate,),
        apply=_gate_of_finite,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="0 times a finite derivative is 0, up to its sign.",
        example=lambda x: gate(x, Constant(np.asarray(2, x.type.numpy_dtype))),
    ),
)
