"""Cases of `ops/updating`: what is stored beside a value changes nothing of it."""

from __future__ import annotations

from typing import Any, Final

import tg
from tg.ops.updating import FAMILY, Updating
from tg.plugin.case import Case, any_dtype
from tg_conformance.cases.family import of_family


def stored_beside(x: Any) -> Any:
    """A value beside which another is stored, in an inner graph: cases have no shared variables."""
    return tg.call(lambda v: Updating(0)(v, v, v + v) + v, x)


CASES: Final = of_family(
    FAMILY.path,
    Case(
        stored_beside,
        [any_dtype("n", "m")],
        name="Updating",
        dtypes=("int64", "float32", "float64", "complex128"),
        oracle=lambda x: x + x,
    ),
)
