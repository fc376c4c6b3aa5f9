"""Infinities that a program writes: a sum with one is infinite around the point, whatever the other operand."""

from __future__ import annotations

import numpy as np

from tg.gradient.conditions import MOVEMENTS
from tg.graph.nodes import Constant, Variable
from tg.ops.elementwise.comparison import isinf, where
from tg.ops.shape import Named
from tg.ops.shape_ops import Concatenate
from tg.types.dtypes import numpy_dtype

DEEPEST = 32  # values that are looked at


def through_sum(other: Variable, dv: Variable) -> Variable:
    """A cotangent or tangent of an operand of a sum or difference: 0 where the other one is written as infinite."""
    return where(isinf(other), numpy_dtype(dv.type.dtype).type(0), dv) if _writes_infinity(other) else dv


def _writes_infinity(v: Variable) -> bool:
    """Whether an infinite constant reaches a value by movements alone."""
    stack, depth = [v], 0
    while stack and depth < DEEPEST:
        depth += 1
        u = stack.pop()
        if isinstance(u, Constant):
            if u.data.dtype.kind in "fcV" and bool(np.isinf(u.data).any()):
                return True
        elif u.apply is not None:
            op = u.apply.op
            if type(op) is Concatenate:
                stack.extend(u.apply.inputs)
            elif type(op) in MOVEMENTS or type(op) is Named:
                stack.append(u.apply.inputs[0])
    return False
