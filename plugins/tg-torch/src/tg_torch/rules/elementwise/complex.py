"""Parts of complex numbers, as PyTorch has them; the parts are views, and conjugates are made at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import complex as t

if TYPE_CHECKING:
    from tg.backend import Rule

RULES: Final[dict[object, Rule]] = {
    t.complex: torch.complex,
    t.real: torch.real,
    t.imag: torch.imag,
    t.conjugate: torch.conj_physical,
}
