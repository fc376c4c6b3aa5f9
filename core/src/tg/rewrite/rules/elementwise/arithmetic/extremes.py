"""Rules of maximum, minimum and clip."""

from __future__ import annotations

from tg.ops.elementwise.arithmetic import (
    maximum,
    minimum,
)
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import rule
from tg.rewrite.rules.elementwise.arithmetic.analysis import (
    REAL,
)

RULES = (
    rule(
        "maximum_with_itself",
        match=lambda x: maximum(x, x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="The larger of x and x is x.",
    ),
    rule(
        "minimum_with_itself",
        match=lambda x: minimum(x, x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="The smaller of x and x is x.",
    ),
)
