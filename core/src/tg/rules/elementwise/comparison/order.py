"""Rules of comparisons: with constants, with limits of what a value can be, and of what was converted or negated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.facts import holds
from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import absolute, negative
from tg.ops.elementwise.cast import Cast, convert
from tg.ops.elementwise.comparison import (
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_not,
    not_equal,
)
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import rule, rule_of, rule_of_node
from tg.rules.elementwise.arithmetic import is_finite, is_scalar_constant
from tg.rules.elementwise.cast import holds as has_values
from tg.types.dtypes import is_complex, is_float, is_integer

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable

COMPARISONS: Final = (equal, not_equal, less, less_equal, greater, greater_equal)
EXCHANGED: Final = {
    equal: equal,
    not_equal: not_equal,
    less: greater,
    less_equal: greater_equal,
    greater: less,
    greater_equal: less_equal,
}
ORDERINGS: Final = (less, less_equal, greater, greater_equal)


@rule_of_node(
    *ORDERINGS, kind=EXACT, below=(Constant,), example=lambda x: less(Constant(np.zeros((), x.type.numpy_dtype)), x)
)
def _comparison_with_constant_second(node: Apply, outputs: Any) -> Variable | None:
    """0 < x and x > 0 are one value."""
    c, x = node.inputs  # one is a constant
    return None if isinstance(x, Constant) else EXCHANGED[node.op.fn](x, c)  # type: ignore[attr-defined]


class Range(NamedTuple):
    """Between what a value lies, if it is not NaN, and which of the two limits it cannot reach."""

    low: float
    high: float
    open_low: bool
    open_high: bool


def _range(x: Variable) -> Range:
    if x.apply is not None and type(x.apply.op) is Cast:
        (narrow,) = x.apply.inputs
        if has_values(x.type.dtype, narrow.type.dtype):
            return _range(narrow)
    low, high, open_low, open_high = _limits(x)
    if holds(x, "nonnegative"):
        low, open_low = 0, holds(x, "positive")
    if holds(x, "nonpositive"):
        high, open_high = 0, holds(x, "negative")
    return Range(low, high, open_low, open_high)


def _limits(x: Variable) -> Range:
    """The range of an integer dtype, or of numbers that may be infinite or not; truths have a rule of their own."""
    dtype = x.type.dtype
    if is_integer(dtype):
        return Range(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max), open_low=False, open_high=False)
    is_open = is_finite(x)
    return Range(-np.inf, np.inf, is_open, is_open)


@rule_of(*COMPARISONS, kind=EXACT, below=(Constant,), example=lambda x: less(absolute(x), 0))
def _comparison_beyond_limits(op: Any, x: Variable, c: Variable) -> bool | None:
    """A comparison with a constant that what is known of the value decides.

    No value of the dtype, or none with what is known of it, compares otherwise; NaN is not below anything.
    """
    fn = op.fn
    if not isinstance(c, Constant) or is_complex(c.type.dtype):
        return None
    if np.isnan(c.data).all():  # or there is none
        return fn is not_equal
    return _decided(fn, _range(x), c.data.min().item(), c.data.max().item(), x)


def _decided(fn: Any, r: Range, least: float, most: float, x: Variable) -> bool | None:
    above = most < r.low or (most == r.low and r.open_low)  # all of x lies above the constant
    below = least > r.high or (least == r.high and r.open_high)
    if fn in (equal, not_equal):
        never = above or below or (least == most == 0 and holds(x, "nonzero"))
        return bool(fn is not_equal) if never else None
    from_above, from_below = above or most == r.low, below or least == r.high
    false = {less: from_above, less_equal: above, greater: from_below, greater_equal: below}[fn]
    if false:
        return False
    true = {less: below, less_equal: from_below, greater: above, greater_equal: from_above}[fn]
    return True if true and holds(x, "not_nan") else None


@rule_of(*COMPARISONS, kind=EXACT, below=(Constant,), example=lambda x: not_equal(Cast("float32")(less(x, 1)), 0))
def _comparison_of_truth(op: Any, x: Variable, c: Variable) -> Any:
    """A comparison of a bool, converted or not, with a number: what it is for True and for False.

    A truth has two values, for which the comparison is made when the function is compiled.
    """
    if not is_scalar_constant(c):
        return None
    b = x.inputs[0] if x.apply is not None and type(x.apply.op) is Cast else x
    if b.type.dtype != "bool":
        return None
    values = convert(np.array([False, True]), x.type.dtype)
    (results,) = op.perform(values, c.data.reshape(()))  # type: ignore[attr-defined]
    first, second = map(bool, results)
    if first == second:
        return first
    return b if second else logical_not(b)


@rule_of(
    *COMPARISONS,
    kind=EXACT,
    below=(Cast,),
    example=lambda x, y: less(Cast("float64")(Cast("int8")(x)), Cast("float64")(Cast("int8")(y))),
)
def _comparison_of_converted(op: Any, x: Variable, y: Variable) -> Variable | None:
    """A comparison of values that were converted to a wider dtype, in the dtype that they had.

    A conversion to a dtype with all values of the first changes no comparison.
    """
    if x.apply is None or type(x.apply.op) is not Cast:
        return None
    (narrow,) = x.apply.inputs
    source = narrow.type.dtype
    if not has_values(x.type.dtype, source):
        return None
    if isinstance(y, Constant):
        with np.errstate(all="ignore"):
            data = convert(y.data, source)
        same = bool((convert(data, y.type.dtype) == y.data).all())
        return op(narrow, Constant(data)) if same else None
    if y.apply is None or type(y.apply.op) is not Cast or y.apply.inputs[0].type.dtype != source:
        return None
    return op(narrow, y.apply.inputs[0])  # type: ignore[no-any-return]


@rule_of(*COMPARISONS, kind=EXACT, below=(negative,), example=lambda x: less(-x, np.array(2, x.type.numpy_dtype)))
def _comparison_of_negative(op: Any, x: Variable, c: Variable) -> Variable | None:
    """-x < c as x > -c; for integers, whose least one has no negative, only whether they are equal.

    The sign costs nothing inside the constant.
    """
    fn = op.fn
    if not isinstance(c, Constant) or (fn in ORDERINGS and not is_float(x.type.dtype)):
        return None
    return EXCHANGED[fn](x.inputs[0], Constant(np.asarray(-c.data)))


RULES = (
    _comparison_with_constant_second,
    _comparison_beyond_limits,
    _comparison_of_truth,
    _comparison_of_converted,
    _comparison_of_negative,
    rule(
        "less_of_negatives",
        match=lambda x, y: less(-x, -y),
        replace=greater,
        phase=CANONICALIZE,
        kind=EXACT,
        why="The signs exchange the sides.",
    ),
)
