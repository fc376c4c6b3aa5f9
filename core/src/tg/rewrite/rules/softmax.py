"""Rules of sums of exponentials: the stable forms of what users write out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tg.ops.elementwise.arithmetic import add, divide, subtract
from tg.ops.elementwise.exponential import exp, log
from tg.ops.reduction import Reduce
from tg.ops.shape import ExpandDims, expand_dims_at
from tg.ops.softmax import LogSumExp, Softmax
from tg.rewrite.phases import REASSOCIATES, STABILIZE
from tg.rewrite.rule import node_rule
from tg.rewrite.rules.shape import made_by
from tg.types.dtypes import is_complex

if TYPE_CHECKING:
    from tg.graph.nodes import Apply, Variable


def _is(v: Variable, fn: Any) -> bool:
    return v.apply is not None and v.apply.op is fn.op


def _inside(v: Variable) -> tuple[Variable, tuple[int, ...]]:
    """A value below an expand_dims, and the axes that it adds."""
    expand = made_by(v, ExpandDims)
    return (v.inputs[0], expand.axes) if expand else (v, ())


def _sum_of_exp(v: Variable) -> tuple[Variable, tuple[int, ...]] | None:
    """An x and the axes, where a value is the sum of exp(x) over them."""
    op = made_by(v, Reduce)
    if not op or op.fn is not add or not op.axes or not _is(v.inputs[0], exp):
        return None
    x = v.inputs[0].inputs[0]
    return None if is_complex(x.type.dtype) else (x, op.axes)


def _logsumexp(node: Apply, outputs: Any) -> Variable | None:
    y, added = _inside(node.inputs[0])
    found = _sum_of_exp(y)
    if found is None:
        return None
    x, axes = found
    made: Variable = LogSumExp(axes)(x)
    return expand_dims_at(made, added) if added else made


def _softmax(node: Apply, outputs: Any) -> Any:
    powers, below = node.inputs
    total, added = _inside(below)
    found = _sum_of_exp(total)
    if found is None or not _is(powers, exp) or powers.inputs[0] is not found[0]:
        return None
    x, axes = found
    if added != axes and not (total.type.ndim == 0 and not added):
        return None
    if len(axes) == 1:
        return Softmax(axes[0])(x)
    return exp(subtract(x, expand_dims_at(LogSumExp(axes)(x), axes)))


def _log_softmax(node: Apply, outputs: Any) -> Variable | None:
    op = made_by(node.inputs[0], Softmax)
    if not op:
        return None
    (x,) = node.inputs[0].inputs
    return subtract(x, expand_dims_at(LogSumExp((op.axis,))(x), (op.axis,)))


def _log_of_quotient_of_exps(node: Apply, outputs: Any) -> Variable | None:
    """log(exp(z)) where z is x - logsumexp(x), as the softmax over several axes is written."""
    powers = node.inputs[0]
    if not _is(powers, exp) or not _is(powers.inputs[0], subtract):
        return None
    x, below = powers.inputs[0].inputs
    total, added = _inside(below)
    op = made_by(total, LogSumExp)
    return powers.inputs[0] if op and op.axes == added and total.inputs[0] is x else None


RULES = (
    node_rule(
        "logsumexp_from_log",
        keys=(log,),
        apply=_logsumexp,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="exp(x) overflows and vanishes where log(sum(exp(x))) does not.",
        example=lambda x: log(Reduce(add, (-1,))(exp(x))),
    ),
    node_rule(
        "softmax_from_quotient",
        keys=(divide,),
        apply=_softmax,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="inf / inf is NaN once exp(x) overflows.",
        example=lambda x: exp(x) / expand_dims_at(Reduce(add, (-1,))(exp(x)), (-1,)),
    ),
    node_rule(
        "log_of_softmax",
        keys=(log,),
        apply=_log_softmax,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="A softmax vanishes where its logarithm does not.",
        example=lambda x: log(Softmax(-1)(x)),
    ),
    node_rule(
        "log_of_softmax_over_axes",
        keys=(log,),
        apply=_log_of_quotient_of_exps,
        phase=STABILIZE,
        kind=REASSOCIATES,
        why="A softmax vanishes where its logarithm does not.",
        example=lambda x: log(exp(x - expand_dims_at(LogSumExp((-2, -1))(x), (-2, -1)))),
    ),
)
