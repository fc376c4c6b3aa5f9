"""Products that sum over a shared axis.

Deviations from MLX: it multiplies no matrices of integers or booleans. Those of integers are products of their limbs of
16 bits in double precision, which holds them exactly, put together modulo the width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import contraction as t
from tg_mlx.arrays import is_half, is_integer, scalar
from tg_mlx.streams import stream

if TYPE_CHECKING:
    from tg.backend import Rule

LIMB: Final = 16  # bits: a product of two limbs has 32
DEPTH: Final = 1 << 20  # so many products of limbs are added up in the 53 bits of double precision


def matmul(op: t.MatMul, x: Any, y: Any) -> Any:
    """The matrix product; of booleans, whether any product is true."""
    if x.dtype == mx.bool_:
        return mx.matmul(x.astype(mx.float32), y.astype(mx.float32)) > 0
    if is_half(x):
        return mx.matmul(x.astype(mx.float32), y.astype(mx.float32)).astype(x.dtype)
    return _matmul_of_integers(x, y) if is_integer(x) else mx.matmul(x, y)


def _matmul_of_integers(x: Any, y: Any) -> Any:
    """Sums of products of limbs, shifted to their places: what lies beyond the width is left out."""
    count = max(1, x.dtype.size * 8 // LIMB)
    left, right = _limbs(x, count), _limbs(y, count)
    total = scalar(0, mx.uint64)
    for place in range(count):
        parts = (_exact(left[k], right[place - k]) for k in range(place + 1))
        for part in parts:
            total = total + mx.left_shift(part, scalar(LIMB * place, mx.uint64))
    return total.astype(x.dtype)


def _limbs(x: Any, count: int) -> list[Any]:
    """The bits of integers, 16 at a time, as numbers of double precision."""
    wide, mask = x.astype(mx.uint64), scalar((1 << LIMB) - 1, mx.uint64)
    shifted = (mx.right_shift(wide, scalar(LIMB * k, mx.uint64)) for k in range(count))
    return [mx.bitwise_and(part, mask).astype(mx.float64, stream=stream("cpu")) for part in shifted]


def _exact(x: Any, y: Any) -> Any:
    """The product of two matrices of limbs; only processors have double precision."""
    where: Any = {"stream": stream("cpu")}
    if x.shape[-1] <= DEPTH:
        return mx.matmul(x, y, **where).astype(mx.uint64, **where)
    steps = range(DEPTH, x.shape[-1], DEPTH)
    pairs = zip(mx.split(x, list(steps), -1, **where), mx.split(y, list(steps), -2, **where), strict=True)
    total = scalar(0, mx.uint64)
    for a, b in pairs:
        total = total + mx.matmul(a, b, **where).astype(mx.uint64, **where)
    return total


RULES: Final[dict[object, Rule]] = {t.MatMul: matmul}
