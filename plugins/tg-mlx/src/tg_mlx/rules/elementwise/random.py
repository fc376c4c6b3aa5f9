"""Threefry, in uint32: MLX's own keys give other bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import random as t

if TYPE_CHECKING:
    from tg.backend import Rule


def threefry(key: Any, counter: Any) -> Any:
    """The bits of a key at a counter."""
    return t.mixed(key, counter, lambda x, dtype: x.astype(getattr(mx, dtype)))


RULES: Final[dict[object, Rule]] = {t.threefry: threefry}
