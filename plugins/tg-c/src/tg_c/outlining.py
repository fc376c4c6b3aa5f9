"""Outlining: statements of a loop as a function of their own, one for all that are equal but for their names.

Convolutions with different epilogues copy images, tabulate offsets and store sums alike. ResNet-18's training step has
14 functions of them: 600 lines each, and 130 where these are outlined. gcc takes 4.8 s for the unit, then 2.0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SHARES: Final = ("lo", "hi", "part", "slot")  # parameters of a loop that threads share
NAME: Final = re.compile(rf"(?<![\w.])(?:[knptvxy]\d+|{'|'.join(SHARES)})\b")
DECLARED: Final = re.compile(r"\s*(?:for \()?((?:const )?\w+ \*?(?:const )?)([kt]\d+)(?: =|;)")
CHANGED: Final = re.compile(r"^\s*(\w+) [-+*/|&^]?= |&([kt]\d+)\b", re.MULTILINE)  # or where it lies is handed on


class Outlined(NamedTuple):
    """Parameters and block of a function, and what it is called with."""

    text: str
    arguments: tuple[str, ...]


def kinds_in(lines: Sequence[str]) -> dict[str, str]:
    """The types of the locals that lines declare."""
    matches = filter(None, map(DECLARED.match, lines))
    return {match[2]: match[1] for match in matches}


def outlined(lines: Sequence[str], kinds: Mapping[str, str]) -> Outlined | None:
    """The function of some statements; None where they change a local of others, or read one of unknown type.

    Args:
        kinds: the types of what they may read, by name.
    """
    own = kinds_in(lines)
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    block = "\n".join(line[indent:] for line in lines)
    read = dict.fromkeys(NAME.findall(block))
    arguments = tuple(name for name in read if name not in own)
    changed = {name for pair in CHANGED.findall(block) for name in pair}
    if not (kinds.keys() >= {*arguments} and changed.isdisjoint(arguments)):
        return None
    names = {name: f"p{k}" for k, name in enumerate(arguments)} | {name: f"t{k}" for k, name in enumerate(own)}
    parameters = ", ".join(f"{kinds[name]}{names[name]}" for name in arguments)
    written = NAME.sub(lambda match: names[match[0]], block).replace("\n", "\n  ")
    return Outlined(f"({parameters}) {{\n  {written}\n}}", arguments)
