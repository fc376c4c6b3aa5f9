"""Distribution functions that are sums of probabilities, each of which is a ratio times the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.arranging import broadcast_arrays
from tg.ops.elementwise.comparison import logical_not, where
from tg.ops.elementwise.special.iterated import DIGIT
from tg.ops.iteration import while_loop
from tg.ops.reduction import any as any_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.nodes import Variable

MOST: Final = 100_000
"""Terms of a sum, beyond which it is NaN: some ten standard deviations of a distribution count."""


def tail(
    first: Variable,
    k: Variable,
    upward: Variable,
    ratio: Callable[..., Variable],
    calm: Any,
    parameters: Sequence[Variable],
) -> Variable:
    """The sum of the probabilities from k on, downwards or upwards, until there are none.

    Args:
        first: the probability of k.
        ratio: gives, of a number, the direction and the parameters, the probability of the next number over that of
            this one, which is 0 at the end.
        calm: whether ratios fall along the direction, so that what is small ends the sum.
    """
    first, k, upward, calm, *parameters = broadcast_arrays(first, k, upward, calm, *parameters)

    def step(carry: tuple[Variable, ...]) -> tuple[Any, ...]:
        left, going, k, term, total = carry
        by = ratio(k, upward, *parameters)
        term = where(going, term * by, 0.0)
        total = total + term
        small = calm & (by < 1) & (term <= DIGIT / 4 * total)
        going = going & (term > 0) & logical_not(small)
        return left - 1, going, where(upward, k + 1, k - 1), term, total

    begin = (MOST, first > 0, k, first, first)
    _, going, _, _, total = while_loop(lambda carry: (carry[0] > 0) & any_of(carry[1]), step, begin)
    return where(going, np.nan, total)
