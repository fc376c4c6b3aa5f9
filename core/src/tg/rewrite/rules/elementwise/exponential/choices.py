"""Products with a choice between a value and 0: what a `where` makes of a cotangent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tg.ops.elementwise.arithmetic import gate, multiply
from tg.ops.elementwise.comparison import where
from tg.ops.shape_ops import BroadcastTo, ExpandDims
from tg.rewrite.pattern import is_made_by
from tg.rewrite.rules.elementwise.exponential.terms import is_number, moved

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

DEPTH: Final = 6


class Choice(NamedTuple):
    """A value where a condition is true, or where it is false, and a 0 elsewhere."""

    condition: Variable
    value: Variable
    zero: Variable
    is_first: bool

    def where(self, value: Variable, zero: Variable) -> Variable:
        """Another value and another 0, chosen as these are."""
        return where(self.condition, *((value, zero) if self.is_first else (zero, value)))


def choice_of(v: Variable, depth: int = DEPTH) -> Choice | None:
    """The parts of a choice between a value and 0, which may be repeated, or multiplied by something."""
    node = v.apply
    if node is None or not depth:
        return None
    if type(node.op) in (ExpandDims, BroadcastTo):
        inner = choice_of(v.inputs[0], depth - 1)
        if inner is None:
            return None
        c, x, y = (moved(u, node) for u in (inner.condition, inner.value, inner.zero))
        return Choice(c, x, y, inner.is_first)
    if node.op in (multiply.op, gate.op):
        for x, y in (v.inputs, v.inputs[::-1]) if node.op is multiply.op else (v.inputs,):
            inner = choice_of(x, depth - 1)
            if inner is not None:
                return inner._replace(value=node.op(inner.value, y), zero=node.op(inner.zero, y))
    if not is_made_by(v, where):
        return None
    c, x, y = v.inputs
    if is_number(y, 0):
        return Choice(c, x, y, True)
    return Choice(c, y, x, False) if is_number(x, 0) else None
