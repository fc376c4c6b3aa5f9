"""Orders along an axis; MLX's are stable and put NaN last.

Deviation from MLX: complex numbers are ordered as in NumPy, behind them those with a NaN in the imaginary part, then
those with one in the real part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import sorting as t
from tg_mlx.arrays import is_complex

if TYPE_CHECKING:
    from tg.backend import Rule


def argsort(op: t.ArgSort, x: Any) -> Any:
    """The positions that sort the elements."""
    if not is_complex(x):
        return mx.argsort(x, op.axis).astype(mx.int64)
    real, imag = mx.real(x), mx.imag(x)
    absent = mx.isnan(imag).astype(mx.uint8) + 2 * mx.isnan(real).astype(mx.uint8)
    order = mx.argsort(imag, op.axis)
    for key in (real, absent):  # stable sorts, the weightiest key last
        order = mx.take_along_axis(order, mx.argsort(mx.take_along_axis(key, order, op.axis), op.axis), op.axis)
    return order.astype(mx.int64)


def sort(op: t.Sort, x: Any) -> Any:
    """The elements in ascending order."""
    if not is_complex(x):
        return mx.sort(x, op.axis)
    return mx.take_along_axis(x, argsort(t.ArgSort(op.axis), x), op.axis)


RULES: Final[dict[object, Rule]] = {t.ArgSort: argsort, t.Sort: sort}
