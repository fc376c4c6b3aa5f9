"""Scaled dot-product attention: one op, which a backend may compute without writing down the table of weights."""

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
from tg.ops.shape import broadcast_to, expand_dims_at, matrix_transpose, reshape
from tg.ops.softmax import through_shares
from tg.ops.statistics import as_floating
from tg.types.dtypes import is_complex, is_float, numpy_dtype
from tg.types.lengths import broadcast, require_same
from tg.types.tensor_type import TensorType
from tg.variables.conversion import as_variable, need_axes, promoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.graph.nodes import Variable

NAME = "scaled_dot_product_attention"


@final
class MaskedSoftmax(Op):
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

    def pullback(
        self, tools: Any, inputs: Sequence[Variable], outputs: Sequence[Variable], cotangents: Sequence[Variable | None]
    ) -> Sequence[Variable | None]:
        """y * (dy - sum(dy * y)), which is 0 where all of y is."""
        (y,), (dy,) = outputs, cotangents
        return (None if dy is None else through_shares(tools, dy, y, (self.axis,)),)


@final
class Attention(Op):
    """Each query's mean of the values, weighted by softmax(scale q k' + mask); 0 where no key takes part.

    A mask of bool is True where a key takes part, one of numbers is added. With `is_causal` query i sees the keys up to
    i. With `is_grouped` the heads, on the third axis from the end, are more for q than for k and v: each of theirs is
    that of so many consecutive ones of q. The scale is 1 / sqrt(d) where it is None.

    Shapes:
        q (..., t, d), k (..., s, d), v (..., s, e), [mask (..., t, s)] -> (..., t, e)
    Dtypes:
        one real floating dtype, or bool for the mask; of halves all is computed in float32, and rounded once.
    Source:
        torch.nn.functional.scaled_dot_product_attention
    """

    is_causal: bool = False
    is_grouped: bool = False
    scale: float | None = None
    has_expansion = True
    repeats = True

    def infer(self, q: TensorType, k: TensorType, v: TensorType, *masks: TensorType) -> tuple[TensorType, ...]:
        """The leading axes that all broadcast to, the queries, and the length of a value."""
        operands = (q, k, v, *masks)
        _need_types(operands, 3 if self.is_grouped else 2)
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
        return (TensorType(q.dtype, (*lead, q.shape[-2], v.shape[-1])),)

    def expansion(self, *inputs: Variable) -> Variable:
        """As it is written, of operands in float32 at least."""
        return self.written(inputs, lambda shares: shares)

    def written(self, inputs: Sequence[Variable], between: Callable[[Variable], Variable]) -> Variable:
        """The expansion, with a function of the weights (..., t, s) between the softmax and their product with v."""
        q, k, v, *masks = (x if x.type.dtype == "bool" else widened(x) for x in inputs)
        queries, keys, heads = q.shape[-2], k.shape[-2], q.shape[-3] if self.is_grouped else 1
        if self.is_grouped:
            q, k, v, masks = _in_groups(q, k, v, masks)
        scores = MatMul()(self._scaled(q), matrix_transpose(k))
        chosen = [m for m in masks if m.type.dtype == "bool"]
        if len(chosen) < len(masks):
            scores = add(scores, masks[0])
        if self.is_causal:
            chosen.append(greater_equal(expand_dims_at(iota(queries), (-1,)), iota(keys)))
        if chosen:
            chosen = align_ranks([*chosen, scores])[:-1]
            takes_part = chosen[0] if len(chosen) == 1 else logical_and(*chosen)
            scores = where(takes_part, scores, numpy_dtype(scores.type.dtype).type(-np.inf))
        y = MatMul()(between(MaskedSoftmax(-1)(scores)), v)
        if self.is_grouped:
            y = reshape(y, (*y.shape[:-4], heads, *y.shape[-2:]))
        return cast_variable(y, inputs[0].type.dtype)

    def _scaled(self, q: Variable) -> Variable:
        """The queries times the scale: they are fewer than the scores."""
        kind, length = numpy_dtype(q.type.dtype).type, q.type.shape[-1]
        if self.scale is not None:
            return multiply(q, kind(self.scale))
        if length is not None:
            return multiply(q, kind(1 / math.sqrt(length or 1)))
        return divide(q, sqrt(cast_variable(as_size_variable(q.shape[-1]), q.type.dtype)))

    def batch(self, tools: Any, size: Any, inputs: Sequence[Variable], batched: Sequence[bool]) -> Sequence[Variable]:
        """The batch is one more leading axis."""
        return (
            self(*(v if b else expand_dims_at(v, (-v.type.ndim - 1,)) for v, b in zip(inputs, batched, strict=True))),
        )


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


def _in_groups(q: Variable, k: Variable, v: Variable, masks: list[Variable]) -> tuple[Any, ...]:
    """The operands with an axis for the queries' heads that share those of keys and values."""
    many, few = q.shape[-3], k.shape[-3]
    group = many // few

    def split(x: Variable) -> Variable:
        return reshape(x, (*x.shape[:-3], few, group, *x.shape[-2:]))

    def of_heads(mask: Variable) -> Variable:
        if mask.type.shape[-3] == 1:
            return expand_dims_at(mask, (-3,))
        return split(broadcast_to(mask, (*mask.shape[:-3], many, *mask.shape[-2:])))

    return split(q), expand_dims_at(k, (-3,)), expand_dims_at(v, (-3,)), [of_heads(m) for m in masks]


def scaled_dot_product_attention(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
    *,
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
        DtypeError: an operand is complex.
        InputError: there is dropout and no key; the scale is no scalar.
        ShapeError: an operand has fewer than two axes (three for grouped heads), or lengths differ.
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
        operands += [] if mask.type.dtype == "bool" else [as_floating(mask)]
    _need_real(operands)
    made, dtype = promoted(operands)
    made = [cast_variable(x, dtype) for x in made]
    if scale is not None and not isinstance(scale, numbers.Real):
        made[0], scale = multiply(made[0], cast_variable(_as_scalar(scale), dtype)), 1.0
    if mask is not None and len(made) == 3:
        made.append(mask)
    least = 3 if enable_gqa else 2
    for x, name in zip(made[:3], ("q", "k", "v"), strict=True):
        if x.type.ndim < least:
            axes = f"at least {least} axes" + (", the first of them that of heads" if enable_gqa else "")
            raise ShapeError(message(f"{NAME}: {name}: found {x.type}, needed {axes}"))
    if made[-1].type.ndim == 0:
        made[-1] = expand_dims_at(made[-1], (-1,))
    op = Attention(bool(is_causal), bool(enable_gqa), None if scale is None else float(scale))
    made, needed = align_ranks(made), is_needed(NAME, dropout_p, dropout_key, training=True)
    y = op(*made)
    if not needed:
        return y  # type: ignore[no-any-return]
    return op.written(made, lambda shares: dropped(NAME, shares, dropout_p, dropout_key, shares.shape))


def _need_real(operands: Sequence[Variable]) -> None:
    for x in operands:
        if is_complex(x.type.dtype):
            raise DtypeError(message(f"{NAME}: found {x.type}, needed a real dtype"))


def _as_scalar(scale: Any) -> Variable:
    made = as_variable(scale)
    if made.type.ndim:
        raise InputError(message(f"{NAME}: scale: found {made.type}, needed a number or a scalar"))
    return made


FAMILY = Family(
    "nn/attention",
    ops=(MaskedSoftmax, Attention),
    functions=(scaled_dot_product_attention,),
    module="nn",
)
