"""`tg.interpolate`: piecewise polynomials through points, and B-splines, under SciPy's names.

    spline = tg.interpolate.CubicSpline(x, y, bc_type="natural")
    spline(places), spline(places, 1), spline.integrate(0.0, 1.0)

`tg.interp` is the piecewise linear function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg.interpolate.bsplines import BSpline, bspline_basis
from tg.interpolate.cubic import Akima1DInterpolator, CubicHermiteSpline, CubicSpline, PchipInterpolator
from tg.interpolate.piecewise import PPoly
from tg.keywords import explain
from tg.words import no_function, unknown_in

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "CubicHermiteSpline",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "bspline_basis",
]

explain(globals(), __all__)
no_function(__name__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
        raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
