"""What the JAX backend does not do."""

from __future__ import annotations

from typing import Final

from tg.plugin import Gap

GAPS: Final[tuple[Gap, ...]] = (
    Gap(
        "subnormals",  # of no op alone: a word for what conformance cases need
        None,
        None,
        "upstream",
        None,
        "XLA computes on processors with subnormal numbers taken for 0 (jax-ml/jax#16200, openxla/xla#22858)",
    ),
)
