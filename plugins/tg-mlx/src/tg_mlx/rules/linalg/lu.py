"""LU factors of real matrices; those of complex ones, which MLX does not have, are the host's.

MLX (0.32) takes the array of factors for one of as many elements as it has bytes, and what computes into the same
memory writes past its end: `2.0 * mx.linalg.lu_factor(a)[0]` ends the process. So the factors are copied, by their
shape, before anything is computed with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import LU
from tg_mlx.arrays import is_complex
from tg_mlx.streams import stream

if TYPE_CHECKING:
    from tg.backend import Rule


def lu(op: LU, a: Any) -> Any:
    """The factors in one matrix, the pivots and the order of the rows."""
    if is_complex(a):
        return NotImplemented
    *lead, m, n = a.shape
    if a.size == 0:
        order = mx.broadcast_to(mx.arange(m, dtype=mx.int32), (*lead, m))
        return a, order[..., : min(m, n)], order
    cpu: Any = stream("cpu")
    factors, pivots = mx.linalg.lu_factor(a, stream=cpu)
    factors = mx.concatenate([factors[..., :0], factors], axis=-1)
    back = mx.linalg.lu(a, stream=cpu)[0]  # where each row of a has gone to
    return factors, pivots.astype(mx.int32), mx.argsort(back, axis=-1).astype(mx.int32)


RULES: Final[dict[object, Rule]] = {LU: lu}
