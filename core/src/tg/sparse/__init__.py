"""`tg.sparse`: sparse matrices by their components, in programs as structures of variables.

a = tg.sparse.csr(data, indices, indptr, (rows, columns))
y = a @ x + a.T @ z
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg.hints import all_hinted
from tg.sparse import linalg
from tg.sparse.construction import block_diag, diags, eye, hstack, kron, tril, triu, vstack
from tg.sparse.making import coo, csc, csr, from_dense, to_scipy
from tg.sparse.matrices import COO, CSC, CSR, SparseMatrix
from tg.sparse.products import matmul
from tg.sparse.selection import find
from tg.words import unknown_in

__all__ = [
    "COO",
    "CSC",
    "CSR",
    "SparseMatrix",
    "block_diag",
    "coo",
    "csc",
    "csr",
    "diags",
    "eye",
    "find",
    "from_dense",
    "hstack",
    "kron",
    "linalg",
    "matmul",
    "to_scipy",
    "tril",
    "triu",
    "vstack",
]

all_hinted(globals(), __all__)
all_hinted(vars(linalg), linalg.__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
        raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
