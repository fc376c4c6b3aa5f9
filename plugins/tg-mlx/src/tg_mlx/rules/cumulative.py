"""Running results along an axis, in the dtype of the operand.

Deviations from MLX: running extrema of complex numbers are lexicographic, by way of their places in the sorted array;
those of half precision are taken in single precision, since MLX 0.32 has 0 for NaN there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg import add, maximum, minimum, multiply
from tg.backend import ArgSort
from tg.backend import cumulative as t
from tg_mlx.arrays import is_complex, is_half
from tg_mlx.rules.sorting import argsort

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule

RUNNING: Final[dict[object, Callable[..., Any]]] = {
    add: mx.cumsum,
    multiply: mx.cumprod,
    maximum: mx.cummax,
    minimum: mx.cummin,
}
LOGICAL: Final[dict[object, Callable[..., Any]]] = {
    add: mx.cummax,
    multiply: mx.cummin,
    maximum: mx.cummax,
    minimum: mx.cummin,
}


def accumulate(op: t.Accumulate, x: Any) -> Any:
    """The running result; of booleans, the running any or all."""
    if x.dtype == mx.bool_:
        return LOGICAL[op.fn](x.astype(mx.uint8), axis=op.axis).astype(mx.bool_)
    if is_complex(x) and op.fn in (maximum, minimum):
        return _extrema_of_complex(op, x)
    if is_half(x) and op.fn in (maximum, minimum):
        return RUNNING[op.fn](x.astype(mx.float32), axis=op.axis).astype(x.dtype)
    return RUNNING[op.fn](x, axis=op.axis).astype(x.dtype)


def _extrema_of_complex(op: t.Accumulate, x: Any) -> Any:
    """The elements at the running extrema of the ranks; NaN ranks last for a maximum and first for a minimum."""
    order = argsort(ArgSort(op.axis), x)
    ranks = mx.argsort(order, op.axis).astype(mx.int64)
    n = x.shape[op.axis]
    if op.fn is minimum:
        ranks = mx.where(mx.isnan(x), ranks - n, ranks)
    extrema = RUNNING[op.fn](ranks, axis=op.axis)
    return mx.take_along_axis(
        x, mx.take_along_axis(order, mx.where(extrema < 0, extrema + n, extrema), op.axis), op.axis
    )


RULES: Final[dict[object, Rule]] = {t.Accumulate: accumulate}
