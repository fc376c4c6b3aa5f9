"""Cases of `ops/linalg/least_squares`: full rank by the normal equations in more digits, less than that by NumPy."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.linalg.least_squares import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance import matrices
from tg_conformance.matrices import DTYPES, of_matrices


def inverse(a: Any) -> Any:
    """(a' a)^-1 a', or a' (a a')^-1."""
    turned = matrices.adjoint(a)
    if a.shape[-2] >= a.shape[-1]:
        return matrices.solve(turned @ a, turned)
    return matrices.adjoint(matrices.solve(a @ turned, a))


def residuals(a: Any, b: Any) -> Any:
    """The sums of squares that are left."""
    return np.sum(abs(a @ (inverse(a) @ b) - b) ** 2, -2)


def by_limits(a: Any, limits: Any) -> tuple[Any, Any, Any]:
    """NumPy's inverses and ranks by limits relative to the largest singular value, and ranks by three times them."""
    a = a.astype("complex128" if a.dtype.kind == "c" else "float64")  # LAPACK has no wider ones
    limits = limits.astype("float64")
    ranks = np.linalg.matrix_rank
    return np.linalg.pinv(a, rtol=limits), ranks(a, rtol=limits), ranks(a, 3 * limits)


WRITTEN: Final = (
    *(
        Case(
            tg.linalg.pinv,
            [any_dtype(*shape, values=matrices.general)],
            name=f"pinv {'x'.join(shape)}",
            dtypes=DTYPES if len(shape) == 3 else ("float64",),
            oracle=inverse,
            condition=lambda a: 8.0,
            accuracy=32,
            gradient=True,
        )
        for shape in (("n", "k"), ("k", "n"), ("b", "n", "k"), ("n", "n"))
    ),
    *(
        Case(
            tg.linalg.pinv,
            [any_dtype(*shape)],
            name=f"pinv of {'x'.join(map(str, shape))}",
            dtypes=("float32", "complex128"),
            oracle=lambda a: np.zeros(a.shape[::-1]),
            traps=("T33",),
        )
        for shape in ((0, 0), (0, 3), (3, 0))
    ),
    Case(
        lambda a: (tg.linalg.pinv(a), tg.linalg.pinv(a, 0.9)),
        [fixed([[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]], None)],
        name="pinv of less than full rank",
        dtypes=("float32", "float64", "complex64"),
        oracle=lambda a: (a.T / 25,) * 2,
        condition=lambda a: (1.0, 1.0),
        accuracy=16,
    ),
    Case(
        lambda a, r: (tg.linalg.pinv(a, rtol=r), tg.linalg.matrix_rank(a, rtol=r), tg.linalg.matrix_rank(a, 3 * r)),
        [fixed([[[3.0, 1.0], [1.0, 2.0]]] * 3, None), fixed([0.1, 0.5, 0.9])],
        name="pinv and matrix_rank of a limit for each matrix",
        dtypes=("float32", "float64", "complex64"),
        oracle=by_limits,
        condition=lambda a, r: (8.0, 1.0, 1.0),
        accuracy=32,
    ),
    Case(
        lambda u, v: tg.linalg.pinv(u @ v),
        [f64("n", 2, values=matrices.general), f64(2, "k", values=matrices.general)],
        name="pinv differentiated where rank is missing",
        oracle=lambda u, v: inverse(v) @ inverse(u),
        condition=lambda u, v: 8.0,
        accuracy=32,
        gradient=True,
    ),
    *(
        Case(
            lambda a, b: tuple(tg.linalg.lstsq(a, b))[:3],
            [any_dtype(*shape, values=matrices.general), any_dtype(*shape[:-1], 2)],
            name=f"lstsq {'x'.join(shape)}",
            dtypes=("float64", "complex64"),
            oracle=lambda a, b: (inverse(a) @ b, residuals(a, b), np.full(a.shape[:-2], min(a.shape[-2:]))),
            condition=lambda a, b: (8 * matrices.size(b), 8 * matrices.size(b) ** 2, 1),
            accuracy=32,
        )
        for shape in (("n", "k"), ("b", "k", "n"))
    ),
    Case(
        lambda a, b: tg.linalg.lstsq(a, b).x,
        [f64("n", "k", values=matrices.general), f64("n")],
        name="lstsq of a vector",
        oracle=lambda a, b: inverse(a) @ b,
        condition=lambda a, b: 8 * matrices.size(b),
        accuracy=32,
        gradient=True,
    ),
)

CASES: Final = of_matrices(FAMILY.path, WRITTEN)
