"""Cases of `ops/diagonal`: every offset, no elements, lengths that are known at run time only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

import tg
from tg.errors import ShapeError
from tg.ops.diagonal import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import of_family, twin

if TYPE_CHECKING:
    from collections.abc import Iterator

DTYPES: Final = ("bool", "int8", "float32", "float64", "complex128")
LAYOUTS: Final = ("C", "F", "transposed", "strided", "reversed", "empty", "one")


def offsets() -> Iterator[Case]:
    """Diagonals and triangles at every offset, also beyond the array."""
    for k in (0, 1, -1, 3, -30):
        yield twin(
            f"diagonal {k}",
            lambda m, x, k=k: (m.diagonal(x, k), m.diag(x, k)),
            any_dtype("n", "m"),
            dtypes=DTYPES if k == 0 else ("float64",),
            layouts=LAYOUTS,
            accuracy=0,
            gradient=True,
        )
        yield twin(
            f"triangles {k}",
            lambda m, x, k=k: (m.tril(x, k), m.triu(x, k)),
            any_dtype("n", "m"),
            dtypes=DTYPES if k == 0 else ("float64",),
            layouts=LAYOUTS,
            accuracy=0,
            gradient=True,
        )
    for k in (0, 2, -1):
        yield twin(
            f"diag of a vector {k}",
            lambda m, x, k=k: m.diag(x, k),
            any_dtype("n"),
            dtypes=DTYPES if k == 0 else ("float64",),
            layouts=("C", "strided", "reversed", "empty", "one"),
            accuracy=0,
            gradient=True,
        )
        yield Case(
            lambda n, m, k=k: (*tg.tril_indices(n, k, m), *tg.triu_indices(n, k, m), tg.tri(n, m, k)),
            [fixed(4, "int64"), fixed(3, "int32")],
            name=f"positions of triangles {k}",
            oracle=lambda n, m, k=k: (*np.tril_indices(4, k, 3), *np.triu_indices(4, k, 3), np.tri(4, 3, k)),
        )


WRITTEN: Final = (
    twin(
        "diagonal of axes",
        lambda m, x: (m.diagonal(x, 1, 0, 2), m.diagonal(x, -1, 2, 1), m.diagonal(x)),
        f64("n", "p", "k"),
        gradient=True,
        accuracy=0,
    ),
    twin(
        "trace",
        lambda m, x: (m.trace(x), m.trace(x, 1)),
        any_dtype("n", "m"),
        dtypes=("int64", "float64", "complex128"),
        gradient=True,
        condition=lambda x: (8 * x.size, 8 * x.size),
    ),
    Case(tg.trace, [fixed([[100, 1], [1, 100]], "int8")], name="trace of int8", traps=("T19",), oracle=lambda x: 200),
    twin("diagflat", lambda m, x: m.diagflat(x, -1), f64("p", "b"), accuracy=0),
    Case(
        lambda x: (tg.fill_diagonal(x, 7.0), tg.fill_diagonal(x, tg.arange(3))),
        [f64(3, 4)],
        name="fill_diagonal",
        gradient=True,
        oracle=lambda x: (np.where(np.eye(3, 4) == 1, 7.0, x), np.where(np.eye(3, 4) == 1, np.arange(3)[:, None], x)),
    ),
    Case(
        lambda x: tg.fill_diagonal(x, 0.0),
        [f64("n", "n", "n")],
        name="fill_diagonal of a cube",
        oracle=lambda x: np.where(np.all(np.indices(x.shape) == np.indices(x.shape)[:1], 0), 0.0, x),
    ),
    Case(
        lambda: (*tg.triu_indices(3), *tg.tril_indices(2, 1), tg.identity(2)),
        [],
        name="positions of known triangles",
        static=(True,),
        oracle=lambda: (*np.triu_indices(3), *np.tril_indices(2, 1), np.eye(2)),
    ),
    Case(tg.diagonal, [f64("n")], name="diagonal of a vector", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, offsets(), WRITTEN)
