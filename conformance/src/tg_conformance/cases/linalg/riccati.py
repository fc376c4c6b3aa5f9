"""Cases of `ops/linalg/riccati`: by the recursion in time, and by Newton's method of Kleinman, in more digits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import LinAlgError, ShapeError
from tg.ops.linalg.riccati import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance import matrices
from tg_conformance.cases.linalg.equations import kronecker
from tg_conformance.matrices import of_matrices

if TYPE_CHECKING:
    from collections.abc import Sequence

STEPS: Final = 60
"""Of time: the closed loops have eigenvalues below 1/2."""
NEWTON: Final = 7


def calm(rng: np.random.Generator, dtype: str, shape: Sequence[int]) -> Any:
    """Matrices whose eigenvalues are inside of the unit circle."""
    matrix = matrices.triangle(rng, dtype, shape) - 2 * np.eye(shape[-1])
    return np.asarray(matrix / 2)


def _hermitian(x: Any) -> Any:
    return (x + matrices.adjoint(x)) / 2


def _gain(b: Any, r: Any) -> Any:
    return b @ matrices.solve(r, matrices.adjoint(b))


def discrete(a: Any, b: Any, q: Any, r: Any) -> Any:
    """The limit of x = q + a' x (1 + g x)^-1 a."""
    g, x, one = _gain(b, r), q, np.eye(a.shape[-1], dtype=a.dtype)
    for _ in range(STEPS):
        x = q + matrices.adjoint(a) @ x @ matrices.solve(one + g @ x, a)
    return _hermitian(x)


def continuous(a: Any, b: Any, q: Any, r: Any) -> Any:
    """From 0, for a is stable: the differential's equation by elimination."""
    g, x = _gain(b, r), 0 * q
    for _ in range(NEWTON):
        left, right = matrices.adjoint(a) - x @ g, a - g @ x
        x = x - kronecker(left, right, left @ x + x @ a + q)
    return _hermitian(x)


def with_cross_terms(solve: Any) -> Any:
    """The equation with e and s, by that without."""

    def solved(a: Any, b: Any, q: Any, r: Any, e: Any, s: Any) -> Any:
        inverse = matrices.inverse(e)
        back = matrices.adjoint(inverse)
        a, q, s = a @ inverse, back @ q @ inverse, back @ s
        gain = matrices.solve(r, matrices.adjoint(s))
        return solve(a - b @ gain, b, q - s @ gain, r)

    return solved


def system(*lead: Any) -> list[Any]:
    """a, b, q and r."""
    return [
        any_dtype(*lead, "k", "k", values=calm),
        any_dtype(*lead, "k", 2, low=-1.0, high=1.0),
        any_dtype(*lead, "k", "k", values=matrices.positive),
        any_dtype(*lead, 2, 2, values=matrices.positive),
    ]


def stable(a: Any) -> Any:
    """A matrix with eigenvalues inside of the unit circle, moved to the left of 0."""
    return a - 2 * tg.eye(a.shape[-1], dtype=a.type.dtype)


def moved(a: Any) -> Any:
    """The same."""
    return a - 2 * np.eye(a.shape[-1], dtype=a.dtype)


WRITTEN: Final = (
    *(
        Case(
            tg.linalg.solve_discrete_are,
            system(*lead),
            name=f"solve_discrete_are {'batch' if lead else ''}".strip(),
            dtypes=("float32", "float64", "complex64") if lead else ("float64", "complex128"),
            oracle=lambda *given: matrices.each(discrete, *given),
            condition=lambda *given: 8 * (1 + matrices.size(given[2])),
            accuracy=32,
            gradient=not lead,
        )
        for lead in ((), ("b",))
    ),
    *(
        Case(
            lambda a, *given: tg.linalg.solve_continuous_are(stable(a), *given),
            system(*lead),
            name=f"solve_continuous_are {'batch' if lead else ''}".strip(),
            dtypes=("float32", "float64", "complex64") if lead else ("float64", "complex128"),
            oracle=lambda a, *given: matrices.each(continuous, moved(a), *given),
            condition=lambda *given: 8 * (1 + matrices.size(given[2])),
            accuracy=32,
            gradient=not lead,
        )
        for lead in ((), ("b",))
    ),
    Case(
        lambda a, b, q, r, e, s: (
            tg.linalg.solve_discrete_are(a, b, q, r, e, s / 8),
            tg.linalg.solve_continuous_are(stable(a), b, q, r, e, s / 8),
        ),
        [*system(), any_dtype("k", "k", values=matrices.triangle), any_dtype("k", 2, low=-1.0, high=1.0)],
        name="solve_discrete_are and solve_continuous_are with e and s",
        dtypes=("float64", "complex64"),
        oracle=lambda a, b, q, r, e, s: (
            with_cross_terms(discrete)(a, b, q, r, e, s / 8),
            with_cross_terms(continuous)(moved(a), b, q, r, e, s / 8),
        ),
        condition=lambda *given: (8 * (1 + matrices.size(given[2])),) * 2,
        accuracy=32,
    ),
    Case(
        lambda a, b, q, r: (tg.linalg.solve_discrete_are(a, b, q, r), tg.linalg.solve_continuous_are(a, b, q, r)),
        [fixed([[2.0]]), fixed([[1.0]]), fixed([[1.0]]), fixed([[1.0]])],
        name="solve_discrete_are of one number that grows",
        oracle=lambda a, b, q, r: (np.array([[2 + 5**0.5]]), np.array([[2 + 5**0.5]])),
        accuracy=16,
    ),
    Case(
        lambda a, b, q, r: (tg.linalg.solve_discrete_are(a, b, q, r), tg.linalg.solve_continuous_are(a, b, q, r)),
        [f64(0, 0), f64(0, 2), f64(0, 0), f64(2, 2, values=matrices.positive)],
        name="solve_discrete_are of no rows",
        oracle=lambda a, b, q, r: (a, a),
        traps=("T33",),
    ),
    Case(
        tg.linalg.solve_discrete_are,
        [fixed([[2.0, 0.0], [0.0, 0.5]]), fixed([[0.0], [1.0]]), fixed(np.eye(2)), fixed([[1.0]])],
        name="solve_discrete_are of what nothing can be done about",
        raises=LinAlgError,
    ),
    Case(
        lambda a, b, q, r: (
            tg.linalg.solve_discrete_are(a, b, q, r, on_error="nan"),
            tg.linalg.solve_continuous_are(a, b, q, r, on_error="nan"),
        ),
        [
            fixed([[[2.0, 0.0], [0.0, 0.5]], [[0.0, 0.0], [0.0, 0.0]]]),
            fixed([[[0.0], [1.0]], [[0.0], [1.0]]]),
            fixed([np.eye(2), np.eye(2)]),
            fixed([[1.0]]),
        ],
        name="solve_discrete_are of matrices that have no solution",
        oracle=lambda a, b, q, r: (np.array([np.full((2, 2), np.nan), np.eye(2)]), np.full((2, 2, 2), np.nan)),
        accuracy=16,
    ),
    Case(
        tg.linalg.solve_discrete_are,
        [f64("n", "n"), f64("k", "n"), f64("n", "n"), f64("n", "n")],
        name="solve_discrete_are of lengths that differ",
        raises=ShapeError,
        static=(True,),
    ),
)

CASES: Final = of_matrices(FAMILY.path, WRITTEN)
