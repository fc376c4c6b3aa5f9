"""Eigenvalues and Schur forms, as JAX has them on processors; it has none on other devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import Eig, Eigvals, Schur
from tg_jax.rules.linalg.spectral import of_finite

if TYPE_CHECKING:
    from tg.backend import Rule


def _complex(a: Any) -> Any:
    return jnp.result_type(a.dtype, jnp.complex64)


def eig(op: Eig, a: Any) -> tuple[Any, ...]:
    """Values, vectors, and where there are none."""
    if a.size == 0:
        kind = _complex(a)
        return jnp.zeros(a.shape[:-1], kind), jnp.zeros(a.shape, kind), jnp.zeros(a.shape[:-2], jnp.int32)
    return of_finite(a, lambda x: tuple(lax.linalg.eig(x, compute_left_eigenvectors=False)))


def eigvals(op: Eigvals, a: Any) -> tuple[Any, ...]:
    """Values, and where there are none."""
    if a.size == 0:
        return jnp.zeros(a.shape[:-1], _complex(a)), jnp.zeros(a.shape[:-2], jnp.int32)
    return of_finite(
        a, lambda x: tuple(lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False))
    )


def schur(op: Schur, a: Any) -> tuple[Any, ...]:
    """The form, the vectors, and where there are none."""
    if a.size == 0:
        return a, a, jnp.zeros(a.shape[:-2], jnp.int32)
    return of_finite(a, lambda x: tuple(lax.linalg.schur(x)))


RULES: Final[dict[object, Rule]] = {Eig: eig, Eigvals: eigvals, Schur: schur}
