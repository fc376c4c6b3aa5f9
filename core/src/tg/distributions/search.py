"""The quantiles of discrete distributions: the first integer from which on a condition holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.arranging import broadcast_arrays
from tg.ops.elementwise.arithmetic import maximum, minimum
from tg.ops.elementwise.comparison import logical_not, where
from tg.ops.elementwise.rounding import floor
from tg.ops.iteration import while_loop
from tg.ops.reduction import any as any_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable

MOST: Final = 300
"""Steps: strides double, so twice the places of an integer are enough."""


def beside(reached: Callable[[Variable], Variable], near: Variable, low: Any) -> Variable:
    """The first integer from which on a condition holds, which is at most 1 off another."""
    before = near - 1
    after = where(reached(near), near, near + 1)
    return where((before >= low) & reached(before), before, after)


def first_count(
    reached: Callable[[Variable], Variable], near: Variable, low: Any, high: Any, going: Variable
) -> Variable:
    """The first integer in [low, high] from which on a condition holds, as it does of high.

    From a number that is near, strides double until there is one on either side; then the interval between is halved.

    Args:
        going: which elements are looked for; others are anything.
    """
    going, near, least, most = broadcast_arrays(going, near, low, high)
    begin = where(going, maximum(least, minimum(floor(near), most)), least)

    def step(carry: tuple[Variable, ...]) -> tuple[Any, ...]:
        left, going, k, least, most, stride = carry
        there = reached(k)
        most, least = where(going & there, k, most), where(going & logical_not(there), k, least)
        further = where(there, maximum(k - stride, least + 1), minimum(k + stride, most - 1))
        between = (least >= low) & (most < high)
        k = where(between, floor((least + most) / 2), further)
        return left - 1, going & (most - least > 1), k, least, most, stride * 2

    ended = while_loop(
        lambda carry: (carry[0] > 0) & any_of(carry[1]), step, (MOST, going, begin, least - 1, most, begin * 0 + 1)
    )
    return ended[4]  # type: ignore[no-any-return]
