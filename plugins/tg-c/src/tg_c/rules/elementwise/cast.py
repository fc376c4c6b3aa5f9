"""Conversion between dtypes: floating to integer saturates and takes NaN to 0, integer to integer wraps.

A complex number becomes real by its real part; it is not 0 if either part is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.ops.elementwise.cast import Cast
from tg.types.dtypes import is_complex, is_float, is_integer
from tg_c.half import narrowed
from tg_c.text import C_TYPES, PARTS, is_half, literal

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_c.prelude import Element


def cast(op: Cast, element: Element) -> str:
    """The conversion of one element."""
    element = element.widened()
    (x,), source = element.operands, element.dtype
    if op.dtype == "bool":
        return f"{x} != 0"
    if is_complex(source) and not is_complex(op.dtype):
        x, source = f"__real__ {x}", PARTS[source]
    if is_integer(op.dtype) and is_float(source):
        return f"{_saturating(element, op.dtype)}({x})"
    if is_half(op.dtype):
        return narrowed(element.prelude, op.dtype, x, source)
    return f"({C_TYPES[op.dtype]}){x}"


def _saturating(element: Element, target: str) -> str:
    """The name of the function that truncates, in double precision, and saturates."""
    kind = C_TYPES[target]
    name = f"tg_cast_{kind}"
    limits = np.iinfo(target)
    low, high = (literal(float(n), "float64") for n in (limits.min, limits.max))
    element.prelude.need(
        name,
        f"static inline {kind} {name}(f64 x) {{\n"
        f"  if (x != x) return 0;\n"
        f"  if (x >= {high}) return {literal(limits.max, target)};\n"
        f"  return x <= {low} ? {literal(limits.min, target)} : ({kind})x;\n"
        f"}}",
    )
    return name


RULES: Final[dict[object, Rule]] = {Cast: cast}
