"""The rules of the MLX backend, `RuleProtocol("array", 2)`, in files named as core's `ops/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.backend import Eig, Logm, Schur, SolveStein, SolveSylvester, SparseCholesky, SparseInverse, SparseSolve, Sqrtm
from tg_mlx.rules import (
    contraction,
    control,
    creation,
    cumulative,
    fourier,
    indexing,
    integer_products,
    loops,
    reduction,
    shape,
    sharding,
    sorting,
)
from tg_mlx.rules.elementwise import (
    arithmetic,
    bitwise,
    cast,
    comparison,
    complex,
    exponential,
    random,
    rounding,
    trigonometric,
)
from tg_mlx.rules.linalg import cholesky, lu, qr, schur, spectral, triangular
from tg_mlx.rules.nn import attention, convolution

if TYPE_CHECKING:
    from tg.backend import Rule

RULES: Final[dict[object, Rule]] = {
    **arithmetic.RULES,
    **bitwise.RULES,
    **cast.RULES,
    **comparison.RULES,
    **complex.RULES,
    **exponential.RULES,
    **random.RULES,
    **rounding.RULES,
    **trigonometric.RULES,
    **contraction.RULES,
    **control.RULES,
    **creation.RULES,
    **cumulative.RULES,
    **indexing.RULES,
    **integer_products.RULES,
    **loops.RULES,
    **reduction.RULES,
    **shape.RULES,
    **sharding.RULES,
    **fourier.RULES,
    **sorting.RULES,
    **cholesky.RULES,
    **lu.RULES,
    **qr.RULES,
    **schur.RULES,
    **spectral.RULES,
    **triangular.RULES,
    **convolution.RULES,
    **attention.RULES,
}

HOSTED: Final[frozenset[object]] = frozenset((
    *(Eig, Logm, Schur, SolveStein, SolveSylvester, Sqrtm),
    *(SparseCholesky, SparseInverse, SparseSolve),
    *(*cholesky.RULES, *lu.RULES, *qr.RULES, *triangular.RULES),
))  # fmt: skip
"""What the host computes where a rule declines: MLX has factorisations of real matrices only, on the processor.

Nor has it Schur forms or factors of sparse matrices, nor numbers of complex128 for those of float64: what goes by them
is the host's altogether.
"""
