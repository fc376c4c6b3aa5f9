"""Owen's T function: the chance that x > h and 0 < y < a x, of two independent normal variables.

For |a| <= 1 its integral by 48 places of Gauss and Legendre, up to 9 standard deviations; for larger ones by what
relates T(h, a) to T(a h, 1 / a).

Source:
    D. B. Owen, Annals of Mathematical Statistics 27, 1075 (1956), equations 2.1 and 2.3.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, copysign, maximum, minimum
from tg.ops.elementwise.comparison import isnan, where
from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.special.error import erf, erfc
from tg.ops.elementwise.special.iterated import iterated
from tg.ops.family import Family
from tg.ops.iteration import scan
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

ROOT_HALF: Final = 0.7071067811865476
REACH: Final = 9.0  # standard deviations
FARTHEST: Final = 1e150  # so that squares are finite
PLACES, WEIGHTS = np.polynomial.legendre.leggauss(48)


def _owens_t(h: Variable, a: Variable) -> Variable:
    size, slope = minimum(absolute(h), FARTHEST), absolute(a)
    steep = slope > 1
    height = where(steep, minimum(size * where(steep, minimum(slope, FARTHEST), 1.0), FARTHEST), size)
    width = where(steep, 1 / where(steep, slope, 1.0), slope)
    top = minimum(width, REACH / maximum(height, 1e-3))
    square = height * height

    def add(total: Variable, place: tuple[Variable, Variable]) -> tuple[Variable, None]:
        x = (place[0] + 1) * (0.5 * top)
        return total + place[1] * exp(-0.5 * square * (x * x)) / (1 + x * x), None

    total, _ = scan(add, height * 0, (as_variable(PLACES), as_variable(WEIGHTS)))
    inner = total * (0.5 * top) * exp(-0.5 * square) / (2 * math.pi)
    p, q = 0.5 * erfc(size * ROOT_HALF), 0.5 * erfc(height * ROOT_HALF)
    value = copysign(where(steep, 0.5 * (p + q) - p * q - inner, inner), a)
    return where(isnan(h) | isnan(a), np.nan, value)


def _slope_in_a(h: Variable, a: Variable) -> Variable:
    s = 1 + a * a
    return exp(-0.5 * h * h * s) / (2 * math.pi * s)


owens_t = iterated(
    "owens_t", 2, _owens_t,
    "Owen's T function: 1/(2 pi) times the integral of e^(-h^2 (1 + x^2) / 2) / (1 + x^2) from 0 to a.",
    d=(
        lambda h, a, y: -0.5 / math.sqrt(2 * math.pi) * exp(-0.5 * h * h) * erf(a * h * ROOT_HALF),
        lambda h, a, y: _slope_in_a(h, a),
    ),
    accuracy=64, domain=(-4, 4), cost=900,
    slope_accuracy=2048,  # exponentials of squares that are rounded
)  # fmt: skip

FAMILY = Family("elementwise/special/owens", (owens_t,))
