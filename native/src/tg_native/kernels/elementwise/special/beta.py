"""The beta function and quotients of gamma functions, as their expansions say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.ops.elementwise.special.beta import FAMILY
from tg_native.kernels.expanded import expanded

if TYPE_CHECKING:
    from tg.plugin.records import Rule

KERNELS: Final[dict[object, Rule]] = {fn: expanded(fn) for fn in FAMILY.elementwise}
