"""Rounding to whole numbers, as MLX has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import mlx.core as mx

from tg.backend import rounding as t

if TYPE_CHECKING:
    from tg.backend import Rule

RULES: Final[dict[object, Rule]] = {t.floor: mx.floor, t.ceil: mx.ceil, t.trunc: mx.trunc, t.rint: mx.round}
