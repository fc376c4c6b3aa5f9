"""A step along a line that satisfies the strong conditions of Wolfe.

A trial that is too high ends the interval in which such a step lies; one that still falls begins it. Until the interval
has an end trials grow, then each is where a cubic has its minimum. Near a minimum the values differ by rounding alone:
there slopes decide, as in the approximate conditions of Hager and Zhang.

Source:
    Nocedal and Wright, Numerical Optimization, 2nd edition, algorithms 3.5 and 3.6; Hager and Zhang, "A new conjugate
    gradient method with guaranteed descent and an efficient line search", SIAM J. Optim. 16 (2005), 170.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.ops.contraction import matmul
from tg.ops.elementwise.arithmetic import absolute, clip, copysign, maximum, minimum, sqrt
from tg.ops.elementwise.comparison import isfinite, where
from tg.ops.iteration import while_loop
from tg.optimize.solutions import eps_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable

DECREASE: Final = 1e-4  # c1 and c2 of Nocedal and Wright, for directions of Newton's kind
CURVATURE: Final = 0.9
MOST_TRIALS: Final = 30
ROUNDING: Final = 2 / 3  # the power of eps up to which values near a minimum may differ: f may cancel


class Place(NamedTuple):
    """A place on the line: how far, the value, its slope along the line."""

    far: Any
    value: Any
    slope: Any


class Found(NamedTuple):
    """The end of a step."""

    is_lower: Any
    """Whether the step leads anywhere."""
    far: Any
    value: Any
    gradient: Any
    evaluations: Any


class _Search(NamedTuple):
    trial: Any
    low: Place
    """The best place so far, at first where the line begins."""
    gradient: Any
    """That of the best place."""
    high: Place
    """The other end of the interval; at infinity as long as there is none."""
    evaluations: Any
    ended: Any


def search(
    function: Callable[[Variable], tuple[Variable, Variable]],
    x: Variable,
    value: Variable,
    gradient: Variable,
    direction: Variable,
    first: Any,
) -> Found:
    """A step from x in a direction.

    Args:
        function: from a point to its value and gradient.
        first: how far the first trial goes.
    """
    dtype = x.type.dtype
    infinity = np.asarray(np.inf, dtype)
    slope = matmul(gradient, direction)
    noise = eps_of(dtype) ** ROUNDING * absolute(value)

    def tried(s: _Search) -> _Search:
        reached, slopes = function(x + s.trial * direction)
        at = Place(s.trial, reached, matmul(slopes, direction))
        is_number = isfinite(at.value) & isfinite(at.slope)
        falls = at.value <= value + DECREASE * at.far * slope
        is_flat = (at.value <= value + noise) & (at.slope <= (2 * DECREASE - 1) * slope)
        is_low = is_number & (falls | is_flat) & (at.value <= s.low.value + noise)
        ended = is_low & (absolute(at.slope) <= -CURVATURE * slope)
        is_beyond = where(s.high.far > s.low.far, at.slope >= 0, at.slope <= 0)
        low = Place(*(where(is_low, new, old) for new, old in zip(at, s.low, strict=True)))
        high = Place(
            *(
                where(is_low, where(is_beyond, behind, end), new)
                for new, behind, end in zip(at, s.low, s.high, strict=True)
            )
        )
        trial = where(isfinite(high.far), _inside(low, high, s.evaluations), _outside(s.low, low))
        low_slopes = where(is_low, slopes, s.gradient)
        return _Search(trial, low, low_slopes, high, s.evaluations + 1, ended)

    def goes_on(s: _Search) -> Any:
        return ~s.ended & (s.evaluations < MOST_TRIALS) & isfinite(s.trial)

    begin = Place(np.zeros((), dtype), value, slope)
    start = _Search(first, begin, gradient, Place(infinity, infinity, infinity), np.int64(0), ended=np.bool_(False))
    s = while_loop(goes_on, tried, start)
    is_lower = s.ended | ((s.low.far > 0) & (s.low.value < value))
    return Found(is_lower, s.low.far, s.low.value, s.gradient, s.evaluations)


def _inside(low: Place, high: Place, evaluations: Any) -> Any:
    """Minimum of the cubic through both ends, not too near to either; the middle if there is none.

    Every third trial is the middle: an interval that is cut at one end only hardly shrinks.
    """
    width = high.far - low.far
    d1 = low.slope + high.slope - 3 * (high.value - low.value) / width
    d2 = copysign(sqrt(maximum(d1 * d1 - low.slope * high.slope, 0)), width)
    share = (d2 - low.slope + d1) / (high.slope - low.slope + 2 * d2)
    is_usable = isfinite(share) & (evaluations % 3 != 2)
    return low.far + width * where(is_usable, clip(share, 0.1, 0.9), 0.5)


def _outside(before: Place, low: Place) -> Variable:
    """Beyond the best place: where the slope would be 0 if it went on as it did, 2 to 10 times as far."""
    secant = (low.far - before.far) * low.slope / (before.slope - low.slope)
    far = where(isfinite(secant) & (secant > 0), low.far + secant, np.inf)
    return minimum(maximum(far, 2 * low.far), 10 * low.far)
