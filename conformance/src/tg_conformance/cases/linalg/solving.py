"""Cases of `ops/linalg/solving`: systems, inverses, determinants; singular matrices are those with a row of zeros."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError, LinAlgError, ShapeError
from tg.ops.linalg.solving import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance import matrices
from tg_conformance.matrices import DTYPES, of_matrices

if TYPE_CHECKING:
    from collections.abc import Iterator

NAN: Final = float("nan")
SINGULAR: Final = [[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [3.0, 1.0, 2.0]]
RANKS: Final = (
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]],  # 2, without a pivot
    [[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 2.0]],  # 2, and the pivot in the middle is 0
    [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [-1.0, -2.0, -1.0]],  # 1: no cofactor is left
    [[0.0, 0.0, 0.0]] * 3,
    [[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], [3.0, 1.0, 2.0]],
)
WITH_NAN: Final = [[NAN, 2.0, 0.0], [0.0, 1.0, 0.0], [3.0, 1.0, 2.0]]
NAN_FIRST: Final = [[[NAN, 1.0], [1.0, 1.0]], [[NAN, 2.0], [3.0, 7.0]]]  # OpenBLAS: a pivot of 0, a number in x


def wide(a: Any, b: Any) -> Any:
    """8 times the right side's size: what rounding is relative to in these well-conditioned systems."""
    return 8 * matrices.size(b)


def systems() -> Iterator[Case]:
    """Of every kind of matrix that SciPy tells apart, read where it says."""
    yield Case(
        tg.linalg.solve,
        [any_dtype("b", "n", "n", values=matrices.square), any_dtype("b", "n", "k")],
        name="solve bxnxn",
        dtypes=DTYPES,
        oracle=matrices.solve,
        condition=wide,
        accuracy=8,
        gradient=True,
    )
    yield Case(
        lambda a, b: tg.linalg.solve(a, b, transposed=True),
        [any_dtype("n", "n", values=matrices.square), any_dtype("n")],
        name="solve transposed",
        dtypes=DTYPES,
        oracle=lambda a, b: matrices.solve(a.T, b[:, None])[:, 0],
        condition=wide,
        accuracy=8,
        gradient=True,
    )
    for lower in (False, True):
        for word, kind, read in (
            ("sym", matrices.hermitian, lambda x: np.swapaxes(x, -1, -2)),
            ("her", matrices.hermitian, matrices.adjoint),
            ("pos", matrices.positive, matrices.adjoint),
        ):
            yield Case(
                lambda a, b, word=word, lower=lower: tg.linalg.solve(a + 8 * ones(a), b, lower, assume_a=word),
                [any_dtype("b", "n", "n", values=kind), any_dtype("b", "n", "k")],
                name=f"solve {word} lower {lower}",
                dtypes=DTYPES,
                oracle=lambda a, b, read=read, lower=lower: matrices.solve(mirrored(a, read, lower), b),
                condition=wide,
                accuracy=8,
                gradient=word != "sym",
            )
    for word, read in (
        ("diagonal", lambda a: a * np.eye(a.shape[-1])),
        ("upper triangular", np.triu),
        ("lower triangular", np.tril),
    ):
        yield Case(
            lambda a, b, word=word: tg.linalg.solve(a, b, assume_a=word),
            [f64("b", "n", "n", values=matrices.triangle), f64("b", "n", "k")],
            name=f"solve {word}",
            oracle=lambda a, b, read=read: matrices.solve(read(a), b),
            condition=wide,
            accuracy=8,
            gradient=True,
        )


def ones(a: Any) -> Any:
    """The identity matrix in the dtype of a."""
    return tg.eye(a.shape[-1], dtype=a.type.dtype)


def mirrored(a: Any, read: Any, lower: bool) -> Any:
    """The matrix that one triangle stands for, its diagonal raised by 8."""
    triangle, rest = (np.tril(a), np.tril(a, -1)) if lower else (np.triu(a), np.triu(a, 1))
    return triangle + read(rest) + 8 * np.eye(a.shape[-1])


