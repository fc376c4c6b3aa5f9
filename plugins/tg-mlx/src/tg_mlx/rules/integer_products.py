"""Products of matrices of 8-bit integers, summed in 32 bits.

Deviation from MLX: it multiplies no matrices of integers. float32 holds the sums of `exact_depth` terms exactly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import integer_products as t

if TYPE_CHECKING:
    from tg.backend import Rule

NAMES: Final = {mx.int8: "int8", mx.uint8: "uint8"}


def integer_matmul(op: t.IntegerMatMul, x: Any, y: Any) -> Any:
    """Products in float32 of as many terms as it holds, added up in int32."""
    depth = t.exact_depth(NAMES[x.dtype], NAMES[y.dtype])
    left, right = x.astype(mx.float32), y.astype(mx.float32)
    total = mx.matmul(left[..., :depth], right[..., :depth, :]).astype(mx.int32)
    for k in range(depth, x.shape[-1], depth):
        total = total + mx.matmul(left[..., k : k + depth], right[..., k : k + depth, :]).astype(mx.int32)
    return total


RULES: Final[dict[object, Rule]] = {t.IntegerMatMul: integer_matmul}
