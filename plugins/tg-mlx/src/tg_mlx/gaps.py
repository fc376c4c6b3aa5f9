"""Gaps of the MLX backend."""

from __future__ import annotations

from typing import Final

from tg import NoRuleError
from tg.backend import Gap

GAPS: Final[tuple[Gap, ...]] = (
    Gap(
        None,
        frozenset({"complex128"}),
        None,
        "upstream",
        NoRuleError,
        "MLX has no complex numbers of double precision",
    ),
)
