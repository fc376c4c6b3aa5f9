"""Rewrites for PyTorch: none. Where programs are compiled, `torch.compile` fuses; every op has a rule or expands."""

from __future__ import annotations

from typing import Final

from tg.plugin import Rewrites

REWRITES: Final = Rewrites()
