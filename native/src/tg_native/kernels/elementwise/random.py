"""Threefry, in lanes of its words of 32 bits."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from tg.ops.elementwise import random as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.lanes import Lanes

if TYPE_CHECKING:
    from tg.plugin.records import Rule

ABREAST: Final = 8
"""Vectors of counters that take the rounds together: a round is four steps, each of which waits for the one before.

Their words are half as many vectors: four need 3.3 ns a word of random bits on C with AVX2, eight 2.6."""


def threefry(key: Lanes, counter: Lanes) -> Lanes:
    """The bits of a key at a counter: in lanes in place, so that vectors go abreast, else by a call."""
    body = key.body

    def write(key: Lanes, counter: Lanes) -> Lanes:
        bits: Lanes = t.mixed(key, counter, Lanes.to, partial(body.in_full_vectors, t.rounds))
        return bits

    if body.lanes:
        return write(key, counter)
    return body.shared("threefry", lambda *both: t.mixed(both[0], both[1], Lanes.to), (key, counter), inline=False)


KERNELS: Final[dict[object, Rule]] = {t.threefry: Elementwise(unsigned=threefry, abreast=ABREAST)}
