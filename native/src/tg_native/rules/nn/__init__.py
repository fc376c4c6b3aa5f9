"""Rules of networks' ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_native.rules.nn import convolution

if TYPE_CHECKING:
    from tg.plugin.records import Rule

RULES: Final[dict[object, Rule]] = {**convolution.RULES}
