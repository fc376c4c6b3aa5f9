"""Triangular systems, as PyTorch has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import SolveTriangular

if TYPE_CHECKING:
    from tg.backend import Rule


def solve_triangular(op: SolveTriangular, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The solution; without `raises` NaN where a diagonal has a zero."""
    turned = {"n": a, "t": a.mT, "c": a.mH}[op.transpose]
    upper = op.lower != (op.transpose == "n")
    solution = torch.linalg.solve_triangular(turned, b, upper=upper, unitriangular=op.unit_diagonal)
    if op.raises or op.unit_diagonal:
        return solution
    singular = (torch.diagonal(a, dim1=-2, dim2=-1) == 0).any(-1)
    return torch.where(singular[..., None, None], torch.nan, solution)


RULES: Final[dict[object, Rule]] = {SolveTriangular: solve_triangular}
