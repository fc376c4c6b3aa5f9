"""`tg.linalg`: linear algebra under NumPy's and SciPy's names, batched over leading axes."""

from __future__ import annotations

from tg.errors import LinAlgError
from tg.ops.linalg.cholesky import cho_factor, cho_solve, cholesky
from tg.ops.linalg.lu import lu, lu_factor, lu_solve
from tg.ops.linalg.qr import qr
from tg.ops.linalg.solving import det, inv, slogdet, solve
from tg.ops.linalg.spectral import eigh, eigvalsh, svd, svdvals
from tg.ops.linalg.triangular import solve_triangular

__all__ = [
    "LinAlgError",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "lu",
    "lu_factor",
    "lu_solve",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
]
