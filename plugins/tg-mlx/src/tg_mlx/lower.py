"""Rewrites for MLX: exponentials that one function computes for several. `mx.compile` fuses by itself."""

from __future__ import annotations

from typing import Final

from tg import exp, log1p, sigmoid, softplus
from tg.backend import BACKEND, REASSOCIATES, RUNNING_RESULTS, STEPS_AHEAD, Rewrites, holds, rule

REWRITES: Final = Rewrites(
    rules=(
        RUNNING_RESULTS,
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
    ),
    passes=(STEPS_AHEAD,),
)
