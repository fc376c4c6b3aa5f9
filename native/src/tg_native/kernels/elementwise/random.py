"""Threefry, in lanes of its words of 32 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import random as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.lanes import Lanes

if TYPE_CHECKING:
    from tg.plugin.records import Rule

ABREAST: Final = 4
"""Vectors of counters that take the rounds together: a round is four steps, each of which waits for the one before."""


def threefry(key: Lanes, counter: Lanes) -> Lanes:
    """The bits of a key at a counter: in lanes in place, so that vectors go abreast, else by a call."""

    def write(key: Lanes, counter: Lanes) -> Lanes:
        found: Lanes = t.mixed(key, counter, Lanes.to)
        return found

    if key.body.lanes:
        return write(key, counter)
    return key.body.shared("threefry", write, (key, counter), inline=False)


KERNELS: Final[dict[object, Rule]] = {t.threefry: Elementwise(unsigned=threefry, abreast=ABREAST)}
