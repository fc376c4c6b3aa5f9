"""Factors of sparse matrices, which MLX does not have: `HOSTED` lists them, and the host computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tg.backend import Rule

RULES: Final[dict[object, Rule]] = {}
