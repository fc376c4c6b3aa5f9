"""Scaled dot-product attention and its gradient: ops that a backend may compute without the table of weights."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tg.errors import DtypeError, InputError, ShapeError, message
from tg.graph.nodes import as_size_variable
from tg.graph.op import Op
from tg.ops.contraction import MatMul
from tg.ops.creation import iota
from tg.ops.elementwise.arithmetic import add, divide, maximum, multiply, sqrt, subtract
from tg.ops.elementwise.cast import cast_variable, widened
from tg.ops.elementwise.comparison import equal, greater_equal, logical_and, where
from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.record import align_ranks
from tg.ops.family import Family
from tg.ops.nn.dropout import dropped, is_needed
from tg.ops.reduction import Reduce, reduce_sum
from tg.ops.shape import broadcast_to, expand_dims_at, matrix_transpose, reshape, sum_to
from tg.ops.softmax import LogSumExp, Shares, through_shares
from tg.ops.statistics import as_floating
from tg.types.dtypes import in_float32, is_complex, is_float, is_integer, numpy_dtype
from tg.types.requirements import broadcast, require_same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, need_axes, promoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.nodes import Variable
    from tg.types.lengths import Length
    from tg.variables.like import TensorLike

NAME = "scaled_dot_product_attention"


@final
class MaskedSoftmax(Shares):
    """exp(x) / sum(exp(x)) along `axis` without overflow; 0 where all elements are -inf, with derivative 0.

    Shapes:
        x (..., n, ...) -> y (..., n, ...)
    """

    axis: int
    has_expansion = True

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        """The type of x."""
        need_axes("masked_softmax", (self.axis,), len(x.shape))
        return (x,)

    def expansion(self, *inputs: Variable) -> Variable:
        """The maximum is taken out first, and a sum of no exponentials divides as 1."""
        (x,), axes = inputs, (self.axis,)
        kind = numpy_dtype(x.type.dtype).type
        top = expand_dims_at(Reduce(maximum, axes, total=True)(x), axes)
        powers = exp(subtract(x, where(equal(top, kind(-np.inf)), kind(0), top)))
        total = expand_dims_at(reduce_sum(powers, axes), axes)
        return divide(powers, where(equal(total, kind(0)), kind(1), total))

    def facts(self, inputs: Sequence[Variable]) -> Sequence[Iterable[str]]:
        """A share is not below 0."""
        return (("nonnegative", "no_negative_zero"),)


class Attending(Op):
    """The common part of attention and its gradient: which keys a query sees, and their weights."""

    is_causal: bool = False
    is_grouped: bool = False
    scale: float | None = None
    has_expansion = True
    repeats = True

    def lead(self, q: TensorType, k: TensorType, v: TensorType, *masks: TensorType) -> list[Any]:
        """The leading axes that those of all operands broadcast to.

        Raises:
            DtypeError: an operand is complex, or the mask neither bool nor of the dtype of the others.
            ShapeError: ranks differ or are too small, or lengths do not fit.
        """
        _need_types((q, k, v, *masks), 3 if self.is_grouped else 2)
        require_same(q.shape[-1], k.shape[-1], lambda: f"{NAME}: lengths of queries and keys")
        require_same(k.shape[-2], v.shape[-2], lambda: f"{NAME}: numbers of keys and values")
        if self.is_grouped:
            require_same(k.shape[-3], v.shape[-3], lambda: f"{NAME}: heads of keys and values")
        lead: list[Any] = [*q.shape[:-2]]
        for t in (k, v):
            theirs: list[Any] = [*t.shape[:-2]]
            if self.is_grouped:
                _need_groups(q, t)
                theirs[-1] = 1
            lead = _broadcast(lead, theirs)
        for t in masks:
            scores = _broadcast([*lead, q.shape[-2], k.shape[-2]], t.shape)
            require_same(scores[-2], q.shape[-2], lambda: f"{NAME}: queries of the mask")
            require_same(scores[-1], k.shape[-2], lambda: f"{NAME}: keys of the mask")
            lead = scores[:-2]
        return lead

    def scores(self, q: Variable, k: Variable, masks: Sequence[Variable]) -> Variable:
        """The scores, of which the weights are the softmax: scale q k' + mask, -inf where a key takes no part."""
        scores: Variable = MatMul()(self._scaled(q), matrix_transpose(k))
        chosen = [m for m in masks if m.type.dtype == "bool"]
        if len(chosen) < len(masks):
            scores = add(scores, masks[0])
        if self.is_causal:
            chosen.append(greater_equal(expand_dims_at(iota(q.shape[-2]), (-1,)), iota(k.shape[-2])))
        if chosen:
            chosen = align_ranks([*chosen, scores])[:-1]
            takes_part = chosen[0] if len(chosen) == 1 else logical_and(*chosen)
            scores = where(takes_part, scores, numpy_dtype(scores.type.dtype).type(-np.inf))
        return scores

    def in_groups(self, *operands: Variable) -> list[Variable]:
        """q, k, v, and masks, in float32 at least; of grouped heads with an axis for those that share one of k."""
        q, k, v, *masks = (x if x.type.dtype == "bool" else widened(x) for x in operands)
        return _in_groups(q, k, v, masks) if self.is_grouped else [q, k, v, *masks]

    def in_heads(self, x: Variable, like: Variable) -> Variable:
        """Results for queries in groups, by the heads that these have; in the dtype of `like`."""
        if self.is_grouped:
            x = reshape(x, (*x.shape[:-4], like.shape[-3], *x.shape[-2:]))
        return cast_variable(x, like.type.dtype)

    def _scaled(self, q: Variable) -> Variable:
        """The queries times the scale: they are fewer than the scores."""
        kind, length = numpy_dtype(q.type.dtype).type, q.type.shape[-1]
        if self.scale is not None:
            return multiply(q, kind(self.scale))
        if length is not None:
            return multiply(q, kind(1 / math.sqrt(length or 1)))
        return divide(q, sqrt(cast_variable(as_size_variable(q.shape[-1]), q.type.dtype)))


