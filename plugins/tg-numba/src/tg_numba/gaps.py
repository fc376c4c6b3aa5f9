"""What the Numba backend does not do."""

from __future__ import annotations

from typing import Final

from tg.errors import NoRuleError
from tg.plugin.records import Gap

ABSENT: Final = frozenset({"float16", "bfloat16"})

GAPS: Final[tuple[Gap, ...]] = (
    Gap(None, ABSENT, None, "todo", NoRuleError, "the Numba backend has no half-precision dtypes yet"),
)
