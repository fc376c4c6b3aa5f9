"""Sums of probabilities: distribution functions, of ratios of one to the next, and entropies; and their derivatives."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.gradient.api import jvp
from tg.ops.arranging import broadcast_arrays
from tg.ops.control import stop_gradient
from tg.ops.creation import ones_like
from tg.ops.custom import custom_jvp
from tg.ops.elementwise.arithmetic import maximum, sqrt
from tg.ops.elementwise.comparison import logical_not, where
from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.rounding import floor
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


REACH: Final = 12.0
"""Standard deviations below the mean from where on an entropy is summed: what is left out has the probability e^-72."""
FEW: Final = 40.0
"""And so many numbers further, since the bound is that of a normal distribution."""


def entropy(
    log_density: Callable[..., Variable],
    ends: Callable[..., tuple[Any, Any]],
    moments: Callable[..., tuple[Any, Any]],
    calm: Callable[..., Any] | None = None,
) -> Callable[..., Variable]:
    """The entropy as a function of the parameters: the sum from below the mean on until there is nothing to add.

    Args:
        ends: of the support.
        moments: the mean and the variance.
        calm: whether probabilities rise and then fall; unless they do, all are summed.
    """

    def summed(*parameters: Variable) -> Variable:
        low, high = ends(*parameters)
        middle, variance = moments(*parameters)
        falls: Any = True if calm is None else calm(*parameters)
        begin = where(falls, maximum(low, floor(middle - REACH * sqrt(variance) - FEW)), low)

        def step(carry: tuple[Variable, ...]) -> tuple[Any, ...]:
            left, going, k, total = carry
            size = log_density(k, *parameters)
            term = where(going & (size < 0) & (size > -np.inf), -size * exp(size), 0.0)
            total = total + term
            is_last = (k >= high) | (falls & (k > middle) & (term <= DIGIT / 4 * total))
            return left - 1, going & logical_not(is_last), k + 1, total

        finite = (middle >= 0) & (middle < np.inf)
        start = (MOST, finite, stop_gradient(begin), begin * 0)
        _, going, _, total = while_loop(lambda carry: (carry[0] > 0) & any_of(carry[1]), step, start)
        return where(going, np.nan, total)

    return lambda *parameters: by_slopes(summed)(*broadcast_arrays(*parameters))


def by_slopes(f: Callable[..., Variable]) -> Callable[..., Variable]:
    """A function of elements with loops of any length, of which forward mode gives the slopes for both modes."""
    wrapper = custom_jvp(f)

    def pushed(primals: tuple[Variable, ...], tangents: tuple[Variable | None, ...]) -> tuple[Variable, Variable]:
        y = f(*primals)
        pairs = [(v, t) for v, t in zip(primals, tangents, strict=True) if t is not None]
        slopes = (jvp(y, v, ones_like(v), disconnected="zero") * t for v, t in pairs)
        return y, functools.reduce(operator.add, slopes)

    wrapper.defjvp(pushed)
    return wrapper
