"""`tg.masked`: arrays of which some elements do not count; batches of sequences of several lengths.

x = tg.masked.from_lengths(values, lengths)
loss = (tg.masked.log(x) ** 2).mean().filled()
"""

from __future__ import annotations

from typing import Any

import tg
from tg.hints import all_hinted
from tg.masked.arrays import MaskedArray, apply
from tg.masked.making import (
    array,
    concatenate,
    from_lengths,
    from_ragged,
    masked_invalid,
    masked_where,
    stack,
    tensor,
    where,
)
from tg.masked.ordering import argsort, average, median, sort
from tg.ops.catalog import NAMES
from tg.variables.applied import member

__all__ = [
    "MaskedArray",
    "apply",
    "argsort",
    "array",
    "average",
    "concatenate",
    "from_lengths",
    "from_ragged",
    "masked_invalid",
    "masked_where",
    "median",
    "sort",
    "stack",
    "tensor",
    "where",
]

all_hinted(globals(), __all__)


def __getattr__(name: str) -> Any:
    return member(globals(), name, NAMES, apply, dir(tg))


def __dir__() -> list[str]:
    return sorted(__all__)
