"""Rewrites for MLX: none. `mx.compile` fuses by itself, and every op has a rule or expands."""

from __future__ import annotations

from typing import Final

from tg.plugin import Rewrites

REWRITES: Final = Rewrites()
