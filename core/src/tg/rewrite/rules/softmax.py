"""Rules of sums of exponentials: the stable forms of what users write out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import add, divide, maximum, minimum, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater, less, not_equal, where
from tg.ops.elementwise.exponential import exp, log, log1p, softplus
from tg.ops.reduction import Reduce
from tg.ops.shape import ExpandDims, axis_length, expand_dims_at
from tg.ops.shape_ops import BroadcastTo
from tg.ops.softmax import LogSumExp, Softmax
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import CANONICALIZE, REASSOCIATES, STABILIZE
from tg.rewrite.rule import node_rule
from tg.rewrite.rules.elementwise.arithmetic import is_not_negative
from tg.rewrite.rules.elementwise.arithmetic.trees import is_shaped_like
from tg.rewrite.rules.elementwise.exponential.terms import (
    MOVED,
    beneath,
    inside,
    moved_as,
    share_of_sum,
    sum_of_exp,
)
from tg.rewrite.rules.shape import made_by
from tg.types.dtypes import is_float
from tg.types.lengths import is_natural, product
from tg.types.lengths import subtract as difference

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.rewrite.rules.elementwise.exponential.terms import SumOfExp


def _logsumexp(node: Apply, outputs: Any) -> Variable | None:
    y, movements = beneath(node.inputs[0])
    found = sum_of_exp(y)
    return None if found is None else moved_as(LogSumExp(found.axes)(found.x), movements)


def _expanded(v: Variable, axes: tuple[int, ...]) -> Variable:
    return expand_dims_at(v, axes) if axes else v


def _logsumexp_of_multiple(node: Apply, outputs: Any) -> Variable | None:
    """log(sum(exp(x)) * c) or log(sum(exp(x)) / c) for a scalar c, or several numbers.

    It is NaN for a negative one, but where the sum is 0: that is -0.0 then.
    """
    (y,) = node.inputs
    v, c = y.inputs
    total, added = inside(v)
    found = sum_of_exp(total)
    if found is None or not (c.type.ndim == 0 or isinstance(c, Constant)):
        return None
    value = _expanded(LogSumExp(found.axes)(found.x), added)
    is_product = is_made_by(y, multiply)
    scaled: Variable = add(value, log(c)) if is_product else subtract(value, log(c))
    if is_not_negative(c):
        return scaled
    if isinstance(c, Constant):
        return None
    some = cast_variable(not_equal(value, -np.inf), value.type.dtype)  # 0 of no terms
    one = where(less(value, np.inf), some, value)  # NaN and infinities meet c as the sum does
    return where(greater(c, 0), scaled, log(multiply(one, c) if is_product else divide(one, c)))


def _softplus_of_logsumexp(node: Apply, outputs: Any) -> Variable | None:
    """log1p(sum(exp(x)))."""
    total, added = inside(node.inputs[0])
    found = sum_of_exp(total)
    return None if found is None else softplus(_expanded(LogSumExp(found.axes)(found.x), added))


def _weighted_mean(node: Apply, outputs: Any) -> Variable | None:
    """sum(w * exp(x)) / sum(exp(x)) as sum(w * softmax(x))."""
    above, added = inside(node.inputs[0])
    below, added_below = inside(node.inputs[1])
    op, found = made_by(above, Reduce), sum_of_exp(below)
    if not op or op.fn is not add or found is None or op.axes != found.axes or added != added_below:
        return None
    (product,) = above.inputs
    if not is_made_by(product, multiply):
        return None
    for powers, w in (product.inputs, product.inputs[::-1]):
        if is_made_by(powers, exp) and powers.inputs[0] is found.x:
            value: Variable = Reduce(add, op.axes)(multiply(w, share_of_sum(found)))
            return _expanded(_nan_of_nothing(value, found), added)
    return None


def _nan_of_nothing(mean: Variable, found: SumOfExp) -> Variable:
    """A mean over the axes of a sum of exponentials, divided by 0 where one of them may be, and is, empty."""
    if is_natural(difference(product(tuple(found.x.shape[k] for k in found.axes)), 1)):
        return mean
    count: Any = 1
    for k in found.axes:
        count = multiply(minimum(axis_length(found.x, k), 1), count)
    return divide(mean, cast_variable(count, mean.type.dtype))


def _log_softmax(node: Apply, outputs: Any) -> Variable | None:
    y, movements = beneath(node.inputs[0])
    op = made_by(y, Softmax)
    if not op:
        return None
    (x,) = y.inputs
    return moved_as(subtract(x, expand_dims_at(LogSumExp((op.axis,))(x), (op.axis,))), movements)


def _log_of_quotient_of_exps(node: Apply, outputs: Any) -> Variable | None:
    """log(exp(z)) where z is x - logsumexp(x), as the softmax over several axes is written."""
    powers = node.inputs[0]
    if not is_made_by(powers.inputs[0], subtract):
        return None
    x, below = powers.inputs[0].inputs
    total, added = inside(below)
    op = made_by(total, LogSumExp)
    return powers.inputs[0] if op and op.axes == added and total.inputs[0] is x else None


def _extreme_of(m: Variable, x: Variable) -> tuple[int, ...] | None:
    """The axes over which a value is the maximum of another, beside which it stands."""
    if made_by(m, BroadcastTo):
        m = m.inputs[0]
    value, added = inside(m)
    op = made_by(value, Reduce)
    if not op or op.fn is not maximum or not op.axes or value.inputs[0] is not x:
        return None
    return op.axes if added == op.axes or value.type.ndim == 0 else None


def _is_plain_number(c: Variable) -> bool:
    return isinstance(c, Constant) and c.data.size == 1 and bool(np.isfinite(c.data).all())


def _softmax_of_shifted(node: Apply, outputs: Any) -> Variable | None:
    """Softmax(x + c), and Softmax(x - m) or Softmax(x + m) where m is the maximum or the logsumexp of x."""
    op: Any = node.op
    (y,) = node.inputs
    if not is_float(y.type.dtype):
        return None
    x, m = y.inputs
    if not is_shaped_like(x, y):  # along an axis that m repeats, what is computed of x alone has one element
        return None
    if _is_plain_number(m):
        return op(x)  # type: ignore[no-any-return]
    if _extreme_of(m, x) == (op.axis,) or _is_logsumexp(m, x, (op.axis,)):
        return op(x)  # type: ignore[no-any-return]
    return None


def _is_logsumexp(m: Variable, x: Variable, axes: tuple[int, ...]) -> bool:
    total, added = inside(m)
    op = made_by(total, LogSumExp)
    return bool(op) and op.axes == axes and added == axes and total.inputs[0] is x


def _logsumexp_of_shifted(node: Apply, outputs: Any) -> Variable | None:
    """LogSumExp(x + c) as LogSumExp(x) + c for a number c."""
    op: Any = node.op
    (y,) = node.inputs
    if not is_float(y.type.dtype):
        return None
    x, c = y.inputs
    if not _is_plain_number(c) or not is_shaped_like(x, y):
        return None
    assert y.apply is not None
    return y.apply.op(op(x), Constant(c.data.reshape(())))  # type: ignore[attr-defined, no-any-return]


def _shifted_back(node: Apply, outputs: Any) -> Variable | None:
    """LogSumExp(x - m) + m where m is the maximum of x."""
    for v, m in (node.inputs, node.inputs[::-1]):
        total, added = inside(v)
        op = made_by(total, LogSumExp)
        if not op or not is_made_by(total.inputs[0], subtract):
            continue
        x, shift = total.inputs[0].inputs
        if not is_shaped_like(x, total.inputs[0]):
            continue
        if _extreme_of(shift, x) == op.axes and _same_extreme(m, shift, v):
            return _expanded(op(x), added)
    return None


def _same_extreme(m: Variable, shift: Variable, beside: Variable) -> bool:
    """Whether m is the maximum that was subtracted, with the rank of what it is added to."""
    if made_by(shift, BroadcastTo):
        shift = shift.inputs[0]
    return m.type.ndim in (0, beside.type.ndim) and (m is shift or m is inside(shift)[0])


def _sum(x: Variable, *axes: int) -> Variable:
    return Reduce(add, axes or (-1,))(x)  # type: ignore[no-any-return]


def _kept(x: Variable, *axes: int) -> Variable:
    return ExpandDims(axes or (-1,))(x)  # type: ignore[no-any-return]


RULES = (
    node_rule(
        "logsumexp_from_log",
        keys=(log,),
        apply=_logsumexp,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="exp(x) overflows and vanishes where log(sum(exp(x))) does not.",
        example=lambda x: log(_sum(exp(x))),
        below=(Reduce, *MOVED),
    ),
    node_rule(
        "logsumexp_from_log_of_multiple",
        keys=(log,),
        apply=_logsumexp_of_multiple,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="exp(x) overflows and vanishes where the logarithm of the mean of exponentials does not.",
        example=lambda x: log(_sum(exp(x)) / 4),
        below=(multiply, divide),
    ),
    node_rule(
        "softplus_of_logsumexp",
        keys=(log1p,),
        apply=_softplus_of_logsumexp,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="exp(x) overflows where log(1 + sum(exp(x))) does not.",
        example=lambda x: log1p(_sum(exp(x))),
        below=(Reduce, ExpandDims),
    ),
    node_rule(
        "mean_weighted_by_softmax",
        keys=(divide,),
        apply=_weighted_mean,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="inf / inf is NaN once exp(x) overflows; its gradient is to be that of the sum.",
        example=lambda w, x: _sum(w * exp(x)) / _sum(exp(x)),
        below=(Reduce, ExpandDims),
    ),
    node_rule(
        "log_of_softmax",
        keys=(log,),
        apply=_log_softmax,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="A softmax vanishes where its logarithm does not.",
        example=lambda x: log(Softmax(-1)(x)),
        below=(Softmax, *MOVED),
    ),
    node_rule(
        "log_of_softmax_over_axes",
        keys=(log,),
        apply=_log_of_quotient_of_exps,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="A softmax vanishes where its logarithm does not.",
        example=lambda x: log(exp(x - _kept(LogSumExp((-2, -1))(x), -2, -1))),
        below=(exp,),
    ),
    node_rule(
        "softmax_of_shifted",
        keys=(Softmax,),
        apply=_softmax_of_shifted,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="A softmax does not see what is added along its axis, and takes out the maximum itself.",
        example=lambda x: Softmax(-1)(x + 3),
        below=(add, subtract),
    ),
    node_rule(
        "logsumexp_of_shifted",
        keys=(LogSumExp,),
        apply=_logsumexp_of_shifted,
        phase=CANONICALIZE,
        kind=REASSOCIATES,
        why="One sum in place of one for each element.",
        example=lambda x: LogSumExp((-1,))(x + 3),
        below=(add, subtract),
    ),
    node_rule(
        "logsumexp_shifted_back",
        keys=(add,),
        apply=_shifted_back,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="The maximum is taken out by the op itself.",
        example=lambda x: LogSumExp((-1,))(x - _kept(_top(x))) + _top(x),
        below=(LogSumExp, ExpandDims),
    ),
)


def _top(x: Variable) -> Variable:
    return Reduce(maximum, (-1,), total=True)(x)  # type: ignore[no-any-return]
