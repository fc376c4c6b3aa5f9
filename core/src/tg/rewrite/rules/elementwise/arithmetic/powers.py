"""Rules of powers: squares, roots, and exponents that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.ops.elementwise.arithmetic import (
    absolute,
    divide,
    multiply,
    power,
    sqrt,
    square,
)
from tg.ops.elementwise.comparison import equal, where
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import INTEGER, node_rule, rule
from tg.rewrite.rules.elementwise.arithmetic.analysis import (
    REAL,
    is_not_negative,
    is_scalar_constant,
)
from tg.types.dtypes import is_float, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _small_power(node: Apply, outputs: Any) -> Any:
    x, n = node.inputs
    if not is_scalar_constant(n) or x.type.dtype not in REAL:
        return None
    value = float(n.data.reshape(()))  # type: ignore[attr-defined]
    if value in (3.0, 4.0):
        return multiply(x, square(x)) if value == 3.0 else square(square(x))
    if value in (-1.0, -2.0) and is_float(x.type.dtype):
        return divide(1, x if value == -1.0 else square(x))
    return None


def _exact_power_half(x: Any) -> Variable:
    """sqrt(x), except that x**0.5 is inf at -inf."""
    kind = numpy_dtype(x.type.dtype).type
    return where(equal(x, kind(-np.inf)), kind(np.inf), sqrt(x))


RULES = (
    rule(
        "power_zero",
        match=lambda x: x**0,
        replace=lambda x: 1,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="x**0 is 1 for every x, NaN included.",
    ),
    rule(
        "power_one",
        match=lambda x: x**1,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="x**1 is x.",
    ),
    rule(
        "integer_power_two",
        match=lambda x: x**2,
        replace=square,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="One product, modulo the width as the power is.",
    ),
    rule(
        "power_two",
        match=lambda x: x**2,
        replace=square,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="One product, correctly rounded; a power is not everywhere.",
    ),
    rule(
        "power_half_of_positive",
        match=lambda x: x**0.5,
        replace=sqrt,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        when=is_not_negative,
        why="A root is faster and correctly rounded; -0.0 and -inf, where they differ, do not occur.",
    ),
    rule(
        "power_half",
        match=lambda x: x**0.5,
        replace=_exact_power_half,
        phase=SPECIALIZE,
        kind=REASSOCIATES,
        why="A root is faster and correctly rounded; x**0.5 is inf at -inf, which is kept. At -0.0 the sign differs.",
    ),
    node_rule(
        "small_power",
        keys=(power,),
        apply=_small_power,
        phase=SPECIALIZE,
        kind=REASSOCIATES,
        why="Two products are faster than a power.",
        example=lambda x: x**3,
    ),
    rule(
        "square_of_negative",
        match=lambda x: square(-x),
        replace=square,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="A square has no sign.",
    ),
    rule(
        "square_of_absolute",
        match=lambda x: square(absolute(x)),
        replace=square,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="A square has no sign.",
    ),
    rule(
        "root_of_square",
        match=lambda x: sqrt(square(x)),
        replace=absolute,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="|x|, without overflow of the square.",
    ),
    rule(
        "square_of_root",
        match=lambda x: square(sqrt(x)),
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="NaN where x is below 0.",
    ),
)
