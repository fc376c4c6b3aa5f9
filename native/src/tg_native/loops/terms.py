"""Sums of products of one dtype in lanes: what they begin with, and one term more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg.ops.elementwise.arithmetic import multiply
from tg.types.dtypes import is_complex, is_float, numpy_dtype
from tg_native.kernels.functions import fma
from tg_native.kernels.lanes import Pair, constant_of, lane_of
from tg_native.loops.folds import halves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_native.graphs.site import Site
    from tg_native.kernels.lanes import Elements, Lanes
    from tg_native.kernels.routine import Routine


class Terms(NamedTuple):
    """Sums of products of a dtype; of bools whether some product is true."""

    site: Site
    body: Routine
    dtype: str

    @property
    def working(self) -> str:
        """The dtype of sums: of bools bytes, for there are no registers of many of them."""
        return "uint8" if self.dtype == "bool" else self.dtype

    def zero(self) -> Elements:
        """No term."""
        return constant_of(self.body, numpy_dtype(self.working).type(0), self.working)

    def wide(self, x: Elements) -> Elements:
        """A factor as it is worked with."""
        return x.to(self.working)

    def values(self, lanes: Sequence[Lanes]) -> list[Elements]:
        """Values by their parts: the other way round."""
        if not is_complex(self.dtype):
            return list(lanes)
        return [Pair(*both) for both in zip(lanes[::2], lanes[1::2], strict=True)]

    def more(self, total: Any, factor: Any, element: Any) -> Elements:
        """One more term."""
        if self.dtype == "bool":
            return self.sum(total, factor & element)
        if is_complex(self.dtype):
            return self.sum(total, self.site.rule(multiply.op)(multiply.op, (factor, element), self.dtype))
        return self.sum(total, factor * element)

    def fused(self, total: Any, factor: Any, element: Any) -> Elements:
        """One more term, of real floats rounded once with the sum where the processor can."""
        return fma(factor, element, total) if is_float(self.dtype) else self.more(total, factor, element)

    def sum(self, x: Any, y: Any) -> Elements:
        """The sum of two sums."""
        total: Elements = x | y if self.dtype == "bool" else x.plus(y) if isinstance(x, Pair) else x + y
        return total

    def across(self, value: Elements) -> Elements:
        """The sum of all lanes: a single element."""
        if self.body.lanes < 2:
            return lane_of(value, 0)
        low, high = halves(value)
        with self.body.of(self.body.lanes // 2):
            return self.across(self.sum(low, high))
