"""Shape: permuting, inserting, dropping and repeating axes are views; reshaping is one of what is contiguous."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_native.plan.views import VIEWS

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {**VIEWS}
