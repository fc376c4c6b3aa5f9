"""Eigenvalues of Hermitian matrices and singular values, as MLX has them, of what is finite.

Deviation from MLX, where a NaN ends an evaluation with an error, or gives numbers: it gives NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import SVD, Eigh, Eigvalsh, Svdvals
from tg_mlx.arrays import is_complex, scalar
from tg_mlx.streams import stream

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule


def eigh(op: Eigh, a: Any) -> Any:
    """Values, vectors, and where there are none."""
    if a.size == 0:
        return mx.zeros(a.shape[:-1], _real(a)), a, mx.zeros(a.shape[:-2], mx.int32)
    return of_finite(mx.tril(a), lambda x: mx.linalg.eigh(x, "L", stream=stream("cpu")))


def eigvalsh(op: Eigvalsh, a: Any) -> Any:
    """Values, and where there are none."""
    if a.size == 0:
        return mx.zeros(a.shape[:-1], _real(a)), mx.zeros(a.shape[:-2], mx.int32)
    return of_finite(mx.tril(a), lambda x: (mx.linalg.eigvalsh(x, "L", stream=stream("cpu")),))


def svd(op: SVD, a: Any) -> Any:
    """Vectors, values, vectors, and where there are none."""
    *lead, m, n = a.shape
    few = min(m, n)
    left, right = (m, n) if op.full_matrices else (few, few)
    if a.size == 0:
        u, vh = (mx.broadcast_to(mx.eye(*k, dtype=a.dtype), (*lead, *k)) for k in ((m, left), (right, n)))
        return u, mx.zeros((*lead, few), _real(a)), vh, mx.zeros(lead, mx.int32)
    u, s, vh, info = of_finite(a, lambda x: mx.linalg.svd(x, stream=stream("cpu")))
    return u[..., :left], s, vh[..., :right, :], info


def svdvals(op: Svdvals, a: Any) -> Any:
    """Values, and where there are none."""
    if a.size == 0:
        return mx.zeros((*a.shape[:-2], min(a.shape[-2:])), _real(a)), mx.zeros(a.shape[:-2], mx.int32)
    return of_finite(a, lambda x: (mx.linalg.svd(x, compute_uv=False, stream=stream("cpu")),))


def _real(a: Any) -> Any:
    """The dtype of the parts."""
    return mx.float32 if is_complex(a) else a.dtype


def of_finite(a: Any, function: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Results of a function of matrices, NaN for those that are not finite, and zeros: MLX raises what fails."""
    finite = mx.all(mx.isfinite(a), axis=(-2, -1))
    values = function(mx.where(finite[..., None, None], a, scalar(0, a.dtype)))
    results = []
    for x in values:
        flag = mx.reshape(finite, (*finite.shape, *(1,) * (x.ndim - finite.ndim)))
        results.append(mx.where(flag, x, scalar(float("nan"), x.dtype)))
    return (*results, mx.zeros(finite.shape, mx.int32))


RULES: Final[dict[object, Rule]] = {Eigh: eigh, Eigvalsh: eigvalsh, SVD: svd, Svdvals: svdvals}
