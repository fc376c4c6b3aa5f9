"""Cases of `ops/elementwise/trigonometric`."""

from __future__ import annotations

from typing import Final

import numpy as np

import tg
from tg.ops.elementwise.trigonometric import FAMILY
from tg.plugin.case import Case, f64
from tg_conformance.cases.elementwise.record import floats_only, generated
from tg_conformance.cases.family import of_family

FACTS: Final = {
    tg.sin: floats_only(np.sin, gradient=((-5.0, 5.0),), analytic=True),
    tg.cos: floats_only(np.cos, gradient=((-5.0, 5.0),), analytic=True),
    tg.tanh: floats_only(np.tanh, analytic=True),
    tg.sinc: floats_only(np.sinc, condition=np.ones_like, hostile_oracle=False),
}

WRITTEN: Final = (
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
