"""Cases of `ops/elementwise/special/beta`: large arguments beside small ones, whole numbers, derivatives."""

from __future__ import annotations

from typing import Any, Final

import mpmath
import numpy as np
from scipy import special

import tg
from tg.ops.elementwise.special.beta import FAMILY
from tg.plugin.case import Case, fixed
from tg_conformance.cases.elementwise.record import floats_only, generated
from tg_conformance.cases.family import of_family
from tg_conformance.multiprecision import exact


def _betaln(x: Any, y: Any) -> Any:
    return mpmath.re(mpmath.loggamma(x) + mpmath.loggamma(y) - mpmath.loggamma(x + y))  # of the magnitude


BETA, BETALN = exact(mpmath.beta, special.beta), exact(_betaln, special.betaln)
POCH, BINOM = exact(mpmath.rf, special.poch), exact(mpmath.binomial, special.binom)

_trigamma = exact(lambda x: mpmath.polygamma(1, x), lambda x: special.polygamma(1, x))


def _grown(function: Any) -> Any:
    """The magnitude of a result's error from the rounding of a sum of the operands."""
    return lambda x, y: np.abs(function(x, y)) * (1 + (np.abs(x) + np.abs(y)) * np.log1p(np.abs(x) + np.abs(y)))


def _with_digits(function: Any, *operands: Any) -> Any:
    """With so many digits that what cancels leaves enough of them."""
    with mpmath.workdps(260):
        return function(*operands)


def _terms(x: Any, y: Any) -> Any:
    return 1 + np.abs(BETALN(x, y))


BOTH: Final = ((0.5, 4.0), (0.5, 4.0))

FACTS: Final = {
    tg.beta: floats_only(BETA, gradient=BOTH, condition=_grown(BETA), hostile_oracle=False),
    tg.betaln: floats_only(BETALN, gradient=BOTH, condition=_terms, hostile_oracle=False),
    tg.poch: floats_only(POCH, gradient=BOTH, condition=_grown(POCH), hostile_oracle=False),
    tg.binom: floats_only(BINOM, gradient=BOTH, condition=_grown(BINOM), hostile_oracle=False),
}

LARGE: Final = [1e-5, 0.5, 3.9, 4.1, 1e10, 1e10, 170.0, 1e5, 2.0]
OTHER: Final = [1e8, 1e15, 4.1, 5.0, 0.5, 3e9, 300.0, 1e-9, 1e200]
NUMBERS: Final = [5.0, 10.0, 60.0, 49.0, 0.0, 7.0, 170.0, 1000.0]
CHOSEN: Final = [2.0, 0.0, 30.0, 6.0, 0.0, 9.0, 3.0, 2.0]

WRITTEN: Final = (
    Case(
        tg.betaln,
        [fixed(LARGE), fixed(OTHER)],
        name="betaln of large arguments",
        oracle=exact(lambda x, y: _with_digits(_betaln, x, y), special.betaln),
        condition=lambda x, y: 1 + np.abs(special.betaln(x.astype(float), y.astype(float))),
    ),
    Case(
        tg.binom,
        [fixed(NUMBERS), fixed(CHOSEN)],
        name="binom of whole numbers",
        oracle=BINOM,
    ),
    Case(
        lambda x, y: tg.grad(tg.sum(tg.grad(tg.sum(tg.betaln(x, y)), x)), [x, y]),
        [fixed([0.5, 2.0, 30.0]), fixed([1.5, 4.0, 0.25])],
        name="second derivatives of betaln",
        accuracy=16,
        oracle=lambda x, y: (_trigamma(x) - _trigamma(x + y), -_trigamma(x + y)),
        condition=lambda x, y: (_trigamma(x), _trigamma(x + y)),
    ),
)


CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN)
