"""Losses of classes and probabilities: cross entropies, divergences, overlaps.

What an impossible class, one of logarithm -inf, contributes is 0 where it has no share of the target. Of halves all is
computed in float32, and rounded once. `reduction` is "mean", "sum" or "none".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.nodes import as_size_variable
from tg.ops.control import stop_gradient
from tg.ops.elementwise.arithmetic import add, divide, kink, maximum, multiply, negative, power, subtract
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import (
    equal,
    isfinite,
    logical_and,
    not_equal,
    where,
)
from tg.ops.elementwise.exponential import exp, log, log1p, sigmoid, softplus, xlogy
from tg.ops.family import Family
from tg.ops.indexing import take
from tg.ops.nn.operands import along_axes, need_labels, refuse_labels, wide, wide_if_any
from tg.ops.nn.reductions import REDUCTIONS, alike, need_number, need_reduction, reduced
from tg.ops.places import take_along_axis
from tg.ops.reduction import Reduce, sum
from tg.ops.shape import broadcast_to, expand_dims_at, specify_shape, squeeze
from tg.ops.softmax import log_softmax
from tg.types.dtypes import is_inexact, is_integer
from tg.variables.conversion import as_variable, axes_from_end, axis_from_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.types.choices import DivergenceReduction, Reduction
    from tg.types.lengths import Length
    from tg.variables.like import Integers, TensorLike

LEAST_LOG: Final = -100.0  # PyTorch's bound of the logarithms in `binary_cross_entropy`


def binary_cross_entropy(
    p: TensorLike, y: TensorLike, weight: TensorLike | None = None, reduction: Reduction = "mean"
) -> Variable:
    """-weight * (y * log(p) + (1 - y) * log(1 - p)) of probabilities p, each logarithm at least -100.

    Where a logarithm is cut off the derivative is 0; PyTorch gives (p - y) * 1e12. NaN where p is outside [0, 1].
    `binary_cross_entropy_with_logits` needs no bound.

    Args:
        weight: broadcasts to the shape of p; 1 by default.
    Source:
        torch.nn.functional.binary_cross_entropy
    """
    what = "binary_cross_entropy"
    probabilities, (labels, w), dtype = wide_if_any(what, p, y, weight)
    if labels is None:
        raise InputError(message(f"{what}: y: found None, needed labels"))
    p, y = alike(what, probabilities, labels)
    likely = add(multiply(y, maximum(log(p), LEAST_LOG)), multiply(1.0 - y, maximum(log1p(-p), LEAST_LOG)))
    return reduced(what, _weighted(negative(likely), w, p), reduction, dtype)


def binary_cross_entropy_with_logits(
    logits: TensorLike,
    targets: TensorLike,
    weight: TensorLike | None = None,
    pos_weight: Any = None,
    reduction: Reduction = "mean",
) -> Variable:
    """weight * (pos_weight * y * softplus(-x) + (1 - y) * softplus(x)) of logits x and targets y.

    Args:
        weight, pos_weight: broadcast to the shape of the logits; 1 by default.
    Raises:
        ShapeError: logits and targets differ in shape.
    Example:
        >>> import tg
        >>> x = tg.vector("x")
        >>> tg.nn.binary_cross_entropy_with_logits(x, [1.0, 0.0], reduction="sum").eval({x: [0.0, -1e4]}).round(3)
        np.float64(0.693)
    Source:
        torch.nn.functional.binary_cross_entropy_with_logits
    """
    what = "binary_cross_entropy_with_logits"
    x, (y, w, positive), dtype = wide_if_any(what, logits, targets, weight, pos_weight)
    assert y is not None
    x, y = alike(what, x, y)
    return reduced(what, _weighted(_of_logits(x, y, positive), w, x), reduction, dtype)


def _of_logits(x: Variable, y: Variable, positive: Variable | None = None) -> Variable:
    """Both terms are of one sign: neither takes digits of the other."""
    share = _weighted(y, positive, x)
    return add(multiply(share, softplus(negative(x))), multiply(1.0 - y, softplus(x)))


def _weighted(losses: Variable, weight: Variable | None, x: Variable) -> Variable:
    """Losses times a weight, if there is one, that is repeated to the shape of x."""
    return losses if weight is None else multiply(losses, broadcast_to(weight, x.shape))


def sigmoid_focal_loss(
    logits: TensorLike, targets: TensorLike, alpha: float = 0.25, gamma: float = 2.0, reduction: Reduction = "none"
) -> Variable:
    """Binary cross entropy times alpha**y * (1 - alpha)**(1 - y) * q**gamma, q the probability of the other class.

    Args:
        alpha: the weight of class 1; no weights if it is negative.
        gamma: 0 is cross entropy.
    Source:
        torchvision.ops.sigmoid_focal_loss; Lin et al., "Focal Loss for Dense Object Detection", 2017
    """
    what = "sigmoid_focal_loss"
    (x, y), dtype = wide(what, logits, targets)
    x, y = alike(what, x, y)
    losses = _of_logits(x, y)
    if gamma != 0:
        wrong = add(multiply(y, sigmoid(negative(x))), multiply(1.0 - y, sigmoid(x)))
        losses = multiply(power(wrong, gamma), losses)
    if alpha >= 0:
        losses = multiply(add(alpha * y, (1 - alpha) * (1.0 - y)), losses)
    return reduced(what, losses, reduction, dtype)


def cross_entropy(
    logits: TensorLike,
    labels: TensorLike,
    weight: TensorLike | None = None,
    *,
    ignore_index: int | None = -100,
    label_smoothing: float = 0.0,
    axis: int = 1,
    reduction: Reduction = "mean",
) -> Variable:
    """-weight * log(softmax(logits)) at each label, or the sum of it over classes with their probabilities.

    The mean of labels is one with the classes' weights, of those that are not ignored: NaN if all are. The mean of
    probabilities divides by their number alone.

    Args:
        labels: integers, one for each sample; or floating, the probabilities of classes.
        weight: one for each class.
        ignore_index: the label of samples that do not count; None for none.
        label_smoothing: the share of each target that is spread evenly over all classes.
        axis: that of classes; of a vector the only one.
    Shapes:
        logits (n, c, ...), labels (n, ...) or (n, c, ...), weight (c) -> (n, ...), or () of a reduction
    Raises:
        BoundsError: a label that counts is outside [0, c).
        DtypeError: labels, one for each sample, are no integers.
        ShapeError: labels do not fit the logits, or there is not one weight for each class.
        DomainError: `label_smoothing` is outside [0, 1].
    Example:
        >>> import tg
        >>> x = tg.matrix("x")
        >>> tg.nn.cross_entropy(x, [0, -100], reduction="none").eval({x: [[0.0, 0.0], [1.0, 2.0]]}).round(3)
        array([0.693, 0.   ])
    Source:
        torch.nn.functional.cross_entropy
    """
    what = "cross_entropy"
    need_reduction(what, reduction)
    need_number(f"{what}: label_smoothing", label_smoothing, 0.0, 1.0, "a number in [0, 1]")
    labels = as_variable(labels)
    of_classes = is_inexact(labels.type.dtype)
    x, (y, w), dtype = wide_if_any(what, logits, labels if of_classes else None, weight)
    k = _class_axis(what, x, axis)
    log_p = _log_softmax(x, k)
    if y is not None:
        if y.type.ndim == x.type.ndim - 1:
            text = f"{what}: found {labels.type}, needed integers for labels, or probabilities of the shape of {x.type}"
            hint = "tg.vector('labels', 'int64') is an input of integers; labels.astype('int64') converts"
            raise DtypeError(message(text, hint=hint))
        y = specify_shape(y, x.shape, f"{what}: probabilities")
        return reduced(what, _of_probabilities(what, log_p, y, w, label_smoothing, k), reduction, dtype)
    return _of_labels(what, log_p, labels, w, ignore_index, k, reduction, dtype, label_smoothing)


def nll_loss(
    log_p: TensorLike,
    labels: TensorLike,
    weight: TensorLike | None = None,
    *,
    ignore_index: int | None = -100,
    axis: int = 1,
    reduction: Reduction = "mean",
) -> Variable:
    """-weight * log_p at each label: `cross_entropy` of logarithms of probabilities.

    Source:
        torch.nn.functional.nll_loss
    """
    need_reduction("nll_loss", reduction)
    x, (w,), dtype = wide_if_any("nll_loss", log_p, weight)
    k = _class_axis("nll_loss", x, axis)
    return _of_labels("nll_loss", x, as_variable(labels), w, ignore_index, k, reduction, dtype)


def _class_axis(what: str, x: Variable, axis: int) -> int:
    return -1 if x.type.ndim == 1 and axis == 1 else axis_from_end(axis, x.type.ndim, what)


def _log_softmax(x: Variable, k: int) -> Variable:
    """The largest logit is taken off first: beside one of 1e4 a float32 logarithm has three digits behind the point."""
    top = Reduce(maximum, (k,), total=True)(x)
    shift = stop_gradient(where(isfinite(top), top, 0.0))
    return log_softmax(subtract(x, expand_dims_at(shift, (k,))), k)


def _of_probabilities(
    what: str, log_p: Variable, y: Variable, w: Variable | None, smoothing: float, k: int
) -> Variable:
    if smoothing:
        n = cast_variable(as_size_variable(log_p.shape[k]), y.type.dtype)
        y = (1 - smoothing) * y + divide(smoothing, n)
    terms = _share(y, log_p)
    if w is not None:
        terms = multiply(terms, along_axes(f"{what}: weight", w, log_p, [k]))
    return negative(sum(terms, k))


def _share(y: Variable, log_p: Variable) -> Variable:
    """y * log_p, and 0 of nothing impossible, where the derivative by y is infinite: it is NaN."""
    is_none = logical_and(equal(y, 0), equal(log_p, -np.inf))
    return where(is_none, kink(y), multiply(y, log_p))


def _of_labels(
    what: str,
    log_p: Variable,
    labels: Variable,
    w: Variable | None,
    ignore_index: int | None,
    k: int,
    reduction: str,
    dtype: str,
    smoothing: float = 0.0,
) -> Variable:
    labels, counts = _inside(what, labels, log_p, ignore_index, k)
    picked = squeeze(take_along_axis(log_p, expand_dims_at(labels, (k,)), k, mode="promise"), k)
    shares = None
    if w is not None:
        shares = take(specify_shape(w, [log_p.shape[k]], f"{what}: weight"), labels, mode="promise")
        picked = multiply(shares, picked)
    losses = negative(picked)
    if smoothing:
        scale = None if w is None else along_axes(f"{what}: weight", w, log_p, [k])
        spread = negative(sum(log_p if scale is None else multiply(scale, log_p), k))
        n = cast_variable(as_size_variable(log_p.shape[k]), log_p.type.dtype)
        losses = (1 - smoothing) * losses + multiply(divide(smoothing, n), spread)
    if counts is not None:
        losses = where(counts, losses, 0.0)
    if reduction != "mean" or (counts is None and shares is None):
        return reduced(what, losses, reduction, dtype)
    ones = as_variable(1.0, log_p.type.dtype) if shares is None else shares
    shares = ones if counts is None else where(counts, ones, 0.0)
    return cast_variable(divide(sum(losses), sum(shares)), dtype)


def _inside(
    what: str, labels: Variable, x: Variable, ignore_index: int | None, k: int
) -> tuple[Variable, Variable | None]:
    """Labels, of which it is made sure that those that count are classes, the others 0; and which count, None for all.

    Raises:
        BoundsError: a label is outside; a check where labels are known at run time only.
    """
    if not is_integer(labels.type.dtype):
        raise DtypeError(message(f"{what}: labels: found {labels.type.dtype}, needed integers or probabilities"))
    place = k + x.type.ndim
    rest = [*x.shape[:place], *x.shape[place + 1 :]]
    if not _may_be(labels, rest):
        text = f"{what}: labels: found {labels.type} for {x.type}, needed its shape without the axis of classes"
        is_last = k != -1 and _may_be(labels, x.shape[:-1])
        hint = f"classes are looked for along axis {place}: axis=-1 takes the last one" if is_last else None
        raise ShapeError(message(text, hint=hint))
    refuse_labels(what, labels, x.shape[k], ignore_index)
    labels = specify_shape(cast_variable(labels, "int64"), rest, f"{what}: labels")
    counts = None if ignore_index is None else not_equal(labels, ignore_index)
    return need_labels(what, labels, x.shape[k], ignore_index), counts


def _may_be(x: Variable, shape: Sequence[int | Length]) -> bool:
    """Whether an array may have a shape, by what is known of both."""
    pairs = zip(x.shape, shape, strict=False)
    return x.type.ndim == len(shape) and all(a == b for a, b in pairs if isinstance(a, int) and isinstance(b, int))


def kl_div(
    log_p: TensorLike, target: TensorLike, log_target: bool = False, reduction: DivergenceReduction = "mean"
) -> Variable:
    """target * (log(target) - log_p), each element's share of the divergence of p from the target.

    Args:
        log_target: whether the target is given by its logarithm.
        reduction: also "batchmean", the sum divided by the length of the first axis: the divergence.
    Source:
        torch.nn.functional.kl_div
    """
    what = "kl_div"
    need_reduction(what, reduction, (*REDUCTIONS, "batchmean"))
    (x, y), dtype = wide(what, log_p, target)
    x, y = alike(what, x, y)
    if log_target:
        losses = where(equal(y, -np.inf), 0.0, multiply(exp(y), subtract(y, x)))
    else:
        losses = subtract(xlogy(y, y), _share(y, x))
    if reduction != "batchmean":
        return reduced(what, losses, reduction, dtype)
    n = cast_variable(as_size_variable(x.shape[0]), x.type.dtype)
    return cast_variable(divide(sum(losses), n), dtype)


def dice_loss(
    p: TensorLike,
    y: TensorLike,
    smooth: float = 1.0,
    axes: Integers | None = None,
    reduction: Reduction = "mean",
) -> Variable:
    """1 - (2 * sum(p * y) + smooth) / (sum(p) + sum(y) + smooth) of probabilities and a mask, over axes.

    Args:
        smooth: what keeps the quotient of two empty masks at 1; 0 gives NaN there.
        axes: those that are summed over, by default all but the first: one loss for each sample.
    Shapes:
        p (n, ...), y (n, ...) -> (n), or () of a reduction
    Source:
        Milletari et al., "V-Net", 2016, with plain sums as in optax.losses
    """
    (p, y), dtype = wide("dice_loss", p, y)
    p, y = alike("dice_loss", p, y)
    over = tuple(range(1 - p.type.ndim, 0)) if axes is None else axes_from_end(axes, p.type.ndim, "dice_loss")
    both = sum(add(p, y), over)
    return reduced("dice_loss", 1.0 - divide(2 * sum(multiply(p, y), over) + smooth, both + smooth), reduction, dtype)


FAMILY = Family(
    "nn/cross_entropy",
    functions=(
        binary_cross_entropy, binary_cross_entropy_with_logits, sigmoid_focal_loss, cross_entropy, nll_loss, kl_div,
        dice_loss,
    ),
    module="nn",
)  # fmt: skip
