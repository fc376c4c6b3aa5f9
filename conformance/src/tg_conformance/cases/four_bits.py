"""Cases of `ops/four_bits`: both orders of axes, odd lengths, both signs."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.errors import DtypeError
from tg.ops.four_bits import FAMILY
from tg.plugin.case import Case, f32, fixed, i8, u8
from tg_conformance.cases.family import of_family
from tg_conformance.cases.integer_products import whole


def packed(q: Any) -> Any:
    """Two levels in each byte, the first in the low half."""
    bits = np.pad(q.astype(np.uint8) & 15, ((0, 0), (0, q.shape[1] % 2)))
    return bits[:, ::2] | bits[:, 1::2] << 4


def halves(x: Any) -> Any:
    """Both halves of each byte, the low one first."""
    return np.stack([x & 15, x >> 4], -1).reshape(x.shape[0], -1)


WRITTEN: Final = (
    Case(
        lambda q, r: (tg.pack_int4(q), tg.pack_int4(r, 0), tg.unpack_int4(r, "uint4", 0), tg.unpack_int4(r)),
        [i8("n", "m", values=whole), u8("n", "m", values=whole)],
        name="pack_int4",
        oracle=lambda q, r: (packed(q), packed(r.T).T, halves(r.T).T, (halves(r) ^ 8).astype(np.int8) - np.int8(8)),
    ),
    Case(
        lambda q: tg.unpack_int4(tg.pack_int4(q, 0), axis=0, length=q.shape[0]),
        [fixed([[-8, 7], [3, -1], [0, 5]], "int8")],
        name="unpack_int4 of pack_int4",
        oracle=lambda q: q,
    ),
    Case(tg.unpack_int4, [i8("n")], name="unpack_int4 of int8", raises=DtypeError),
    Case(tg.pack_int4, [f32("n")], name="pack_int4 of floats", raises=DtypeError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
