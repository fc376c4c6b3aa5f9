"""Cases of `ops/bits`: bits of every length packed and unpacked."""

from __future__ import annotations

from typing import Final

import tg
from tg.errors import DtypeError, InputError
from tg.ops.bits import FAMILY
from tg.plugin.case import Case, any_dtype, b1, f64, fixed
from tg_conformance.cases.family import of_family, twin

WRITTEN: Final = (
    twin(
        "packbits",
        lambda m, x: (m.packbits(x), m.packbits(x, axis=0), m.packbits(x, axis=1, bitorder="little")),
        b1("n", "m"),
    ),
    twin("packbits of integers", lambda m, x: m.packbits(x), any_dtype("n"), dtypes=("int8", "uint8", "int64")),
    twin(
        "unpackbits",
        lambda m, x: (m.unpackbits(x), m.unpackbits(x, count=11), m.unpackbits(x, count=-3, bitorder="little")),
        fixed([0, 1, 2, 128, 200, 255], "uint8"),
    ),
    twin("unpackbits along an axis", lambda m, x: m.unpackbits(x, axis=0), fixed([[1, 2], [130, 255]], "uint8")),
    Case(tg.packbits, [f64("n")], name="packbits of floats", raises=DtypeError),
    Case(tg.unpackbits, [b1("n")], name="unpackbits of bool", raises=DtypeError),
    Case(lambda x: tg.packbits(x, bitorder="middle"), [b1("n")], name="packbits in no order", raises=InputError),  # type: ignore[arg-type]
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
