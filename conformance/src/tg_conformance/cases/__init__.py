"""The cases of the kit, family by family, in the files that have the names of core's op families."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_conformance import functions
from tg_conformance.cases import contraction, control, creation, cumulative, indexing, reduction, shape
from tg_conformance.cases.elementwise import arithmetic, bitwise, cast, comparison, exponential, trigonometric

if TYPE_CHECKING:
    from tg.plugin.case import Case

CASES: Final[tuple[Case, ...]] = (
    *arithmetic.CASES,
    *bitwise.CASES,
    *cast.CASES,
    *comparison.CASES,
    *exponential.CASES,
    *trigonometric.CASES,
    *contraction.CASES,
    *control.CASES,
    *creation.CASES,
    *cumulative.CASES,
    *functions.CASES,
    *indexing.CASES,
    *reduction.CASES,
    *shape.CASES,
)
