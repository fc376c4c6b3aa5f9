"""Lengths of steps: the first one, the error of one, and the length of the next, as SciPy chooses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.nodes import as_size_variable
from tg.integrate.methods import as_length, moved, weighed
from tg.ops.arranging import size
from tg.ops.elementwise.arithmetic import absolute, maximum, minimum, nextafter, sqrt, square
from tg.ops.elementwise.comparison import where
from tg.ops.reduction import sum as total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.integrate.methods import Method, Rates

SAFETY: Final = 0.9
LEAST_FACTOR: Final = 0.2
MOST_FACTOR: Final = 10.0


class Tolerance(NamedTuple):
    """The error that a step may have: atol + rtol * |y| in each element; `absolute` has one for each leaf."""

    relative: Any
    absolute: Sequence[Any]

    def with_adjoint(self, parameters: int) -> Tolerance:
        """The tolerance of a state, its adjoint, and so many parameters."""
        of_state = list(self.absolute)
        return Tolerance(self.relative, [*of_state, *of_state, *([of_state[0]] * parameters)])

    def scales(self, y: Sequence[Variable], other: Sequence[Variable] | None = None) -> list[Variable]:
        """The allowed error for states before and after a step."""
        sizes = [absolute(v) for v in y]
        if other is not None:
            sizes = [maximum(a, absolute(b)) for a, b in zip(sizes, other, strict=True)]
        return [a + s * self.relative for a, s in zip(self.absolute, sizes, strict=True)]


def norm(values: Sequence[Variable], dtype: str) -> Variable:
    """The root of the mean of the squares of all elements of all leaves."""
    sums = [total(square(absolute(v))).astype(dtype) for v in values]
    counts = [size(v) for v in values]
    added, count = sums[0], counts[0]
    for term, more in zip(sums[1:], counts[1:], strict=True):
        added, count = added + term, count + more
    return sqrt(added / (count if type(count) is int else as_size_variable(count).astype(dtype)))


def error_of(
    method: Method, h: Variable, slopes: Sequence[Sequence[Variable]], scales: Sequence[Variable], dtype: str
) -> Variable:
    """The error of a step in units of what it may be: below 1 the step is accepted."""
    errors = [weighed(method.difference, slopes, k) * as_length(h, slopes[0][k]) for k in range(len(scales))]
    return norm([e / s for e, s in zip(errors, scales, strict=True)], dtype)


def least(t: Variable, direction: Variable) -> Variable:
    """The shortest step from t: ten times the distance of the next number."""
    return absolute(nextafter(t, direction * np.inf) - t) * 10


def next_length(method: Method, length: Variable, error: Variable, is_again: Variable) -> Variable:
    """The length to try next; behind a rejected try a step does not become longer.

    Where the error is NaN the length is divided as much as it ever is.
    """
    factor = error ** (-1 / (method.estimate + 1)) * SAFETY
    longer = minimum(where(error == 0, MOST_FACTOR, factor), MOST_FACTOR)
    longer = where(is_again, minimum(longer, 1.0), longer)
    shorter = where(factor > LEAST_FACTOR, factor, LEAST_FACTOR)
    return length * where(error < 1, longer, shorter)


def first_length(
    method: Method,
    rates: Rates,
    start: Variable,
    y: Sequence[Variable],
    slopes: Sequence[Variable],
    span: tuple[Variable, Variable],
    tolerance: Tolerance,
) -> Variable:
    """A first step, by the size of the rates and of their change; `span` has the direction and the whole time.

    Source:
        E. Hairer, S. P. Norsett, G. Wanner, "Solving ordinary differential equations I", section II.4.
    """
    direction, interval = span
    dtype = start.type.dtype
    scales = tolerance.scales(y)
    d0 = norm([v / s for v, s in zip(y, scales, strict=True)], dtype)
    d1 = norm([v / s for v, s in zip(slopes, scales, strict=True)], dtype)
    h0 = where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, d0 / d1 * 0.01)
    h0 = minimum(h0, interval)
    after = rates(start + h0 * direction, moved(y, h0 * direction, (1.0,), [slopes]))
    d2 = norm([(a - b) / s for a, b, s in zip(after, slopes, scales, strict=True)], dtype) / h0
    largest = maximum(d1, d2)
    h1 = where((d1 <= 1e-15) & (d2 <= 1e-15), maximum(h0 * 1e-3, 1e-6), (0.01 / largest) ** (1 / (method.estimate + 1)))
    return minimum(minimum(h0 * 100, h1), interval)
