"""Triangular systems, as JAX has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jax.numpy as jnp
from jax import lax

from tg.backend import SolveTriangular

if TYPE_CHECKING:
    from tg.backend import Rule


def solve_triangular(op: SolveTriangular, a: Any, b: Any) -> Any:
    """The solution; without `raises` NaN where a diagonal has a zero."""
    if b.size == 0:
        return b
    solution = lax.linalg.triangular_solve(
        a,
        b,
        left_side=True,
        lower=op.lower,
        transpose_a=op.transpose != "n",
        conjugate_a=op.transpose == "c",
        unit_diagonal=op.unit_diagonal,
    )
    if op.raises or op.unit_diagonal:
        return solution
    singular = (jnp.diagonal(a, axis1=-2, axis2=-1) == 0).any(-1)
    return jnp.where(singular[..., None, None], jnp.nan, solution)


RULES: Final[dict[object, Rule]] = {SolveTriangular: solve_triangular}
