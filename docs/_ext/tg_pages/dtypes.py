"""Dtypes of elementwise functions in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.errors import DtypeError
from tg.types.dtypes import BOOL, COMPLEX, DTYPES, FLOATS, INTEGERS

if TYPE_CHECKING:
    from tg.ops.elementwise.record import ElementwiseFunction

GROUPS = ((BOOL, (BOOL,)), ("integers", INTEGERS), ("floats", FLOATS), ("complex", COMPLEX))
ALL = frozenset(DTYPES)


def loops(fn: ElementwiseFunction) -> str:
    """The dtypes for which there is a loop, in words: `floats, complex`, `integers, floats -> bool`."""
    found: dict[str, list[str]] = {}
    for dtype in DTYPES:
        try:
            operands, result = fn.loop((dtype,) * fn.arity)
        except DtypeError:
            continue
        if dtype in operands:
            found.setdefault(result, []).append(dtype)
    if len(found) == 1:
        ((result, dtypes),) = found.items()
        return grouped(dtypes) if dtypes == [result] else f"{grouped(dtypes)} -> {result}"
    same = [result for result, dtypes in found.items() if result in dtypes]
    texts = [grouped(same)] if same else []
    for result, dtypes in found.items():
        others = [dtype for dtype in dtypes if dtype != result]
        texts += [f"{grouped(others)} -> {result}"] if others else []
    return "; ".join(texts)


def grouped(dtypes: list[str]) -> str:
    """Dtypes by kind where all of a kind are there."""
    if set(dtypes) >= ALL:
        return "all"
    texts = []
    for name, members in GROUPS:
        held = [dtype for dtype in members if dtype in dtypes]
        texts += [name] if len(held) == len(members) else held
    return ", ".join(texts)
