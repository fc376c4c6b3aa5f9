"""Cases of `ops/elementwise/random`: Threefry in Python's integers, and the vectors that its authors publish."""

from __future__ import annotations

from typing import Final

import numpy as np

import tg
from tg.ops.elementwise import random as ops
from tg.ops.elementwise.random import FAMILY
from tg.plugin.case import Case, fixed
from tg_conformance.cases.elementwise.record import Facts, Oracle, generated
from tg_conformance.cases.family import of_family
from tg_conformance.threefry import threefry

FACTS: Final = {ops.threefry: Facts(Oracle(None, threefry), domains=((0, 2.0**62), (0, 2.0**62)))}

WRITTEN: Final = (
    Case(
        ops.threefry,
        [
            fixed([0, 0xFFFFFFFFFFFFFFFF, 0x13198A2E03707344], "uint64"),
            fixed([0, 0xFFFFFFFFFFFFFFFF, 0x243F6A8885A308D3], "uint64"),
        ],
        name="threefry known answers",
        note="threefry2x32 20 in kat_vectors of Random123",
        oracle=lambda key, counter: np.array([0x6B20015999BA4EFE, 0x1CB996FCBB002BE7, 0xC4923A9C483DF7A0], "uint64"),
    ),
    Case(
        lambda key: (ops.threefry(key, tg.arange(300)[:, None].astype("uint64")), ops.threefry(key[0], 5)),
        [fixed([7, 1 << 63, 12345678901234567890], "uint64")],
        name="threefry of every key at every counter",
        oracle=lambda key: (
            np.array([[threefry(int(k), c) for k in key] for c in range(300)], "uint64"),
            np.array(threefry(int(key[0]), 5), "uint64"),
        ),
    ),
)

CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN)
