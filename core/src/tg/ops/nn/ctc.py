"""Connectionist temporal classification: the loss of a sequence of labels that is not aligned with the steps.

A path gives each step a label or the blank; the paths of a sequence become it where repetitions are merged and blanks
dropped. Their probabilities are summed step by step, over prefixes of the sequence with a blank around each label.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.errors import DomainError, DtypeError, ShapeError, message
from tg.graph.checks import Descriptor
from tg.ops.assumptions import required
from tg.ops.creation import full, iota
from tg.ops.elementwise.arithmetic import divide, maximum, negative
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, isinf, less, logical_and, not_equal, where
from tg.ops.family import Family
from tg.ops.indexing import slice_axis
from tg.ops.iteration import scan
from tg.ops.nn.operands import need_labels, need_lengths, wide
from tg.ops.nn.reductions import need_reduction, reduced
from tg.ops.places import take_along_axis
from tg.ops.reduction import Reduce, all
from tg.ops.shape import broadcast_to, concatenate, expand_dims_at, reshape, specify_shape, squeeze, stack
from tg.ops.softmax import logsumexp
from tg.types.dtypes import is_integer
from tg.types.lengths import multiply
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import Reduction
    from tg.types.lengths import Length
    from tg.variables.like import TensorLike


def ctc_loss(
    log_probs: Any,
    targets: TensorLike,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: Reduction = "mean",
    zero_infinity: bool = False,
) -> Variable:
    """-log of the probability of all paths that become the target.

    The derivative is that by the logarithms given. PyTorch's is of logits whose `log_softmax` they are; composed with
    `log_softmax` both are the same.

    Args:
        targets: labels, padded: those from `target_lengths` on do not count.
        input_lengths, target_lengths: how many steps and labels of each sample count.
        blank: the class that is no label.
        reduction: "mean" divides each loss by the length of its target first, if that is not 0.
        zero_infinity: whether the loss of a target that is longer than its input is 0 rather than infinite.
    Shapes:
        log_probs (t, n, c), targets (n, s), lengths (n) -> (n), or () of a reduction; of one sample (t, c), (s), ()
    Raises:
        BoundsError: a label that counts is no class.
        DomainError: a label is the blank, or a length is outside the axis.
        ShapeError: shapes do not fit.
    Source:
        torch.nn.functional.ctc_loss, with padded targets; Graves et al., "Connectionist Temporal Classification", 2006
    """
    need_reduction("ctc_loss", reduction)
    (x,), dtype = wide("ctc_loss", log_probs)
    y, steps, lengths = (_integers(v, name) for v, name in _named(targets, input_lengths, target_lengths))
    is_single = x.type.ndim == 2
    if is_single:
        x, y = expand_dims_at(x, (-2,)), expand_dims_at(y, (-2,)) if y.type.ndim == 1 else y
        steps, lengths = (expand_dims_at(v, (-1,)) if v.type.ndim == 0 else v for v in (steps, lengths))
    if (x.type.ndim, y.type.ndim, steps.type.ndim, lengths.type.ndim) != (3, 2, 1, 1):
        text = f"found {x.type}, targets {y.type} and lengths {steps.type} and {lengths.type}"
        raise ShapeError(message(f"ctc_loss: {text}, needed (t, n, c), (n, s), (n) and (n)"))
    y = specify_shape(y, [x.shape[1], None], "ctc_loss: targets")
    steps = need_lengths("ctc_loss: input_lengths", steps, [y.shape[0]], x.shape[0])
    lengths = need_lengths("ctc_loss: target_lengths", lengths, [y.shape[0]], y.shape[1])
    losses = negative(_log_likelihood(x, _labels(y, lengths, x.shape[2], blank), steps, lengths, blank))
    if zero_infinity:
        losses = where(isinf(losses), 0.0, losses)
    if reduction == "mean":
        losses = divide(losses, cast_variable(maximum(lengths, 1), losses.type.dtype))
    return reduced("ctc_loss", squeeze(losses, -1) if is_single else losses, reduction, dtype)


def _named(targets: Any, input_lengths: Any, target_lengths: Any) -> tuple[tuple[Any, str], ...]:
    return (targets, "targets"), (input_lengths, "input_lengths"), (target_lengths, "target_lengths")


def _integers(value: Any, name: str) -> Variable:
    v = as_variable(value)
    if not is_integer(v.type.dtype):
        raise DtypeError(message(f"ctc_loss: {name}: found {v.type.dtype}, needed integers"))
    return cast_variable(v, "int64")


def _labels(y: Variable, lengths: Variable, classes: int | Length, blank: int) -> Variable:
    """The labels that count, the blank in place of the others."""
    if isinstance(classes, int) and not 0 <= blank < classes:
        raise DomainError(message(f"ctc_loss: blank: found {blank}, needed one in [0, {classes})"))
    counts = less(iota(y.shape[1]), expand_dims_at(lengths, (-1,)))
    y = need_labels("ctc_loss", where(counts, y, blank), classes)
    fine = equal(cast_variable(not_equal(y, blank), "int64"), cast_variable(counts, "int64"))
    text = f"ctc_loss: labels: found the blank, {blank}, needed labels"
    return required(y, all(fine), [], Descriptor("DomainError", text))


def _log_likelihood(x: Variable, y: Variable, steps: Variable, lengths: Variable, blank: int) -> Variable:
    """The logarithm of the sum of all paths, by one loop over the steps."""
    places = _around(y, blank)
    n, width = places.shape
    emitted = take_along_axis(x, expand_dims_at(places, (-3,)), -1, mode="promise")
    before = _behind(places, blank, 2)
    is_other = logical_and(not_equal(places, blank), not_equal(places, before))
    start = where(equal(iota(width), 0), 0.0, -np.inf)
    start = broadcast_to(cast_variable(start, x.type.dtype), (n, width))

    def step(prefix: Variable, slices: tuple[Variable, Variable]) -> tuple[Variable, None]:
        t, logs = slices
        ways = [prefix, _behind(prefix, -np.inf, 1), where(is_other, _behind(prefix, -np.inf, 2), -np.inf)]
        return where(expand_dims_at(less(t, steps), (-1,)), _total(ways) + logs, prefix), None

    final, _ = scan(step, start, (iota(x.shape[0]), emitted))
    ends = stack([2 * lengths, maximum(2 * lengths - 1, 0)], -1)
    last = take_along_axis(final, ends, -1, mode="promise")
    is_end = logical_and(equal(iota(2), 1), equal(expand_dims_at(lengths, (-1,)), 0))
    last = where(is_end, -np.inf, last)
    return _total([squeeze(slice_axis(last, -1, k, 1), -1) for k in range(2)])


def _around(y: Variable, blank: int) -> Variable:
    """Labels with a blank before, between and behind them."""
    n, s = y.shape
    pairs = stack([broadcast_to(as_variable(blank, "int64"), (n, s)), y], -1)
    return concatenate([reshape(pairs, (n, multiply(2, s))), full((n, 1), blank, dtype="int64")], 1)


def _behind(v: Variable, filling: Any, count: int) -> Variable:
    """Rows moved by some places to the right, with a number in front."""
    n, width = v.shape
    front = cast_variable(full((n, count), filling), v.type.dtype)
    return slice_axis(concatenate([front, v], 1), -1, 0, width)


def _total(ways: list[Variable]) -> Variable:
    """The logarithm of a sum of exponentials; where there is none, -inf, which nothing depends on."""
    logs = stack(ways)
    is_none = equal(Reduce(maximum, (-logs.type.ndim,))(logs), -np.inf)
    return where(is_none, -np.inf, logsumexp(where(is_none, 0.0, logs), 0))


FAMILY = Family("nn/ctc", functions=(ctc_loss,), module="nn")
