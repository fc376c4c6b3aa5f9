"""`Outcome`: what came of one item, as it travels from the worker to the report."""

from __future__ import annotations

from typing import NamedTuple


class Outcome(NamedTuple):
    """What came of an item: passed, failed, or xfailed for a gap; why; and how long it took."""

    id: str
    outcome: str
    detail: str = ""
    seconds: float = 0.0
