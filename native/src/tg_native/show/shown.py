"""Generated code as it is shown: loop nests are called after the user's variables, and say which lines they come from.

What is compiled has numbers only, so that the same program under other names, or at other lines, is found compiled.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tg.link.timed import ASSIGNED

if TYPE_CHECKING:
    from collections.abc import Sequence

LOOP: Final = re.compile(r"\bloop\d+\b")
PLACE: Final = re.compile(r"^\s*(?:/\*|#|;) (\S.*?:\d+[^:]*:  (.*?))(?: \*/)?$")  # a comment that names a line
MOST_NAMES: Final = 2  # of one loop
MOST_LINES: Final = 4  # of those that share a loop


def with_names(text: str, definition: str, comment: str) -> str:
    """The text of a unit with its loops renamed, and with the user's lines before each.

    Args:
        text: the unit, with comments that name lines before what these became.
        definition: what a line that defines the loop `{loop}` contains.
        comment: how a comment is written, with `{text}`.
    """
    places = _places(text)
    names = {loop: _name(loop, [source for _, source in found]) for loop, found in places.items()}
    rows: list[str] = []
    for line in text.split("\n"):
        is_note = PLACE.match(line) is not None
        for loop in () if is_note else dict.fromkeys(LOOP.findall(line)):
            if definition.format(loop=loop) in line:
                rows += [comment.format(text=place) for place, _ in places.get(loop, ())]
        rows.append(line if is_note else LOOP.sub(lambda found: names.get(found[0], found[0]), line))
    return "\n".join(rows)


def _places(text: str) -> dict[str, list[tuple[str, str]]]:
    """For each loop the lines of the user's above its calls: in full, and their text."""
    found: dict[str, dict[tuple[str, str], None]] = {}
    above: list[tuple[str, str]] = []
    last_was_note = False
    for line in text.split("\n"):
        note = PLACE.match(line)
        if note is not None:
            above = [*(above if last_was_note else ()), (note[1], note[2])]
        elif line and not line[0].isspace():  # another function
            above = []
        else:
            for loop in LOOP.findall(line):
                found.setdefault(loop, {}).update(dict.fromkeys(above))
        last_was_note = note is not None
    return {loop: list(places)[:MOST_LINES] for loop, places in found.items()}


def _name(loop: str, sources: Sequence[str]) -> str:
    assigned = (ASSIGNED.match(source) for source in sources)
    names = dict.fromkeys(found[1] for found in assigned if found is not None)
    return "_".join((loop, *list(names)[:MOST_NAMES]))