def determinants() -> Iterator[Case]:
    """And inverses, of one matrix and of batches."""
    for shape in (("n", "n"), ("b", "k", "k")):
        inputs = [any_dtype(*shape, values=matrices.square)]
        name, dtypes = "x".join(shape), DTYPES if len(shape) == 3 else ("float64",)
        yield Case(
            tg.linalg.inv,
            inputs,
            name=f"inv {name}",
            dtypes=dtypes,
            oracle=matrices.inverse,
            condition=lambda a: 4.0,
            accuracy=8,
            gradient=True,
        )
        yield Case(
            tg.linalg.det,
            inputs,
            name=f"det {name}",
            dtypes=dtypes,
            oracle=matrices.determinant,
            condition=lambda a: 8 * abs(matrices.determinant(a)),
            accuracy=8,
            gradient=True,
        )
        yield Case(
            lambda a: tuple(tg.linalg.slogdet(a)),
            inputs,
            name=f"slogdet {name}",
            dtypes=dtypes,
            oracle=lambda a: (matrices.determinant(a) / abs(matrices.determinant(a)), logs(a)),
            condition=lambda a: (8 * np.ones(a.shape[:-2]), 8 * abs(logs(a)) + 8),
            accuracy=8,
            gradient=True,
        )


def logs(a: Any) -> Any:
    """The logarithm of the determinant's magnitude."""
    return np.log(abs(matrices.determinant(a)))


def permuted(a: Any) -> Any:
    """The determinant as the sum over permutations, for which matrices may be singular."""
    determinant = 0 * a[..., 0, 0]
    for order in itertools.permutations(range(a.shape[-1])):
        sign = np.linalg.det(np.eye(a.shape[-1])[list(order)]).round()
        determinant = determinant + sign * np.prod(np.stack([a[..., i, k] for i, k in enumerate(order)]), 0)
    return determinant


def of_one(a: Any) -> Any:
    """Inverse, determinant, its sign and logarithm, of matrices of one element or none."""
    number = a[..., 0, 0] if a.shape[-1] else np.ones(a.shape[:-2], a.dtype)
    return 1 / a, number, number / abs(number), np.log(abs(number))


