"""What the C backend does not do."""

from __future__ import annotations

from typing import Final

from tg.errors import NoRuleError
from tg.plugin.records import Gap

ABSENT: Final = frozenset({"float16", "bfloat16", "complex64", "complex128"})

GAPS: Final[tuple[Gap, ...]] = (
    Gap(None, ABSENT, None, "todo", NoRuleError, "the C backend has no half-precision and no complex dtypes yet"),
)
