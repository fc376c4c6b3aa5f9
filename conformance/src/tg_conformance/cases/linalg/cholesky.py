"""Cases of `ops/linalg/cholesky`: what is read, what is no positive-definite matrix, batches, no elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import DtypeError, LinAlgError, ShapeError
from tg.ops.linalg.cholesky import FAMILY
from tg.plugin.case import Case, Input, any_dtype, f16, f64, fixed
from tg_conformance import matrices
from tg_conformance.matrices import DTYPES, of_matrices

if TYPE_CHECKING:
    from collections.abc import Iterator

NAN: Final = float("nan")
INDEFINITE: Final = [[4.0, 2.0, 1.0], [2.0, 0.5, 1.0], [1.0, 1.0, 3.0]]  # its minor of order 2 is 0 - 2


def halves(a: Any) -> Any:
    """The upper triangle of the transpose: the factor of NumPy's `upper`."""
    return matrices.adjoint(matrices.cholesky(matrices.adjoint(a)))


def factors() -> Iterator[Case]:
    """Of one matrix and of batches."""
    for shape in (("n", "n"), ("b", "n", "n"), ("b", 2, "k", "k")):
        yield Case(
            tg.linalg.cholesky,
            [any_dtype(*shape, values=matrices.positive)],
            name=f"cholesky {'x'.join(map(str, shape))}",
            dtypes=DTYPES if len(shape) == 3 else ("float64",),
            oracle=matrices.cholesky,
            condition=lambda a: matrices.size(a) ** 0.5,
            accuracy=16,
            gradient=len(shape) < 4,
            traps=("T46", "T71"),
        )
    yield Case(
        lambda a: tg.linalg.cholesky(a, upper=True),
        [any_dtype("b", "n", "n", values=matrices.positive)],
        name="cholesky upper",
        dtypes=DTYPES,
        oracle=halves,
        condition=lambda a: matrices.size(a) ** 0.5,
        accuracy=16,
        gradient=True,
        traps=("T71",),
    )


def solutions() -> Iterator[Case]:
    """By a factor of either kind."""
    for lower in (True, False):
        yield Case(
            lambda a, b, lower=lower: tg.linalg.cho_solve(tg.linalg.cho_factor(a, lower), b),
            [any_dtype("b", "n", "n", values=matrices.positive), any_dtype("b", "n", "k")],
            name=f"cho_solve lower {lower}",
            dtypes=DTYPES,
            oracle=lambda a, b: matrices.solve(whole(a), b),
            condition=lambda a, b: 8 * matrices.size(b),
            accuracy=16,
        )
    yield Case(
        lambda a, b: tg.linalg.cho_solve((tg.linalg.cholesky(a), True), b),
        [f64("n", "n", values=matrices.positive), f64("n")],
        name="cho_solve of a vector",
        oracle=lambda a, b: matrices.solve(whole(a), b[:, None])[:, 0],
        condition=lambda a, b: 8 * matrices.size(b),
        accuracy=16,
        gradient=True,
    )


def whole(a: Any) -> Any:
    """The Hermitian matrix of a lower triangle."""
    return np.tril(a) + matrices.adjoint(np.tril(a, -1))


WRITTEN: Final = (
    Case(
        tg.linalg.cholesky,
        [fixed([[4.0, NAN, 1e300], [2.0, 5.0, NAN], [0.0, 6.0, 13.0]])],
        name="cholesky reads the lower triangle",
        oracle=lambda a: np.array([[2.0, 0, 0], [1, 2, 0], [0, 3, 2]]),
        accuracy=1,
        traps=("T46",),
    ),
    *(
        Case(
            tg.linalg.cholesky,
            [any_dtype(*shape, values=matrices.positive)],
            name=f"cholesky of {'x'.join(map(str, shape))}",
            dtypes=("float32", "complex128"),
            oracle=lambda a: np.sqrt(a.real).astype(a.dtype),
            traps=("T33",),
        )
        for shape in ((0, 0), (1, 1), (2, 0, 0), (0, 2, 2))
    ),
    Case(tg.linalg.cholesky, [fixed(INDEFINITE)], name="cholesky of an indefinite matrix", raises=LinAlgError),
    Case(
        tg.linalg.cholesky,
        [fixed([[[2.0, 0], [0, 1]], [[1.0, 2], [2, 1]], [[-1.0, 0], [0, 1]]], "float32")],
        name="cholesky of a batch in which two are indefinite",
        raises=LinAlgError,
    ),
    Case(
        lambda a: tg.linalg.cholesky(a, on_error="nan"),
        [fixed([np.eye(3), INDEFINITE, [[1.0, 0, 0], [NAN, 2, 0], [0, 0, 4]], 4 * np.eye(3)], None)],
        name="cholesky of matrices that have none",
        dtypes=("float32", "float64", "complex64"),
        oracle=lambda a: np.array([np.eye(3), *[np.tril(np.full((3, 3), NAN))] * 2, 2 * np.eye(3)]),
    ),
    Case(
        tg.linalg.cholesky,
        [fixed([[1.0, 0.0], [NAN, 1.0]])],
        name="cholesky of a matrix with nan",
        oracle=lambda a: np.array([[NAN, 0], [NAN, NAN]]),
    ),
    Case(
        tg.linalg.cholesky,
        [fixed([[4, 2], [2, 5]], "int32")],
        name="cholesky of integers",
        oracle=np.linalg.cholesky,
    ),
    Case(tg.linalg.cholesky, [f16("n", "n")], name="cholesky of half precision", raises=DtypeError),
    Case(tg.linalg.cholesky, [f64("n")], name="cholesky of a vector", raises=ShapeError),
    Case(tg.linalg.cholesky, [f64("n", "k")], name="cholesky of no square", raises=ShapeError, static=(True,)),
    Case(
        tg.linalg.cholesky,
        [f64("n", "k")],
        name="cholesky of no square at run time",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda a, y: (
            y @ tg.linalg.cho_solve((tg.linalg.cholesky(a), True), y)
            + 2 * tg.sum(tg.log(tg.diagonal(tg.linalg.cholesky(a))))
        ),
        [f64("n", "n", values=matrices.positive), Input("float64", ("n",))],
        name="log-density of a normal vector",
        oracle=lambda a, y: y @ matrices.solve(whole(a), y[:, None])[:, 0] + np.log(matrices.determinant(whole(a))),
        condition=lambda a, y: 8 * matrices.size(y) ** 2 + 8,
        accuracy=16,
        gradient=True,
    ),
)

CASES: Final = of_matrices(FAMILY.path, factors(), solutions(), WRITTEN)
