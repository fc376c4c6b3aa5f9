"""Cases of `ops/linalg/spectral`: values by NumPy's, vectors by what they make of the matrix, equal values, NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError, ShapeError
from tg.ops.linalg.spectral import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance import matrices
from tg_conformance.cases.family import widened
from tg_conformance.matrices import DTYPES, jacobi, of_matrices

if TYPE_CHECKING:
    from collections.abc import Iterator

NAN: Final = float("nan")


def rebuilt(w: Any, v: Any) -> Any:
    """V diag(w) V'."""
    return (v * w[..., None, :]) @ tg.conj(v.mT)


def hermitian() -> Iterator[Case]:
    """Eigenvalues and vectors, of either triangle."""
    for uplo in ("L", "U"):
        yield Case(
            lambda a, uplo=uplo: eigen_parts(a, uplo),
            [any_dtype("b", "n", "n", values=matrices.hermitian)],
            name=f"eigh {uplo}",
            dtypes=DTYPES,
            oracle=lambda a: (narrow_eigvalsh(a), a, np.eye(a.shape[-1]) + 0 * a.real),
            condition=lambda a: (8 * matrices.size(a), 8 * matrices.size(a), 8.0),
            accuracy=16,
        )
    for shape in ((0, 0), (1, 1), (2, 0, 0), (0, 2, 2)):
        yield Case(
            lambda a: (*tg.linalg.eigh(a), tg.linalg.eigvalsh(a)),
            [any_dtype(*shape, values=matrices.hermitian)],
            name=f"eigh of {'x'.join(map(str, shape))}",
            dtypes=("float32", "complex128"),
            oracle=lambda a: (
                (a.real[..., 0] if a.size else a.real[..., 0:], a * 0 + 1, a.real[..., 0])
                if a.size
                else (np.zeros(a.shape[:-1]), np.zeros(a.shape), np.zeros(a.shape[:-1]))
            ),
            traps=("T33",),
        )
    yield Case(
        lambda a: sum(tg.sum(f(x)) for f, x in ((tg.sin, tg.linalg.eigvalsh(a)), (tg.square, projector(a)))),
        [f64("n", "n", values=matrices.hermitian)],
        name="eigh differentiated",
        oracle=lambda a: np.sum(np.sin(jacobi(mirrored(a))[0])) + np.sum(right_projector(mirrored(a)) ** 2),
        condition=lambda a: 8 * matrices.size(a) * len(a),
        accuracy=16,
        gradient=True,
    )


def eigen_parts(a: Any, uplo: Any) -> Any:
    """Values, what both make, and V' V."""
    w, v = tg.linalg.eigh(a, uplo)
    return w, rebuilt(w, v), tg.real(tg.conj(v.mT) @ v)


def narrow_eigvalsh(a: Any) -> Any:
    """NumPy's, in double precision."""
    return np.linalg.eigvalsh(widened(a))


def projector(a: Any) -> Any:
    """Of the first two vectors, weighted: the signs of vectors do not matter."""
    v = tg.linalg.eigh(a)[1]
    return v[:, :1] @ v[:, :1].T + 2 * v[:, 1:2] @ v[:, 1:2].T


def right_projector(a: Any) -> Any:
    """The same by `jacobi`."""
    v = jacobi(a)[1]
    return v[:, :1] @ v[:, :1].T + 2 * v[:, 1:2] @ v[:, 1:2].T


def mirrored(a: Any) -> Any:
    """The symmetric matrix of a lower triangle."""
    return np.tril(a) + np.tril(a, -1).T


def singular() -> Iterator[Case]:
    """Singular values and vectors, of every shape."""
    for shape in (("n", "n"), ("n", "k"), ("b", "k", "n"), (0, 3), (3, 0), (1, 1), (0, 2, 2)):
        for full in (False, True):
            yield Case(
                lambda a, full=full: singular_parts(a, full),
                [any_dtype(*shape)],
                name=f"svd full_matrices {full} {'x'.join(map(str, shape))}",
                dtypes=DTYPES if shape == ("n", "k") else ("float32", "complex128"),
                oracle=lambda a, full=full: right_singular_parts(a, full),
                condition=lambda a: (8 * matrices.size(a),) * 3 + (8.0, 8.0),
                accuracy=16,
                traps=("T33",),
            )
    for shape in (("n", "k"), ("k", "n"), ("k", "k")):
        yield Case(
            lambda a: (tg.linalg.svdvals(a), polar(a)),
            [f64(*shape, values=matrices.general)],
            name=f"svd differentiated {'x'.join(shape)}",
            oracle=lambda a: (np.sqrt(np.flip(jacobi(small(a))[0])), right_polar(a)),
            condition=lambda a: (8 * matrices.size(a), 8.0),
            accuracy=64,
            gradient=True,
        )


