"""Where a factor is 0 because its operand is infinite: there it closes a gate, also when it has met another.

That of an input that is infinite is not looked for: rules that reassociate promise nothing there. But log(0), a number
over 0 and the -inf of a mask are infinite on the way, and gate(a * exp(log(0)), 1 / exp(log(0))) is 0.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.facts import holds
from tg.graph.nodes import Constant
from tg.ops.contraction import MatMul
from tg.ops.cumulative import Accumulate
from tg.ops.elementwise.arithmetic import (
    absolute,
    add,
    clip,
    divide,
    hypot,
    maximum,
    minimum,
    multiply,
    negative,
    reciprocal,
    sqrt,
    square,
    subtract,
)
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.comparison import equal, logical_and, logical_or, where
from tg.ops.elementwise.exponential import exp, exp2, expm1, log, log2, log10, logaddexp, sigmoid, softplus
from tg.ops.elementwise.trigonometric import arcsinh, arctan, cos, cosh, sin, sinh, tanh
from tg.ops.indexing import Gather, Slice, SliceUpdate
from tg.ops.reduction import Reduce
from tg.ops.shape import expand_dims_at
from tg.ops.shape_ops import BroadcastTo, Concatenate, SpecifyShape, SumTo
from tg.ops.softmax import LogSumExp, Softmax
from tg.rewrite.rules.elementwise.exponential.factors import OTHER, Factor
from tg.rewrite.rules.elementwise.exponential.terms import MOVEMENTS, aligned_sum_of_exp, inside, logs_of_sum
from tg.types.dtypes import numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

    End = tuple[Variable, int]  # a value, and the sign of an infinity

MOST_NODES: Final = 100  # that are looked at to know that a value has no pole
BOTH: Final = (1, -1)
OWN: Final = frozenset(  # infinite only where an operand is, with the same sign
    fn.op for fn in (add, arcsinh, clip, maximum, minimum, sinh, where)
)
ABOVE: Final = frozenset(fn.op for fn in (exp, exp2, expm1, logaddexp, softplus, sqrt))  # never -inf for finite ones
EVEN: Final = frozenset(fn.op for fn in (absolute, cosh, hypot, square))
BOUNDED: Final = frozenset(fn.op for fn in (sigmoid, tanh, arctan, sin, cos))
LOGARITHMS: Final = frozenset(fn.op for fn in (log, log2, log10))
MOVES: Final = (
    *MOVEMENTS, Slice, SliceUpdate, Gather, Concatenate, SpecifyShape, SumTo, Cast, Softmax,
)  # fmt: skip


def closed_by(f: Factor) -> Variable | None:
    """Where a factor is 0 because its operand is infinite; None where that is so only if an input is infinite."""
    ends = _ends(f)
    some, join = (all, logical_and) if f.power > 0 else (any, logical_or)  # a sum is 0 where all its terms are
    if not some(_may_be_infinite(u, sign) for u, sign in ends) or not ends:
        return None
    return functools.reduce(join, [equal(_beside(f, u), number(sign * np.inf, u)) for u, sign in ends])


def hidden(f: Factor, closed: Variable) -> Factor:
    """The factor where a gate is open, and 0 where it is closed."""
    v, power = f.value()
    return Factor(OTHER, where(closed, number(0 if power > 0 else np.inf, v), v), power=power, bounded=f.bounded)


def number(value: float, like: Variable) -> Constant:
    """A number as a constant of the dtype of a value."""
    return Constant(np.array(value, numpy_dtype(like.type.dtype)))


def _ends(f: Factor) -> list[End]:
    """The infinities of operands at which a factor is 0, a divisor at each of them, others where all are."""
    kind, u, sign, power = f.kind, f.u, f.sign, f.power
    if kind == "exp":
        return [(u, -sign * power)]
    if kind == "sigmoid" and power > 0:
        return [(u, -sign)]
    if kind == "expm1" and power < 0:
        return [(u, sign)]
    if kind in ("sinh", "cosh") and power < 0:
        return [(u, end) for end in BOTH]
    if kind == "softmax" and power > 0:
        return [(_operand_of_softmax(u), -power)]
    if kind == "sum":
        found = aligned_sum_of_exp(u)
        if found is None:
            return [(v, -power) for v in logs_of_sum(u)]
        if power < 0 or not found.plus_one:
            return [(found.x, -power)]
    return []


def _operand_of_softmax(v: Variable) -> Variable:
    """What the softmax is of that a value is, moved as it is."""
    node: Any = v.apply
    x: Variable = node.inputs[0]
    if type(node.op) is not Softmax:
        x = node.op(_operand_of_softmax(x), *node.inputs[1:])
    return x


def _beside(f: Factor, u: Variable) -> Variable:
    """The operand of a factor where it stands; of a sum of exponentials the largest one."""
    found = aligned_sum_of_exp(f.u) if f.kind == "sum" else None
    if found is None:
        return u
    largest = Reduce(maximum, found.axes, total=True)(u)
    return largest if f.u.type.ndim == 0 else expand_dims_at(largest, found.axes)


def _may_be_infinite(v: Variable, sign: int) -> bool:
    """Whether a value may be an infinity of a sign though no input is infinite, were it computed exactly."""
    stack, seen = [(v, sign)], set[tuple[int, int]]()
    while stack:
        u, sign = stack.pop()
        if (id(u), sign) in seen or holds(u, "finite"):
            continue
        seen.add((id(u), sign))
        if isinstance(u, Constant):
            if (u.data == sign * np.inf).any():
                return True
            continue
        if u.apply is None:
            continue
        found = _ends_of_operands(u.apply, sign)
        if found is None or len(seen) > MOST_NODES:
            return True
        stack.extend(found)
    return False


def _ends_of_operands(node: Apply, sign: int) -> list[End] | None:
    """The infinities of its operands without which a value is not the infinity; None where it may be without."""
    op, inputs = node.op, node.inputs
    if op in BOUNDED:
        return []
    if op in OWN or type(op) in MOVES:
        return [(u, sign) for u in inputs]
    if op in ABOVE:
        return [(u, sign) for u in inputs] if sign > 0 or op is logaddexp.op else []
    if op in LOGARITHMS:
        return [(inputs[0], sign)] if sign > 0 else None
    if op in EVEN:
        return [(u, end) for u in inputs for end in BOTH] if sign > 0 else []
    if type(op) is Accumulate and op.reduction.kind != "other":
        return [(inputs[0], end) for end in (BOTH if op.reduction.kind == "product" else (sign,))]
    if op is negative.op:
        return [(inputs[0], -sign)]
    if op is subtract.op:
        x, y = inputs
        if (bound := _bound(x, y)) == sign:
            return []
        return [(x, end) for end in BOTH] if bound else [(x, sign), (y, -sign)]
    if type(op) is Reduce and (
        op.reduction.is_sum or (op.reduction.is_extreme and (sign == op.reduction.sign or not op.total))
    ):
        return [(inputs[0], sign)]
    if op is multiply.op and isinstance(inputs[1], Constant) and inputs[1].data.size == 1:
        return [(inputs[0], sign if inputs[1].data > 0 else -sign), *((inputs[1], end) for end in BOTH)]
    divided = op in (divide.op, reciprocal.op)
    if op is multiply.op or type(op) is MatMul or (divided and holds(inputs[-1], "nonzero")):
        return [(u, end) for u in inputs for end in BOTH]
    return None


def _bound(x: Variable, y: Variable) -> int:
    """1 where y is a maximum or the logsumexp of x and others beside it, -1 where it is a minimum, 0 where neither."""
    if y.apply is not None and type(y.apply.op) is BroadcastTo:
        y = y.inputs[0]
    total, added = inside(y)
    node = total.apply
    if node is None or type(node.op) not in (Reduce, LogSumExp) or node.inputs[0] is not x:
        return 0
    op: Any = node.op
    if added != op.axes and total.type.ndim:
        return 0
    return op.reduction.sign if type(op) is Reduce else 1
