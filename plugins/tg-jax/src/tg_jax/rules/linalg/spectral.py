"""Eigenvalues of Hermitian matrices and singular values, as JAX has them: NaN where it does not converge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import SVD, Eigh, Eigvalsh, Svdvals

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule


def eigh(op: Eigh, a: Any) -> tuple[Any, ...]:
    """Values, vectors, and where there are none."""
    lead, n = a.shape[:-2], a.shape[-1]
    if a.size == 0:
        return jnp.zeros((*lead, n), a.real.dtype), a, jnp.zeros(lead, jnp.int32)

    def values_last(x: Any) -> tuple[Any, ...]:
        v, w = lax.linalg.eigh(x, lower=True, symmetrize_input=False, sort_eigenvalues=True)
        return w, v

    return of_finite(jnp.tril(a), values_last)


def eigvalsh(op: Eigvalsh, a: Any) -> tuple[Any, ...]:
    """Values, and where there are none."""
    if a.size == 0:
        return jnp.zeros(a.shape[:-1], a.real.dtype), jnp.zeros(a.shape[:-2], jnp.int32)
    whole = jnp.tril(a) + jnp.swapaxes(jnp.tril(a, -1), -1, -2).conj()
    return of_finite(whole, lambda x: (jnp.linalg.eigvalsh(x, symmetrize_input=False),))


def svd(op: SVD, a: Any) -> tuple[Any, ...]:
    """Vectors, values, vectors, and where there are none."""
    lead = a.shape[:-2]
    if a.size == 0:
        return (*_svd_of_nothing(op, a), jnp.zeros(lead, jnp.int32))
    return of_finite(a, lambda x: tuple(jnp.linalg.svd(x, full_matrices=op.full_matrices)))


def svdvals(op: Svdvals, a: Any) -> tuple[Any, ...]:
    """Values, and where there are none."""
    lead = a.shape[:-2]
    if a.size == 0:
        return jnp.zeros((*lead, min(a.shape[-2:])), a.real.dtype), jnp.zeros(lead, jnp.int32)
    return of_finite(a, lambda x: (jnp.linalg.svd(x, compute_uv=False),))


def _svd_of_nothing(op: SVD, a: Any) -> tuple[Any, Any, Any]:
    """The factors of matrices without elements, or of no matrices."""
    *lead, m, n = a.shape
    few = min(m, n)
    left, right = (m, n) if op.full_matrices else (few, few)
    u, vh = (jnp.broadcast_to(jnp.eye(*k, dtype=a.dtype), (*lead, *k)) for k in ((m, left), (right, n)))
    return u, jnp.zeros((*lead, few), a.real.dtype), vh


def of_finite(a: Any, function: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Results of a function of matrices, NaN for those that are not finite, and 1 where it gives NaN for others."""
    finite = jnp.isfinite(a).all((-2, -1))
    values = function(jnp.where(finite[..., None, None], a, 0))
    results = []
    failed = jnp.zeros(finite.shape, bool)
    for x in values:
        flag = finite.reshape((*finite.shape, *(1,) * (x.ndim - finite.ndim)))
        failed |= jnp.isnan(x).any(tuple(range(finite.ndim, x.ndim))) if x.size else False
        results.append(jnp.where(flag, x, jnp.nan))
    return (*results, failed.astype(jnp.int32))


RULES: Final[dict[object, Rule]] = {Eigh: eigh, Eigvalsh: eigvalsh, SVD: svd, Svdvals: svdvals}
