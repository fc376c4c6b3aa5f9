"""Rounding to whole numbers; ggml's own round takes halves away from 0, and is not used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import ggml as g

from tg.backend import rounding as t
from tg_ggml.rules.elementwise.arithmetic import unary

if TYPE_CHECKING:
    from tg.backend import Rule

RULES: Final[dict[object, Rule]] = {
    t.floor: unary(g.ggml_floor),
    t.ceil: unary(g.ggml_ceil),
    t.trunc: unary(g.ggml_trunc),
}
