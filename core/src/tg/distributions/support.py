"""Supports of distributions: an interval, the integers in one, or vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.ops.elementwise.rounding import floor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable


@final
@dataclass(frozen=True)
class Support:
    """The numbers of a distribution.

    Args:
        text: which they are, as documentation has it.
        low, high: the ends, numbers or functions of the parameters.
        is_open: whether the density is 0 at the lower end for all parameters.
        whole: whether they are integers.
        beyond: for vectors, whether one is none of the distribution's.
        rank: how many axes one value has.
        is_all: whether it has all numbers, and formulas are right at infinities too.
    """

    text: str
    low: Callable[..., Any] | float = -np.inf
    high: Callable[..., Any] | float = np.inf
    is_open: bool = False
    whole: bool = False
    beyond: Callable[..., Variable] | None = None
    rank: int = 0
    is_all: bool = False

    def ends(self, parameters: list[Variable]) -> tuple[Any, Any]:
        """The lower and the upper end."""
        low, high = (end(*parameters) if callable(end) else end for end in (self.low, self.high))
        return low, high

    def outside(self, x: Variable, parameters: list[Variable]) -> Variable | None:
        """Whether a value is none of the distribution's, which nothing says of NaN; None where all are."""
        if self.is_all:
            return None
        if self.beyond is not None:
            return self.beyond(x, *parameters)
        below, above = self.beyond_ends(x, parameters)
        beyond: Variable = below | above
        return beyond | (x > floor(x)) if self.whole else beyond

    def beyond_ends(self, x: Variable, parameters: list[Variable]) -> tuple[Variable, Variable]:
        """Whether a value is below the lower end or above the upper one."""
        low, high = self.ends(parameters)
        below = x <= low if self.is_open else x < low
        above = x >= np.inf if isinstance(self.high, float) and self.high == np.inf else x > high
        return below, above

    def inner(self, parameters: list[Variable]) -> Any:
        """A number between the ends."""
        low, high = self.ends(parameters)
        if isinstance(self.high, float) and self.high == np.inf:
            return low + 1.0 if not (isinstance(self.low, float) and self.low == -np.inf) else 0.0
        return 0.5 * low + 0.5 * high


REAL_LINE: Final = Support("the real line", is_all=True)
HALF_LINE: Final = Support("[0, ∞)", 0.0)
OPEN_HALF_LINE: Final = Support("(0, ∞)", 0.0, is_open=True)
UNIT: Final = Support("[0, 1]", 0.0, 1.0)
COUNTS: Final = Support("0, 1, 2 …", 0.0, whole=True)
