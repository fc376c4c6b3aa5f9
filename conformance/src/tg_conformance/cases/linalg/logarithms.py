"""Cases of `ops/linalg/logarithms`: by quadrature of the integral that a logarithm is, in more digits."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.linalg.logarithms import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance import matrices
from tg_conformance.matrices import DTYPES, of_matrices

POINTS: Final = 30  # of matrices whose eigenvalues are a factor of nine apart


def logarithm(a: Any) -> Any:
    """The integral of (a - 1) (1 + t (a - 1))^-1 for t from 0 to 1."""
    one = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    x = a - one
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    total = 0 * a
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        total = total + weight * matrices.solve(one + node * x, x)
    return total


WRITTEN: Final = (
    *(
        Case(
            lambda a, scale=scale: tg.linalg.logm(a * scale),
            [any_dtype("b", "k", "k", values=matrices.triangle)],
            name=f"logm {scale:g}",
            dtypes=DTYPES if scale == 0.5 else ("float64",),
            oracle=lambda a, scale=scale: (
                logarithm(a / 2) + np.log(a.real.dtype.type(2 * scale)) * np.eye(a.shape[-1], dtype=a.dtype)
            ),
            condition=lambda a, scale=scale: 8 * (1 + abs(np.log(scale))),
            accuracy=32,
            gradient=scale == 0.5,
        )
        for scale in (0.5, 2.0**-30, 2.0**40)
    ),
    Case(
        lambda a: tg.linalg.logm(tg.linalg.expm(a)),
        [f64("k", "k", low=-1.0, high=1.0)],
        name="logm of expm",
        oracle=lambda a: a,
        condition=lambda a: 64 * (1 + matrices.size(a)),
        accuracy=16,
        gradient=True,
    ),
    Case(
        tg.linalg.logm,
        [fixed([[1.0, 1e6, 3.0], [0.0, 1.0, 2.0], [0.0, 0.0, 1.0]])],
        name="logm of a triangle far from the identity",
        oracle=lambda a: np.array([[0.0, 1e6, 3.0 - 1e6], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]),
        condition=lambda a: 1e6,
        accuracy=32,
    ),
    Case(
        tg.linalg.logm,
        [fixed([[[np.e, 0.0], [0.0, 1.0]], [[-4.0, 0.0], [0.0, 9.0]], [[0.0, -1.0], [1.0, 0.0]]])],
        name="logm of matrices of which one has no real logarithm",
        oracle=lambda a: np.array(
            [[[1.0, 0.0], [0.0, 0.0]], np.full((2, 2), np.nan), np.array([[0.0, -1.0], [1.0, 0.0]]) * np.pi / 2]
        ),
        condition=lambda a: 1.0,
        accuracy=16,
    ),
    Case(
        tg.linalg.logm,
        [fixed([[-1.0, 0.0], [0.0, np.e]], "complex64")],
        name="logm of complex numbers",
        oracle=lambda a: np.array([[np.pi * 1j, 0], [0, 1]]),
        condition=lambda a: 1.0,
        accuracy=16,
    ),
    *(
        Case(
            tg.linalg.logm,
            [any_dtype(*shape, values=matrices.positive)],
            name=f"logm of {'x'.join(map(str, shape))}",
            dtypes=("float32",),
            oracle=np.log,
            condition=lambda a: 1.0,
            accuracy=16,
            traps=("T33",),
        )
        for shape in ((0, 0), (1, 1), (0, 2, 2))
    ),
    Case(
        lambda a: tg.isfinite(tg.linalg.logm(a)),
        [fixed([[[1.0, 0.0], [0.0, 2.0]], [[np.nan, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])],
        name="logm of a matrix with nan, and of zeros",
        oracle=lambda a: np.array([np.ones((2, 2), bool), np.zeros((2, 2), bool), [[False, True], [True, False]]]),
    ),
)

CASES: Final = of_matrices(FAMILY.path, WRITTEN)
