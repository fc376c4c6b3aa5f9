"""Arrays made of nothing but lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import creation as t
from tg_mlx.limits import affordable

if TYPE_CHECKING:
    from tg.backend import Rule


def arange(op: t.Arange, *sizes: int) -> Any:
    """The integers from 0."""
    n = sizes[0] if op.length is None else op.length
    affordable((n,), mx.int64)
    return mx.arange(n, dtype=mx.int64)


RULES: Final[dict[object, Rule]] = {t.Arange: arange}
