"""Trigonometric and hyperbolic functions that ggml has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import ggml as g

from tg.backend import trigonometric as t
from tg_ggml.rules.elementwise.arithmetic import unary

if TYPE_CHECKING:
    from tg.backend import Rule

RULES: Final[dict[object, Rule]] = {
    t.sin: unary(g.ggml_sin),
    t.cos: unary(g.ggml_cos),
    t.tanh: unary(g.ggml_tanh),
}
