"""The error function and its complement.

Deviation from PyTorch: halves go by way of float32, since PyTorch's erf takes tiny ones to 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import special

if TYPE_CHECKING:
    from tg.backend import Rule

t = special.error


def erf(x: torch.Tensor) -> torch.Tensor:
    """The error function."""
    return torch.erf(x) if x.element_size() > 2 else torch.erf(x.to(torch.float32)).to(x.dtype)


RULES: Final[dict[object, Rule]] = {t.erf: erf, t.erfc: torch.erfc}
