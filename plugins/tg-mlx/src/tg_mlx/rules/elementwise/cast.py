"""Conversion between dtypes.

Deviations from MLX: from floating to integer NaN becomes 0 and what is out of range the nearest limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx
import numpy as np

from tg.backend import INTEGERS
from tg.backend import cast as t
from tg_mlx.arrays import NATIVE, is_complex, is_floating, scalar

if TYPE_CHECKING:
    from tg.backend import Rule


def cast(op: t.Cast, x: Any) -> Any:
    """The elements in another dtype; complex ones without their imaginary part."""
    if op.dtype == "bool":
        return mx.not_equal(x, scalar(0, x.dtype))
    if is_complex(x) and not op.dtype.startswith("complex"):
        x = mx.real(x)
    if is_floating(x) and op.dtype in INTEGERS:
        return _saturated(x, op.dtype)
    return x.astype(NATIVE[op.dtype])


def _saturated(x: Any, dtype: str) -> Any:
    """Truncated; only what the dtype can hold is left to the machine."""
    limits, target = np.iinfo(dtype), NATIVE[dtype]
    high, low = x >= scalar(float(limits.max), x.dtype), x <= scalar(float(limits.min), x.dtype)
    inside = mx.where(high | low | mx.isnan(x), scalar(0, x.dtype), x).astype(target)
    return mx.where(high, scalar(limits.max, target), mx.where(low, scalar(limits.min, target), inside))


RULES: Final[dict[object, Rule]] = {t.Cast: cast}
