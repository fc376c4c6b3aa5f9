"""Rules of gates: a cotangent through a partial derivative that needs no protection is a product, a choice, or nothing.

`gate(dy, d)` is 0 where dy is 0, else dy * d. It protects from a derivative that is infinite or NaN where no cotangent
comes; where that cannot be, or where dy is 0 in places that are known, it goes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.facts import holds
from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import (
    absolute,
    add,
    divide,
    gate,
    multiply,
    negative,
    sqrt,
    square,
    subtract,
)
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.comparison import less, logical_not, where
from tg.ops.reduction import Reduce
from tg.ops.shape_ops import BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import CANONICALIZE, EXACT, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import node_rule, rule
from tg.rewrite.rules.elementwise.arithmetic.analysis import (
    is_finite,
    is_scalar_constant,
)
from tg.rewrite.rules.elementwise.arithmetic.scalars import exact, may_move, rounded
from tg.types.dtypes import is_float, limits, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


MOVEMENTS: Final = (BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose)
NAN_THROUGH: Final = frozenset(fn.op for fn in (add, subtract, multiply, divide, negative, square, sqrt, absolute))
DEPTH: Final = 4  # how far a rule looks below a cotangent


def _gate_of_constant(node: Apply, outputs: Any) -> Any:
    dy, d = node.inputs
    if not isinstance(dy, Constant) or not dy.data.size:
        return None
    if not dy.data.any():
        return 0
    return multiply(dy, d) if dy.data.all() else None


def _gate_of_nonzero(node: Apply, outputs: Any) -> Variable | None:
    dy, d = node.inputs
    return multiply(dy, d) if not isinstance(dy, Constant) and holds(dy, "nonzero") else None


def _gate_of_finite(node: Apply, outputs: Any) -> Variable | None:
    dy, d = node.inputs
    return multiply(dy, d) if is_finite(d) else None


def _zero_like(v: Variable) -> Constant:
    return Constant(np.zeros((), numpy_dtype(v.type.dtype)))


def _gate_of_condition(node: Apply, outputs: Any) -> Variable | None:
    """The gate of a cast condition: d where it holds."""
    dy, d = node.inputs
    if dy.apply is None or type(dy.apply.op) is not Cast or dy.inputs[0].type.dtype != "bool":
        return None
    return where(dy.inputs[0], d, _zero_like(d)) if is_float(d.type.dtype) else None


def _gate_of_choice(node: Apply, outputs: Any) -> Variable | None:
    """The gate of a choice between two constants one of which is 0: a multiple of d where the other is chosen."""
    dy, d = node.inputs
    if not is_made_by(dy, where) or not is_float(d.type.dtype):
        return None
    c, x, y = dy.inputs
    if not (is_scalar_constant(x) and is_scalar_constant(y)):
        return None
    if exact(y) == 0 != exact(x):
        return where(c, multiply(d, x), _zero_like(d))
    if exact(x) == 0 != exact(y):
        return where(c, _zero_like(d), multiply(d, y))
    return None


def _gate_of_quotient(node: Apply, outputs: Any) -> Variable | None:
    """The gate of c / y, closed only where y is infinite: then d / y is 0, or an input of which both are made infinite.

    A finite y, as a count is, leaves c / y above 0.
    """
    dy, d = node.inputs
    if not is_made_by(dy, divide):
        return None
    (c, y), dtype = dy.inputs, d.type.dtype
    number = exact(c)
    if not number:
        return None
    if is_finite(y) and rounded(number / Fraction(limits(dtype)[0]), dtype):
        return multiply(dy, d)
    base = _base(d)
    if may_move(number, dtype) and _is_as_finite_as_inputs(base, DEPTH) and _is_nan_with(y, base, DEPTH + 2):
        return multiply(divide(d, y), c)  # d * c may overflow
    return None


def _base(d: Variable) -> Variable:
    """What a value has the sign, a multiple or another arrangement of."""
    while d.apply is not None:
        x = d.inputs[0]
        multiple = is_made_by(d, multiply) and exact(d.inputs[1])
        if not (is_made_by(d, negative) or multiple or type(d.apply.op) in MOVEMENTS):
            break
        d = x
    return d


def _is_as_finite_as_inputs(v: Variable, depth: int) -> bool:
    """Whether a value is a sum of inputs and constants, infinite only where one of them is, or next to the largest."""
    if v.apply is None:
        return not isinstance(v, Constant) or is_finite(v)
    if is_finite(v):
        return True
    linear = is_made_by(v, add) or is_made_by(v, subtract) or is_made_by(v, negative)
    if not (linear or type(v.apply.op) in MOVEMENTS) or not depth:
        return False
    return all(_is_as_finite_as_inputs(u, depth - 1) for u in (v.inputs if linear else v.inputs[:1]))


def _is_nan_with(y: Variable, v: Variable, depth: int) -> bool:
    """Whether a value is NaN wherever another one that it was computed of is."""
    if y is v:
        return True
    if y.apply is None or not depth:
        return False
    op = y.apply.op
    passes_on = op in NAN_THROUGH or type(op) in MOVEMENTS or (type(op) is Reduce and op.fn is add)
    return passes_on and any(_is_nan_with(u, v, depth - 1) for u in y.inputs)


def _gate_by_quotient(node: Apply, outputs: Any) -> Variable | None:
    """The gate by c / y where dy is no number wherever y is 0 or NaN: then c / y is finite where dy is 0."""
    dy, d = node.inputs
    if not is_made_by(d, divide) or not is_float(d.type.dtype):
        return None
    c, y = d.inputs
    number = exact(c)
    if number is None or not may_move(number, d.type.dtype) or not is_spoiled(dy, y):
        return None
    return divide(multiply(dy, c), y)


def _gate_by_own_quotient(node: Apply, outputs: Any) -> Variable | None:
    """The gate by dy / y, where dy is no number wherever y is 0 or NaN."""
    dy, d = node.inputs
    if not is_made_by(d, divide) or d.inputs[0] is not dy or not is_float(d.type.dtype):
        return None
    return multiply(dy, d) if is_spoiled(dy, d.inputs[1]) else None


def is_spoiled(v: Variable, y: Variable, depth: int = DEPTH) -> bool:
    """Whether v is infinite or NaN in all elements for which y is 0 or NaN, because v was divided by y."""
    if v.apply is None or depth == 0:
        return False
    if is_made_by(v, divide):
        return v.inputs[1] is y or is_spoiled(v.inputs[0], y, depth - 1)
    if is_made_by(v, multiply):
        return any(is_spoiled(u, y, depth - 1) for u in v.inputs)
    passes_on = any(is_made_by(v, fn) for fn in (negative, square, absolute, gate))
    return passes_on and is_spoiled(v.inputs[0], y, depth - 1)


def _complementary_choices(node: Apply, outputs: Any) -> Variable | None:
    """where(c, x, 0) + where(c, 0, y) as where(c, x, y)."""
    first, second = node.inputs
    if not (is_made_by(first, where) and is_made_by(second, where)) or not is_float(first.type.dtype):
        return None
    (c, a, b), (other, x, y) = first.inputs, second.inputs
    if is_made_by(other, logical_not) and other.inputs[0] is c:
        x, y = y, x
    elif other is not c:
        return None
    if _is_zero(b) and _is_zero(x):
        return where(c, a, y)
    return where(c, x, b) if _is_zero(a) and _is_zero(y) else None


def _is_zero(v: Variable) -> bool:
    return isinstance(v, Constant) and not v.data.any()


def _choice(x: Variable, other: float, first: float = 1) -> Variable:
    """One constant where x is below 1, else another."""
    kind = numpy_dtype(x.type.dtype).type
    return where(less(x, 1), kind(first), kind(other))


RULES = (
    node_rule(
        "gate_of_constant",
        keys=(gate,),
        apply=_gate_of_constant,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A gate is closed where the cotangent is 0 and a product where it is not.",
        example=lambda x: gate(Constant(np.asarray(2, x.type.numpy_dtype)), x),
        below=(Constant,),
    ),
    node_rule(
        "gate_of_nonzero",
        keys=(gate,),
        apply=_gate_of_nonzero,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A gate that is never closed is a product.",
        example=lambda x: gate(_choice(x, -1), x),
    ),
    rule(
        "gate_of_negative",
        match=lambda x, d: gate(-x, d),
        replace=lambda x, d: -gate(x, d),
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="A sign moves out of a gate, so that what it hides meets its partner.",
    ),
    rule(
        "gate_by_negative",
        match=lambda x, d: gate(x, -d),
        replace=lambda x, d: -gate(x, d),
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="A sign moves out of a gate, so that what it hides meets its partner.",
    ),
    rule(
        "gate_by_itself",
        match=lambda x: gate(x, x),
        replace=square,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The square of 0 is 0 without a gate.",
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
    node_rule(
        "gate_of_condition",
        keys=(gate,),
        apply=_gate_of_condition,
        phase=CANONICALIZE,
        kind=EXACT,
        why="1 lets the derivative through, 0 does not: a choice.",
        example=lambda x: gate(cast_variable(less(x, 1), x.type.dtype), x),
        below=(Cast,),
    ),
    node_rule(
        "gate_of_choice",
        keys=(gate,),
        apply=_gate_of_choice,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A constant lets the derivative through, 0 does not: a choice.",
        example=lambda x: gate(_choice(x, 0, 2), x),
        below=(where,),
    ),
    node_rule(
        "gate_of_quotient",
        keys=(gate,),
        apply=_gate_of_quotient,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="A gate that is closed only where the quotient vanishes anyway is one quotient.",
        example=lambda x, y: gate(2 / (square(x) + y), x),
        below=(divide,),
    ),
    node_rule(
        "gate_by_quotient",
        keys=(gate,),
        apply=_gate_by_quotient,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="x / y is never 0 where y is 0: the cotangent of a standardised value needs no gate.",
        example=lambda x, y: gate(x / y, 2 / y),
        below=(divide,),
    ),
    node_rule(
        "gate_by_own_quotient",
        keys=(gate,),
        apply=_gate_by_own_quotient,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="x / y is never 0 where y is 0: the cotangent of a standardised value needs no gate.",
        example=lambda x, y: gate(x / y, x / y / y),
        below=(divide,),
    ),
    node_rule(
        "complementary_choices",
        keys=(add,),
        apply=_complementary_choices,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="The cotangents of two branches meet; only one of them is not 0.",
        example=lambda x, y: where(less(x, y), x, _zero_like(x)) + where(less(x, y), _zero_like(x), y),
        below=(where,),
    ),
)
