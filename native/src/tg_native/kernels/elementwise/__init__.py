"""The kernel of every elementwise function, in files named as core's `ops/elementwise`: one table for all printers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_native.kernels.elementwise import (
    arithmetic,
    bitwise,
    cast,
    comparison,
    complex,
    draws,
    exponential,
    random,
    rounding,
    trigonometric,
)
from tg_native.kernels.elementwise.special import (
    bessel,
    beta,
    cylinder,
    error,
    gamma,
    hypergeometric,
    incomplete,
    normal,
    owens,
    students,
    zeta,
)

if TYPE_CHECKING:
    from tg.plugin.records import Rule

KERNELS: Final[dict[object, Rule]] = {
    **arithmetic.KERNELS,
    **bitwise.KERNELS,
    **cast.KERNELS,
    **comparison.KERNELS,
    **complex.KERNELS,
    **draws.KERNELS,
    **exponential.KERNELS,
    **random.KERNELS,
    **rounding.KERNELS,
    **trigonometric.KERNELS,
    **bessel.KERNELS,
    **beta.KERNELS,
    **cylinder.KERNELS,
    **error.KERNELS,
    **gamma.KERNELS,
    **hypergeometric.KERNELS,
    **incomplete.KERNELS,
    **normal.KERNELS,
    **owens.KERNELS,
    **students.KERNELS,
    **zeta.KERNELS,
}
