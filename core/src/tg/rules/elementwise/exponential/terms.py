"""Matching for rules of exponentials: arguments up to their sign, sums of exponentials and their logarithms."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract
from tg.ops.elementwise.exponential import exp, logaddexp, softplus
from tg.ops.reduction import Reduce
from tg.ops.shape import expand_dims_at
from tg.ops.shape_ops import ExpandDims, Squeeze
from tg.ops.sized_ops import BroadcastTo
from tg.ops.softmax import LogSumExp, Softmax
from tg.rewrite.pattern import holds_value, is_made_by
from tg.rules.shape.moved import MOVED, MOVEMENTS, Moved
from tg.types.dtypes import is_float, numpy_dtype

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

MOST_TERMS: Final = 4  # exponentials that a written-out sum may have


def is_number(v: Variable, value: float) -> bool:
    """Whether a value is a constant that holds one number everywhere."""
    return type(v) is Constant and holds_value(v, value)


def stripped(u: Variable) -> tuple[Variable, int]:
    """An argument without its sign, and the sign."""
    return (u.inputs[0], -1) if is_made_by(u, negative) else (u, 1)


def relation(u: Variable, v: Variable) -> int:
    """1 where two arguments are one value, -1 where one is the negative of the other, 0 where that is not known."""
    if u is v:
        return 1
    if is_made_by(u, negative) or is_made_by(v, negative):
        (a, s), (b, t) = stripped(u), stripped(v)
        return s * t * relation(a, b)
    if is_made_by(u, subtract) and is_made_by(v, subtract):
        (a, b), (c, d) = u.inputs, v.inputs
        return -1 if a is d and b is c else 0
    for fn in (multiply, divide):  # by constants
        if is_made_by(u, fn) and is_made_by(v, fn):
            return _relation_of_multiples(*u.inputs, *v.inputs)
    below, other = (Moved.of(w, *MOVEMENTS, most=1) for w in (u, v))
    both = below.together(other) if below.is_moved and other.is_moved else None
    return 0 if both is None else both.every(lambda pair: relation(*pair))


def _relation_of_multiples(x: Variable, b: Variable, y: Variable, c: Variable) -> int:
    if x is not y or type(b) is not Constant or type(c) is not Constant or b.data.size != 1 or c.data.size != 1:
        return 0
    p, q = b.data.reshape(()), c.data.reshape(())
    return 1 if p == q else -1 if p == -q else 0


def signed(u: Variable, sign: int) -> Variable:
    """An argument with a sign."""
    return u if sign > 0 else negative(u)


def log_of_term(v: Variable) -> Variable | None:
    """The logarithm of a term of a written-out sum, if it is known: of exp(u), exp(u) * c, or a constant c > 0."""
    if is_made_by(v, exp):
        return v.inputs[0]
    if type(v) is Constant and v.data.size == 1 and is_float(v.type.dtype):
        with np.errstate(all="ignore"):
            logarithm = Constant(np.log(v.data).astype(v.data.dtype))
        return logarithm if np.isfinite(logarithm.data) else None
    if is_made_by(v, multiply) and is_made_by(v.inputs[0], exp):
        shift = log_of_term(v.inputs[1])
        return None if shift is None else add(v.inputs[0].inputs[0], shift)
    return None


def logs_of_sum(v: Variable) -> list[Variable]:
    """The logarithms of the terms of exp(x) + exp(y) + ...; none where a value is not such a sum."""
    logs: list[Variable] = []
    stack, has_exponentials = [v], False
    while stack:
        term = stack.pop()
        if is_made_by(term, add):
            stack.extend(reversed(term.inputs))
        elif len(logs) < MOST_TERMS and (logarithm := log_of_term(term)) is not None:
            logs.append(logarithm)
            has_exponentials = has_exponentials or type(term) is not Constant
        else:
            return []
    return logs if has_exponentials and len(logs) > 1 else []


def log_of_sum(logs: list[Variable]) -> Variable:
    """The logarithm of the sum of exponentials of some values."""
    total = logs[0]
    for u in logs[1:]:
        total = logaddexp(total, u)
    return total


class SumOfExp(NamedTuple):
    """sum(exp(x)) over some axes, with 1 added or not."""

    x: Variable
    axes: tuple[int, ...]
    plus_one: bool


def sum_of_exp(v: Variable, *, plus_one: bool = False) -> SumOfExp | None:
    """Match a value that is sum(exp(x)), or with `plus_one` perhaps 1 + sum(exp(x)): the sum's operand and axes."""
    node = v.apply
    if node is None:
        return None
    if plus_one and is_made_by(v, add) and is_number(node.inputs[1], 1):
        match = sum_of_exp(node.inputs[0])
        return match and match._replace(plus_one=True)
    squeezed = Moved.of(v, Squeeze, most=1)
    if squeezed.is_moved:
        total = squeezed.then(sum_of_exp)
        return total and total.read(lambda match, index_map: _squeezed(match, index_map.dropped))
    if type(node.op) is not Reduce or node.op.fn is not add or not node.op.axes:
        return None
    logarithm = Moved.of(node.inputs[0], *MOVED).then(_of_exp)
    return None if logarithm is None else SumOfExp(logarithm.here(), node.op.axes, plus_one=False)


