"""Complex numbers and their parts.

Deviation from MLX: it makes complex numbers of parts by arithmetic only, in which infinite parts spoil one another;
here their memory is read as that of complex numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import complex as t

if TYPE_CHECKING:
    from tg.backend import Rule


def complex_(x: Any, y: Any) -> Any:
    """The number of two parts in single precision."""
    x, y = mx.broadcast_arrays(x, y)
    return mx.squeeze(mx.view(mx.stack([x, y], -1), mx.complex64), -1)


RULES: Final[dict[object, Rule]] = {
    t.complex: complex_,
    t.real: mx.real,
    t.imag: mx.imag,
    t.conjugate: mx.conjugate,
}
