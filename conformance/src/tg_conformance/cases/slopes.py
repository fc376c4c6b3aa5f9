"""Cases of `ops/slopes`: slopes of samples at even and uneven distances."""

from __future__ import annotations

from typing import Final

import numpy as np

import tg
from tg.errors import InputError, ShapeError
from tg.ops.slopes import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import of_family, twin

WRITTEN: Final = (
    twin(
        "gradient",
        lambda m, x: (*m.gradient(x), m.gradient(x, 0.5, axis=0, edge_order=2)),
        f64(4, 3),
        gradient=True,
        condition=lambda x: (4 * np.abs(x).max(),) * 2 + (16 * np.abs(x).max(),),
    ),
    twin(
        "gradient at uneven distances",
        lambda m, x: (
            m.gradient(x, [0.0, 0.5, 2.0, 2.25]),
            m.gradient(x, np.array([0.0, 1.0, 3.0, 4.0]), edge_order=2),
        ),
        fixed([1.0, -2.0, 3.0, 0.5]),
        gradient=True,
        condition=lambda x: (64.0, 64.0),
    ),
    twin(
        "gradient of float32",
        lambda m, x: m.gradient(x),
        any_dtype(5),
        dtypes=("float32", "int32"),
        condition=lambda x: 4 * np.abs(x.astype(float)).max() + 1,
    ),
    Case(lambda x: tg.gradient(x, 1.0, 2.0), [f64(3)], name="gradient of two distances", raises=InputError),
    Case(lambda x: tg.gradient(x, edge_order=2), [f64(2, static=True)], name="gradient of two", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
