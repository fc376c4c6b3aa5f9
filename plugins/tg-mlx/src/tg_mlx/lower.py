"""Rewrites for MLX: exponentials that one function computes for several. `mx.compile` fuses by itself."""

from __future__ import annotations

from typing import Final

from tg.graph.facts import holds
from tg.ops.elementwise.exponential import exp, log1p, sigmoid, softplus
from tg.plugin import Rewrites
from tg.rewrite.phases import BACKEND, REASSOCIATES
from tg.rewrite.rule import rule

REWRITES: Final = Rewrites(
    rules=(
        rule(
            "softplus_of_nonpositive",
            match=softplus,
            replace=lambda x: log1p(exp(x)),
            when=lambda x: holds(x, "nonpositive"),
            phase=BACKEND,
            kind=REASSOCIATES,
            why="The exponential does not overflow, and its derivative, the sigmoid function, can share it.",
        ),
        rule(
            "sigmoid_of_nonpositive",
            match=sigmoid,
            replace=lambda x: exp(x) / (1 + exp(x)),
            when=lambda x: holds(x, "nonpositive"),
            phase=BACKEND,
            kind=REASSOCIATES,
            why="The exponential does not overflow, and the softplus function, whose derivative this is, can share it.",
        ),
    )
)
