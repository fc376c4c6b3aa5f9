"""The cases of the kit, family by family, in the files that have the names of core's op families."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_conformance import functions
from tg_conformance.cases import (
    arranging,
    assumptions,
    calculus,
    contraction,
    control,
    creation,
    cumulative,
    custom,
    diagonal,
    einsum,
    histogram,
    indexing,
    iteration,
    joining,
    loops,
    norm,
    padding,
    places,
    quantiles,
    recurrence,
    reduction,
    selection,
    shape,
    softmax,
    sorting,
    statistics,
)
from tg_conformance.cases.elementwise import (
    arithmetic,
    bitwise,
    cast,
    comparison,
    complex,
    exponential,
    rounding,
    trigonometric,
)
from tg_conformance.cases.elementwise.special import cylinder, error, gamma, hypergeometric, incomplete, owens
from tg_conformance.cases.linalg import cholesky, lu, solving, triangular

if TYPE_CHECKING:
    from tg.plugin.case import Case

CASES: Final[tuple[Case, ...]] = (
    *arithmetic.CASES,
    *bitwise.CASES,
    *cast.CASES,
    *comparison.CASES,
    *complex.CASES,
    *exponential.CASES,
    *rounding.CASES,
    *trigonometric.CASES,
    *error.CASES,
    *gamma.CASES,
    *incomplete.CASES,
    *cylinder.CASES,
    *owens.CASES,
    *hypergeometric.CASES,
    *assumptions.CASES,
    *calculus.CASES,
    *contraction.CASES,
    *control.CASES,
    *creation.CASES,
    *cumulative.CASES,
    *custom.CASES,
    *diagonal.CASES,
    *einsum.CASES,
    *functions.CASES,
    *histogram.CASES,
    *indexing.CASES,
    *iteration.CASES,
    *loops.CASES,
    *norm.CASES,
    *quantiles.CASES,
    *recurrence.CASES,
    *reduction.CASES,
    *shape.CASES,
    *selection.CASES,
    *places.CASES,
    *padding.CASES,
    *joining.CASES,
    *arranging.CASES,
    *softmax.CASES,
    *sorting.CASES,
    *statistics.CASES,
    *cholesky.CASES,
    *lu.CASES,
    *solving.CASES,
    *triangular.CASES,
)
