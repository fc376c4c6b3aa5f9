"""Cases of `ops/linalg/schur`: eigenvalues by what they and their vectors make, Schur forms by their product."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError
from tg.ops.linalg.schur import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance import matrices
from tg_conformance.matrices import DTYPES, of_matrices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tg.types.choices import SchurOutput

NAN: Final = float("nan")


def eigen_parts(a: Any) -> Any:
    """The residual a V - V diag(w), lengths of vectors, and sums over values, in whatever order these are."""
    w, v = tg.linalg.eig(a)
    rest = tg.abs(a @ v - v * w[..., None, :])
    alone = tg.linalg.eigvals(a)
    return rest, tg.sum(tg.abs(v) ** 2, -2), tg.sum(w, -1), tg.sum(w * w, -1), tg.sum(alone, -1)


def right_eigen_parts(a: Any) -> Any:
    """Zeros, ones, traces."""
    trace, squared = np.trace(a, 0, -2, -1), np.trace(a @ a, 0, -2, -1)
    return np.zeros(a.shape), np.ones(a.shape[:-1]), trace + 0j, squared + 0j, trace + 0j


def schur_parts(a: Any, output: SchurOutput) -> Any:
    """The product of the parts, what is below the first diagonal under the main one, and Z' Z."""
    t, z = tg.linalg.schur(a, output)
    turned = tg.conj(z.mT)
    return z @ t @ turned, tg.tril(t, -2 if output == "real" else -1), turned @ z


def forms() -> Iterator[Case]:
    """Of matrices and batches."""
    for shape in (("n", "n"), ("b", "k", "k"), (0, 0), (1, 1), (0, 2, 2)):
        dtypes = DTYPES if shape == ("b", "k", "k") else ("float32", "complex64")
        yield Case(
            eigen_parts,
            [any_dtype(*shape, values=matrices.square)],
            name=f"eig {'x'.join(map(str, shape))}",
            dtypes=dtypes,
            oracle=right_eigen_parts,
            condition=lambda a: (
                32 * matrices.size(a),
                8.0,
                32 * matrices.size(a),
                64 * matrices.size(a) ** 2,
                32 * matrices.size(a),
            ),
            accuracy=32,
            traps=("T33",),
        )
        for output in ("real", "complex"):
            yield Case(
                lambda a, output=output: schur_parts(a, output),
                [any_dtype(*shape, values=matrices.square)],
                name=f"schur {output} {'x'.join(map(str, shape))}",
                dtypes=("float32", "complex64") if output == "real" else ("float32",),
                oracle=lambda a: (a, 0 * a, np.eye(a.shape[-1]) + 0 * a),
                condition=lambda a: (8 * matrices.size(a),) * 2 + (8.0,),
                accuracy=32,
                traps=("T33",),
            )


WRITTEN: Final = (
    Case(
        lambda a: tg.sum(tg.real(tg.linalg.eigvals(a) ** 3)) + tg.sum(tg.abs(tg.linalg.eig(a)[0]) ** 2),
        [fixed([[1.0, 2.0, 0.5], [-1.0, 3.0, 0.25], [0.5, 0.125, -2.0]], "float32")],
        name="eig differentiated",
        oracle=lambda a: np.trace(a @ a @ a) + sizes(a),
        condition=lambda a: 64 * matrices.size(a) ** 3,
        accuracy=32,
        gradient=True,
        static=(True,),
    ),
    Case(
        lambda a: (tg.isnan(tg.linalg.eigvals(a)), tg.isnan(tg.linalg.schur(a)[0])),
        [fixed([[[2.0, 0], [0, 3]], [[2.0, NAN], [0.0, 3]], [[np.inf, 0], [0, 3]]], None)],
        name="eig and schur of matrices that are not finite",
        dtypes=("float32", "complex64"),
        oracle=lambda a: (
            np.array([[False, False], [True, True], [True, True]]),
            np.array([np.zeros((2, 2), bool), *[np.ones((2, 2), bool)] * 2]),
        ),
    ),
    Case(lambda a: tg.linalg.schur(a, "upper"), [f64("n", "n")], name="schur of no kind", raises=InputError),  # type: ignore[arg-type]
)


def sizes(a: Any) -> Any:
    """The sum of |w|^2 of a matrix of three rows with one real value r: r^2 + 2 det / r."""
    real = np.longdouble(-2.0)
    c2, c1, c0 = np.trace(a), (np.trace(a) ** 2 - np.trace(a @ a)) / 2, matrices.determinant(a)
    for _ in range(60):  # Newton's method for the characteristic polynomial
        real = real - (((real - c2) * real + c1) * real - c0) / ((3 * real - 2 * c2) * real + c1)
    return real**2 + 2 * c0 / real


CASES: Final = of_matrices(FAMILY.path, forms(), WRITTEN)
