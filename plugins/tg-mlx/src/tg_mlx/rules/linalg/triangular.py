"""Triangular systems of real matrices, by MLX's inverses of them; those of complex ones are the host's.

Deviation from MLX: a zero on a diagonal, which ends an evaluation with an error, gives NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import SolveTriangular
from tg_mlx.arrays import is_complex, scalar
from tg_mlx.streams import stream

if TYPE_CHECKING:
    from tg.backend import Rule


def solve_triangular(op: SolveTriangular, a: Any, b: Any) -> Any:
    """The solution; NaN where a diagonal has a zero."""
    if is_complex(a):
        return NotImplemented
    if b.size == 0:
        return b
    kind, n = a.dtype, a.shape[-1]
    on_diagonal = mx.eye(n, dtype=mx.int32).astype(mx.bool_)
    one = scalar(1, kind)
    triangle = (mx.tril if op.lower else mx.triu)(a)  # MLX multiplies by what stands in the other one
    null = on_diagonal if op.unit_diagonal else mx.logical_and(on_diagonal, triangle == scalar(0, kind))
    triangle = mx.where(null, one, triangle)
    upper = not op.lower
    if op.transpose != "n":
        triangle, upper = mx.swapaxes(triangle, -1, -2), not upper
    solution = mx.linalg.solve_triangular(triangle, b, upper=upper, stream=stream("cpu"))
    if op.unit_diagonal:
        return solution
    singular = mx.any(null, axis=(-2, -1), keepdims=True)
    return mx.where(singular, scalar(float("nan"), kind), solution)


RULES: Final[dict[object, Rule]] = {SolveTriangular: solve_triangular}
