"""Conversion between bool, int64 and float32, by NumPy; what is out of range becomes the nearest limit, NaN 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.backend import Hosted
from tg.backend import cast as t
from tg_ggml.host import hosted
from tg_ggml.tensors import KINDS, Tensor

if TYPE_CHECKING:
    from tg.backend import Rule

    Array = np.ndarray[Any, Any]


def cast(op: t.Cast, x: Tensor) -> Any:
    """The elements in another dtype."""
    if op.dtype not in KINDS:
        return NotImplemented
    if x.dtype.name == op.dtype:
        return x
    if op.dtype == "bool":
        return hosted(lambda a: a != 0, [x], x.shape, "bool")
    if x.dtype == np.float32:
        return hosted(_saturated, [x], x.shape, op.dtype)
    return hosted(lambda a: a, [x], x.shape, op.dtype)


def _saturated(a: Array) -> Array:
    """Truncated; only what int64 holds is left to the machine."""
    limits = np.iinfo(np.int64)
    high, low = a >= np.float32(limits.max), a <= np.float32(limits.min)
    inside = np.where(high | low | np.isnan(a), np.float32(0), a).astype(np.int64)
    return np.where(high, limits.max, np.where(low, limits.min, inside))


RULES: Final[dict[object, Rule]] = {t.Cast: Hosted(cast)}
