"""Cases of `ops/linalg/lu`: the factors by what their product is, square, tall, wide and singular."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.ops.linalg.lu import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance import matrices
from tg_conformance.matrices import DTYPES, of_matrices

if TYPE_CHECKING:
    from collections.abc import Iterator


def product(a: Any) -> Any:
    """P L U, what lies outside the triangles of L and U, L's diagonal, and whether no element of L is large.

    LAPACK's pivots have the largest |re| + |im| of their columns, which is up to sqrt(2) times a modulus.
    """
    p, lower, upper = tg.linalg.lu(a)
    count = tg.sum(tg.abs(tg.triu(lower, 1))) + tg.sum(tg.abs(tg.tril(upper, -1)))
    small = tg.max(tg.abs(lower)) <= 1.4143
    return p @ lower @ upper, count, tg.diagonal(lower, 0, -2, -1), small


def right_product(a: Any) -> Any:
    """The matrix, 0, ones, True."""
    few = min(a.shape[-2:])
    return a, np.zeros((), a.real.dtype), np.ones((*a.shape[:-2], few), a.dtype), np.array(True)


def factors() -> Iterator[Case]:
    """Of every shape."""
    for shape in (("n", "n"), ("b", "n", "n"), ("m", "k"), ("k", "m"), ("b", "k", "n")):
        yield Case(
            product,
            [any_dtype(*shape, values=matrices.square if shape[-1] == shape[-2] else "random")],
            name=f"lu {'x'.join(shape)}",
            dtypes=DTYPES if len(shape) == 2 else ("float64",),
            oracle=right_product,
            condition=lambda a: (10 * matrices.size(a), 1, 1, 1),
            accuracy=4,
        )
    for name, options in (("permute_l", {"permute_l": True}), ("p_indices", {"p_indices": True})):
        yield Case(
            lambda a, options=options: assembled(*tg.linalg.lu(a, **options)),
            [any_dtype("b", "n", "k")],
            name=f"lu {name}",
            dtypes=("float32", "complex128"),
            oracle=lambda a: a,
            condition=lambda a: 10 * matrices.size(a),
        )


def assembled(*parts: Any) -> Any:
    """The product of the factors, the rows of L by indices where there are three."""
    if len(parts) == 2:
        return parts[0] @ parts[1]
    p, lower, upper = parts
    return tg.take_along_axis(lower @ upper, p[..., None], -2)


def packed(a: Any) -> Any:
    """L and U in one matrix, by elimination that exchanges rows as the matrix asks for, and never at a tie."""
    return matrices.each(_packed, a)


def _packed(a: Any) -> Any:
    a = a.copy()
    for k in range(min(a.shape)):
        row = k + int(np.argmax(abs(a[k:, k])))
        a[[k, row]] = a[[row, k]]
        a[k + 1 :, k] = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k + 1 :] = a[k + 1 :, k + 1 :] - np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def solutions() -> Iterator[Case]:
    """By factors and pivots, those of an expression and those of inputs."""
    for trans in (0, 1, 2):
        yield Case(
            lambda a, b, trans=trans: tg.linalg.lu_solve(tg.linalg.lu_factor(a), b, trans),
            [any_dtype("b", "n", "n", values=matrices.square), any_dtype("b", "n", "k")],
            name=f"lu_solve trans {trans}",
            dtypes=DTYPES,
            oracle=lambda a, b, trans=trans: matrices.solve((a, np.swapaxes(a, -1, -2), matrices.adjoint(a))[trans], b),
            condition=lambda a, b: 8 * matrices.size(b),
            accuracy=8,
            gradient=trans == 0,
        )
    yield Case(
        lambda a, p, b: tg.linalg.lu_solve((a, p), b),
        [
            fixed([[4.0, 2.0, 1.0], [0.5, 3.0, 0.5], [0.25, -0.5, 2.0]]),
            fixed([2, 2, 2], "int32"),
            fixed([[1.0], [2.0], [3.0]]),
        ],
        name="lu_solve by pivots that are given",
        oracle=lambda a, p, b: matrices.solve((np.tril(a, -1) + np.eye(3)) @ np.triu(a), b[np.array([2, 0, 1])]),
        accuracy=8,
    )


WRITTEN: Final = (
    *(
        Case(
            lambda a: tg.linalg.lu_factor(a)[0],
            [f64(*shape, values=matrices.general)],
            name=f"lu_factor {'x'.join(shape)}",
            oracle=packed,
            condition=lambda a: 4 * matrices.size(a),
            accuracy=8,
            gradient=True,
        )
        for shape in (("n", "n"), ("b", "k", "n"), ("n", "k"))
    ),
    Case(
        tg.linalg.lu_factor,
        [fixed([[0.0, 2.0], [0.0, 3.0]])],
        name="lu_factor of a singular matrix",
        oracle=lambda a: (np.array([[0.0, 2.0], [0.0, 3.0]]), np.array([0, 1], np.int32)),
    ),
    *(
        Case(
            assembled_lu,
            [any_dtype(*shape)],
            name=f"lu of {'x'.join(map(str, shape))}",
            dtypes=("float32", "complex128"),
            oracle=lambda a: a,
            traps=("T33",),
        )
        for assembled_lu in (lambda a: assembled(*tg.linalg.lu(a, permute_l=True)),)
        for shape in ((0, 0), (0, 3), (3, 0), (1, 1), (2, 0, 2))
    ),
)

CASES: Final = of_matrices(FAMILY.path, factors(), solutions(), WRITTEN)
