"""The quantile of the normal distribution: PyTorch's distribution function is 0 where it is small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import special
from tg_torch.rules.elementwise.special.error import in_single

if TYPE_CHECKING:
    from tg.backend import Rule

t = special.normal

RULES: Final[dict[object, Rule]] = {t.ndtri: in_single(torch.special.ndtri)}
