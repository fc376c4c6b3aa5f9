"""Rules of operations on bits: neutral and deciding masks, complements, masks that merge, shifts that are one.

Those on bool are rules of logic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.bitwise import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    left_shift,
    right_shift,
)
from tg.ops.elementwise.cast import Cast
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import INTEGER, equations, rule_of
from tg.rules.elementwise.arithmetic import is_scalar_constant
from tg.rules.elementwise.arithmetic.scalars import constant, exact
from tg.types.dtypes import numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

MASKS: Final = (bitwise_and, bitwise_or, bitwise_xor)
SHIFTS: Final = (left_shift, right_shift)
EQUATIONS: Final[tuple[tuple[str, Any, Any, str], ...]] = (
    ("bits_and_itself", lambda x: bitwise_and(x, x), lambda x: x, "x has the bits of x."),
    ("bits_xor_itself", lambda x: bitwise_xor(x, x), lambda x: 0, "No bit differs."),
    ("bits_and_zero", lambda x: bitwise_and(x, 0), lambda x: 0, "No bit is set in 0."),
    ("bits_or_zero", lambda x: bitwise_or(x, 0), lambda x: x, "No bit is set in 0."),
    ("bits_xor_zero", lambda x: bitwise_xor(x, 0), lambda x: x, "No bit is set in 0."),
    ("bits_xor_of_xor", lambda x, y: bitwise_xor(x, bitwise_xor(x, y)), lambda x, y: y, "x turns bits there and back."),
    ("left_shift_by_zero", lambda x: left_shift(x, 0), lambda x: x, "No place moves."),
)


@rule_of(
    *MASKS,
    kind=EXACT,
    below=MASKS,
    example=lambda x: bitwise_and(bitwise_and(Cast("int32")(x), np.int32(6)), np.int32(3)),
)
def _bits_of_two_masks(op: Any, inner: Variable, c: Variable) -> Variable | None:
    """(x & 6) & 3 as x & 2, and so for the others. Two masks are one."""
    if not is_made_by(inner, op.fn):
        return None
    x, b = inner.inputs
    if not (is_scalar_constant(b) and is_scalar_constant(c)):
        return None
    (value,) = op.perform(b.data.reshape(()), c.data.reshape(()))  # type: ignore[attr-defined]
    return op(x, Constant(np.asarray(value)))  # type: ignore[no-any-return]


@rule_of(
    *SHIFTS,
    kind=EXACT,
    below=SHIFTS,
    example=lambda x: left_shift(right_shift(Cast("int8")(x), np.int8(3)), np.int8(3)),
)
def _shifts_of_two_counts(op: Any, y: Variable, c: Variable) -> Any:
    """(x << 2) << 3 as x << 5; (x >> 2) << 2 and, of unsigned x, (x << 2) >> 2 as masks.

    Two shifts are one; there and back they are a mask.
    """
    outer = exact(c)
    if outer is None:
        return None
    x, b = y.inputs  # it is y that is a shift
    inner, dtype = exact(b), y.type.dtype
    if inner is None or inner < 0 or outer < 0:
        return None
    width = numpy_dtype(dtype).itemsize * 8
    first, second = (int(min(count, width)) for count in (inner, outer))
    if is_made_by(y, op.fn):
        return op(x, constant(first + second, dtype))
    if first != second or (op is right_shift.op and dtype.startswith("int")):
        return None
    mask = -1 << first if op is left_shift.op else (1 << width - first) - 1
    return bitwise_and(x, constant(mask, dtype))


RULES = (
    *equations(CANONICALIZE, EXACT, EQUATIONS, dtypes=INTEGER),
    _bits_of_two_masks,
    _shifts_of_two_counts,
)
