"""Cases of `ops/elementwise/bitwise`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.elementwise.bitwise import FAMILY
from tg.plugin.case import Case, fixed, i32
from tg_conformance.cases.elementwise.record import Facts, Oracle, generated
from tg_conformance.cases.family import of_family


def _invert(x: Any) -> Any:
    return not x if isinstance(x, bool) else ~x


def _left(x: int, places: int) -> int:
    """Python's left shift, with the places that no dtype has left out; the kit wraps it."""
    return x << min(places, 64) if places >= 0 else 0


def _right(x: int, places: int) -> int:
    return x >> (min(places, 64) if places >= 0 else 64)


PLACES: Final = ((-3.0, 3.0), (0.0, 3.0))

FACTS: Final = {
    tg.bitwise_and: Facts(Oracle(None, lambda x, y: x & y)),
    tg.bitwise_or: Facts(Oracle(None, lambda x, y: x | y)),
    tg.bitwise_xor: Facts(Oracle(None, lambda x, y: x ^ y)),
    tg.bitwise_invert: Facts(Oracle(None, _invert)),
    tg.left_shift: Facts(Oracle(None, _left), domains=PLACES),
    tg.right_shift: Facts(Oracle(None, _right), domains=PLACES),
}

WRITTEN: Final = (
    Case(
        lambda x, y: (x << y, x >> y),
        [fixed([1, -1, 127, -128, 5, -5, 1, -1], "int8"), fixed([7, 7, 1, 8, 100, 127, -1, -128], "int8")],
        name="shifts by the width and more",
        note="0, or the sign; the same for negative places",
        oracle=lambda x, y: (
            np.array([-128, -128, -2, 0, 0, 0, 0, 0], np.int8),
            np.array([0, -1, 63, -1, 0, -1, 0, -1], np.int8),
        ),
    ),
    Case(
        lambda x: (x << 3, x >> 1, 1 << tg.abs(x), tg.bitwise_left_shift(x, 2), tg.bitwise_right_shift(x, 2)),
        [i32("n")],
        name="shifts as operators",
        oracle=lambda x: (x << 3, x >> 1, np.int32(1) << abs(x), x << 2, x >> 2),
    ),
    Case(
        lambda x, y: (x << y, x >> y),
        [fixed([True, False, True], "bool"), fixed([True, True, False], "bool")],
        name="shifts of bool",
        note="in int8, as NumPy",
        oracle=lambda x, y: (np.array([2, 0, 1], np.int8), np.array([0, 0, 1], np.int8)),
    ),
)

CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN)
