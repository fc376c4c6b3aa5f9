"""Analysis of values for rules of arithmetic: whether they are finite, who makes them, and the value of a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.graph.facts import holds
from tg.graph.nodes import Constant
from tg.rewrite.rule import FLOATING, INTEGER

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

REAL: Final = FLOATING | INTEGER
SIGNED_INTEGER: Final = frozenset(("int8", "int16", "int32", "int64"))
SIGNED: Final = FLOATING | SIGNED_INTEGER


def is_finite(v: Variable) -> bool:
    """Whether no element can be infinite or NaN, whatever the inputs of the graph are."""
    return holds(v, "finite")


def is_not_negative(v: Variable) -> bool:
    """Whether no element can be below 0 (NaN may occur); -0.0 does not occur either."""
    return holds(v, "nonnegative") and holds(v, "no_negative_zero")


def is_nonnegative(v: Variable) -> bool:
    """Whether no element can be below 0; NaN and -0.0 may occur."""
    return holds(v, "nonnegative")


def is_finite_and_nonzero(v: Variable) -> bool:
    """Whether v / v is 1 in every element."""
    return is_finite(v) and holds(v, "nonzero")


def is_scalar_constant(v: Variable) -> bool:
    """Whether a value is a constant of one element, which combines with others at no cost."""
    return isinstance(v, Constant) and v.data.size == 1


def number_of(v: Any) -> int | float:
    """The value of a real scalar constant, which may be infinite or NaN, for comparisons."""
    data = v.data.reshape(())
    return int(data) if data.dtype.kind in "iu" else float(data)
