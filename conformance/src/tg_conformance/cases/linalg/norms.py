"""Cases of `ops/linalg/norms`: NumPy's norms, along axes and with them kept, condition numbers and ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError
from tg.ops.linalg.norms import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance import matrices
from tg_conformance.cases.family import widened
from tg_conformance.matrices import DTYPES, jacobi, of_matrices

if TYPE_CHECKING:
    from collections.abc import Iterator


def norms() -> Iterator[Case]:
    """Of vectors and matrices."""
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        yield Case(
            lambda a, order=order: (
                tg.linalg.matrix_norm(a, ord=order),
                tg.linalg.matrix_norm(a, ord=order, keepdims=True),
                tg.linalg.norm(a, order, (0, 2)),
            ),
            [any_dtype("b", "n", "k", values=matrices.general)],
            name=f"matrix_norm {order}",
            dtypes=DTYPES if order in ("nuc", 1) else ("float64",),
            oracle=lambda a, order=order: (
                np.linalg.matrix_norm(widened(a), ord=order),
                np.linalg.matrix_norm(widened(a), ord=order, keepdims=True),
                np.linalg.norm(widened(a), order, (0, 2)),
            ),
            condition=lambda a: (8 * matrices.size(a),) * 3,
            accuracy=8,
        )
    for order in (2, 1, 0, 3, np.inf, -np.inf):
        yield Case(
            lambda a, order=order: (
                tg.linalg.vector_norm(a, ord=order),
                tg.linalg.vector_norm(a, ord=order, axis=1),
                tg.linalg.vector_norm(a, ord=order, axis=(0, 2), keepdims=True),
            ),
            [any_dtype("b", "n", "k")],
            name=f"vector_norm {order}",
            dtypes=("float32", "complex128"),
            oracle=lambda a, order=order: (
                np.linalg.vector_norm(widened(a), ord=order),
                np.linalg.vector_norm(widened(a), ord=order, axis=1),
                np.linalg.vector_norm(widened(a), ord=order, axis=(0, 2), keepdims=True),
            ),
            accuracy=16,
        )
    for p in (None, -2, "fro", 1, -1, np.inf, "nuc"):
        yield Case(
            lambda a, p=p: tg.linalg.cond(a, p),
            [any_dtype("b", "n", "n", values=matrices.square)],
            name=f"cond {p}",
            dtypes=("float64", "complex64"),
            oracle=lambda a, p=p: np.linalg.cond(widened(a), p),
            accuracy=256,
        )


def sum_and_largest(a: Any) -> Any:
    """Of the singular values, by rotations."""
    s = np.sqrt(jacobi(a @ a.T if a.shape[0] <= a.shape[1] else a.T @ a)[0])  # the square without zeros
    return s.sum() + s[-1]


WRITTEN: Final = (
    Case(
        lambda a: (tg.linalg.cond(a, 1), tg.linalg.cond(a, "fro")),
        [fixed([[[1.0, 2.0], [0.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]]])],
        name="cond of a singular matrix",
        oracle=lambda a: (np.array([np.inf, 2.0]), np.array([np.inf, 2.5])),
    ),
    Case(
        lambda u, v: (
            tg.linalg.matrix_rank(u @ v),
            tg.linalg.matrix_rank(u),
            tg.linalg.matrix_rank(u, 1e9),
            tg.linalg.matrix_rank(u[0]),
            tg.linalg.matrix_rank(0 * u[0]),
        ),
        [f64("n", 2, values=matrices.general), f64(2, "k", values=matrices.general)],
        name="matrix_rank",
        oracle=lambda u, v: tuple(np.array(k) for k in (2, 2, 0, 1, 0)),
    ),
    Case(
        lambda a: (tg.linalg.matrix_rank(a), tg.linalg.matrix_norm(a)),
        [f64(2, 0, 3)],
        name="matrix_rank of no elements",
        oracle=lambda a: (np.zeros(2, np.int64), np.zeros(2)),
        traps=("T33",),
    ),
    Case(
        lambda a: tg.linalg.matrix_norm(a, ord="nuc") + tg.linalg.matrix_norm(a, ord=2),
        [f64("k", "n", values=matrices.general)],
        name="matrix_norm differentiated",
        oracle=sum_and_largest,
        condition=lambda a: 8 * matrices.size(a),
        accuracy=64,
        gradient=True,
    ),
    Case(lambda a: tg.linalg.matrix_norm(a, ord=3), [f64("n", "k")], name="matrix_norm of no kind", raises=InputError),
)


CASES: Final = of_matrices(FAMILY.path, norms(), WRITTEN)
