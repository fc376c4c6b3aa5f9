"""`Outcome`: what came of one item, as it travels from the worker to the report."""

from __future__ import annotations

from typing import Final, NamedTuple

NOT_RUN: Final = "not run"


class Outcome(NamedTuple):
    """The result of an item: passed, failed, xfailed for a gap, or not run; why; and how long it took.

    `measured` is the largest error under a gap whose answers differ, in units of the last place.
    """

    id: str
    outcome: str
    detail: str = ""
    seconds: float = 0.0
    measured: float | None = None
