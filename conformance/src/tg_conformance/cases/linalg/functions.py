"""Cases of `ops/linalg/functions`: exponentials by their series in more digits, of matrices small and large."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.linalg.functions import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.matrices import DTYPES, of_matrices


def exponential(a: Any) -> Any:
    """The series of a / 2^12, squared 12 times."""
    a = a / 2**12
    term = series = np.eye(a.shape[-1]) + 0 * a
    for k in range(1, 20):
        term = term @ a / k
        series = series + term
    for _ in range(12):
        series = series @ series
    return series


WRITTEN: Final = (
    *(
        Case(
            lambda a, scale=scale: tg.linalg.expm(a * scale),
            [any_dtype("b", "k", "k")],
            name=f"expm {scale:g}",
            dtypes=DTYPES if scale == 1 else ("float64",),
            oracle=lambda a, scale=scale: exponential(a * a.dtype.type(scale)),
            condition=lambda a, scale=scale: (
                64 * np.max(abs(exponential(a * scale)), (-2, -1), keepdims=True, initial=1)
            ),
            accuracy=16,
            gradient=scale == 1,
            analytic=True,
        )
        for scale in (2.0**-20, 1.0, 4.0)
    ),
    Case(
        tg.linalg.expm,
        [fixed([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])],
        name="expm of a nilpotent matrix",
        oracle=lambda a: np.array([[1.0, 1.0, 2.5], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]),
    ),
    *(
        Case(
            tg.linalg.expm,
            [any_dtype(*shape)],
            name=f"expm of {'x'.join(map(str, shape))}",
            dtypes=("float32", "complex128"),
            oracle=np.exp,
            accuracy=16,
            traps=("T33",),
        )
        for shape in ((0, 0), (1, 1), (2, 0, 0), (0, 2, 2))
    ),
    Case(
        lambda a: tg.isnan(tg.linalg.expm(a)),
        [fixed([[[0.0, 0.0], [0.0, 0.0]], [[np.nan, 0.0], [0.0, 1.0]]])],
        name="expm of a matrix with nan",
        oracle=lambda a: np.array([np.zeros((2, 2), bool), np.ones((2, 2), bool)]),
    ),
    Case(
        lambda a, t: tg.linalg.expm(a * t),
        [f64("k", "k"), f64()],
        name="expm of a rate matrix in its time",
        oracle=lambda a, t: exponential(a * t),
        condition=lambda a, t: 64 * np.max(abs(exponential(a * t))),
        accuracy=16,
        gradient=True,
        analytic=True,
    ),
)

CASES: Final = of_matrices(FAMILY.path, WRITTEN)
