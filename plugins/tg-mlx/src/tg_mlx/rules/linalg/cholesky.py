"""Cholesky factors of real matrices; those of complex ones, which MLX does not have, are the host's.

Deviation from MLX: a matrix that is not positive definite, for which MLX gives what it had got to, is told and is NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import Cholesky
from tg_mlx.arrays import is_complex, scalar
from tg_mlx.streams import stream

if TYPE_CHECKING:
    from tg.backend import Rule


def cholesky(op: Cholesky, a: Any) -> Any:
    """The factors, NaN on and below the diagonal where there is none, and the orders of the minors at fault.

    LAPACK leaves the pivot at which it stops on the diagonal, and positive ones before it.
    """
    if is_complex(a):
        return NotImplemented
    lead, n = a.shape[:-2], a.shape[-1]
    if a.size == 0:
        return a, mx.zeros(lead, mx.int32)
    below = mx.tril(a)
    factor = mx.linalg.cholesky(a, stream=stream("cpu"))
    fine = mx.diagonal(factor, 0, -2, -1) > 0
    first = mx.argmin(fine.astype(mx.int32), axis=-1)  # the first that is not, 0 if all are
    absent = mx.any(mx.isnan(below), axis=(-2, -1))
    undefined = mx.logical_not(mx.all(fine, axis=-1))
    zero = scalar(0, mx.int32)
    info = mx.where(mx.logical_or(absent, mx.logical_not(undefined)), zero, first.astype(mx.int32) + 1)
    unknown = mx.expand_dims(mx.logical_or(absent, undefined), (-2, -1))
    lower = mx.tril(mx.ones((n, n), mx.int32)).astype(mx.bool_)
    kind = a.dtype
    return mx.where(lower, mx.where(unknown, scalar(float("nan"), kind), factor), scalar(0, kind)), info


RULES: Final[dict[object, Rule]] = {Cholesky: cholesky}
