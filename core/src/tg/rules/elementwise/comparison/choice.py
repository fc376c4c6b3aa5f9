"""Rules of where: conditions that are known, choices that are one, and choices that are a simpler function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import absolute, add, divide, multiply, negative, subtract
from tg.ops.elementwise.cast import Cast, cast_variable
from tg.ops.elementwise.comparison import (
    equal,
    less,
    logical_and,
    logical_not,
    logical_or,
    where,
)
from tg.ops.elementwise.record import Elementwise, align_ranks
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import CANONICALIZE, EXACT, SIGNED_ZERO
from tg.rewrite.rule import rule, rule_of
from tg.rules.elementwise.arithmetic import is_scalar_constant
from tg.rules.elementwise.comparison.implied import implies
from tg.rules.elementwise.comparison.masked import is_zero, zero_of
from tg.types.dtypes import is_float

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

BOOL: Final = frozenset({"bool"})
BETWEEN: Final = (add, subtract, multiply, divide, negative)
MOST_BETWEEN: Final = 4  # nodes that are made again, as others may read them too


@rule_of(where, kind=EXACT, below=(Constant,), example=lambda x, y: where(True, x, y))
def _where_known(op: Any, c: Variable, x: Variable, y: Variable) -> Variable | None:
    """The condition is known when the function is compiled."""
    truth = _truth(c)
    return None if truth is None else x if truth else y


@rule_of(where, kind=EXACT, example=lambda x: where(less(x, 1), x, x))
def _where_same(op: Any, _: Variable, x: Variable, y: Variable) -> Variable | None:
    """Both choices are one value."""
    return x if x is y else None


@rule_of(
    add,
    kind=SIGNED_ZERO,
    below=(where,),
    example=lambda x, y: where(less(x, y), x, zero_of(x)) + where(less(x, y), zero_of(x), y),
)
def _complementary_choices(op: Any, first: Variable, second: Variable) -> Variable | None:
    """where(c, x, 0) + where(c, 0, y) as where(c, x, y).

    The cotangents of two branches meet; only one of them is not 0.
    """
    if not (is_made_by(first, where) and is_made_by(second, where)) or not is_float(first.type.dtype):
        return None
    (c, a, b), (other, x, y) = first.inputs, second.inputs
    if is_made_by(other, logical_not) and other.inputs[0] is c:
        x, y = y, x
    elif other is not c:
        return None
    if is_zero(b) and is_zero(x):
        return where(c, a, y)
    return where(c, x, b) if is_zero(a) and is_zero(y) else None


@rule_of(where, kind=EXACT, below=(logical_not,), example=lambda x, y: where(logical_not(less(x, y)), x, y))
def _where_not(op: Any, c: Variable, x: Variable, y: Variable) -> Variable | None:
    """Exchanging the choices costs nothing."""
    return where(c.inputs[0], y, x) if is_made_by(c, logical_not) else None


@rule_of(where, kind=EXACT, below=(where,), example=lambda x, y, z: where(less(x, y), where(less(x, y), x, y), z))
def _where_decided_inside(op: Any, c: Variable, x: Variable, y: Variable) -> Variable | None:
    """where(c, where(d, x, y), z) as where(c, x, z) if c implies d; where(c, x, where(d, y, z)) if d implies c.

    The condition has been decided outside.
    """
    if is_made_by(x, where) and implies(c, x.inputs[0]):
        return where(c, x.inputs[1], y)
    if is_made_by(y, where) and implies(y.inputs[0], c):
        return where(c, x, y.inputs[2])
    return None


@rule_of(where, kind=EXACT, below=(where,), example=lambda x, y, z: where(less(x, y), where(less(y, z), x, z), z))
def _where_of_joined_conditions(op: Any, c: Variable, x: Variable, y: Variable) -> Variable | None:
    """where(c, where(d, x, y), y) as where(c and d, x, y), and where(c, x, where(d, x, y)) as where(c or d, x, y).

    Conditions are joined more cheaply than choices.
    """
    if is_made_by(x, where) and x.inputs[2] is y:
        return where(logical_and(c, x.inputs[0]), x.inputs[1], y)
    if is_made_by(y, where) and y.inputs[1] is x:
        return where(logical_or(c, y.inputs[0]), x, y.inputs[2])
    return None


@rule_of(
    where,
    kind=EXACT,
    below=BETWEEN,
    example=lambda x, y, z: where(less(x, y), where(less(x, y), z, zero_of(z)) * y, zero_of(z)),
)
def _where_decided_below(op: Any, c: Variable, x: Variable, y: Variable) -> Variable | None:
    """where(c, where(c, x, 0) * y, 0) as where(c, x * y, 0), and likewise through a few sums, products and signs.

    The condition is decided once for a chain of products: those of cotangents and slopes are.
    """
    inner = _as_decided(x, c, MOST_BETWEEN)
    return None if inner is None else where(c, inner, y)


def _as_decided(v: Variable, c: Variable, depth: int) -> Variable | None:
    """A value as it is where a condition holds, if a choice below it is decided by that."""
    node = v.apply
    if node is None:
        return None
    if node.key is where:
        return node.inputs[1] if implies(c, node.inputs[0]) else None
    if not depth or node.key not in BETWEEN:
        return None
    parts = [_as_decided(u, c, depth - 1) for u in node.inputs]
    if all(part is None for part in parts):
        return None
    op: Any = node.op
    return op(*align_ranks([u if part is None else part for u, part in zip(node.inputs, parts, strict=True)]))  # type: ignore[no-any-return]


@rule_of(where, kind=EXACT, below=(Constant,), example=lambda x, y: where(less(x, y), equal(x, 1), False))
def _where_of_truth(op: Any, c: Variable, x: Variable, y: Variable) -> Variable | None:
    """A choice with True or False as what it says. A choice of True or False is logic."""
    if x.type.dtype != "bool":
        return None
    first, second = (_truth(v) for v in (x, y))
    if first is not None:
        return logical_or(c, y) if first else logical_and(logical_not(c), y)
    if second is not None:
        return logical_or(logical_not(c), x) if second else logical_and(c, x)
    return None


def _truth(v: Variable) -> bool | None:
    """The truth that a constant is; a constant array of one value is a scalar by a rule of its own."""
    return bool(v.data) if is_scalar_constant(v) else None  # type: ignore[attr-defined]


@rule_of(
    where,
    kind=EXACT,
    below=(Constant,),
    example=lambda x, y: where(less(x, y), np.ones((), x.type.numpy_dtype), np.zeros((), x.type.numpy_dtype)),
)
def _where_one_or_zero(op: Any, c: Variable, x: Variable, y: Variable) -> Variable | None:
    """where(c, 1, 0) as a cast. A cast is one op without operands to repeat."""
    if not isinstance(x, Constant) or not isinstance(y, Constant):
        return None
    zero, one = (np.array(bit, x.type.numpy_dtype).tobytes() for bit in (0, 1))
    choices = x.data.tobytes(), y.data.tobytes()  # -0.0 equals 0, and is not what a cast gives
    if choices == (one, zero):
        return cast_variable(c, x.type.dtype)
    return cast_variable(logical_not(c), x.type.dtype) if choices == (zero, one) else None


@rule_of(
    Elementwise,
    Cast,
    kind=EXACT,
    below=(where, Cast),
    example=lambda x, y: absolute(where(less(x, y), np.array(2, x.type.numpy_dtype), np.array(3, x.type.numpy_dtype))),
)
def _constant_choices(op: Any, *operands: Variable) -> Variable | None:
    """f(where(c, 2, 3), 4) as where(c, f(2, 4), f(3, 4)); a condition as a number is a choice of 1 and 0.

    Two numbers are computed when the function is compiled.
    """
    if isinstance(op, Elementwise) and op.fn.checks is not None:
        return None
    choices = [v for v in operands if not is_scalar_constant(v)]
    if any(v is not choices[0] for v in choices):
        return None
    choice = _choice(choices[0])
    if choice is None:
        return None
    values = [_applied(op, [one if v is choices[0] else v for v in operands]) for one in choice[1:]]
    return where(choice[0], *values)


def _choice(v: Variable) -> tuple[Variable, Any, Any] | None:
    """The condition and the two numbers between which a `where` or a cast chooses."""
    if is_made_by(v, where):
        c, x, y = v.inputs
        return (c, x, y) if is_scalar_constant(x) and is_scalar_constant(y) else None
    (b,) = v.inputs
    kind = v.type.numpy_dtype
    return (b, Constant(np.array(1, kind)), Constant(np.array(0, kind))) if b.type.dtype == "bool" else None


def _applied(op: Any, operands: list[Any]) -> Constant:
    with np.errstate(all="ignore"):
        (value,) = op.perform(*(v.data.reshape(()) for v in operands))
    return Constant(np.asarray(value))


RULES = (
    _where_known,
    _where_same,
    _complementary_choices,
    _where_not,
    _where_decided_inside,
    _where_decided_below,
    _where_of_joined_conditions,
    _where_of_truth,
    _where_one_or_zero,
    _constant_choices,
    rule(
        "where_equal",
        match=lambda x, y: where(equal(x, y), x, y),
        replace=lambda x, y: y,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="Where they are equal either will do.",
    ),
    rule(
        "absolute_from_less",
        match=lambda x: where(less(x, 0), -x, x),
        replace=absolute,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="One op in place of three.",
    ),
)
