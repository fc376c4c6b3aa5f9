"""Cases of `ops/linalg/qr`: the factors by their product and what they are; R with a diagonal above 0 is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import InputError, ShapeError
from tg.ops.linalg.qr import FAMILY
from tg.plugin.case import Case, any_dtype, f64
from tg_conformance import matrices
from tg_conformance.matrices import DTYPES, of_matrices

if TYPE_CHECKING:
    from collections.abc import Iterator


def parts(a: Any, mode: Any) -> Any:
    """The product, Q' Q, what is below R's diagonal, and the diagonal's sign."""
    q, r = tg.linalg.qr(a, mode)
    d = tg.linalg.diagonal(r)
    return q @ r, tg.conj(q.mT) @ q, tg.tril(r, -1), tg.all(tg.real(d) >= 0)


def right_parts(a: Any, mode: str) -> Any:
    """The parts of a right answer: the matrix, the identity that Q has, the zeros below R, and true."""
    *lead, m, n = a.shape
    k = m if mode == "complete" else min(m, n)
    return a, np.eye(k) + np.zeros((*lead, 1, 1)), np.zeros((*lead, k, n)), np.array(True)


def factors() -> Iterator[Case]:
    """Of every shape, in both modes."""
    for shape in (("n", "n"), ("n", "k"), ("k", "n"), ("b", "n", "k"), (0, 3), (3, 0), (1, 1), (0, 2, 2)):
        for mode in ("reduced", "complete"):
            yield Case(
                lambda a, mode=mode: parts(a, mode),
                [any_dtype(*shape)],
                name=f"qr {mode} {'x'.join(map(str, shape))}",
                dtypes=DTYPES if shape == ("b", "n", "k") else ("float32", "complex128"),
                oracle=lambda a, mode=mode: right_parts(a, mode),
                condition=lambda a: (8 * matrices.size(a), 8.0, 8 * matrices.size(a), 1.0),
                accuracy=8,
                traps=("T33",),
            )


def gram_schmidt(a: Any) -> Any:
    """Q and R of the columns one by one, twice as is needed for them to be orthogonal."""
    return matrices.each(_gram_schmidt, a)


def _gram_schmidt(a: Any) -> Any:
    m, n = a.shape
    k = min(m, n)
    q, r = np.zeros((m, k), a.dtype), np.zeros((k, n), a.dtype)
    for j in range(k):
        rest = a[:, j].copy()
        for _ in range(2):
            along = np.conj(q[:, :j]).T @ rest
            r[:j, j] += along
            rest = rest - q[:, :j] @ along
        r[j, j] = np.sqrt(np.sum(abs(rest) ** 2))
        q[:, j] = rest / r[j, j]
    r[:, k:] = np.conj(q).T @ a[:, k:]
    return q, r


WRITTEN: Final = (
    *(
        Case(
            lambda a: tuple(tg.linalg.qr(a)),
            [any_dtype(*shape, values=matrices.general)],
            name=f"qr by columns {'x'.join(shape)}",
            dtypes=DTYPES if shape == ("n", "n") else ("float64",),
            oracle=gram_schmidt,
            condition=lambda a: (8.0, 8 * matrices.size(a)),
            accuracy=16,
            gradient=True,
        )
        for shape in (("n", "n"), ("n", "k"), ("b", "k", "n"))
    ),
    Case(
        lambda a: tg.linalg.qr(a, "r"),
        [f64("n", "k", values=matrices.general)],
        name="qr without q",
        oracle=lambda a: gram_schmidt(a)[1],
        condition=lambda a: 8 * matrices.size(a),
        accuracy=16,
        gradient=True,
    ),
    Case(lambda a: tg.linalg.qr(a, "full"), [f64("n", "k")], name="qr of no mode", raises=InputError),  # type: ignore[arg-type]
    Case(tg.linalg.qr, [f64("n")], name="qr of a vector", raises=ShapeError),
)

CASES: Final = of_matrices(FAMILY.path, factors(), WRITTEN)
