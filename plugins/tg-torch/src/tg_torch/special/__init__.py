"""Substitutes for a rule at one node of a program that runs operation by operation.

A rule does for every dtype, rank and layout. Where those are known, PyTorch's own function often does the same without
a step of Python's, and in the memory of an operand that nothing reads afterwards. What a plugin has put in the place of
a rule stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg_torch.rules import RULES
from tg_torch.special import elementwise, indexing, reduction, shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule, Site

SPECIAL: Final[dict[object, Callable[[Site], Rule | None]]] = {
    **elementwise.SPECIAL,
    **indexing.SPECIAL,
    **reduction.SPECIAL,
    **shape.SPECIAL,
}


def special(rule: Rule, site: Site) -> Rule | None:
    """A function of the operands that does at a node what its rule does, if there is a better one."""
    key = site.op.rule_key
    make = SPECIAL.get(key)
    return make(site) if make is not None and RULES.get(key) is rule else None
