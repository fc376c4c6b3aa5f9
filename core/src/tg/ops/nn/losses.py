"""Losses of numbers and of distances: regression, likelihoods, margins.

A loss takes operands of one shape, or scalars: nothing is repeated along an axis of length 1. Of halves all is computed
in float32, and rounded once. `reduction` is "mean", "sum" or "none".
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from tg.graph.checks import Descriptor
from tg.ops.assumptions import required
from tg.ops.elementwise.arithmetic import (
    absolute,
    add,
    divide,
    maximum,
    minimum,
    multiply,
    relu,
    sqrt,
    square,
    subtract,
)
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import equal, greater, less, less_equal, logical_not, where
from tg.ops.elementwise.exponential import exp, log
from tg.ops.family import Family
from tg.ops.linalg.norms import vector_norm
from tg.ops.nn.operands import wide
from tg.ops.nn.reductions import alike, need_number, reduced
from tg.ops.reduction import any, sum
from tg.ops.shape import broadcast_to, expand_dims_at
from tg.variables.conversion import axes_from_end

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.types.choices import Reduction
    from tg.variables.like import Integers, TensorLike

LEAST: Final = math.ulp(0.0)
COSINE_EPS: Final = 1e-12  # PyTorch's constant beside the squares of `cosine_embedding_loss`


def mse_loss(x: TensorLike, y: TensorLike, reduction: Reduction = "mean") -> Variable:
    """(x - y)**2.

    Raises:
        ShapeError: shapes differ, where PyTorch warns and broadcasts.
    Example:
        >>> import tg
        >>> float(tg.nn.mse_loss([1.0, 2.0], [1.0, 4.0]).eval())
        2.0
    Source:
        torch.nn.functional.mse_loss
    """
    (x, y), dtype = _pair("mse_loss", x, y)
    return reduced("mse_loss", square(subtract(x, y)), reduction, dtype)


def l1_loss(x: TensorLike, y: TensorLike, reduction: Reduction = "mean") -> Variable:
    """|x - y|; the derivative where both are equal is 0.

    Source:
        torch.nn.functional.l1_loss
    """
    (x, y), dtype = _pair("l1_loss", x, y)
    return reduced("l1_loss", absolute(subtract(x, y)), reduction, dtype)


def huber_loss(x: TensorLike, y: TensorLike, delta: Any = 1.0, reduction: Reduction = "mean") -> Variable:
    """d**2 / 2 where the difference d is at most delta, else delta * (|d| - delta / 2).

    Raises:
        DomainError: delta is a number that is not above 0.
    Source:
        torch.nn.functional.huber_loss
    """
    need_number("huber_loss: delta", delta, LEAST, math.inf, "a positive number")
    (x, y, limit), dtype = _pair("huber_loss", x, y, delta)
    d = subtract(x, y)
    size = absolute(d)
    losses = where(less_equal(size, limit), 0.5 * square(d), limit * (size - 0.5 * limit))
    return reduced("huber_loss", losses, reduction, dtype)


def smooth_l1_loss(x: TensorLike, y: TensorLike, beta: float = 1.0, reduction: Reduction = "mean") -> Variable:
    """d**2 / (2 * beta) where the difference d is less than beta, else |d| - beta / 2; |d| if beta is 0.

    Raises:
        DomainError: beta is negative.
    Source:
        torch.nn.functional.smooth_l1_loss
    """
    need_number("smooth_l1_loss: beta", beta, 0.0, math.inf, "a number of at least 0")
    if beta == 0:
        return l1_loss(x, y, reduction)
    (x, y), dtype = _pair("smooth_l1_loss", x, y)
    d = subtract(x, y)
    size = absolute(d)
    losses = where(less(size, beta), square(d) * (0.5 / beta), size - 0.5 * beta)
    return reduced("smooth_l1_loss", losses, reduction, dtype)


def _pair(what: str, x: Any, y: Any, *parameters: Any) -> tuple[list[Variable], str]:
    """Two operands of one shape and parameters that broadcast with them."""
    (x, y, *rest), dtype = wide(what, x, y, *parameters)
    return [*alike(what, x, y), *rest], dtype


def gaussian_nll_loss(
    x: TensorLike, y: TensorLike, var: TensorLike, full: bool = False, eps: float = 1e-6, reduction: Reduction = "mean"
) -> Variable:
    """(log(v) + (x - y)**2 / v) / 2 for v = max(var, eps), the negative logarithm of a normal density.

    Where var is less than eps the derivative with respect to it is 0; PyTorch gives that of v.

    Args:
        var: variances, of the shape of x, or without its last axis, or with one element along it.
        full: whether log(2 * pi) / 2 is added.
    Raises:
        DomainError: a variance is negative.
        ShapeError: x and y differ in shape, or the variances do not broadcast to them.
    Source:
        torch.nn.functional.gaussian_nll_loss
    """
    what = "gaussian_nll_loss"
    (x, y, v), dtype = _pair(what, x, y, var)
    if v.type.ndim and v.type.ndim == x.type.ndim - 1:
        v = expand_dims_at(v, (-1,))
    v = broadcast_to(v, x.shape)
    failure = Descriptor("DomainError", f"{what}: var: found a negative number, needed variances")
    v = maximum(required(v, logical_not(any(less(v, 0))), [], failure), eps)
    losses = 0.5 * add(log(v), divide(square(subtract(x, y)), v))
    return reduced(what, losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction, dtype)


def poisson_nll_loss(
    x: TensorLike,
    y: TensorLike,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: Reduction = "mean",
) -> Variable:
    """exp(x) - y * x, or x - y * log(x + eps), the negative logarithm of a Poisson distribution's probability of y.

    Args:
        log_input: whether x is the logarithm of the rate.
        full: whether Stirling's approximation of log(y!) is added where y is above 1.
    Source:
        torch.nn.functional.poisson_nll_loss
    """
    (x, y), dtype = _pair("poisson_nll_loss", x, y)
    losses = subtract(exp(x), multiply(y, x)) if log_input else subtract(x, multiply(y, log(x + eps)))
    if full:
        stirling = multiply(y, log(y)) - y + 0.5 * log(2 * math.pi * y)
        losses = add(losses, where(greater(y, 1), stirling, 0.0))
    return reduced("poisson_nll_loss", losses, reduction, dtype)


def hinge_loss(x: TensorLike, y: TensorLike, margin: float = 1.0, reduction: Reduction = "mean") -> Variable:
    """max(0, margin - x * y) of scores x and labels y, which are 1 or -1.

    Source:
        optax.losses.hinge_loss; torch.nn.functional has it of distances only, `hinge_embedding_loss`
    """
    (x, y, m), dtype = _pair("hinge_loss", x, y, margin)
    return reduced("hinge_loss", relu(subtract(m, multiply(x, y))), reduction, dtype)


def hinge_embedding_loss(x: TensorLike, y: TensorLike, margin: float = 1.0, reduction: Reduction = "mean") -> Variable:
    """x where y is 1, max(0, margin - x) where y is -1.

    Source:
        torch.nn.functional.hinge_embedding_loss
    """
    (x, y, m), dtype = _pair("hinge_embedding_loss", x, y, margin)
    losses = add(where(equal(y, -1), 0.0, x), where(equal(y, 1), 0.0, relu(subtract(m, x))))
    return reduced("hinge_embedding_loss", losses, reduction, dtype)


def margin_ranking_loss(
    x1: TensorLike, x2: TensorLike, y: TensorLike, margin: float = 0.0, reduction: Reduction = "mean"
) -> Variable:
    """max(0, margin - y * (x1 - x2)): x1 is to be the larger where y is 1, the smaller where it is -1.

    Source:
        torch.nn.functional.margin_ranking_loss
    """
    what = "margin_ranking_loss"
    (x1, x2, y, m), dtype = wide(what, x1, x2, y, margin)
    x1, x2, y = alike(what, x1, x2, y)
    return reduced(what, relu(subtract(m, multiply(y, subtract(x1, x2)))), reduction, dtype)


def cosine_similarity(x: TensorLike, y: TensorLike, axis: Integers = 1, eps: float = 1e-8) -> Variable:
    """The product of x / max(norm(x), eps) and y / max(norm(y), eps), summed along an axis.

    Operands broadcast, as PyTorch's do.

    Source:
        torch.nn.functional.cosine_similarity
    """
    (x, y), dtype = wide("cosine_similarity", x, y)
    whole = max(x.type.ndim, y.type.ndim)
    over = axes_from_end(axis, whole, "cosine_similarity")
    parts = []
    for v in (x, y):
        own = tuple(k for k in over if k >= -v.type.ndim)
        size = maximum(vector_norm(v, axis=own, keepdims=True), eps) if own else maximum(absolute(v), eps)
        parts.append(divide(v, size))
    return cast_variable(sum(multiply(*parts), over), dtype)


def cosine_embedding_loss(
    x: TensorLike, y: TensorLike, label: Any, margin: float = 0.0, reduction: Reduction = "mean"
) -> Variable:
    """1 - c where the label is 1, max(0, c - margin) where it is -1, for the cosine c of rows of x and y.

    Shapes:
        x (n, m), y (n, m), label (n) -> (n), or () of a reduction; of vectors x and y () and ()
    Source:
        torch.nn.functional.cosine_embedding_loss
    """
    what = "cosine_embedding_loss"
    (x, y, m, label), dtype = wide(what, x, y, margin, label)
    x, y = alike(what, x, y)
    squares = multiply(add(sum(square(x), -1), COSINE_EPS), add(sum(square(y), -1), COSINE_EPS))
    cosine, label = alike(f"{what}: label", divide(sum(multiply(x, y), -1), sqrt(squares)), label)
    apart = where(equal(label, -1), relu(subtract(cosine, m)), 0.0)
    return reduced(what, where(equal(label, 1), subtract(1.0, cosine), apart), reduction, dtype)


def triplet_margin_loss(
    anchor: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: Reduction = "mean",
) -> Variable:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)) of distances d along the last axis.

    Args:
        p: the order of the norm of x - y + eps, which is the distance of x and y.
        swap: whether the smaller one of d(anchor, negative) and d(positive, negative) counts.
    Shapes:
        each of the three (..., m) -> (...), or () of a reduction
    Source:
        torch.nn.functional.triplet_margin_loss
    """
    what = "triplet_margin_loss"
    (anchor, positive, other, m), dtype = wide(what, anchor, positive, negative, margin)
    anchor, positive, other = alike(what, anchor, positive, other)

    def distance(x: Variable, y: Variable) -> Variable:
        return vector_norm(subtract(x, y) + eps, axis=-1, ord=p)

    near, far = distance(anchor, positive), distance(anchor, other)
    far = minimum(far, distance(positive, other)) if swap else far
    return reduced(what, relu(subtract(add(m, near), far)), reduction, dtype)


FAMILY = Family(
    "nn/losses",
    functions=(
        mse_loss, l1_loss, huber_loss, smooth_l1_loss, gaussian_nll_loss, poisson_nll_loss, hinge_loss,
        hinge_embedding_loss, margin_ranking_loss, cosine_similarity, cosine_embedding_loss, triplet_margin_loss,
    ),
    module="nn",
)  # fmt: skip
