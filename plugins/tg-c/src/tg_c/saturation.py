"""Conversions from floats to integers that saturate, as functions of C: of one number, and of lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.backend import numpy_dtype
from tg_c.text import literal
from tg_c.vectors import size_of
from tg_native.kernels.dtypes import WORDS

if TYPE_CHECKING:
    from tg_c.prelude import Prelude
    from tg_c.vectors import Vectors

# What is out of range, NaN too, is taken for 0 before the conversion, whose result C then knows.
ONE: Final = """\
static inline {kind} {name}({source} x) {{
  if (x != x) return 0;
  if (x >= {high}) return {most};
  return x <= {low} ? {least} : ({kind})x;
}}"""
LANES: Final = """\
TG_INLINE {result} {name}({vector} x) {{
  const {mask} low = x <= {low}, high = x >= {high};
  const {result} whole = {whole};
  return whole | (({result}){lows} & {least}) | (({result}){highs} & {most});
}}"""


def of_one(prelude: Prelude, source: str, target: str) -> str:
    """The name of the function of one number of a dtype that gives one of another."""
    name = f"tg_cast_{WORDS[source]}_{WORDS[target]}"
    words = _limits(source, target)
    prelude.need(name, ONE.format(kind=WORDS[target], name=name, source=WORDS[source], **words))
    return name


def of_lanes(vectors: Vectors, source: str, target: str) -> str:
    """The name of the function of lanes of a dtype that gives as many of another."""
    kind, item = WORDS[target], WORDS[source]
    vector, result = vectors.type(item), vectors.type(kind)
    name = f"tg_cast_{vector}_{result}"
    mask = vectors.mask(item)
    inside = f"({vector})(({vectors.type(mask)})x & ~(low | high) & (x == x))"
    through = "i32" if size_of(kind) < 4 else kind  # there are no instructions to narrower integers
    whole = vectors.converted(inside, item, through)
    text = LANES.format(
        **_limits(source, target),
        result=result,
        vector=vector,
        name=name,
        mask=vectors.type(mask),
        whole=whole if through == kind else vectors.converted(whole, through, kind),
        lows=vectors.resized("low", mask, vectors.mask(kind)),
        highs=vectors.resized("high", mask, vectors.mask(kind)),
    )
    vectors.prelude.need(name, text)
    return name


def _limits(source: str, target: str) -> dict[str, str]:
    limits, form = np.iinfo(target), numpy_dtype(source).type
    return {
        "low": literal(form(limits.min), source),
        "high": literal(form(limits.max), source),
        "least": literal(limits.min, target),
        "most": literal(limits.max, target),
    }
