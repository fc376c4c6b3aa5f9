"""Threefry, in lanes of its words of 32 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import random as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.lanes import Lanes

if TYPE_CHECKING:
    from tg.plugin.records import Rule


def threefry(key: Lanes, counter: Lanes) -> Lanes:
    """The bits of a key at a counter, by a function that a unit has once: its rounds are a hundred instructions."""

    def write(key: Lanes, counter: Lanes) -> Lanes:
        found: Lanes = t.mixed(key, counter, Lanes.to)
        return found

    return key.body.shared("threefry", write, (key, counter), inline=False)


KERNELS: Final[dict[object, Rule]] = {t.threefry: Elementwise(unsigned=threefry)}
