"""Rules of integer division and remainder."""

from __future__ import annotations

from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import INTEGER, rule

RULES = (
    rule(
        "floor_divide_by_one",
        match=lambda x: x // 1,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="1 is neutral; lengths are divided so.",
    ),
    rule(
        "remainder_by_one",
        match=lambda x: x % 1,
        replace=lambda x: 0,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="Every integer is a multiple of 1.",
    ),
)
