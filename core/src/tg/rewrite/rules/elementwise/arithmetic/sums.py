"""Rules of sums: neutral elements, terms that cancel, signs that meet, constants that combine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import (
    add,
    multiply,
    subtract,
)
from tg.rewrite.phases import CANONICALIZE, EXACT, NAN_UNSAFE, REASSOCIATES, SIGNED_ZERO
from tg.rewrite.rule import INTEGER, node_rule, rule
from tg.rewrite.rules.elementwise.arithmetic.analysis import (
    REAL,
    combined,
)
from tg.types.dtypes import is_float

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _add_minus_zero(node: Apply, outputs: Any) -> Variable | None:
    for v, zero in (node.inputs, node.inputs[::-1]):
        if _is_zero(zero, negative=True):
            return v
    return None


def _subtract_zero(node: Apply, outputs: Any) -> Variable | None:
    x, zero = node.inputs
    return x if _is_zero(zero, negative=False) else None


def _is_zero(v: Variable, *, negative: bool) -> bool:
    return (
        isinstance(v, Constant)
        and is_float(v.type.dtype)
        and bool((v.data == 0).all() and (np.signbit(v.data) == negative).all())
    )


def _constant_last(node: Apply, outputs: Any) -> Any:
    c, x = node.inputs
    return node.op(x, c) if isinstance(c, Constant) and not isinstance(x, Constant) else None


RULES = (
    node_rule(
        "constant_last",
        keys=(add, multiply),
        apply=_constant_last,
        phase=CANONICALIZE,
        kind=EXACT,
        why="2 * x and x * 2 are one value.",
        example=lambda x: 2 * x,
    ),
    rule(
        "add_zero_integer",
        match=lambda x: x + 0,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="0 is neutral.",
    ),
    rule(
        "subtract_zero_integer",
        match=lambda x: x - 0,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="0 is neutral.",
    ),
    node_rule(
        "add_minus_zero",
        keys=(add,),
        apply=_add_minus_zero,
        phase=CANONICALIZE,
        kind=EXACT,
        why="-0.0 is the neutral element of floating addition.",
        example=lambda x: x + -0.0,
    ),
    node_rule(
        "subtract_zero",
        keys=(subtract,),
        apply=_subtract_zero,
        phase=CANONICALIZE,
        kind=EXACT,
        why="x - 0.0 is x, -0.0 included.",
        example=lambda x: x - 0.0,
    ),
    rule(
        "add_zero",
        match=lambda x: x + 0,
        replace=lambda x: x,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="-0.0 + 0.0 is 0.0; every other x stays.",
    ),
    rule(
        "zero_minus",
        match=lambda x: 0 - x,
        replace=lambda x: -x,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="0.0 - 0.0 is 0.0, and -0.0 after.",
    ),
    rule(
        "subtract_itself_integer",
        match=lambda x: x - x,
        replace=lambda x: 0,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=INTEGER,
        why="Integers have no NaN.",
    ),
    rule(
        "subtract_itself",
        match=lambda x: x - x,
        replace=lambda x: 0,
        phase=CANONICALIZE,
        kind=NAN_UNSAFE,
        why="NaN where x is NaN or infinite.",
    ),
    rule(
        "subtract_negative",
        match=lambda x, y: x - (-y),
        replace=lambda x, y: x + y,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="x - (-y) is x + y, bit for bit.",
    ),
    rule(
        "add_negative",
        match=lambda x, y: x + (-y),
        replace=lambda x, y: x - y,
        phase=CANONICALIZE,
        kind=EXACT,
        dtypes=REAL,
        why="x + (-y) is x - y, bit for bit.",
    ),
    rule(
        "negative_of_difference",
        match=lambda x, y: -(x - y),
        replace=lambda x, y: y - x,
        phase=CANONICALIZE,
        kind=SIGNED_ZERO,
        why="-(x - x) is -0.0, x - x is 0.0.",
    ),
    node_rule(
        "combine_terms",
        keys=(add,),
        apply=combined(add),
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="(x + 1) + 2 is one sum.",
        example=lambda x: x + 3 + 0.25,
    ),
)
