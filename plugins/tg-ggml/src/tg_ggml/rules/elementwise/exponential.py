"""Exponentials and logarithms that ggml computes to a few units in the last place; it has others with fewer digits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import ggml as g

from tg.backend import exponential as t
from tg_ggml.rules.elementwise.arithmetic import unary

if TYPE_CHECKING:
    from tg.backend import Rule

RULES: Final[dict[object, Rule]] = {
    t.exp: unary(g.ggml_exp),
    t.log: unary(g.ggml_log),
    t.sigmoid: unary(g.ggml_sigmoid),
}