def _of_exp(v: Variable) -> Variable | None:
    return v.inputs[0] if is_made_by(v, exp) and is_float(v.type.dtype) else None


def _squeezed(total: SumOfExp, axes: tuple[int, ...]) -> SumOfExp:
    """A sum of exponentials without some of its own axes, which have length 1: x is squeezed as the sum is."""
    every = range(-total.x.type.ndim, 0)
    left = [k for k in every if k not in total.axes]
    gone = tuple(left[k] for k in axes)
    rest = [k for k in every if k not in gone]
    x: Variable = Squeeze(gone)(total.x)
    return SumOfExp(x, tuple(rest.index(k) - len(rest) for k in total.axes), total.plus_one)


def aligned_sum_of_exp(v: Variable) -> SumOfExp | None:
    """Match a sum of exponentials that stands beside x as keepdims leaves it, repeated or not, or is a scalar."""
    repeated = Moved.of(v, BroadcastTo)
    number = repeated.single()
    if number is not None and (match := _sum_in_number(number)) is not None:
        return match
    total = Moved.of(v, BroadcastTo, ExpandDims).then(functools.partial(sum_of_exp, plus_one=True))
    if total is not None:
        return total.beside(operator.attrgetter("axes"))
    one_more = repeated.then(_expanded_plus_one)
    return one_more and one_more.beside(())


def _sum_in_number(v: Variable) -> SumOfExp | None:
    """Match a sum of exponentials that is a value of one element: it stands beside what has no axis of it, too."""
    squeezed = Moved.of(v, Squeeze, most=1)
    if v.type.ndim == 0:  # beside it x has the axes of length 1
        below = squeezed.single() if squeezed.is_moved else None
        return sum_of_exp(v, plus_one=True) if below is None else sum_of_exp(below)
    total = sum_of_exp(v, plus_one=True)
    total = total and _squeezed(total, tuple(range(-v.type.ndim, 0)))
    return total if total is not None and total.x.type.ndim == v.type.ndim else None


def _expanded_plus_one(v: Variable) -> SumOfExp | None:
    """1 + expand_dims(sum(exp(x)))."""
    if not is_made_by(v, add) or not is_number(v.inputs[1], 1):
        return None
    total = Moved.of(v.inputs[0], ExpandDims).then(sum_of_exp)
    match = None if total is None else total.read(lambda one, index_map: one if index_map.added == one.axes else None)
    return None if match is None else match._replace(plus_one=True)


def share_of_sum(total: SumOfExp) -> Variable:
    """exp(x) / sum(exp(x)), or exp(x) / (1 + sum(exp(x))), without overflow."""
    x, axes = total.x, total.axes
    if len(axes) == 1 and not total.plus_one:
        return Softmax(axes[0])(x)  # type: ignore[no-any-return]
    logarithm = expand_dims_at(LogSumExp(axes)(x), axes)
    return exp(subtract(x, softplus(logarithm) if total.plus_one else logarithm))


def number(value: float, like: Variable) -> Constant:
    """A number as a constant of the dtype of a value."""
    return Constant(np.array(value, numpy_dtype(like.type.dtype)))
