"""Gaps of the JAX backend."""

from __future__ import annotations

from typing import Final

from tg import NoRuleError
from tg.backend import Gap, Nonzero

GAPS: Final[tuple[Gap, ...]] = (
    Gap(
        Nonzero,
        None,
        None,
        "never",
        NoRuleError,
        "XLA has no lengths that depend on values; with size= there is room for a stated number",
    ),
    Gap(
        "subnormals",  # of no op alone: a word for what conformance cases need
        None,
        None,
        "upstream",
        None,
        "XLA computes on processors with subnormal numbers taken for 0 (jax-ml/jax#16200, openxla/xla#22858)",
    ),
)
