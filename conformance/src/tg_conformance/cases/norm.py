"""Cases of `ops/norm`: every order of vectors and matrices, and the derivative at 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

import tg
from tg.errors import InputError
from tg.ops.norm import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import HALVES, hundreds, of_family, rounded_once

if TYPE_CHECKING:
    from collections.abc import Iterator


def orders() -> Iterator[Case]:
    """Norms of vectors along an axis, and of matrices."""
    for order in (None, 2, 1, 0, 3, 0.5, -1, -2, np.inf, -np.inf):
        yield Case(
            lambda x, order=order: tg.norm(x, order, axis=0),
            [any_dtype("n", "m", low=0.25)],
            name=f"vector norm {order}",
            dtypes=("float32", "float64", "int32") if order in (None, 1, np.inf) else ("float64",),
            oracle=lambda x, order=order: np.linalg.norm(x, order, axis=0),
            condition=lambda x, order=order: np.linalg.norm(x, order, axis=0) * (x.size + 1),
            gradient=order != 0,
        )
    for kind in (None, "fro", 1, -1, np.inf, -np.inf):
        yield Case(
            lambda x, kind=kind: (tg.norm(x, kind), tg.norm(x, kind, axis=(1, 0), keepdims=True)),
            [f64("n", "m", low=0.25)],
            name=f"matrix norm {kind}",
            oracle=lambda x, kind=kind: (
                np.linalg.norm(x, kind),
                np.linalg.norm(x, kind, axis=(1, 0), keepdims=True),
            ),
            condition=lambda x: (4 * x.size, 4 * x.size),
            gradient=True,
        )


def _hessian_of_norms(x: np.ndarray) -> np.ndarray:
    """(I - u u.T) / |row| for each row, with its direction u."""
    size = np.sqrt(np.sum(x * x, axis=1))
    size[size == 0] = np.nan
    u = x / size[:, None]
    hessian = np.zeros((*x.shape, *x.shape))
    for k in range(len(x)):
        hessian[k, :, k] = (np.eye(x.shape[1]) - np.outer(u[k], u[k])) / size[k]
    return hessian


WRITTEN: Final = (
    Case(
        lambda x: (
            *(tg.norm(x, order) for order in (None, 2, 3, 0.5, np.inf)),
            *(tg.norm(x[:3]), tg.grad(tg.norm(x), x)),
        ),
        [any_dtype(300, values=hundreds)],
        name="norms of halves, whose squares leave their range",
        dtypes=HALVES,
        layouts=("C",),
        static=(False,),
        accuracy=1,
        oracle=rounded_once(
            lambda x: (
                *(np.linalg.norm(x, order) for order in (None, 2, 3, 0.5, np.inf)),
                *(np.linalg.norm(x[:3]), x / np.linalg.norm(x)),
            )
        ),
    ),
    Case(
        lambda x: tuple(tg.grad(tg.norm(x, order), x) for order in (None, 2, 1, 3, 1.5)),
        [fixed([0.0, 0.0, 0.0])],
        name="grad of norms at 0",
        traps=("T69",),
        oracle=lambda x: (np.zeros(3),) * 5,
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.norm(x, 2, axis=1)), x),
        [fixed([[0.0, 0.0], [3.0, 4.0]])],
        name="grad of norms of rows of which one is 0",
        traps=("T69",),
        oracle=lambda x: np.array([[0, 0], [0.6, 0.8]]),
    ),
    Case(
        lambda x: tg.hessian(tg.sum(tg.norm(x, 2, axis=1)), x),
        [fixed([[0.0, 0.0], [3.0, 4.0]])],
        name="hessian of norms of rows of which one is 0",
        note="The slope at 0 is a convention, which has no slope: NaN, and 0 between rows.",
        traps=("T69",),
        oracle=_hessian_of_norms,
    ),
    Case(
        lambda x: tg.grad(tg.norm(x, 3), x),
        [fixed([0.0, 2.0])],
        name="grad of a norm with an element of 0",
        traps=("T69",),
        oracle=lambda x: np.array([0.0, 1.0]),
    ),
    Case(
        lambda x: tg.norm(x, 1, axis=0),
        [any_dtype("n", "m")],
        name="norm of complex",
        dtypes=("complex64", "complex128"),
        oracle=lambda x: np.linalg.norm(x, 1, axis=0),
        condition=lambda x: 4 * x.size,
    ),
    Case(lambda x: tg.norm(x, 3, axis=(0, 1)), [f64("n", "m")], name="norm of no such order", raises=InputError),
)

CASES: Final = of_family(FAMILY.path, orders(), WRITTEN)
