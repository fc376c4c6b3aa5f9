"""Eigenvalues of Hermitian matrices and singular values, as PyTorch has them, of what is finite.

Deviation from torch.linalg: a matrix that is not finite has NaN as results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from tg.backend import SVD, Eigh, Eigvalsh, Svdvals

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule


def eigh(op: Eigh, a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Values, vectors, and where there are none."""
    return of_finite(a.tril(), lambda x: torch.linalg.eigh(x, UPLO="L"))


def eigvalsh(op: Eigvalsh, a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Values, and where there are none."""
    return of_finite(a.tril(), lambda x: (torch.linalg.eigvalsh(x, UPLO="L"),))


def svd(op: SVD, a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Vectors, values, vectors, and where there are none."""
    return of_finite(a, lambda x: torch.linalg.svd(x, full_matrices=op.full_matrices))


def svdvals(op: Svdvals, a: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Values, and where there are none."""
    return of_finite(a, lambda x: (torch.linalg.svdvals(x),))


def of_finite(a: torch.Tensor, function: Callable[[torch.Tensor], Any]) -> tuple[torch.Tensor, ...]:
    """Results of a function of matrices, NaN for those that are not finite; 1 for all where PyTorch gives nothing.

    An iteration that ends without result is an error there, which does not tell of which matrix.
    """
    finite = torch.isfinite(a).all(-1).all(-1)
    matrices = torch.where(finite[..., None, None], a, torch.zeros_like(a))
    info = torch.zeros(finite.shape, dtype=torch.int32, device=a.device)
    try:
        values = function(matrices)
    except torch.linalg.LinAlgError:
        values = [torch.full_like(x, torch.nan) for x in function(torch.zeros_like(a))]
        info = info + 1
    results = []
    for x in values:
        flag = finite.reshape((*finite.shape, *(1,) * (x.ndim - finite.ndim)))
        results.append(torch.where(flag, x, torch.nan))
    return (*results, info)


RULES: Final[dict[object, Rule]] = {Eigh: eigh, Eigvalsh: eigvalsh, SVD: svd, Svdvals: svdvals}
