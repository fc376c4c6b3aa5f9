"""Lines of generated code by the user's places: how a page finds what was made of a line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

NOTE: Final = re.compile(r"\s*(?:/\*|#|;|//)\s")  # a line that is a comment
CLOSES: Final = re.compile(r"\S")  # what stands at the margin ends what a comment is about


def lines_of_places(code: str, places: Iterable[str]) -> dict[str, list[list[int]]]:
    """For each place the stretches of lines of the code that name it, first and last, counted from 0.

    A comment of its own line is about all lines up to the next that names a place, or the end of the function; one
    behind code about its line.
    """
    lines = code.split("\n")
    wanted = sorted(places, key=len, reverse=True)
    if not wanted:
        return {}
    naming = re.compile("|".join(rf"(?<![\w.]){re.escape(place)}(?![\w.])" for place in wanted))
    stretches: dict[str, list[list[int]]] = {}
    about: list[list[int]] = []
    was_note = False
    for number, line in enumerate(lines):
        named = dict.fromkeys(naming.findall(line))
        is_note = NOTE.match(line) is not None
        if named:
            if not (is_note and was_note):
                about = []
            for place in named:
                stretch = [number, number]
                stretches.setdefault(place, []).append(stretch)
                about += [stretch] if is_note else []
        elif about and line.strip():
            for stretch in about:
                stretch[1] = number
            if line.startswith("}") or (CLOSES.match(line) and number > about[0][0] + 1):
                about = []
        was_note = is_note and bool(named)
    return stretches
