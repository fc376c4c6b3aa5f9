"""Cases of `ops/linalg/banded`: bands of several widths, of matrices in which elimination exchanges rows."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError, LinAlgError, ShapeError
from tg.ops.linalg.banded import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance import matrices
from tg_conformance.matrices import DTYPES, of_matrices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NAN: Final = float("nan")
WIDTHS: Final = ((1, 1), (0, 0), (2, 1), (0, 2), (3, 0))


def band(below: int, above: int, rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> Any:
    """Well-conditioned bands; where there are diagonals on both sides, pairs of rows have to change places."""
    n = shape[-1]
    bands = matrices.general(rng, dtype, (*shape[:-2], 0, 0)) if not shape[-1] else _random(rng, dtype, shape) / 4
    if below and above:
        bands[..., above + 1, : n - 1 : 2] += 3
        bands[..., above - 1, 1:n:2] += 3
        bands[..., above, n - n % 2 :] += 3
    else:
        bands[..., above, :] += 2
    return bands.reshape(shape)


def _random(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> Any:
    values = rng.uniform(-1, 1, shape)
    return values + 1j * rng.uniform(-1, 1, shape) if dtype.startswith("complex") else values


def positive_band(place: int, rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> Any:
    """Bands of matrices that their diagonal dominates, which is real and stands in one row."""
    bands = _random(rng, dtype, shape) / 4
    bands[..., place, :] = 2 + abs(bands[..., place, :])
    return bands


def whole(ab: Any, below: int, above: int) -> Any:
    """The matrices of a band."""
    n = ab.shape[-1]
    matrix = np.zeros((*ab.shape[:-2], n, n), ab.dtype)
    for i in range(n):
        for j in range(max(0, i - below), min(n, i + above + 1)):
            matrix[..., i, j] = ab[..., above + i - j, j]
    return matrix


def hermitian(ab: Any, lower: bool) -> Any:
    """The Hermitian matrices of one triangle's band."""
    count = ab.shape[-2] - 1
    if lower:
        triangle = whole(ab, count, 0)
        return triangle + matrices.adjoint(np.tril(triangle, -1))
    triangle = whole(ab, 0, count)
    return triangle + matrices.adjoint(np.triu(triangle, 1))


def systems() -> Iterator[Case]:
    """Of every kind."""
    for below, above in WIDTHS:
        common = (below, above) == (1, 1)
        yield Case(
            lambda ab, b, widths=(below, above): tg.linalg.solve_banded(widths, ab, b),
            [any_dtype("b", below + above + 1, "n", values=functools.partial(band, below, above)), any_dtype("n", "k")],
            name=f"solve_banded {below} {above}",
            dtypes=DTYPES if common else ("float64", "complex64"),
            oracle=lambda ab, b, widths=(below, above): matrices.solve(
                whole(ab, *widths), np.broadcast_to(b, (*ab.shape[:-2], *b.shape))
            ),
            condition=lambda ab, b: 8 * matrices.size(b),
            accuracy=8,
            gradient=True,
        )
    for count, lower in ((1, False), (1, True), (2, True), (0, False)):
        common = (count, lower) == (1, False)
        place = 0 if lower else count
        yield Case(
            lambda ab, b, lower=lower: tg.linalg.solveh_banded(ab, b, lower),
            [
                any_dtype("b", count + 1, "n", values=functools.partial(positive_band, place), static=True),
                any_dtype("b", "n", "k"),
            ],
            name=f"solveh_banded {count} lower {lower}",
            dtypes=DTYPES if common else ("float64", "complex64"),
            oracle=lambda ab, b, lower=lower: matrices.solve(hermitian(ab, lower), b),
            condition=lambda ab, b: 8 * matrices.size(b),
            accuracy=8,
            gradient=True,
        )


