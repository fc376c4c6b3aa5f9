"""Running results along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import ShapeError, message
from tg.graph.op import Op
from tg.ops.elementwise.cast import cast_variable
from tg.ops.family import Family
from tg.ops.indexing import flip
from tg.ops.shape import ravel
from tg.types.dtypes import accumulator
from tg.variables.conversion import as_variable, axis_from_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.tensor_type import TensorType


@final
class CumSum(Op):
    """Running sum along `axis`: y[i] = x[0] + ... + x[i].

    Shapes:
        x (..., n, ...) -> y (..., n, ...)
    Dtypes:
        those of x; `tg.cumsum` casts to the accumulator first (int8 -> int64, float32 -> float32).
    Raises:
        ShapeError: `axis` is not an axis of x.
    Source:
        numpy.cumsum. The pullback sums the cotangent from the far end.
    """

    axis: int  # counted from the end: -1 is the last

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        if self.axis < -len(x.shape):
            raise ShapeError(message(f"cumsum: axis {self.axis} is out of range: the array has {len(x.shape)} axes"))
        return (x,)

    def perform(self, x: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], ...]:
        """`np.cumsum` in the dtype of x."""
        return (np.cumsum(x, axis=self.axis, dtype=x.dtype),)

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """The cotangent summed from the far end."""
        (dy,) = cotangents
        return (None if dy is None else flip(self(flip(dy, self.axis)), self.axis),)


def cumsum(x: Any, axis: int | None = None) -> Variable:
    """Running sum along an axis, or in C order if `axis` is None.

    Dtypes:
        bool and integers accumulate in 64 bits, floats in their own dtype.
    Source:
        numpy.cumsum
    """
    x = as_variable(x)
    x = cast_variable(x, accumulator(x.type.dtype))
    if axis is None:
        return CumSum(-1)(ravel(x))  # type: ignore[no-any-return]
    return CumSum(axis_from_end(axis, x.type.ndim, "cumsum"))(x)  # type: ignore[no-any-return]


FAMILY = Family("cumulative", ops=(CumSum,), functions=(cumsum,))
