"""Record of a written program, and its presentation."""

from __future__ import annotations

from typing import Final, Protocol

NAMES: Final = {"run": "graph0", "plan": "plan0"}  # of the functions of the outputs, and of their lengths, in the text


class Shown(Protocol):
    """Gives a unit as people read it: with the user's lines, and without what is the same in all unless it is full."""

    def __call__(self, *, full: bool) -> str: ...
