"""Cases of `ops/linalg/equations`: linear ones by elimination of their Kronecker form, roots by iteration."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import ShapeError
from tg.ops.linalg.equations import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance import matrices
from tg_conformance.matrices import of_matrices


def kronecker(a: Any, b: Any, q: Any) -> Any:
    """x of a x + x b = q, as one system for all elements."""
    return matrices.each(_kronecker, a, b, q)


def _kronecker(a: Any, b: Any, q: Any) -> Any:
    m, n = q.shape
    whole = np.kron(a, np.eye(n)) + np.kron(np.eye(m), b.T)
    return matrices.solve(whole, q.reshape(-1, 1)).reshape(m, n)


def discrete(a: Any, q: Any) -> Any:
    """x of a x a' - x + q = 0."""
    n = len(a)
    whole = np.kron(a, np.conj(a)) - np.eye(n * n)
    return matrices.solve(whole, -q.reshape(-1, 1)).reshape(n, n)


def root(a: Any) -> Any:
    """The root of a positive-definite matrix, by Newton's iteration."""
    return matrices.each(_root, a)


def _root(a: Any) -> Any:
    x, y = a, np.eye(len(a)) + 0 * a
    for _ in range(30):  # E. D. Denman and A. N. Beavers, The matrix sign function and computations in systems, 1976
        x, y = (x + matrices.inverse(y)) / 2, (y + matrices.inverse(x)) / 2
    return x


WRITTEN: Final = (
    *(
        Case(
            tg.linalg.solve_sylvester,
            [
                any_dtype(*lead, "n", "n", values=matrices.triangle),
                any_dtype(*lead, 3, 3, values=matrices.positive),
                any_dtype(*lead, "n", 3),
            ],
            name=f"solve_sylvester {'batch' if lead else ''}".strip(),
            dtypes=("float32", "float64", "complex64") if lead else ("float64",),
            oracle=kronecker,
            condition=lambda a, b, q: 8 * matrices.size(q),
            accuracy=32,
            gradient=not lead,
        )
        for lead in ((), ("b",))
    ),
    Case(
        tg.linalg.solve_sylvester,
        [f64(0, 0), f64(2, 2), f64(0, 2)],
        name="solve_sylvester of no rows",
        oracle=lambda a, b, q: q,
        traps=("T33",),
    ),
    Case(
        tg.linalg.solve_sylvester,
        [f64("n", "n"), f64("k", "k"), f64("k", "n")],
        name="solve_sylvester of lengths that differ",
        raises=ShapeError,
        static=(True,),
    ),
    Case(
        lambda a, q: (tg.linalg.solve_continuous_lyapunov(a, q), tg.linalg.solve_discrete_lyapunov(a / 4, q)),
        [any_dtype("k", "k", values=matrices.triangle), any_dtype("k", "k", values=matrices.positive)],
        name="lyapunov",
        dtypes=("float64", "complex64"),
        oracle=lambda a, q: (kronecker(a, np.conj(a.T), q), discrete(a / 4, q)),
        condition=lambda a, q: (8 * matrices.size(q), 32 * matrices.size(q)),
        accuracy=32,
    ),
    Case(
        lambda a, q: tg.linalg.solve_discrete_lyapunov(a - 4 * tg.eye(3), q),
        [f64("b", 3, 3, values=matrices.triangle), f64(3, 3)],
        name="solve_discrete_lyapunov of a batch, beyond the unit circle",
        oracle=lambda a, q: matrices.each(discrete, a - 4 * np.eye(3), np.broadcast_to(q, a.shape)),
        condition=lambda a, q: 32 * matrices.size(q),
        accuracy=32,
        gradient=True,
    ),
    *(
        Case(
            tg.linalg.sqrtm,
            [any_dtype(*lead, "k", "k", values=matrices.positive)],
            name=f"sqrtm {'batch' if lead else ''}".strip(),
            dtypes=("float32", "float64", "complex64") if lead else ("float64",),
            oracle=root,
            condition=lambda a: 8 * matrices.size(a),
            accuracy=32,
            gradient=not lead,
        )
        for lead in ((), ("b",))
    ),
    Case(
        tg.linalg.sqrtm,
        [fixed([[[4.0, 1.0], [0.0, 9.0]], [[-4.0, 0.0], [0.0, 9.0]], [[0.0, 1.0], [-1.0, 0.0]]])],
        name="sqrtm of matrices of which one has no real root",
        oracle=lambda a: np.array(
            [[[2.0, 0.2], [0.0, 3.0]], np.full((2, 2), np.nan), np.array([[1.0, 1.0], [-1.0, 1.0]]) * 0.5**0.5]
        ),
        condition=lambda a: 1.0,
        accuracy=16,
    ),
    Case(
        tg.linalg.sqrtm,
        [fixed([[-4.0, 0.0], [0.0, 9.0]], "complex64")],
        name="sqrtm of complex numbers",
        oracle=lambda a: np.array([[2j, 0], [0, 3]]),
        accuracy=16,
    ),
    *(
        Case(
            tg.linalg.sqrtm,
            [any_dtype(*shape, values=matrices.positive)],
            name=f"sqrtm of {'x'.join(map(str, shape))}",
            dtypes=("float32",),
            oracle=np.sqrt,
            accuracy=16,
            traps=("T33",),
        )
        for shape in ((0, 0), (1, 1), (0, 2, 2))
    ),
)

CASES: Final = of_matrices(FAMILY.path, WRITTEN)
