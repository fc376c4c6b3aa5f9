"""Parameters of distributions: their names, what they have to be, and their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

from tg.ops.elementwise.arithmetic import absolute
from tg.ops.elementwise.comparison import equal, isfinite, logical_not, not_equal
from tg.ops.elementwise.rounding import floor
from tg.ops.reduction import all as all_of
from tg.ops.reduction import sum as sum_of
from tg.types.dtypes import float_limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable

NEEDED: Final = object()
"""The default of a parameter that has none."""


@final
@dataclass(frozen=True)
class Constraint:
    """The constraint of a parameter.

    Args:
        text: that, as documentation has it.
        holds: whether it is so, which it is not of NaN; what may be anything has none.
        rank: how many of its last axes are one value.
    """

    text: str
    holds: Callable[[Variable], Variable] | None = None
    rank: int = 0

    def is_met(self, v: Variable) -> Variable:
        """Whether a parameter is what it has to be, and no NaN."""
        if self.holds is not None:
            return self.holds(v)
        valid = equal(v, v)
        return all_of(valid, tuple(range(-self.rank, 0))) if self.rank else valid


@final
@dataclass(frozen=True)
class Parameter:
    """A parameter of a distribution, under the name that `tg.random` has for it."""

    name: str
    constraint: Constraint
    default: Any = NEEDED

    def __str__(self) -> str:
        return self.name if self.default is NEEDED else f"{self.name}={self.default}"


def is_whole(v: Variable) -> Variable:
    """Whether a number has no fraction, as infinities have none."""
    return equal(v, floor(v))


def misses(v: Variable, total: Any) -> Variable:
    """Whether the sum over the last axis is another number, as far as half of the digits say."""
    off: Variable = absolute(sum_of(v, -1) - total)
    return off > float(float_limits(v.type.dtype).eps) ** 0.5  # type: ignore[no-any-return]


def _are_probabilities(v: Variable) -> Variable:
    return all_of(v >= 0, -1) & logical_not(misses(v, 1))


REAL: Final = Constraint("a number")
POSITIVE: Final = Constraint("> 0", lambda v: v > 0)
NONNEGATIVE: Final = Constraint("≥ 0", lambda v: v >= 0)
NONZERO: Final = Constraint("not 0", lambda v: not_equal(v, 0) & equal(v, v))
PROBABILITY: Final = Constraint("in [0, 1]", lambda v: (v >= 0) & (v <= 1))
CHANCE: Final = Constraint("in (0, 1]", lambda v: (v > 0) & (v <= 1))
COUNT: Final = Constraint("an integer ≥ 0", lambda v: (v >= 0) & is_whole(v) & isfinite(v))
WHOLE: Final = Constraint("an integer", lambda v: is_whole(v) & isfinite(v))
REALS: Final = Constraint("a vector", rank=1)
POSITIVES: Final = Constraint("a vector > 0", lambda v: all_of(v > 0, -1), rank=1)
SIMPLEX: Final = Constraint("a vector ≥ 0 whose sum is 1", _are_probabilities, rank=1)
MATRIX: Final = Constraint("a positive definite matrix", rank=2)