WRITTEN: Final = (
    Case(
        tg.linalg.solve,
        [f64("b", 1, "n", "n", values=matrices.square), f64("n")],
        name="solve of a vector for a batch",
        oracle=lambda a, b: matrices.solve(a, np.broadcast_to(b[:, None], (len(a), 1, len(b), 1)))[..., 0],
        condition=wide,
        accuracy=8,
    ),
    Case(
        lambda a, b: tg.vmap(lambda v: tg.linalg.solve(a, v))(b),
        [f64("n", "n", values=matrices.square), f64("b", "n")],
        name="solve of one matrix and a batch of vectors",
        oracle=lambda a, b: matrices.solve(a, b.T).T,
        condition=wide,
        accuracy=8,
        gradient=True,
    ),
    Case(
        lambda a, b: tg.linalg.inv(a) @ b,
        [fixed([[4, 2], [1, 3]], "int32"), fixed([[1], [2]], "int32")],
        name="inv of integers",
        oracle=lambda a, b: np.linalg.inv(a) @ b,
    ),
    *(
        Case(
            lambda a: (tg.linalg.inv(a), tg.linalg.det(a), *tg.linalg.slogdet(a)),
            [any_dtype(*shape, values=matrices.square)],
            name=f"inv and det of {'x'.join(map(str, shape))}",
            dtypes=("float32", "complex128"),
            oracle=of_one,
            condition=lambda a: (1.0, 4.0, 1.0, 2.0),
            traps=("T33",),
        )
        for shape in ((0, 0), (1, 1), (2, 0, 0), (0, 1, 1))
    ),
    Case(tg.linalg.solve, [fixed(SINGULAR), fixed([1.0, 2, 3])], name="solve of a singular matrix", raises=LinAlgError),
    Case(
        tg.linalg.solve,
        [fixed([[np.eye(3), np.eye(3)], [np.eye(3), SINGULAR]], "float32"), fixed([1.0, 2, 3], "float32")],
        name="solve of a batch with a singular matrix",
        raises=LinAlgError,
    ),
    Case(tg.linalg.inv, [fixed(SINGULAR, "complex64")], name="inv of a singular matrix", raises=LinAlgError),
    Case(
        lambda a, b: tg.linalg.solve(a, b, assume_a="pos"),
        [fixed([[1.0, 2.0], [2.0, 1.0]]), fixed([1.0, 2.0])],
        name="solve of an indefinite matrix said to be positive definite",
        raises=LinAlgError,
    ),
    Case(
        lambda a: (
            tg.linalg.inv(a, on_error="nan"),
            tg.isnan(tg.linalg.solve(a, np.ones((3, 1), "float32"), on_error="nan")),
            tg.linalg.det(a),
            *tg.linalg.slogdet(a),
        ),
        [fixed([2 * np.eye(3), SINGULAR], None)],
        name="inv and det of singular matrices",
        dtypes=("float32", "float64", "complex64"),
        oracle=lambda a: (
            np.array([np.eye(3) / 2, np.full((3, 3), NAN)]),
            np.array([np.zeros((3, 1), bool), np.ones((3, 1), bool)]),
            np.array([8.0, 0.0]),
            np.array([1.0, 0.0]),
            np.array([3 * np.log(2), -np.inf]),
        ),
    ),
    Case(
        lambda a: (tg.any(tg.isnan(tg.linalg.inv(a))), tg.isnan(tg.linalg.det(a)), tg.isnan(tg.linalg.slogdet(a)[1])),
        [fixed(WITH_NAN)],
        name="inv and det of a matrix with nan",
        oracle=lambda a: (np.array(True), np.array(True), np.array(True)),
    ),
    Case(
        lambda a: tg.isnan(tg.linalg.inv(a)),
        [fixed(NAN_FIRST, None)],
        name="inv of matrices that begin with nan",
        dtypes=("float64",),
        oracle=lambda a: np.ones((2, 2, 2), bool),
    ),
    Case(
        lambda a: tg.isnan(tg.linalg.solve(a, tg.ones_like(a[..., :1]))),
        [fixed(NAN_FIRST, None)],
        name="solve of matrices that begin with nan",
        dtypes=("float64",),
        oracle=lambda a: np.ones((2, 2, 1), bool),
    ),
    Case(
        lambda a: tg.isnan(tg.linalg.solve(a, tg.ones_like(a[:, :1]))),
        [fixed(np.diag([NAN, *np.ones(64)]) + np.eye(65)[::-1])],
        name="solve of a large matrix that begins with nan",
        dtypes=("float64", "complex128"),
        oracle=lambda a: np.ones((65, 1), bool),
    ),
    Case(
        lambda a: tg.isnan(tg.linalg.det(a)),
        [fixed(NAN_FIRST, None)],
        name="det of matrices that begin with nan",
        dtypes=("float64",),
        oracle=lambda a: np.ones(2, bool),
    ),
    Case(
        tg.linalg.det,
        [fixed(RANKS, None)],
        name="det of matrices of every rank",
        dtypes=("float32", "float64", "complex64"),
        oracle=permuted,
        condition=lambda a: 16.0,
        accuracy=8,
        gradient=True,
    ),
    Case(
        tg.linalg.det,
        [fixed([[0.0]])],
        name="det of a zero",
        oracle=lambda a: a[0, 0],
        gradient=True,
    ),
    Case(
        lambda a: (tg.linalg.inv(a)[0], tg.linalg.det(a), *tg.linalg.slogdet(a), tg.any(tg.isnan(tg.linalg.inv(a)[1]))),
        [fixed([2 * np.eye(3), WITH_NAN], None)],
        name="inv and det beside a matrix with nan",
        dtypes=("float32", "float64", "complex64"),
        oracle=lambda a: (
            np.eye(3) / 2,
            np.array([8.0, NAN]),
            np.array([1.0, NAN]),
            np.array([3 * np.log(2), NAN]),
            np.array(True),
        ),
    ),
    Case(tg.linalg.solve, [f64("n", "n"), f64("k")], name="solve of lengths that differ", raises=ShapeError),
    Case(tg.linalg.det, [f64("n", "k")], name="det of no square", raises=ShapeError, static=(True,)),
    Case(
        lambda a, b: tg.linalg.solve(a, b, assume_a="banded"),  # type: ignore[arg-type]
        [f64("n", "n"), f64("n")],
        name="solve of no kind",
        raises=InputError,
    ),
)

CASES: Final = of_matrices(FAMILY.path, systems(), determinants(), WRITTEN)
