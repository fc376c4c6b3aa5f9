"""What backends that write code themselves have in common: fusion, plans, loops, kernels, entries.

For tg it is an extension: the family of ops that fusion makes comes from here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.plugin import hookimpl

if TYPE_CHECKING:
    from tg.ops.family import Family


@hookimpl
def tg_ops() -> tuple[Family, ...]:
    """The loops that fusion makes."""
    from tg_native.fusion.loop import FAMILY

    return (FAMILY,)
