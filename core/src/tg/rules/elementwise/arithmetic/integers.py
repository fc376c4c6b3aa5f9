"""Rules of integer division and remainder: by 1, by powers of two, of what is smaller or a multiple."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import floor_divide, remainder
from tg.ops.elementwise.bitwise import bitwise_and, right_shift
from tg.ops.elementwise.cast import cast_variable
from tg.rewrite.phases import CANONICALIZE, EXACT, SPECIALIZE
from tg.rewrite.rule import INTEGER, rule, rule_of_node
from tg.rules.elementwise.arithmetic.scalars import beside, constant, exact
from tg.types.dtypes import is_integer, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

    Divided = tuple[Variable, int]  # an operand, and the constant by which it is divided


def _by_constant(y: Variable) -> Divided | None:
    """The operand and the positive constant of an integer quotient or remainder."""
    if not is_integer(y.type.dtype):
        return None
    x, c = y.inputs
    value = exact(c)
    return None if value is None or value <= 0 else (x, int(value))


def _twice_by_constants(y: Variable) -> tuple[Divided, Divided] | None:
    """Operand and divisor of the operand of a quotient or remainder, which is one itself, and its own."""
    outer = _by_constant(y)
    if outer is None:
        return None
    inner = _by_constant(outer[0])
    return None if inner is None else (inner, outer)


@rule_of_node(floor_divide, kind=EXACT, below=(floor_divide,), example=lambda x: cast_variable(x, INT) // 3 // 4)
def _quotient_of_quotient(node: Apply, outputs: Any) -> Variable | None:
    """(x // b) // c as x // (b * c), for positive b and c whose product the dtype holds.

    Rounding down twice is rounding down once.
    """
    (y,) = outputs
    divisions = _twice_by_constants(y)
    if divisions is None:
        return None
    inner, outer = divisions
    c = constant(outer[1] * inner[1], y.type.dtype)
    if c is None or exact(c) != outer[1] * inner[1]:
        return None
    return floor_divide(inner[0], beside(c, inner[0], y))


@rule_of_node(remainder, kind=EXACT, below=(remainder,), example=lambda x: cast_variable(x, INT) % 12 % 4)
def _remainder_of_remainder(node: Apply, outputs: Any) -> Variable | None:
    """(x % b) % c as x % c where c divides b, and as x % b where b divides or is below c.

    A remainder is below its divisor, and keeps what a divisor of that would leave.
    """
    (y,) = outputs
    divisions = _twice_by_constants(y)
    if divisions is None:
        return None
    (x, b), (rest, c) = divisions
    if b <= c:
        return rest
    return remainder(x, node.inputs[1]) if b % c == 0 else None


def _power_of_two(node: Apply) -> int | None:
    """The exponent of a divisor that is a power of two."""
    c = node.inputs[1]
    value = int(exact(c) or 0) if is_integer(c.type.dtype) else 0
    return value.bit_length() - 1 if value > 0 and value & (value - 1) == 0 else None


@rule_of_node(
    floor_divide, phase=SPECIALIZE, kind=EXACT, below=(Constant,), example=lambda x: cast_variable(x, INT) // 8
)
def _floor_divide_by_power_of_two(node: Apply, outputs: Any) -> Variable | None:
    """x // 2**k as x >> k: both round down, with negative x too. A shift is faster than a quotient."""
    x, c = node.inputs
    k = _power_of_two(node)
    if not k or not x.type.ndim:  # a scalar may be a length, which is followed through quotients
        return None
    return right_shift(x, Constant(c.data * 0 + numpy_dtype(c.type.dtype).type(k)))  # type: ignore[attr-defined]


@rule_of_node(remainder, phase=SPECIALIZE, kind=EXACT, below=(Constant,), example=lambda x: cast_variable(x, INT) % 8)
def _remainder_by_power_of_two(node: Apply, outputs: Any) -> Variable | None:
    """x % 2**k as the last k bits: a remainder has the sign of the divisor, with negative x too.

    A mask is faster than a quotient.
    """
    x, c = node.inputs
    k = _power_of_two(node)
    if k is None or not x.type.ndim:
        return None
    return bitwise_and(x, Constant(c.data - numpy_dtype(c.type.dtype).type(1)))  # type: ignore[attr-defined]


INT: Final = "int64"

RULES = (
    rule(
        "floor_divide_by_one",
        match=lambda x: x // 1,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="1 is neutral; lengths are divided so.",
    ),
    rule(
        "quotient_and_remainder",
        match=lambda x, y: (x // y) * y + x % y,
        replace=lambda x, y: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        when=lambda x, y: isinstance(y, Constant) and bool((y.data != 0).all()),
        why="What quotient and remainder mean; by 0 both are 0.",
    ),
    rule(
        "remainder_from_quotient",
        match=lambda x, y: x - (x // y) * y,
        replace=lambda x, y: x % y,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        when=lambda x, y: isinstance(y, Constant) and bool((y.data != 0).all()),
        why="What a remainder means; by 0 it is 0.",
    ),
    _quotient_of_quotient,
    _remainder_of_remainder,
    _floor_divide_by_power_of_two,
    _remainder_by_power_of_two,
)
