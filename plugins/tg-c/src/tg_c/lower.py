"""Strengths of loops in C."""

from __future__ import annotations

from typing import Final

from tg_native.fusion.lower import Loops
from tg_native.kernels.dtypes import kind_of


def reduces(dtype: str) -> bool:
    """No halves, which are narrowed and widened again on their way: two loops were as fast, or faster by a third."""
    return kind_of(dtype) != "half"


def columns(dtype: str) -> bool:
    """No complex numbers, of which two loops are faster by a quarter."""
    return kind_of(dtype) not in ("half", "complex", "boolean")


LOOPS: Final = Loops(reduces, columns)
