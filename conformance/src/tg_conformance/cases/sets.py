"""Cases of `ops/sets`: sets with and without a stated number of elements."""

from __future__ import annotations

from typing import Final

import numpy as np

import tg
from tg.errors import InputError
from tg.ops.sets import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import of_family, twin

WRITTEN: Final = (
    twin(
        "sets",
        lambda m, x, y: (m.union1d(x, y), m.intersect1d(x, y), m.setdiff1d(x, y), m.setxor1d(x, y)),
        fixed([3, 1, 2, 3, 7, -1], "int64"),
        fixed([2, 3, 9, 9], "int64"),
    ),
    twin(
        "sets of none",
        lambda m, x, y: (m.union1d(x, y), m.intersect1d(x, y), m.setdiff1d(x, y), m.setxor1d(x, y)),
        any_dtype(0),
        any_dtype(4),
        dtypes=("int32", "float64"),
        layouts=("C",),
    ),
    twin(
        "intersect1d with positions",
        lambda m, x, y: m.intersect1d(x, y, return_indices=True),
        fixed([0.5, 2.0, 0.5, 1.0]),
        fixed([1.0, 3.0, 0.5]),
    ),
    Case(
        lambda x, y: (
            tg.union1d(x, y, size=6, fill_value=-1),
            tg.intersect1d(x, y, size=3, fill_value=-1),
            tg.setdiff1d(x, y, size=2),
            tg.setxor1d(x, y, size=5, fill_value=99),
        ),
        [fixed([3, 1, 2, 3], "int64"), fixed([2, 3, 9], "int64")],
        name="sets of a stated size",
        oracle=lambda x, y: (
            np.array([1, 2, 3, 9, -1, -1]),
            np.array([2, 3, -1]),
            np.array([1, 0]),
            np.array([1, 9, 99, 99, 99]),
        ),
    ),
    Case(
        lambda x: tg.intersect1d(x, x, return_indices=True, size=2),
        [f64("n")],
        name="intersect1d with positions and a size",
        raises=InputError,
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
