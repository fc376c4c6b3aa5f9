"""Eigenvalues, as MLX has them; Schur forms, which it does not have, are the host's, and so are complex vectors.

MLX 0.32 gives the vectors of a complex matrix' transpose. What is complex has single precision on MLX: eigenvalues of
float64 have a dtype that it does not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import Eig, Eigvals
from tg_mlx.arrays import is_complex
from tg_mlx.rules.linalg.spectral import of_finite
from tg_mlx.streams import stream

if TYPE_CHECKING:
    from tg.backend import Rule


def eig(op: Eig, a: Any) -> Any:
    """Values, vectors, and where there are none."""
    if is_complex(a):
        return NotImplemented
    if a.size == 0:
        values, vectors = (mx.zeros(shape, mx.complex64) for shape in (a.shape[:-1], a.shape))
        return values, vectors, mx.zeros(a.shape[:-2], mx.int32)
    return of_finite(a, lambda x: mx.linalg.eig(x, stream=stream("cpu")))


def eigvals(op: Eigvals, a: Any) -> Any:
    """Values, and where there are none."""
    if a.size == 0:
        return mx.zeros(a.shape[:-1], mx.complex64), mx.zeros(a.shape[:-2], mx.int32)
    return of_finite(a, lambda x: (mx.linalg.eigvals(x, stream=stream("cpu")),))


RULES: Final[dict[object, Rule]] = {Eig: eig, Eigvals: eigvals}
