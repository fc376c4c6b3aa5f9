"""Cases of `ops/elementwise/bitwise`."""

from __future__ import annotations

from typing import Any, Final

import tg
from tg.ops.elementwise.bitwise import FAMILY
from tg_conformance.cases.elementwise.record import Facts, Oracle, generated
from tg_conformance.cases.family import of_family


def _invert(x: Any) -> Any:
    return not x if isinstance(x, bool) else ~x


FACTS: Final = {
    tg.bitwise_and: Facts(Oracle(None, lambda x, y: x & y)),
    tg.bitwise_or: Facts(Oracle(None, lambda x, y: x | y)),
    tg.bitwise_xor: Facts(Oracle(None, lambda x, y: x ^ y)),
    tg.bitwise_invert: Facts(Oracle(None, _invert)),
}

CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS))
