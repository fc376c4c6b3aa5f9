"""Cases of `ops/elementwise/trigonometric`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.elementwise import trigonometric as ops
from tg.ops.elementwise.trigonometric import FAMILY, inversion
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.elementwise.record import Facts, Oracle, floats_only, generated
from tg_conformance.cases.family import of_family

DEGREE: Final = np.longdouble("3.14159265358979323846264338327950288") / 180


def _radius(x: Any, y: Any) -> Any:
    """The radius of points, 1 for the origin."""
    return np.where((x == 0) & (y == 0), 1, np.hypot(x, y))


INSIDE: Final = ((-0.9, 0.9),)

FACTS: Final = {
    tg.sin: floats_only(np.sin, gradient=((-5.0, 5.0),), analytic=True),
    tg.cos: floats_only(np.cos, gradient=((-5.0, 5.0),), analytic=True),
    tg.tan: floats_only(np.tan, gradient=((-1.2, 1.2),), analytic=True),
    tg.arcsin: floats_only(np.arcsin, gradient=INSIDE, analytic=True),
    tg.arccos: floats_only(np.arccos, gradient=INSIDE, analytic=True),
    tg.arctan: floats_only(np.arctan, analytic=True),
    ops.inversion: Facts(Oracle(inversion.reference), hostile_oracle=False, gradient=((0.3, 3.0), (-3.0, -0.3))),
    tg.arctan2: floats_only(np.arctan2, gradient=((0.3, 3.0), (-3.0, -0.3))),
    tg.sinh: floats_only(np.sinh, gradient=((-4.0, 4.0),), analytic=True),
    tg.cosh: floats_only(np.cosh, gradient=((-4.0, 4.0),), analytic=True),
    tg.tanh: floats_only(np.tanh, analytic=True),
    tg.arcsinh: floats_only(np.arcsinh, analytic=True),
    tg.arccosh: floats_only(np.arccosh, gradient=((1.2, 9.0),), analytic=True),
    tg.arctanh: floats_only(np.arctanh, gradient=INSIDE, analytic=True),
    tg.sinc: floats_only(np.sinc, condition=np.ones_like, hostile_oracle=False),
}

WRITTEN: Final = (
    Case(
        lambda x: (tg.deg2rad(x), tg.rad2deg(x), tg.radians(x), tg.degrees(x)),
        [any_dtype("n", "m", low=-400, high=400)],
        name="degrees and radians",
        dtypes=("float16", "float32", "float64", "int64"),
        oracle=lambda x: (x * DEGREE, x / DEGREE, x * DEGREE, x / DEGREE),
        gradient=True,
    ),
    Case(
        lambda x, y: tuple(tg.grad(tg.sum(tg.arctan2(x, y) + tg.hypot(x, y)), [x, y])),
        [fixed([0.0, 1e200, 1e-200, 3.0]), fixed([0.0, 1e200, 1e-200, -4.0])],
        name="grad of angle and radius at the ends of the range",
        note="0 at the origin; neither squares nor their sum overflow",
        traps=("T69",),
        oracle=lambda x, y: (
            np.where(x == 0, 0, y / _radius(x, y) ** 2 + x / _radius(x, y)),
            np.where(x == 0, 0, -x / _radius(x, y) ** 2 + y / _radius(x, y)),
        ),
    ),
    Case(
        lambda x: tuple(tg.grad(tg.sum(f(x)), x) for f in (tg.arcsinh, tg.arctan)),
        [fixed([1e20, -3e30, 1e-30, 0.0], "float32")],
        name="slopes far out",
        oracle=lambda x: (1 / np.hypot(1, x), 1 / (1 + x * x)),
    ),
    Case(
        lambda x: tuple(tg.grad(tg.sum(f(x)), x) for f in (tg.arcsin, tg.arccos)),
        [fixed([1 - 2.0**-40, -1 + 2.0**-50, 0.0])],
        name="slopes near the ends of arcsin",
        accuracy=8,
        oracle=lambda x: (1 / np.sqrt((1 - x) * (1 + x)), -1 / np.sqrt((1 - x) * (1 + x))),
    ),
    Case(
        lambda x: tg.sin(x) ** 2 + tg.cos(x) ** 2,
        [f64("n", "m")],
        name="sine and cosine of one angle",
        accuracy=8,
        oracle=np.ones_like,
    ),
    Case(
        lambda x: tg.jacobian(tg.grad(tg.sum(tg.tanh(x)), x), x),
        [f64(4)],
        name="second derivative of tanh",
        accuracy=32,
        oracle=lambda x: np.diag(-2 * np.tanh(x) * (1 - np.tanh(x) ** 2)),
        condition=lambda x: np.ones((4, 4)),
    ),
)

CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN)
