"""The rules of the PyTorch backend, `RuleProtocol("array", 2)`, in files named as core's `ops/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.backend import Schur, SparseCholesky, SparseInverse, SparseSolve
from tg_torch import fused, paired
from tg_torch.rules import (
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
    sparse,
)
from tg_torch.rules.elementwise import (
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
from tg_torch.rules.elementwise.special import error, gamma, normal
from tg_torch.rules.linalg import cholesky, lu, qr, schur, solving, spectral, triangular
from tg_torch.rules.nn import attention, convolution, normalization, pooling

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
    **error.RULES,
    **gamma.RULES,
    **normal.RULES,
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
    **sparse.RULES,
    **cholesky.RULES,
    **lu.RULES,
    **qr.RULES,
    **schur.RULES,
    **solving.RULES,
    **spectral.RULES,
    **triangular.RULES,
    **convolution.RULES,
    **normalization.RULES,
    **pooling.RULES,
    **attention.RULES,
    **fused.RULES,
    **paired.RULES,
}

HOSTED: Final[frozenset[object]] = frozenset((Schur, SparseCholesky, SparseInverse, SparseSolve))
"""What the host computes: PyTorch has no Schur form, and no factors of sparse matrices."""
