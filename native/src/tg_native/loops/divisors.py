"""Divisors that all elements along an axis share: a product with the inverse takes a tenth of a quotient.

The error is less than one unit in the last place, which is too much where a quotient is rounded to a whole number: at
half-way it decides which. Divisors of such quotients have no inverse. A divisor whose inverse, or which itself, may be
subnormal is scaled by a power of two first, and what it divides afterwards: no quotient overflows that should not.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from tg.ops.elementwise.arithmetic import divide
from tg.ops.elementwise.rounding import ceil, floor, rint, trunc
from tg_native.kernels.dtypes import is_wide_float
from tg_native.kernels.functions import fabs
from tg_native.kernels.lanes import Lanes, select

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tg.graph.frozen import Node
    from tg_native.kernels.index import Condition
    from tg_native.kernels.lanes import Elements
    from tg_native.kernels.routine import Routine

WHOLE: Final = (rint, floor, ceil, trunc)
LARGE: Final = {"float64": (2.0**1000, 2.0**600), "float32": (2.0**100, 2.0**60)}
"""From which numbers on, and below the inverse of which, divisors are scaled, and by what."""


class Inverse(NamedTuple):
    """The inverse of a divisor times `scale`, which is 1 where it is None."""

    inverse: Lanes
    scale: Lanes | None

    def times(self, x: Lanes) -> Lanes:
        """Quotient of x by the divisor."""
        product = x * self.inverse
        return product if self.scale is None else product * self.scale


def unscaled(inverses: Mapping[int, Inverse]) -> tuple[Condition, dict[int, Inverse]]:
    """Whether all of some inverses are those of the divisors themselves, and what they are then."""
    scales = [one.scale == 1 for one in inverses.values() if one.scale is not None]
    usual = functools.reduce(operator.and_, scales)
    body = cast("Routine", usual.body)
    return body.everywhere(usual), {k: one._replace(scale=None) for k, one in inverses.items()}


def inverses(nodes: Sequence[Node], values: Mapping[int, Elements]) -> dict[int, Inverse]:
    """The inverses of those divisors of steps that are known before the loop over the axis begins."""
    by_number: dict[int, Inverse] = {}
    whole = {k for node in nodes if node.op.rule_key in WHOLE for k in node.inputs}
    plain = {node.inputs[1] for node in nodes if node.op.rule_key is divide and not whole.isdisjoint(node.outputs)}
    for node in nodes:
        if node.op.rule_key is divide and node.inputs[0] not in values and node.inputs[1] not in plain:
            y = values.get(node.inputs[1])
            if isinstance(y, Lanes) and is_wide_float(y.dtype) and node.inputs[1] not in by_number:
                by_number[node.inputs[1]] = _inverse(y)
    return by_number


def _inverse(y: Lanes) -> Inverse:
    large, far = LARGE[y.dtype]
    size = fabs(y)
    scale = select(size > large, y.like(1 / far), select(size < 1 / large, y.like(far), 1.0))
    return Inverse(1 / (y * scale), scale)


def quotient(node: Node, values: Mapping[int, Elements], inverses: Mapping[int, Inverse]) -> Lanes | None:
    """Result of a step by an inverse; None if it has to be computed otherwise."""
    x, inverse = values[node.inputs[0]], inverses.get(node.inputs[-1])
    if inverse is None or node.op.rule_key is not divide or not isinstance(x, Lanes):
        return None
    return inverse.times(x)
