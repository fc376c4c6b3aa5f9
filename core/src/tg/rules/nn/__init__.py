"""Rules of networks' ops."""

from __future__ import annotations

from tg.rules.nn import convolution

RULES = convolution.RULES
PASSES = convolution.PASSES

__all__ = ["PASSES", "RULES"]