@final
class Attention(Attending):
    """Each query's mean of the values, weighted by softmax(scale q k' + mask); 0 where no key takes part.

    A mask of bool is True where a key takes part, one of numbers is added. With `is_causal` query i sees the keys up to
    i. With `is_grouped` the heads, on the third axis from the end, are more for q than for k and v: each of theirs is
    that of so many consecutive ones of q. The scale is 1 / sqrt(d) where it is None.

    The second result, the logarithms of the sums of exponentials, is for `AttentionGradient` alone: a backend that has
    rules for both may hand over something else there.

    Shapes:
        q (..., t, d), k (..., s, d), v (..., s, e), [mask (..., t, s)] -> (..., t, e), (..., t)
    Dtypes:
        one real floating dtype, or bool for the mask; of halves all is computed in float32, and rounded once. That of
        the second result is not rounded.
    Source:
        torch.nn.functional.scaled_dot_product_attention
    """

    def infer(self, q: TensorType, k: TensorType, v: TensorType, *masks: TensorType) -> tuple[TensorType, ...]:
        """The leading axes that all broadcast to, the queries, and the length of a value."""
        lead = self.lead(q, k, v, *masks)
        return (
            TensorType(q.dtype, (*lead, q.shape[-2], v.shape[-1])),
            TensorType(in_float32(q.dtype), (*lead, q.shape[-2])),
        )

    def factors(self, count: int) -> Sequence[int]:
        """All operands: the mask has the dtype of the others."""
        return range(count)

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """As it is written, of operands in float32 at least."""
        return self.written(inputs, lambda shares: shares)

    def written(self, inputs: Sequence[Variable], between: Callable[[Variable], Variable]) -> tuple[Variable, Variable]:
        """The expansion, with a function of the weights (..., t, s) between the softmax and their product with v."""
        q, k, v, *masks = self.in_groups(*inputs)
        scores = self.scores(q, k, masks)
        means = MatMul()(between(MaskedSoftmax(-1)(scores)), v)
        sums = broadcast_to(LogSumExp((-1,))(scores), means.shape[:-1])  # values may have more leading axes
        y = self.in_heads(means, inputs[0])
        return y, reshape(sums, y.shape[:-1]) if self.is_grouped else sums

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """By `AttentionGradient`, of operands repeated along the leading axes; for a mask that of its scores.

        Rows of the cotangent that are 0 by selection meet nothing of their queries, as in products of matrices.
        """
        (dy, _), fields = cotangents, (self.is_causal, self.is_grouped, self.scale)
        if dy is None:
            return (None,) * len(inputs)
        q, k, v, *masks = inputs
        y, sums = outputs
        lead = y.shape[:-2]
        heads = (*lead[:-1], k.shape[-3]) if self.is_grouped else lead
        whole = [broadcast_to(x, (*n, *x.shape[-2:])) for x, n in ((q, lead), (k, heads), (v, heads))]
        rows = tools.supports.rows(dy, *(x for x in inputs if x.type.dtype != "bool"))
        whole[0], y, masks = rows(whole[0]), rows(y), [m if m.type.dtype == "bool" else rows(m) for m in masks]
        sums = rows(sums, -np.inf)
        gradients = AttentionGradient(*fields)(*whole, *masks, y, sums, dy)
        slopes = [None if m.type.dtype == "bool" else self._of_mask(whole, m, dy) for m in masks]
        return (*(sum_to(dx, x.shape) for dx, x in zip(gradients, (q, k, v), strict=True)), *slopes)

    def _of_mask(self, operands: Sequence[Variable], mask: Variable, dy: Variable) -> Variable:
        """The cotangent of numbers that are added to the scores."""
        slopes = _slopes(self, operands, [mask], dy)[0]
        if self.is_grouped:
            slopes = reshape(slopes, (*dy.shape[:-1], operands[1].shape[-2]))
        return sum_to(cast_variable(slopes, mask.type.dtype), mask.shape)

    def pushforward(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], tangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """Through the expansion."""
        return tools.pushforward_of_expansion(self, inputs, tangents)  # type: ignore[no-any-return]

    def batch(self, tools: Any, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> Sequence[Variable]:
        """The batch is one more leading axis."""
        y, sums = self(
            *(v if b else expand_dims_at(v, (-v.type.ndim - 1,)) for v, b in zip(inputs, batched, strict=True))
        )
        return y, sums


@final
class AttentionGradient(Attending):
    """The cotangents of queries, keys and values for that of their attention, dy.

    For the weights w = softmax(scale q k' + mask) and the slopes s = w (dy v' - sum(dy v' w)) of what they are the
    softmax of: dq = scale s k, dk = scale s' q, dv = w' dy. Both results of the attention, `y` and `sums`, are operands
    too, so that weights need not be summed again: they follow from the others, and no derivative goes through them.

    Shapes:
        q (..., t, d), k (..., s, d), v (..., s, e), [mask (..., t, s)], y (..., t, e), sums (..., t), dy (..., t, e)
        -> dq (..., t, d), dk (..., s, d), dv (..., s, e); leading axes are equal but for a mask, whose broadcast
    Dtypes:
        those of `Attention`; of halves all is computed in float32, and rounded once.
    """

    def infer(self, *types: TensorType) -> tuple[TensorType, ...]:
        """The types of q, k and v."""
        *operands, y, sums, dy = types
        q, k, v = operands[:3]
        wanted = Attention(self.is_causal, self.is_grouped, self.scale).infer(*operands)
        if dy.dtype != q.dtype or (y.dtype, sums.dtype) != tuple(t.dtype for t in wanted):
            raise DtypeError(message(f"{NAME}: found results {y}, {sums}, {dy}, needed {wanted[0]}, {wanted[1]}"))
        for t, like in ((y, wanted[0]), (sums, wanted[1]), (dy, wanted[0])):
            _need_shape(t.shape, like.shape)
        for t in (q, k, v):
            _need_shape(t.shape[:-2][: -1 if self.is_grouped else None], dy.shape[: len(t.shape) - 2 - self.is_grouped])
        return q, k, v

    def factors(self, count: int) -> Sequence[int]:
        """All operands but the sums, which are in float32."""
        return (*range(count - 2), count - 1)

    def expansion(self, *inputs: Variable) -> tuple[Variable, ...]:
        """As it is written, of weights that are computed again."""
        *operands, _, _, dy = inputs
        (q, k, v), masks = operands[:3], operands[3:]
        slopes, shares, rows = _slopes(self, (q, k, v), masks, dy)
        queries, keys, *_ = self.in_groups(q, k, v)
        of_queries = self.in_heads(self._scaled(MatMul()(slopes, keys)), q)
        gradients = [
            MatMul()(matrix_transpose(slopes), self._scaled(queries)),
            MatMul()(matrix_transpose(shares), rows),
        ]
        if self.is_grouped:
            gradients = [reduce_sum(x, (-3,)) for x in gradients]
        return of_queries, *(cast_variable(dx, x.type.dtype) for dx, x in zip(gradients, (k, v), strict=True))


def _slopes(
    op: Attending, operands: Sequence[Variable], masks: Sequence[Variable], dy: Variable
) -> tuple[Variable, Variable, Variable]:
    """The cotangents of scores for that of the results, the weights, and the cotangent by groups of heads."""
    q, k, v, *of_scores = op.in_groups(*operands, *masks)
    shares, (rows, *_) = MaskedSoftmax(-1)(op.scores(q, k, of_scores)), op.in_groups(dy, *operands[1:])
    slopes = through_shares(multiply, MatMul()(rows, matrix_transpose(v)), shares, (-1,))
    assert slopes is not None
    return slopes, shares, rows


def _need_types(operands: Sequence[TensorType], least: int) -> None:
    """Refuse operands of other dtypes and ranks than attention has.

    Raises:
        DtypeError: an operand is complex, or the mask neither bool nor of the dtype of the others.
        ShapeError: ranks differ, or are below `least`.
    """
    dtypes, ranks = {t.dtype for t in operands[:3]}, {len(t.shape) for t in operands}
    shown = ", ".join(map(str, operands))
    if len(dtypes) > 1 or not is_float(operands[0].dtype) or operands[-1].dtype not in {*dtypes, "bool"}:
        raise DtypeError(message(f"{NAME}: dtypes: found {shown}, needed one real floating dtype"))
    if len(ranks) > 1 or min(ranks) < least:
        raise ShapeError(message(f"{NAME}: ranks: found {shown}, needed equal, >= {least}"))


def _need_groups(q: TensorType, t: TensorType) -> None:
    """Refuse heads of the queries that are no multiple of those of the keys or values.

    Raises:
        ShapeError: they are not, as far as both are known.
    """
    many, few = q.shape[-3], t.shape[-3]
    if type(many) is int and type(few) is int and (few == 0 or many % few):
        raise ShapeError(message(f"{NAME}: heads: found {many} of queries for {few}, needed a multiple"))


def _broadcast(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [broadcast(m, n, lambda: f"{NAME}: leading axes") for m, n in zip(a, b, strict=True)]


def _need_shape(shape: Sequence[Any], like: Sequence[Any]) -> None:
    for m, n in zip(shape, like, strict=True):
        require_same(m, n, lambda: f"{NAME}: results")


def _in_groups(q: Variable, k: Variable, v: Variable, masks: list[Variable]) -> list[Variable]:
    """The operands with an axis for the queries' heads that share those of keys and values."""
    many, few = q.shape[-3], k.shape[-3]
    group = many // few

    def split(x: Variable) -> Variable:
        return reshape(x, (*x.shape[:-3], few, group, *x.shape[-2:]))

    def of_heads(mask: Variable) -> Variable:
        if mask.type.shape[-3] == 1:
            return expand_dims_at(mask, (-3,))
        return split(broadcast_to(mask, (*mask.shape[:-3], many, *mask.shape[-2:])))

    return [split(q), expand_dims_at(k, (-3,)), expand_dims_at(v, (-3,)), *(of_heads(m) for m in masks)]


def scaled_dot_product_attention(
    q: TensorLike,
    k: Any,
    v: TensorLike,
    mask: TensorLike | None = None,
    *,
    is_causal: bool = False,
    scale: TensorLike | None = None,
    enable_gqa: bool = False,
    dropout_p: Any = 0.0,
    dropout_key: Any = None,
) -> Variable:
    """Each query's mean of the values, weighted by softmax(scale q k' + mask); 0 where no key takes part.

    Args:
        mask: of bool, True where a key takes part; of numbers, what is added before the softmax.
        is_causal: whether query i sees the keys 0 to i only, and of those the ones that the mask leaves.
        scale: a number or a scalar; 1 / sqrt(d) unless given.
        enable_gqa: whether q has more heads, on the third axis from the end, than k and v: each of theirs is that of
            so many consecutive ones of q.
        dropout_p: the probability with which a weight becomes 0, by `tg.nn.dropout`; that is not one op.
        dropout_key: the key by which it does.
    Shapes:
        q (..., t, d), k (..., s, d), v (..., s, e), mask (..., t, s) -> (..., t, e); leading axes broadcast
    Dtypes:
        that of the operands, float64 for bool and integers. Of halves all is computed in float32, and rounded once.
    Raises:
        DtypeError: an operand is complex, or the mask of integers.
        InputError: there is dropout and no key; the scale is no scalar.
        ShapeError: an operand has fewer than two axes (three for grouped heads), lengths or those of the mask differ.
    Source:
        torch.nn.functional.scaled_dot_product_attention
    Example:
        >>> import tg
        >>> x = tg.matrix("x")
        >>> tg.nn.scaled_dot_product_attention(x, x, x, is_causal=True).eval({x: [[1.0], [3.0]]}).round(3).tolist()
        [[1.0], [2.995]]
    """
    operands = [as_floating(x) for x in (q, k, v)]
    if mask is not None:
        mask = as_variable(mask)
        if is_integer(mask.type.dtype):
            text = f"{NAME}: mask: found {mask.type}, needed bool, or numbers of a floating dtype that are added"
            raise DtypeError(message(text, hint="mask != 0 is True where a key takes part"))
        operands += [] if mask.type.dtype == "bool" else [as_floating(mask)]
    _need_real(operands)
    inputs, dtype = promoted(operands)
    inputs = [cast_variable(x, dtype) for x in inputs]
    if scale is not None and not isinstance(scale, numbers.Real):
        inputs[0], scale = multiply(inputs[0], cast_variable(_as_scalar(scale), dtype)), 1.0
    if mask is not None and len(inputs) == 3:
        inputs.append(mask)
    least = 3 if enable_gqa else 2
    for x, name in zip(inputs[:3], ("q", "k", "v"), strict=True):
        if x.type.ndim < least:
            axes = f"at least {least} axes" + (", the first of them that of heads" if enable_gqa else "")
            raise ShapeError(message(f"{NAME}: {name}: found {x.type}, needed {axes}"))
    if mask is not None:
        _need_places(mask, inputs[0].shape[-2], inputs[1].shape[-2])
    if inputs[-1].type.ndim == 0:
        inputs[-1] = expand_dims_at(inputs[-1], (-1,))
    op = Attention(bool(is_causal), bool(enable_gqa), None if scale is None else float(scale))
    inputs, needed = align_ranks(inputs), is_needed(NAME, dropout_p, dropout_key, training=True)
    if not needed:
        return op(*inputs)[0]  # type: ignore[no-any-return]
    return op.written(inputs, lambda shares: dropped(NAME, shares, dropout_p, dropout_key, shares.shape))[0]


def _need_real(operands: Sequence[Variable]) -> None:
    for x in operands:
        if is_complex(x.type.dtype):
            raise DtypeError(message(f"{NAME}: found {x.type}, needed a real dtype"))


def _need_places(mask: Variable, queries: int | Length, keys: int | Length) -> None:
    """Refuse a mask of which it is known that its last axes do not broadcast with those of queries and keys."""
    for n, needed in zip(mask.shape[:-3:-1], (keys, queries), strict=False):
        if isinstance(n, int) and isinstance(needed, int) and n not in (1, needed):
            text = f"{NAME}: mask: found {mask.type}, needed one that broadcasts with {queries} queries and {keys} keys"
            raise ShapeError(message(text, hint="mask[:, None, None] is one for all heads and queries"))


def _as_scalar(scale: Any) -> Variable:
    factor = as_variable(scale)
    if factor.type.ndim:
        raise InputError(message(f"{NAME}: scale: found {factor.type}, needed a number or a scalar"))
    return factor


FAMILY = Family(
    "nn/attention",
    ops=(MaskedSoftmax, Attention, AttentionGradient),
    functions=(scaled_dot_product_attention,),
    module="nn",
)
