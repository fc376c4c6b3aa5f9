"""Comparison, logic and choice by a condition. Results of comparisons are bool and have no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.record import binary, from_ufunc, ternary, unary
from tg.ops.family import Family


def _where_loops(kinds: Any) -> Any:
    """A bool condition (others ask whether they differ from 0), and the common dtype of the two choices."""
    (a, _), _ = from_ufunc(np.add)(kinds[1:]) if "bool" not in kinds[1:] else from_ufunc(np.maximum)(kinds[1:])
    return ("bool", a, a), a


def _bool_loops(kinds: Any) -> Any:
    return ("bool",) * len(kinds), "bool"


equal = binary("equal", np.equal, np.equal, "Whether x == y.", d=(None, None), accuracy=0)
not_equal = binary("not_equal", np.not_equal, np.not_equal, "Whether x != y.", d=(None, None), accuracy=0)
less = binary("less", np.less, np.less, "Whether x < y.", d=(None, None), accuracy=0)
less_equal = binary("less_equal", np.less_equal, np.less_equal, "Whether x <= y.", d=(None, None), accuracy=0)
greater = binary("greater", np.greater, np.greater, "Whether x > y.", d=(None, None), accuracy=0)
greater_equal = binary(
    "greater_equal", np.greater_equal, np.greater_equal, "Whether x >= y.", d=(None, None), accuracy=0
)
logical_and = binary(
    "logical_and", np.logical_and, _bool_loops, "Whether x and y differ from 0.", d=(None, None), accuracy=0
)
logical_or = binary(
    "logical_or", np.logical_or, _bool_loops, "Whether x or y differs from 0.", d=(None, None), accuracy=0
)
logical_xor = binary(
    "logical_xor", np.logical_xor, _bool_loops, "Whether one of x and y differs from 0.", d=(None, None), accuracy=0
)
logical_not = unary("logical_not", np.logical_not, _bool_loops, "Whether x is 0.", d=(None,), accuracy=0)
isnan = unary("isnan", np.isnan, np.isnan, "Whether x is NaN.", d=(None,), accuracy=0)
isinf = unary("isinf", np.isinf, np.isinf, "Whether x is an infinity.", d=(None,), accuracy=0)
isfinite = unary("isfinite", np.isfinite, np.isfinite, "Whether x is neither NaN nor infinite.", d=(None,), accuracy=0)
where = ternary(
    "where", np.where, _where_loops, "x where the condition holds, else y; the one not taken never leaks.",
    d=(
        None,
        lambda c, x, y, z: cast_variable(c, z.type.dtype),
        lambda c, x, y, z: cast_variable(logical_not(c), z.type.dtype),
    ),
    accuracy=0,
)  # fmt: skip

FAMILY = Family(
    "elementwise/comparison",
    (
        equal,
        not_equal,
        less,
        less_equal,
        greater,
        greater_equal,
        logical_and,
        logical_or,
        logical_xor,
        logical_not,
        isnan,
        isinf,
        isfinite,
        where,
    ),
)  # fmt: skip
