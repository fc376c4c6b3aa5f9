"""The error function, its complement and its inverse; PyTorch's erfcx is far off below 0.

Deviation from PyTorch: halves go by way of float32, since PyTorch's erf takes tiny ones to 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import special

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule

t = special.error


def in_single(function: Callable[[torch.Tensor], torch.Tensor]) -> Rule:
    """A function that takes halves to float32 and back."""

    def rule(x: torch.Tensor) -> torch.Tensor:
        return function(x) if x.element_size() > 2 else function(x.to(torch.float32)).to(x.dtype)

    return rule


RULES: Final[dict[object, Rule]] = {
    t.erf: in_single(torch.erf),
    t.erfc: torch.erfc,
    t.erfinv: in_single(torch.erfinv),
}
