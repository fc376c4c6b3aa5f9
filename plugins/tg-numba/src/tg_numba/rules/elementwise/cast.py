"""Conversion between dtypes: floating to integer saturates and takes NaN to 0, integer to integer wraps.

A complex number becomes real by its real part; it is not 0 if either part is not.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.cast import Cast
from tg.types.dtypes import is_complex, is_float, is_integer
from tg_numba.text import WORDS, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.plugin.records import Rule
    from tg_numba.element import Element

PARTS: Final = {"complex64": "float32", "complex128": "float64"}


def cast(op: Cast, element: Element) -> str:
    """The conversion of one element."""
    (x,), source, literal = element.operands, element.dtype, element.unit.literal
    if op.dtype == "bool":
        return f"{x} != {literal(0, source)}" if kind_of(source) != "boolean" else x
    if is_complex(source) and not is_complex(op.dtype):
        x, source = f"real({x})", PARTS[source]
    word = WORDS[op.dtype]
    if not (is_integer(op.dtype) and is_float(source)):
        return f"{word}({x})"
    return f"{element.unit.function_of(saturating(op.dtype))}({x})"


@functools.cache
def saturating(dtype: str) -> Callable[[Any], Any]:
    """The function that truncates, in double precision, and saturates."""
    kind = np.dtype(dtype).type
    limits = np.iinfo(dtype)
    low, high, least, most, none = (float(limits.min), float(limits.max), kind(limits.min), kind(limits.max), kind(0))

    def to(x: Any) -> Any:
        wide = np.float64(x)
        if wide != wide:
            return none
        if wide >= high:
            return most
        if wide <= low:
            return least
        return kind(wide)

    to.__name__ = f"to_{dtype}"
    return to


RULES: Final[dict[object, Rule]] = {Cast: cast}
