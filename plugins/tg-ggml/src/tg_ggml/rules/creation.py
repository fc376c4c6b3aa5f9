"""Arrays made of nothing but lengths, which are constants of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.backend import creation as t
from tg_ggml.tensors import constant

if TYPE_CHECKING:
    from tg.backend import Rule


def arange(op: t.Arange, *sizes: int) -> Any:
    """The integers from 0."""
    return constant(np.arange(sizes[0] if op.length is None else op.length, dtype=np.int64))


RULES: Final[dict[object, Rule]] = {t.Arange: arange}
