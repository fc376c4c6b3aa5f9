"""Rules of sums of exponentials: the stable forms of what users write out."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.graph.nodes import Constant
from tg.ops.elementwise.arithmetic import add, divide, maximum, minimum, multiply, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater, isfinite, less, not_equal, where
from tg.ops.elementwise.exponential import exp, log, log1p, softplus
from tg.ops.reduction import Reduce
from tg.ops.shape import ExpandDims, axis_length, broadcast_to, expand_dims_at
from tg.ops.sized_ops import BroadcastTo
from tg.ops.softmax import LogSoftmax, LogSumExp, Softmax, WeightedLogSumExp, log_softmax
from tg.rewrite.pattern import is_made_by
from tg.rewrite.phases import DIFFERENTIATE, REASSOCIATES, STABILIZE
from tg.rewrite.rule import rule_of, rule_of_node
from tg.rules.elementwise.arithmetic import is_not_negative
from tg.rules.elementwise.arithmetic.trees import is_shaped_like
from tg.rules.elementwise.exponential.terms import aligned_sum_of_exp, share_of_sum, sum_of_exp
from tg.rules.shape import made_by
from tg.rules.shape.moved import MOVED, Moved
from tg.types.dtypes import is_float
from tg.types.lengths import is_natural, product
from tg.types.lengths import subtract as difference

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable
    from tg.rules.elementwise.exponential.terms import SumOfExp


FACTORS: Final = 4  # beside an exponential over the sum of all


@rule_of(log, phase=STABILIZE, kind=REASSOCIATES, below=(Reduce, *MOVED), example=lambda x: log(_sum(exp(x))))
def _logsumexp_from_log(op: Any, *operands: Variable) -> Variable | None:
    """exp(x) overflows and vanishes where log(sum(exp(x))) does not."""
    total = Moved.of(operands[0], *MOVED).then(sum_of_exp)
    return None if total is None else total.again(_log_of)


def _log_of(total: SumOfExp) -> Variable:
    return LogSumExp(total.axes)(total.x)  # type: ignore[no-any-return]


@rule_of(log, phase=STABILIZE, kind=REASSOCIATES, below=(multiply, divide), example=lambda x: log(_sum(exp(x)) / 4))
def _logsumexp_from_log_of_multiple(op: Any, y: Variable) -> Variable | None:
    """log(sum(exp(x)) * c) or log(sum(exp(x)) / c) for a scalar c, or several numbers.

    It is NaN for a negative one, but where the sum is 0: that is -0.0 then.

    exp(x) overflows and vanishes where the logarithm of the mean of exponentials does not.
    """
    v, c = y.inputs
    total = Moved.of(v, ExpandDims).then(sum_of_exp)
    if total is None or not (c.type.ndim == 0 or isinstance(c, Constant)):
        return None
    value = total.again(_log_of)
    is_product = is_made_by(y, multiply)
    scaled: Variable = add(value, log(c)) if is_product else subtract(value, log(c))
    if is_not_negative(c):
        return scaled
    if isinstance(c, Constant):
        return None
    some = cast_variable(not_equal(value, -np.inf), value.type.dtype)  # 0 of no terms
    one = where(less(value, np.inf), some, value)  # NaN and infinities meet c as the sum does
    return where(greater(c, 0), scaled, log(multiply(one, c) if is_product else divide(one, c)))


@rule_of(log1p, phase=STABILIZE, kind=REASSOCIATES, below=(Reduce, ExpandDims), example=lambda x: log1p(_sum(exp(x))))
def _softplus_of_logsumexp(op: Any, *operands: Variable) -> Variable | None:
    """log1p(sum(exp(x))). exp(x) overflows where log(1 + sum(exp(x))) does not."""
    total = Moved.of(operands[0], ExpandDims).then(sum_of_exp)
    return None if total is None else softplus(total.again(_log_of))


@rule_of(divide, kind=REASSOCIATES, below=(Reduce, ExpandDims), example=lambda w, x: _sum(w * exp(x)) / _sum(exp(x)))
def _mean_weighted_by_softmax(op: Any, *operands: Variable) -> Variable | None:
    """sum(w * exp(x)) / sum(exp(x)) as sum(w * softmax(x)).

    inf / inf is NaN once exp(x) overflows; its gradient is to be that of the sum.
    """
    above, below = (Moved.of(v, ExpandDims) for v in operands)
    both = above.together(below)
    mean = None if both is None else both.then(lambda pair: _mean_of(*pair))
    return None if mean is None else mean.here()


def _mean_of(above: Variable, below: Variable) -> Variable | None:
    op, total = made_by(above, Reduce), sum_of_exp(below)
    if not op or op.fn is not add or total is None or op.axes != total.axes:
        return None
    (product,) = above.inputs
    if not is_made_by(product, multiply):
        return None
    for powers, w in (product.inputs, product.inputs[::-1]):
        if is_made_by(powers, exp) and powers.inputs[0] is total.x:
            return _nan_of_nothing(Reduce(add, op.axes)(multiply(w, share_of_sum(total))), total)
    return None


def _nan_of_nothing(mean: Variable, total: SumOfExp) -> Variable:
    """A mean over the axes of a sum of exponentials, divided by 0 where one of them may be, and is, empty."""
    if is_natural(difference(product(tuple(total.x.shape[k] for k in total.axes)), 1)):
        return mean
    count: Any = 1
    for k in total.axes:
        count = multiply(minimum(axis_length(total.x, k), 1), count)
    return divide(mean, cast_variable(count, mean.type.dtype))


@rule_of(log, phase=STABILIZE, kind=REASSOCIATES, below=(Softmax, *MOVED), example=lambda x: log(Softmax(-1)(x)))
def _log_of_softmax(op: Any, *operands: Variable) -> Variable | None:
    """A softmax vanishes where its logarithm does not."""
    y = Moved.of(operands[0], *MOVED)
    op = y.made_by(Softmax)
    return y.again(lambda share: log_softmax(share.inputs[0], op.axis)) if op else None


@rule_of(
    log,
    phase=STABILIZE,
    kind=REASSOCIATES,
    below=(exp,),
    example=lambda x: log(exp(x - _kept(LogSumExp((-2, -1))(x), -2, -1))),
)
def _log_of_softmax_over_axes(op: Any, *operands: Variable) -> Variable | None:
    """log(exp(z)) where z is x - logsumexp(x), as the softmax over several axes is written.

    A softmax vanishes where its logarithm does not.
    """
    powers = operands[0]
    if not is_made_by(powers.inputs[0], subtract):
        return None
    x, below = powers.inputs[0].inputs
    op = Moved.of(below, ExpandDims).made_by(LogSumExp)
    return powers.inputs[0] if op and _is_logsumexp(below, x, op.axes) else None


def _extreme_beside(m: Variable, x: Variable, axes: tuple[int, ...]) -> Variable | None:
    """The maximum of a value over some axes, where m is it and stands beside the value."""
    top = Moved.of(m, BroadcastTo, ExpandDims).beside(axes)
    op = None if top is None else made_by(top, Reduce)
    return top if op and op.fn is maximum and op.axes == axes and top.inputs[0] is x else None  # type: ignore[union-attr]


def _is_plain_number(c: Variable) -> bool:
    return isinstance(c, Constant) and c.data.size == 1 and bool(np.isfinite(c.data).all())


@rule_of(Softmax, kind=REASSOCIATES, below=(add, subtract), example=lambda x: Softmax(-1)(x + 3))
def _softmax_of_shifted(op: Any, y: Variable) -> Variable | None:
    """Softmax(x + c), and Softmax(x - m) or Softmax(x + m) where m is the maximum or the logsumexp of x.

    A softmax does not see what is added along its axis, and takes out the maximum itself.
    """
    if not is_float(y.type.dtype):
        return None
    x, m = y.inputs
    if not is_shaped_like(x, y):  # along an axis that m repeats, what is computed of x alone has one element
        return None
    if _is_plain_number(m):
        return op(x)  # type: ignore[no-any-return]
    if _extreme_beside(m, x, (op.axis,)) is not None or _is_logsumexp(m, x, (op.axis,)):
        return op(x)  # type: ignore[no-any-return]
    return None


def _is_logsumexp(m: Variable, x: Variable, axes: tuple[int, ...]) -> bool:
    total = Moved.of(m, ExpandDims).with_axes(axes)
    op = None if total is None else made_by(total, LogSumExp)
    return bool(op) and op.axes == axes and total.inputs[0] is x  # type: ignore[union-attr]


@rule_of(LogSumExp, kind=REASSOCIATES, below=(add, subtract), example=lambda x: LogSumExp((-1,))(x + 3))
def _logsumexp_of_shifted(op: Any, y: Variable) -> Variable | None:
    """LogSumExp(x + c) as LogSumExp(x) + c for a number c. One sum in place of one for each element."""
    if not is_float(y.type.dtype):
        return None
    x, c = y.inputs
    if not _is_plain_number(c) or not is_shaped_like(x, y):
        return None
    assert y.apply is not None
    return y.apply.op(op(x), Constant(c.data.reshape(())))  # type: ignore[attr-defined, no-any-return]


@rule_of(
    add,
    phase=STABILIZE,
    kind=REASSOCIATES,
    below=(LogSumExp, ExpandDims),
    example=lambda x: LogSumExp((-1,))(x - _kept(_top(x))) + _top(x),
)
def _logsumexp_shifted_back(op: Any, *operands: Variable) -> Variable | None:
    """LogSumExp(x - m) + m where m is the maximum of x. The maximum is taken out by the op itself."""
    for v, m in (operands, operands[::-1]):
        total = Moved.of(v, ExpandDims)
        both = total.together(Moved.of(m, ExpandDims)) if total.made_by(LogSumExp) else None
        whole = None if both is None else both.then(lambda pair: _whole_of(*pair))
        if whole is not None:
            return whole.here()
    return None


def _whole_of(total: Variable, top: Variable) -> Variable | None:
    """LogSumExp(x), where total is that of x - m, for the maximum m of x."""
    op = made_by(total, LogSumExp)
    if not op or not is_made_by(total.inputs[0], subtract):
        return None
    x, shift = total.inputs[0].inputs
    if not is_shaped_like(x, total.inputs[0]) or _extreme_beside(shift, x, op.axes) is not top:
        return None
    return op(x)  # type: ignore[no-any-return]


@rule_of(
    LogSumExp,
    phase=DIFFERENTIATE,
    kind=REASSOCIATES,
    below=(add, log, *MOVED),
    example=lambda w, x: LogSumExp((-1,))(log(w) + x),
)
def _weighted_logsumexp(op: Any, y: Variable) -> Variable | None:
    """LogSumExp(log(w) + x), and LogSumExp(log(w)).

    log(w) has no slope at a weight of 0, where log(sum(w * exp(x))) has one.
    """
    if not is_float(y.type.dtype):
        return None
    weights = Moved.of(y, *MOVED).then(lambda v: v.inputs[0] if is_made_by(v, log) else None)
    if weights is not None:
        return log(Reduce(add, op.axes)(weights.here()))
    if not is_made_by(y, add):
        return None
    for a, x in (y.inputs, y.inputs[::-1]):
        weights = Moved.of(a, *MOVED).then(lambda v: v.inputs[0] if is_made_by(v, log) else None)
        if weights is not None:
            return WeightedLogSumExp(op.axes)(broadcast_to(weights.here(), y.shape), broadcast_to(x, y.shape))  # type: ignore[no-any-return]
    return None


@rule_of(Softmax, phase=DIFFERENTIATE, kind=REASSOCIATES, below=(add,), example=lambda w, x: Softmax(-1)(log(w) + x))
def _weighted_softmax(op: Any, y: Variable) -> Variable | None:
    """Softmax(log(w) + x) as a product with w. log(w) has no slope at a weight of 0, where the share has one."""
    if not is_float(y.type.dtype) or not is_made_by(y, add):
        return None
    for a, x in (y.inputs, y.inputs[::-1]):
        weights = Moved.of(a, *MOVED).then(lambda v: v.inputs[0] if is_made_by(v, log) else None)
        if weights is not None:
            w, z = broadcast_to(weights.here(), y.shape), broadcast_to(x, y.shape)
            total = expand_dims_at(WeightedLogSumExp((op.axis,))(w, z), (op.axis,))
            return multiply(w, exp(subtract(z, total)))
    return None


@rule_of_node(
    log,
    subtract,
    phase=DIFFERENTIATE,
    kind=REASSOCIATES,
    below=(Softmax, ExpandDims, BroadcastTo),
    example=lambda x: log(Softmax(-1)(x)),
)
def _log_softmax_from_log(node: Apply, outputs: Any) -> Variable | None:
    """log(Softmax(x)), and x - logsumexp(x). A softmax vanishes where its logarithm does not."""
    x = node.inputs[0]
    if node.key is log:
        op = made_by(x, Softmax)
        return LogSoftmax(op.axis)(x.inputs[0]) if op else None
    below = Moved.of(node.inputs[1], BroadcastTo, ExpandDims)
    op = below.made_by(LogSumExp)
    total = below.beside(op.axes) if op and len(op.axes) == 1 else None
    if total is None or not node.inputs[1].type.ndim or total.inputs[0] is not x or not is_float(x.type.dtype):
        return None
    return LogSoftmax(op.axes[0])(x)  # type: ignore[no-any-return]


@rule_of(
    divide, phase=STABILIZE, kind=REASSOCIATES, below=(exp, multiply), example=lambda x: exp(x) / _kept(_sum(exp(x)))
)
def _softmax_from_quotient(op: Any, above: Variable, below: Variable) -> Variable | None:
    """exp(x) / sum(exp(x)), also where the exponentials have factors. inf / inf is NaN once exp(x) overflows."""
    if not is_float(above.type.dtype):
        return None
    factors: list[Variable] = []
    while not is_made_by(above, exp):
        if not is_made_by(above, multiply) or len(factors) == FACTORS:
            return None
        a, b = above.inputs
        above, w = (a, b) if is_made_by(a, exp) or is_made_by(a, multiply) else (b, a)
        factors.append(w)
    total = aligned_sum_of_exp(below)
    if total is None or above.inputs[0] is not total.x or _is_stable(total.x):
        return None
    return functools.reduce(multiply, reversed(factors), share_of_sum(total))


def _is_stable(x: Variable) -> bool:
    """Whether the largest element has been taken off, unless it is infinite (`tg.ops.softmax.powers_of`)."""
    if not is_made_by(x, subtract):
        return False
    shift = Moved.of(x.inputs[1], ExpandDims)
    return shift.then(lambda v: v if is_made_by(v, where) and is_made_by(v.inputs[0], isfinite) else None) is not None


def _sum(x: Variable, *axes: int) -> Variable:
    return Reduce(add, axes or (-1,))(x)  # type: ignore[no-any-return]


def _kept(x: Variable, *axes: int) -> Variable:
    return ExpandDims(axes or (-1,))(x)  # type: ignore[no-any-return]


RULES = (
    _softmax_from_quotient,
    _logsumexp_from_log,
    _logsumexp_from_log_of_multiple,
    _softplus_of_logsumexp,
    _mean_weighted_by_softmax,
    _log_of_softmax,
    _log_of_softmax_over_axes,
    _softmax_of_shifted,
    _logsumexp_of_shifted,
    _logsumexp_shifted_back,
)


FORMS = (_log_softmax_from_log, _weighted_softmax, _weighted_logsumexp)


def _top(x: Variable) -> Variable:
    return Reduce(maximum, (-1,), total=True)(x)  # type: ignore[no-any-return]
