"""The rules of the JAX backend, `RuleProtocol("array", 2)`, in files named as core's `ops/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_jax import decays, extrema, products
from tg_jax.rules import (
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
    sparse_factors,
)
from tg_jax.rules.elementwise import (
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
from tg_jax.rules.elementwise.special import error
from tg_jax.rules.linalg import cholesky, lu, qr, schur, solving, spectral, triangular
from tg_jax.rules.nn import convolution

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
    **sparse_factors.RULES,
    **cholesky.RULES,
    **lu.RULES,
    **qr.RULES,
    **schur.RULES,
    **solving.RULES,
    **spectral.RULES,
    **triangular.RULES,
    **convolution.RULES,
    **decays.RULES,
    **extrema.RULES,
    **products.RULES,
}
