"""Common parts of backends that write code themselves: fusion, plans, loops, kernels, entries.

For tg it is an extension: the family of ops that fusion makes comes from here. Authors of rules import the words of
kernels from here (`tg_native.Elementwise`, `tg_native.select`, …); every other name may change with any release.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tg.plugin import hookimpl

if TYPE_CHECKING:
    from tg.ops.family import Family
    from tg_native.kernels.element import Elementwise
    from tg_native.kernels.functions import (
        at_least,
        at_most,
        ceil,
        copysign,
        fabs,
        floor,
        fma,
        larger,
        rint,
        smaller,
        sqrt,
        trunc,
        unless,
    )
    from tg_native.kernels.lanes import Lanes, Pair, select
    from tg_native.kernels.libm import cos, exp, libm, log, log1p, sin

__all__ = [
    "Elementwise",
    "Lanes",
    "Pair",
    "at_least",
    "at_most",
    "ceil",
    "copysign",
    "cos",
    "exp",
    "fabs",
    "floor",
    "fma",
    "larger",
    "libm",
    "log",
    "log1p",
    "rint",
    "select",
    "sin",
    "smaller",
    "sqrt",
    "tg_ops",
    "trunc",
    "unless",
]

_NAMES = {
    "element": "Elementwise",
    "functions": "at_least at_most ceil copysign fabs floor fma larger rint smaller sqrt trunc unless",
    "lanes": "Lanes Pair select",
    "libm": "cos exp libm log log1p sin",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}


@hookimpl
def tg_ops() -> tuple[Family, ...]:
    """The loops that fusion makes, and what small matrices are handed over as."""
    from tg_native.fusion import epilogue, lane_loops, loop, registers

    return (loop.FAMILY, lane_loops.FAMILY, registers.FAMILY, epilogue.FAMILY)


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tg_native' has no attribute {name!r}", name=name)
    member = globals()[name] = getattr(importlib.import_module(f"tg_native.kernels.{home}"), name)
    return member