def singular_parts(a: Any, full: bool) -> Any:
    """Values, twice, what all makes, and that the vectors are orthonormal."""
    u, s, vh = tg.linalg.svd(a, full)
    k = s.shape[-1]
    whole = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
    return s, tg.linalg.svdvals(a), whole, tg.conj(u.mT) @ u, vh @ tg.conj(vh.mT)


def right_singular_parts(a: Any, full: bool) -> Any:
    """The parts of a right answer: singular values twice, the matrix, and the identities that U and V have."""
    *lead, m, n = a.shape
    few = min(m, n)
    s = np.linalg.svd(a.astype(np.complex128), compute_uv=False)
    left, right = (m, n) if full else (few, few)
    return s, s, a, *(np.eye(k) + np.zeros((*lead, 1, 1)) for k in (left, right))


def polar(a: Any) -> Any:
    """U Vh: the unitary factor, which the signs of vectors do not change."""
    u, _, vh = tg.linalg.svd(a, full_matrices=False)
    return u @ vh


def small(a: Any) -> Any:
    """The product of a with its transpose on the shorter side."""
    return a.T @ a if a.shape[0] >= a.shape[1] else a @ a.T


def right_polar(a: Any) -> Any:
    """a (a' a)^-1/2, or what that is of the transpose."""
    w, v = jacobi(small(a))
    root = (v / np.sqrt(w)) @ v.T
    return a @ root if a.shape[0] >= a.shape[1] else root @ a


WRITTEN: Final = (
    Case(
        tg.linalg.eigvalsh,
        [fixed([[2.0, NAN], [1.0, 2.0]])],
        name="eigvalsh reads the lower triangle",
        oracle=lambda a: np.array([1.0, 3.0]),
    ),
    Case(
        lambda a: (
            tg.linalg.eigvalsh(a),
            tg.isnan(tg.linalg.eigh(a)[1]),
            tg.linalg.svdvals(a),
            tg.isnan(tg.linalg.svd(a)[0]),
        ),
        [fixed([[[2.0, 0], [0, 3]], [[2.0, NAN], [NAN, 3]], [[np.inf, 0], [0, 3]]], None)],
        name="eigh and svd of matrices that are not finite",
        dtypes=("float32", "float64", "complex64"),
        oracle=lambda a: (
            np.array([[2.0, 3.0], [NAN, NAN], [NAN, NAN]]),
            np.array([np.zeros((2, 2), bool), *[np.ones((2, 2), bool)] * 2]),
            np.array([[3.0, 2.0], [NAN, NAN], [NAN, NAN]]),
            np.array([np.zeros((2, 2), bool), *[np.ones((2, 2), bool)] * 2]),
        ),
    ),
    Case(
        lambda a: tg.grad(tg.sum(tg.linalg.eigh(a)[1] ** 3) + tg.sum(tg.linalg.eigvalsh(a)), a),
        [fixed([[2.0, 0.0], [0.0, 2.0]])],
        name="eigh differentiated at equal values",
        oracle=lambda a: np.array([[NAN, 0.0], [NAN, NAN]]),
    ),
    Case(
        lambda a: tg.grad(tg.sum(tg.linalg.svd(a, False)[0] ** 3) + tg.sum(tg.linalg.svdvals(a)), a),
        [fixed([[2.0, 0.0], [0.0, 2.0]])],
        name="svd differentiated at equal values",
        oracle=lambda a: np.full((2, 2), NAN),
    ),
    Case(lambda a: tg.linalg.eigh(a, "X"), [f64("n", "n")], name="eigh of no triangle", raises=InputError),  # type: ignore[arg-type]
    Case(tg.linalg.eigvalsh, [f64("n", "k")], name="eigvalsh of no square", raises=ShapeError, static=(True,)),
)

CASES: Final = of_matrices(FAMILY.path, hermitian(), singular(), WRITTEN)
