"""Cases of `ops/linalg/triangular`: either triangle, transposed or not, with ones on the diagonal or what is there."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import LinAlgError, ShapeError
from tg.ops.linalg.triangular import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance import matrices
from tg_conformance.matrices import DTYPES, of_matrices

if TYPE_CHECKING:
    from collections.abc import Iterator

NAN: Final = float("nan")


def whole(a: Any, trans: int, lower: bool, unit: bool) -> Any:
    """The matrix that is meant."""
    matrix = np.tril(a) if lower else np.triu(a)
    if unit:
        one = np.eye(a.shape[-1], dtype=bool)
        matrix = np.where(one, 1, matrix)
    return (matrix, np.swapaxes(matrix, -1, -2), matrices.adjoint(matrix))[trans]


def systems() -> Iterator[Case]:
    """Every way to read a triangle."""
    for trans, lower, unit in itertools.product((0, 1, 2), (False, True), (False, True)):
        yield Case(
            lambda a, b, flags=(trans, lower, unit): tg.linalg.solve_triangular(a, b, *flags),
            [any_dtype("b", "n", "n", values=matrices.triangle), any_dtype("b", "n", "k")],
            name=f"solve_triangular trans {trans} lower {lower} unit {unit}",
            dtypes=DTYPES if unit == lower else ("float64", "complex64"),
            oracle=lambda a, b, flags=(trans, lower, unit): matrices.solve(whole(a, *flags), b),
            condition=lambda a, b: 4 * matrices.size(b),
            accuracy=8,
            gradient=trans < 2,
        )


WRITTEN: Final = (
    Case(
        lambda a, b: tg.linalg.solve_triangular(a, b, lower=True),
        [f64("n", "n", values=matrices.triangle), f64("n")],
        name="solve_triangular of a vector",
        oracle=lambda a, b: matrices.solve(np.tril(a), b[:, None])[:, 0],
        condition=lambda a, b: 4 * matrices.size(b),
        accuracy=8,
        gradient=True,
    ),
    Case(
        lambda a, b: (tg.linalg.solve_triangular(a, b), tg.linalg.solve_triangular(a[0], b)),
        [f64("b", 1, "n", "n", values=matrices.triangle), f64(3, "n", "k")],
        name="solve_triangular of axes that broadcast",
        oracle=lambda a, b: (
            matrices.solve(np.triu(a) + np.zeros((3, 1, 1)), b + np.zeros((len(a), 1, 1, 1))),
            matrices.solve(np.triu(a[0]) + np.zeros((3, 1, 1)), b),
        ),
        condition=lambda a, b: (4 * matrices.size(b),) * 2,
        accuracy=8,
    ),
    Case(
        lambda a, b: tg.linalg.solve_triangular(a, b, lower=True),
        [fixed([[2.0, NAN], [1.0, 4.0]]), fixed([[2.0], [9.0]])],
        name="solve_triangular reads one triangle",
        oracle=lambda a, b: np.array([[1.0], [2.0]]),
    ),
    Case(
        lambda a, b: tg.linalg.solve_triangular(a, b, lower=True, unit_diagonal=True),
        [fixed([[NAN, NAN], [1.0, 0.0]]), fixed([[2.0], [9.0]])],
        name="solve_triangular does not read a diagonal of ones",
        oracle=lambda a, b: np.array([[2.0], [7.0]]),
    ),
    *(
        Case(
            tg.linalg.solve_triangular,
            [any_dtype(*a, values=matrices.triangle), any_dtype(*b)],
            name=f"solve_triangular of {'x'.join(map(str, a))} and {'x'.join(map(str, b))}",
            dtypes=("float32", "complex128"),
            oracle=lambda a, b: b / a if a.size else b,
            condition=lambda a, b: matrices.size(b),
            traps=("T33",),
        )
        for a, b in (((0, 0), (0, 3)), ((1, 1), (1, 1)), ((2, 0, 0), (2, 0, 1)), ((1, 1), (1, 0)))
    ),
    Case(
        lambda a, b: tg.linalg.solve_triangular(a, b, lower=True),
        [fixed([[[1.0, 0], [3, 4]], [[1.0, 0], [3, 0]]]), fixed([[1.0], [2.0]])],
        name="solve_triangular of a singular matrix",
        raises=LinAlgError,
    ),
    Case(
        lambda a, b: tg.linalg.solve_triangular(a, b, lower=True, on_error="nan"),
        [fixed([[[1.0, 0], [3, 4]], [[1.0, 0], [3, 0]], [[NAN, 0], [1, 1]]], None), fixed([[1.0], [2.0]], None)],
        name="solve_triangular of matrices that have no solution",
        dtypes=("float32", "float64", "complex64"),
        oracle=lambda a, b: np.array([[[1.0], [-0.25]], [[NAN], [NAN]], [[NAN], [NAN]]]),
    ),
    Case(
        tg.linalg.solve_triangular,
        [f64("n", "n"), f64("k", "l")],
        name="solve_triangular of lengths that differ",
        raises=ShapeError,
    ),
    Case(
        lambda a, b: tg.vmap(lambda v: tg.linalg.solve_triangular(a, v, lower=True))(b),
        [f64("n", "n", values=matrices.triangle), f64("b", "n", "k")],
        name="solve_triangular of one matrix and a batch",
        oracle=lambda a, b: matrices.solve(np.tril(a) + np.zeros((len(b), 1, 1)), b),
        condition=lambda a, b: 4 * matrices.size(b),
        accuracy=8,
        gradient=True,
    ),
)

CASES: Final = of_matrices(FAMILY.path, systems(), WRITTEN)