WRITTEN: Final = (
    Case(
        lambda ab, b: tg.linalg.solve_banded((1, 1), ab, b),
        [f64(3, "n", values=functools.partial(band, 1, 1)), f64("n")],
        name="solve_banded of a vector",
        oracle=lambda ab, b: matrices.solve(whole(ab, 1, 1), b[:, None])[:, 0],
        condition=lambda ab, b: 8 * matrices.size(b),
        accuracy=8,
        gradient=True,
    ),
    Case(
        lambda a, b: tg.linalg.solve(a, b, assume_a="tridiagonal"),
        [f64("b", "n", "n", values=matrices.triangle), f64("b", "n", "k")],
        name="solve of three diagonals",
        oracle=lambda a, b: matrices.solve(np.triu(np.tril(a, 1), -1), b),
        condition=lambda a, b: 8 * matrices.size(b),
        accuracy=8,
        gradient=True,
    ),
    Case(
        lambda ab, b: (tg.linalg.solve_banded((1, 1), ab, b), tg.linalg.solveh_banded(ab[:2], b)),
        [fixed([[NAN, 1.0], [2.0, 2.0], [1.0, NAN]]), fixed([3.0, 3.0])],
        name="solve_banded does not read beyond the corners",
        oracle=lambda ab, b: (np.array([1.0, 1.0]), np.array([1.0, 1.0])),
    ),
    Case(
        lambda ab, b: tg.linalg.solve_banded((1, 1), ab, b),
        [fixed([[0.0, 1.0, 1.0], [1.0, 1.0, 2.0], [1.0, 0.0, 0.0]]), fixed([1.0, 2.0, 3.0])],
        name="solve_banded of a singular matrix",
        raises=LinAlgError,
    ),
    Case(
        lambda ab, b: tg.linalg.solve_banded((2, 0), ab, b),
        [fixed([[[1.0, 1.0], [0, 0], [0, 0]], [[1.0, 0.0], [0, 0], [0, 0]]], "float32"), fixed([1.0, 2.0], "float32")],
        name="solve_banded of a batch with a singular matrix",
        raises=LinAlgError,
    ),
    Case(
        lambda ab, b: (
            tg.linalg.solve_banded((1, 1), ab, b, on_error="nan"),
            tg.linalg.solve_banded((1, 0), ab[:, 1:], b, on_error="nan"),
        ),
        [
            fixed([[[0.0, 0], [2.0, 4], [0, 0]], [[0.0, 1], [1.0, 1], [1, 0]], [[0.0, 0], [0, 1], [0, 0]]], None),
            fixed([[2.0], [4.0]], None),
        ],
        name="solve_banded of matrices that have no solution",
        dtypes=("float32", "float64", "complex64"),
        oracle=lambda ab, b: (
            np.array([[[1.0], [1.0]], [[NAN], [NAN]], [[NAN], [NAN]]]),
            np.array([[[1.0], [1.0]], [[2.0], [2.0]], [[NAN], [NAN]]]),
        ),
    ),
    Case(
        lambda ab, b: tg.linalg.solveh_banded(ab, b, lower=True),
        [fixed([[2.0, 1.0, 1.0], [1.0, 2.0, 0.0]]), fixed([1.0, 2.0, 3.0])],
        name="solveh_banded of an indefinite matrix",
        raises=LinAlgError,
    ),
    Case(
        lambda ab, b: tg.linalg.solveh_banded(ab, b, lower=True, on_error="nan"),
        [
            fixed([[[4.0, 1.0], [0, 0]], [[1.0, 1.0], [1, 0]], [[NAN, 1.0], [0, 0]]], None),
            fixed([[4.0], [1.0]], None),
        ],
        name="solveh_banded of matrices that have no solution",
        dtypes=("float32", "float64", "complex64"),
        oracle=lambda ab, b: np.array([[[1.0], [1.0]], [[NAN], [NAN]], [[NAN], [NAN]]]),
    ),
    *(
        Case(
            lambda ab, b: (tg.linalg.solve_banded((1, 1), ab, b), tg.linalg.solveh_banded(ab[..., 1:, :], b, True)),
            [any_dtype(*a, values=functools.partial(positive_band, 1), static=True), any_dtype(*b)],
            name=f"solve_banded of {'x'.join(map(str, a))} and {'x'.join(map(str, b))}",
            dtypes=("float32", "complex128"),
            oracle=lambda ab, b: (b / ab[..., 1, :, None],) * 2,
            condition=lambda ab, b: (matrices.size(b),) * 2,
            traps=("T33",),
        )
        for a, b in (((3, 0), (0, 2)), ((3, 1), (1, 2)), ((3, 1), (1, 0)), ((0, 3, 1), (0, 1, 1)))
    ),
    Case(
        lambda ab, b: tg.linalg.solve_banded((1, 1), ab, b),
        [f64(3, "n"), f64("k")],
        name="solve_banded of lengths that differ",
        raises=ShapeError,
    ),
    Case(
        lambda ab, b: tg.linalg.solve_banded((1, 1), ab, b),
        [f64(4, "n"), f64("n")],
        name="solve_banded of too many diagonals",
        raises=ShapeError,
    ),
    Case(
        lambda ab, b: tg.linalg.solve_banded((-1, 1), ab, b),
        [f64(1, "n"), f64("n")],
        name="solve_banded of diagonals below 0",
        raises=InputError,
    ),
)

CASES: Final = of_matrices(FAMILY.path, systems(), WRITTEN)
