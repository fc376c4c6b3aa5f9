"""Rules of signs: negations, absolute values and signs of one another."""

from __future__ import annotations

from tg.ops.elementwise.arithmetic import (
    absolute,
    negative,
    square,
)
from tg.rewrite.phases import CANONICALIZE, EXACT
from tg.rewrite.rule import rule
from tg.rewrite.rules.elementwise.arithmetic.analysis import (
    REAL,
    SIGNED,
)

RULES = (
    rule(
        "multiply_by_minus_one",
        match=lambda x: x * -1,
        replace=lambda x: -x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=SIGNED,
        why="Changing the sign is cheaper than a product, and has one form.",
    ),
    rule(
        "divide_by_minus_one",
        match=lambda x: x / -1,
        replace=lambda x: -x,
        phase=CANONICALIZE,
        kind=EXACT,
        why="Changing the sign is cheaper than a quotient, and has one form.",
    ),
    rule(
        "double_negative",
        match=lambda x: -negative(x),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="Two changes of sign cancel.",
    ),
    rule(
        "absolute_of_negative",
        match=lambda x: absolute(-x),
        replace=absolute,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=SIGNED,
        why="An absolute value has no sign.",
    ),
    rule(
        "absolute_of_absolute",
        match=lambda x: absolute(absolute(x)),
        replace=absolute,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="An absolute value has no sign.",
    ),
    rule(
        "absolute_of_square",
        match=lambda x: absolute(square(x)),
        replace=square,
        phase=CANONICALIZE,
        kind=EXACT,
        why="A floating square has no sign.",
    ),
)
