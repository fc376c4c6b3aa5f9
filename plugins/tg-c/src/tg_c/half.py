"""float16 and bfloat16 for rules that are C text: the conversions of `tg_native.kernels.half`, of one element.

A stored half is a struct, so that C refuses arithmetic on its bits.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tg_c.body import Body, function
from tg_native.kernels import half
from tg_native.kernels.dtypes import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_c.prelude import Prelude
    from tg_native.kernels.lanes import Lanes


def widened(prelude: Prelude, dtype: str, text: str) -> str:
    """A stored half as float32."""
    return _called(prelude, f"tg_widen_{WORDS[dtype]}", half.widened, dtype, text)


def narrowed(prelude: Prelude, dtype: str, text: str) -> str:
    """A float32 as a stored half."""
    return _called(prelude, f"tg_narrow_{WORDS[dtype]}", partial(half.narrowed, dtype=dtype), "float32", text)


def _called(prelude: Prelude, name: str, write: Callable[[Lanes], Lanes], dtype: str, operand: str) -> str:
    """The call of a function of one element that is a kernel."""
    if not prelude.has(name):
        prelude.need(name, function(name, write, Body(prelude), [dtype], head="static inline"))
    return f"{name}({operand})"
