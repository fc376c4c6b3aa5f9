"""Arrays made of nothing but lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import creation as t
from tg_torch.limits import affordable

if TYPE_CHECKING:
    from tg.backend import Rule
    from tg_torch.place import Place


def arange(op: t.Arange, *sizes: int, context: Place) -> torch.Tensor:
    """The integers from 0."""
    n = sizes[0] if op.length is None else op.length
    affordable((n,), torch.int64)
    return torch.arange(n, dtype=torch.int64, device=context.device)


RULES: Final[dict[object, Rule]] = {t.Arange: arange}
