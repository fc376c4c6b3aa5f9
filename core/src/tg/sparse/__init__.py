"""`tg.sparse`: sparse matrices by their components, in programs as structures of variables.

a = tg.sparse.csr(data, indices, indptr, (rows, columns))
y = a @ x + a.T @ z
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg.hints import all_hinted
from tg.sparse import linalg
from tg.sparse.making import block_diag, coo, csc, csr, from_dense, to_scipy
from tg.sparse.matrices import COO, CSC, CSR, SparseMatrix
from tg.words import unknown_in

__all__ = ["COO", "CSC", "CSR", "SparseMatrix", "block_diag", "coo", "csc", "csr", "from_dense", "linalg", "to_scipy"]

all_hinted(globals(), __all__)
all_hinted(vars(linalg), linalg.__all__)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
        raise AttributeError(text, name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
