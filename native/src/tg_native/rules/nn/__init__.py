"""Rules of networks' ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_native.rules.nn import attention, convolution

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {**attention.RULES, **convolution.RULES}
