"""`tg.linalg`: linear algebra under NumPy's and SciPy's names, batched over leading axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg.errors import LinAlgError
from tg.keywords import explain
from tg.ops.contraction import kron, matmul, outer, tensordot, vecdot
from tg.ops.joining import block_diag
from tg.ops.linalg.banded import solve_banded, solveh_banded
from tg.ops.linalg.cholesky import cho_factor, cho_solve, cholesky
from tg.ops.linalg.equations import solve_continuous_lyapunov, solve_discrete_lyapunov, solve_sylvester, sqrtm
from tg.ops.linalg.functions import expm
from tg.ops.linalg.least_squares import lstsq, pinv
from tg.ops.linalg.logarithms import logm
from tg.ops.linalg.lu import lu, lu_factor, lu_solve
from tg.ops.linalg.norms import cond, matrix_norm, matrix_rank, vector_norm
from tg.ops.linalg.products import cross, diagonal, matrix_power, multi_dot, tensorinv, tensorsolve, toeplitz, trace
from tg.ops.linalg.qr import qr
from tg.ops.linalg.riccati import solve_continuous_are, solve_discrete_are
from tg.ops.linalg.schur import eig, eigvals, schur
from tg.ops.linalg.solving import det, inv, slogdet, solve
from tg.ops.linalg.spectral import eigh, eigvalsh, svd, svdvals
from tg.ops.linalg.triangular import solve_triangular
from tg.ops.norm import norm
from tg.ops.shape import matrix_transpose
from tg.words import unknown_in

__all__ = [
    "LinAlgError",
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "inv",
    "kron",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "schur",
    "slogdet",
    "solve",
    "solve_banded",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "toeplitz",
    "trace",
    "vecdot",
    "vector_norm",
]

explain(globals(), __all__)

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
        raise AttributeError(text, name=name)
