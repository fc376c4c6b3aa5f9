"""Cases of `ops/insertion`: entries at positions that are known, and at computed ones."""

from __future__ import annotations

from typing import Final

import tg
from tg.errors import BoundsError, InputError
from tg.ops.insertion import FAMILY
from tg.plugin.case import Case, b1, f64, fixed
from tg_conformance.cases.family import of_family, twin

WRITTEN: Final = (
    twin(
        "delete at computed positions",
        lambda m, x, i: (m.delete(x, i), m.delete(x, i[0]), m.delete(x, i, axis=None)),
        f64(5),
        fixed([0, 2, 2, -1], "int64"),
        layouts=("C",),
    ),
    twin("delete where a mask holds", lambda m, x, mask: m.delete(x, mask, 0), f64(4, 3), b1(4), gradient=True),
    twin(
        "insert at computed positions",
        lambda m, x, i, v: (m.insert(x, i, v), m.insert(x, i[0], v), m.insert(x, 1, v)),
        f64(5),
        fixed([3, 0, -1, 3], "int64"),
        f64(4),
        gradient=True,
    ),
    twin(
        "insert along an axis of unknown length",
        lambda m, x, v: (m.insert(x, 1, v, axis=0), m.insert(x, [0, 2], 5.0, axis=1)),
        f64(3, 4),
        f64(4),
        gradient=True,
    ),
    Case(lambda x, i: tg.insert(x, i, 1.0), [f64(3), fixed([4], "int64")], name="insert outside", raises=BoundsError),
    Case(tg.delete, [f64(3), fixed([3, 0], "int64")], name="delete outside", raises=BoundsError),
    Case(lambda x: tg.insert(x, x, 1.0), [f64(3)], name="insert at floats", raises=InputError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
