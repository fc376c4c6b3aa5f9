"""Cases of `ops/linalg/products`: powers, chains, tensors and matrices of a pattern, as NumPy and SciPy have them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import InputError, LinAlgError, ShapeError
from tg.ops.linalg.products import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance import matrices
from tg_conformance.matrices import of_matrices

SOME: Final = ("float32", "float64", "complex128")


def powers(a: Any) -> Any:
    """By repeated products."""
    inverse = matrices.inverse(a)
    one = np.eye(a.shape[-1]) + 0 * a
    return inverse @ inverse @ inverse, one, a, a @ a, a @ a @ a @ a @ a


def column_and_row(c: Any, r: Any) -> Any:
    """The matrix element by element."""
    places = np.arange(len(c))[:, None] - np.arange(len(r))
    return np.where(places >= 0, c[np.maximum(places, 0)], r[np.maximum(-places, 0)])


WRITTEN: Final = (
    Case(
        lambda a: tuple(tg.linalg.matrix_power(a, n) for n in (-3, 0, 1, 2, 5)),
        [any_dtype("b", "k", "k", values=matrices.square)],
        name="matrix_power",
        dtypes=SOME,
        oracle=powers,
        condition=lambda a: tuple(8 * matrices.size(x) for x in powers(a)),
        accuracy=16,
        gradient=True,
    ),
    Case(
        lambda a: tg.linalg.matrix_power(a, 3),
        [fixed([[1, 1], [1, 0]], "int64")],
        name="matrix_power of integers",
        oracle=lambda a: np.array([[3, 2], [2, 1]]),
    ),
    Case(
        lambda a: tg.linalg.matrix_power(a, -1),
        [fixed([[1.0, 1.0], [0.0, 0.0]])],
        name="matrix_power of a singular matrix",
        raises=LinAlgError,
    ),
    Case(
        lambda a, b, c, d: (tg.linalg.multi_dot([a, b, c, d]), tg.linalg.multi_dot([a[0], b, c, d[:, 0]])),
        [any_dtype(3, "n"), any_dtype("n", 2), any_dtype(2, "k"), any_dtype("k", 4)],
        name="multi_dot",
        dtypes=SOME,
        oracle=lambda a, b, c, d: (a @ b @ c @ d, a[0] @ b @ c @ d[:, 0]),
        condition=lambda a, b, c, d: (4 * np.max(abs(a) @ abs(b) @ abs(c) @ abs(d)),) * 2,
        accuracy=8,
        gradient=True,
    ),
    Case(lambda a: tg.linalg.multi_dot([a]), [f64("n", "k")], name="multi_dot of one", raises=InputError),
    Case(
        lambda a, b: (
            tg.linalg.tensorinv(tg.reshape(a, (2, 3, 6))),
            tg.linalg.tensorsolve(tg.reshape(a, (2, 3, 6)), tg.reshape(b, (2, 3))),
            tg.linalg.tensorsolve(tg.moveaxis(tg.reshape(a, (6, 2, 3)), 1, 0), b, (0, 2)),
        ),
        [f64(6, 6, values=matrices.square), f64(6)],
        name="tensorinv and tensorsolve",
        oracle=lambda a, b: (
            matrices.inverse(a).reshape(6, 2, 3),
            matrices.solve(a, b[:, None])[:, 0],
            matrices.solve(a, b[:, None])[:, 0].reshape(2, 3),
        ),
        condition=lambda a, b: (4.0, 8 * matrices.size(b), 8 * matrices.size(b)),
        accuracy=8,
        gradient=True,
    ),
    Case(
        lambda c, r: (tg.linalg.toeplitz(c), tg.linalg.toeplitz(c, r), tg.linalg.toeplitz(c[:1])),
        [any_dtype("n"), any_dtype("k")],
        name="toeplitz",
        dtypes=("int32", "float64", "complex64"),
        oracle=lambda c, r: (column_and_row(c, np.conj(c)), column_and_row(c, r), c[:1, None]),
        accuracy=0,
        gradient=True,
    ),
    Case(
        lambda x, y: (tg.linalg.cross(x, y), tg.linalg.cross(x[0], y), tg.linalg.cross(x.T, y.T, axis=0)),
        [any_dtype("n", 3), any_dtype("n", 3)],
        name="cross",
        dtypes=("int32", "float64", "complex64"),
        oracle=lambda x, y: (np.cross(x, y), np.cross(x[0], y), np.cross(x, y).T),
        condition=lambda x, y: (2 * matrices.size(x) * matrices.size(y),) * 3,
        gradient=True,
    ),
    Case(tg.linalg.cross, [f64("n", 2), f64("n", 2)], name="cross of pairs", raises=ShapeError, static=(True,)),
    Case(
        lambda x: (tg.linalg.trace(x), tg.linalg.trace(x, offset=1), tg.linalg.diagonal(x, offset=-1)),
        [any_dtype("b", "n", "k")],
        name="trace and diagonal",
        dtypes=("int32", "float64"),
        oracle=lambda x: (np.trace(x, 0, -2, -1), np.trace(x, 1, -2, -1), np.diagonal(x, -1, -2, -1)),
        condition=lambda x: (8 * matrices.size(x), 8 * matrices.size(x), 1),
        gradient=True,
    ),
)

CASES: Final = of_matrices(FAMILY.path, WRITTEN)
