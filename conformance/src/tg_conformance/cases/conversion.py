"""Cases of `ops/conversion`: what lists, arrays and other dtypes become."""

from __future__ import annotations

from typing import Final

import numpy as np

import tg
from tg.errors import DtypeError, InputError, ShapeError
from tg.ops.conversion import FAMILY
from tg.plugin.case import Case, any_dtype, f64
from tg_conformance.cases.family import alike, of_family

ALL: Final = ("bool", "int8", "uint16", "int64", "float32", "float64")

WRITTEN: Final = (
    alike(
        "asarray and astype",
        lambda m, x: (m.asarray(x), m.asarray([1, 2, 3], dtype="int8"), m.astype(x, "float32"), m.copy(x)),
        [any_dtype("n")],
        dtypes=ALL,
    ),
    alike(
        "fromfunction",
        lambda m, x: m.fromfunction(lambda i, j: i * 10 + j, (3, 4)) + m.sum(x) * 0,
        [f64("n")],
        layouts=("C",),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.astype(x, "float32")) + tg.sum(tg.copy(x)), x),
        [f64("n")],
        name="grad of astype",
        oracle=lambda x: np.full(x.shape, 2.0),
    ),
    Case(lambda x: tg.astype(x * 1j, "float64"), [f64("n")], name="astype of complex", raises=DtypeError),
    Case(lambda x: tg.asarray([1.0], copy=False) + x, [f64("n")], name="asarray without a copy", raises=InputError),
    Case(lambda x: tg.fromfunction(lambda: x, 3), [f64("n")], name="fromfunction of no shape", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
