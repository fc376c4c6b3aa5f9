"""The logarithm of the gamma function: PyTorch's digamma and polygamma lose their digits beside zeros and poles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import special

if TYPE_CHECKING:
    from tg.backend import Rule

t = special.gamma

RULES: Final[dict[object, Rule]] = {t.gammaln: torch.lgamma}
