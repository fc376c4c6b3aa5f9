"""QR factors of real matrices; those of complex ones, and square Q of tall ones, are the host's.

Deviation from MLX: R's diagonal is not negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import QR
from tg_mlx.arrays import is_complex, scalar
from tg_mlx.streams import stream

if TYPE_CHECKING:
    from tg.backend import Rule


def qr(op: QR, a: Any) -> Any:
    """The factors, with R's signs moved to Q."""
    if is_complex(a) or op.mode == "complete":
        return NotImplemented
    *lead, m, n = a.shape
    few = min(m, n)
    if a.size == 0:
        q = mx.broadcast_to(mx.eye(m, few, dtype=a.dtype), (*lead, m, few))
        return q, mx.zeros((*lead, few, n), a.dtype)
    q, r = mx.linalg.qr(a, stream=stream("cpu"))
    q, r = q[..., :few], r[..., :few, :]
    sign = mx.where(mx.diagonal(r, 0, -2, -1) < 0, scalar(-1, a.dtype), scalar(1, a.dtype))
    return q * sign[..., None, :], r * sign[..., :, None]


RULES: Final[dict[object, Rule]] = {QR: qr}
