"""Gaps of the C backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tg.backend import Gap

GAPS: Final[tuple[Gap, ...]] = ()
