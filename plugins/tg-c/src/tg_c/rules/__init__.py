"""The rules of the C backend, `RuleProtocol("source", 1)`, in files named as core's `ops/`.

A rule for a function of single elements is called with the op and an `Element`, and returns a C expression. A rule for
another op is called with the op and a `Site`, and returns the value of each result: a `Scalar` or an `Array`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_c.printed import Printed
from tg_native.fusion.loop import Loop
from tg_native.kernels.elementwise import KERNELS
from tg_native.loops.nest import loop
from tg_native.rules import contraction, control, creation, cumulative, indexing, reduction, shape, sorting

if TYPE_CHECKING:
    from tg.backend import Rule

RULES: Final[dict[object, Rule]] = {
    **{key: Printed(kernel) for key, kernel in KERNELS.items()},
    **contraction.RULES,
    **control.RULES,
    **creation.RULES,
    **cumulative.RULES,
    **indexing.RULES,
    **reduction.RULES,
    **shape.RULES,
    **sorting.RULES,
    Loop: loop,
}
