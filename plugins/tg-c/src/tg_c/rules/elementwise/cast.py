"""Conversion between dtypes: floating to integer saturates and takes NaN to 0, integer to integer wraps.

A complex number becomes real by its real part; it is not 0 if either part is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.ops.elementwise.cast import Cast
from tg.types.dtypes import is_complex, is_float, is_integer, numpy_dtype
from tg_c.half import narrowed
from tg_c.templates import Written
from tg_c.text import C_TYPES, PARTS, is_half, literal

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_c.lanes import LaneElement
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


def cast_lanes(op: Cast, element: LaneElement) -> str:
    """The conversion of a vector."""
    (x,), vectors, source = element.texts(), element.vectors, element.dtype
    if op.dtype == "bool":
        return x if source == "bool" else f"{x} != 0"
    kind = C_TYPES[op.dtype]
    if source == "bool":
        mask = vectors.mask(kind)
        return f"{vectors.function('number', kind)}({vectors.resized(x, element.kind, mask)})"
    if is_integer(op.dtype) and is_float(source):
        return f"{_saturating_lanes(element, op.dtype)}({x})"
    return vectors.converted(x, element.kind, kind)


# What is out of range, NaN too, is taken for 0 before the conversion, whose result C then knows.
SATURATING_LANES: Final = """\
TG_INLINE @R {name}(@T x) {{
  const @I low = x <= {low}, high = x >= {high};
  const @R whole = {whole};
  return whole | ((@R){lows} & {least}) | ((@R){highs} & {most});
}}"""


def _saturating_lanes(element: LaneElement, target: str) -> str:
    """The name of the function of vectors that truncates and saturates."""
    vectors, kind, source = element.vectors, C_TYPES[target], element.kind
    name = f"tg_cast_{element.vector}_{element.result_vector}"
    limits, mask = np.iinfo(target), vectors.mask(kind)
    low, high = (literal(numpy_dtype(element.dtype).type(n), element.dtype) for n in (limits.min, limits.max))
    inside = "(@T)((@I)x & ~(low | high) & (x == x))"
    through = "i32" if limits.dtype.itemsize < 4 else kind  # there are no instructions to narrower integers
    whole = vectors.converted(inside, source, through)
    text = SATURATING_LANES.format(
        name=name,
        low=low,
        high=high,
        whole=whole if through == kind else vectors.converted(whole, through, kind),
        lows=vectors.resized("low", vectors.mask(source), mask),
        highs=vectors.resized("high", vectors.mask(source), mask),
        least=literal(limits.min, target),
        most=literal(limits.max, target),
    )
    element.prelude.need(name, element.expand(text))
    return name


RULES: Final[dict[object, Rule]] = {Cast: Written(cast, cast_lanes)}
