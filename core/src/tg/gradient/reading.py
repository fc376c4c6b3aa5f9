"""Supports of results from those of operands, op by op: `READERS`.

A support is read off the graph, never off a value, so it holds at every order and is the same in both modes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tg.gradient.conditions import (
    MOVEMENTS,
    any_along,
    any_over,
    anywhere,
    both,
    computed,
    disjunction,
    either,
    factors_of,
    in_matrix_product,
    nan_where,
    narrow,
    opposite,
    terms_of,
    wide,
)
from tg.graph.nodes import Constant, Variable, literal_text
from tg.ops.contraction import MatMul
from tg.ops.control import StopGradient
from tg.ops.cumulative import Accumulate, CumProdPullback
from tg.ops.elementwise.arithmetic import (
    absolute,
    add,
    asked_opposite,
    asked_where,
    at_kink,
    divide,
    masked_product,
    multiply,
    negative,
    past_kink,
    product_at_kink,
    product_past_kink,
    square,
    subtract,
)
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.complex import complex as complex_of
from tg.ops.elementwise.complex import conjugate, imag, real
from tg.ops.elementwise.exponential import per_expm1
from tg.ops.indexing import Scatter, SliceUpdate
from tg.ops.reduction import ProductOfOthers, Reduce
from tg.ops.shape import Named, expand_dims_at
from tg.ops.shape_ops import Concatenate, ExpandDims, Squeeze, Transpose
from tg.ops.sized_ops import BroadcastTo, SumTo
from tg.types.dtypes import BOOL, is_inexact

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.gradient.conditions import Condition
    from tg.graph.nodes import Apply
    from tg.graph.op import Op


class Support(NamedTuple):
    """Conditions outside of which a value is 0, as is whatever it is multiplied by; and where it is a convention.

    What is asked counts where the value is selected. The slope of |x| at 0 is 0 by convention, the mean of the slopes
    from two opposite directions. So is its product with a slope of f in f(|x|), and with the derivatives of that slope
    by what else it depends on; but it has no product with another convention, nor with the derivatives of a slope of g
    in |g(x)|, beside which the sign of g may be one on both sides.
    """

    selected: Condition = True
    asked: Condition = True
    inward: Condition = False  # a cotangent that has passed a kink: slopes of the kink's inside are to multiply it
    outward: Condition = False  # a tangent that has: slopes of what the kink is put into are to multiply it
    undefined: Condition = False  # NaN, as the slope of a product of a convention and a tangent is


EVERYWHERE: Final = Support()
NOWHERE: Final = Support(False)
FIELDS: Final = Support._fields  # that flow into inner graphs and out of them
PLAIN: Final = Support._field_defaults
UNDEFINED: Final = Support(undefined=True)
ZERO: Final = literal_text(0)


SELECTED, ASKED, INWARD, OUTWARD = range(4)
MARKS: Final[dict[str, Callable[..., Variable]]] = {
    "asked": asked_where,
    "inward": at_kink,
    "outward": past_kink,
    "undefined": nan_where,
}
KINKS: Final = {product_at_kink, product_past_kink, at_kink, past_kink}


class Reader(NamedTuple):
    """The way from the supports of operands (all, or those with these numbers) to that of the result."""

    read: Callable[[Apply, Sequence[Condition], int], Condition]
    operands: tuple[int, ...] = ()
    makes: bool = False  # whether it is not everywhere though those of all operands are
    joins: bool = False  # whether elements meet: what is asked of one counts where it is selected
    unites: bool = False  # whether it is the union of what single operands give, each of whose parts gives a part
    of_terms: Callable[[Apply, Sequence[Condition]], Condition] | None = None  # what is asked, of what asks in part


def asked_inside(s: Support) -> Support:
    """A support whose second condition is no wider than the first, and that says of no 0 that it is NaN."""
    if s.asked is True and s.undefined is False:
        return s
    condition = both(s.selected, s.asked)
    return s._replace(asked=s.asked if s.asked is True else condition, undefined=both(condition, s.undefined))


def read(reader: Reader, node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    """A condition of the result: scalars stay outside of masks that are moved and joined, which are constants then."""
    if not reader.unites or getattr(node.op, "fn", None) not in (None, add):
        return reader.read(node, parts, field)
    if len(parts) == 1 and not isinstance(parts[0], bool) and not parts[0].type.shape:
        return parts[0]
    terms = [terms_of(s) for s in parts]
    scalars = list({id(u): u for pairs in terms for u, _ in pairs}.values())
    if all(u is True for u in scalars):
        return reader.read(node, parts, field)
    union: Condition = False
    for scalar in scalars:
        masks = [disjunction([m for u, m in pairs if u is scalar]) for pairs in terms]
        union = either(union, both(scalar, reader.read(node, masks, field)))
    return union


def is_plain(support: Support) -> bool:
    """Whether a support says nothing but where its value is selected."""
    _, condition, inward, outward, undefined = support
    return condition is True and inward is False and outward is False and undefined is False


def normalized(support: Support) -> Support:
    """The one support that says nothing, for any that does not."""
    return EVERYWHERE if support.selected is True and is_plain(support) else support


def asked_where_selected(parts: Sequence[Support], op: Op) -> list[Support]:
    """The supports of values whose elements meet, each asked for within its selection.

    A selection that all have in common is that of the result, and a scalar of one too: it need not be said twice.
    """
    somewhere = [one.selected for one in parts if one.selected is not False]
    if op.pointwise and all(s is somewhere[0] for s in somewhere):
        own: list[Condition] = [one.selected is not False for one in parts]
    else:
        factors = [factors_of(s) for s in somewhere]
        is_common = all(u is factors[0][0] for u, _ in factors)
        own = [
            factors_of(one.selected)[1] if is_common and one.selected is not False else one.selected for one in parts
        ]
    return [one._replace(asked=both(s, one.asked)) for one, s in zip(parts, own, strict=True)]


def of_constant(c: Constant, *, kinks: bool) -> Support:
    """Zeros that a program writes are 0 by selection if all elements are; single ones are data.

    Where there are conventions a NaN that is written says that something has no product with one.
    """
    if not is_inexact(c.type.dtype):
        return EVERYWHERE
    if is_zero(c):
        return NOWHERE
    return UNDEFINED if kinks and not c.data.ndim and bool(np.isnan(c.data)) else EVERYWHERE


def is_zero(v: Variable) -> bool:
    """Whether a value is a number that the program writes, or an array of it, and 0."""
    return isinstance(v, Constant) and v.literal == ZERO


def is_neutral(v: Variable) -> bool:
    """Whether a value is 0 by a choice that selects nothing: `StopGradient` of a 0 that the program writes."""
    return v.apply is not None and type(v.apply.op) is StopGradient and is_zero(v.inputs[0])


def _of_choice(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    c, (x, y) = narrow(node.inputs[0]), parts
    if is_neutral(node.inputs[2]) or is_neutral(node.inputs[1]):
        return x if is_neutral(node.inputs[2]) else y
    if x is y or field == ASKED:
        return either(x, y)
    return both(c, x) if y is False else either(both(c, x), both(opposite(c), y))


def _of_product(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    return either(*parts) if field >= INWARD else both(*parts)


def _of_masked(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    total = _of_product(node, parts, field)
    for condition in node.inputs[:2] if field == ASKED else ():
        always = isinstance(condition, Constant) and bool(condition.data.all())
        total = both(total, True if always else condition)
    return total


def _of_slope(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    return either(node.inputs[0], either(*parts)) if field == _side(node) else _of_product(node, parts, field)


def _of_marked(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    return either(node.inputs[0], parts[0]) if field == _side(node) else parts[0]


def _of_asked(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    return both(node.inputs[0], parts[0]) if field == ASKED else parts[0]


def _side(node: Apply) -> int:
    return OUTWARD if node.key in (product_past_kink, past_kink) else INWARD


def _of_any(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    """Of an op of which no more is known: a convention wherever an operand is one."""
    if field < INWARD:
        return True
    if node.op.pointwise:
        return disjunction(parts)
    return disjunction([anywhere(s, v) for s, v in zip(parts, node.inputs, strict=False)])


def _of_row(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    """Of an op along an axis, by default the last."""
    if field < INWARD:
        return True
    axis = getattr(node.op, "axis", -1)
    return disjunction([any_along(s, v, axis) for s, v in zip(parts, node.inputs, strict=False)])


def _of_linear_row(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    """Of an op along the last axis that is linear in its second operand."""
    return any_along(parts[1], node.inputs[1], -1) if field < INWARD else _of_row(node, parts, field)


def _of_sum(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    return either(*parts)


def _of_operand(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    return parts[0]


def _of_cast(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    (x,) = node.inputs
    return parts[0] if x.type.dtype != BOOL or field != SELECTED else narrow(x)


def _of_movement(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    (s, *_), (x, *rest) = parts, node.inputs
    if isinstance(s, bool) or not s.type.ndim:
        return s
    if type(node.op) is BroadcastTo:  # broadcasts as it is
        rank = len(node.types[0].shape)
        return s if s.type.ndim == rank else expand_dims_at(s, tuple(range(-rank, -s.type.ndim)))
    return computed(node.op, s if type(node.op) in (ExpandDims, Squeeze, Transpose) else wide(s, x), *rest)


def _of_total(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    op, (s,) = node.op, parts
    assert isinstance(op, Reduce)
    if op.fn is not add and field < INWARD:
        return True
    if isinstance(s, bool) or not s.type.ndim:
        return s
    if _marks_places(s, op.axes):
        return True
    return any_over(s, op.axes)


def _marks_places(s: Variable, axes: Sequence[int]) -> bool:
    """Whether a condition is true at places along some axes at most; as of a sum, that there are any is not asked."""
    node = s.apply
    if node is None or not isinstance(node.op, Scatter | SliceUpdate) or node.op.fn is not None:
        return False
    along = node.op.axes if isinstance(node.op, Scatter) else range(-len(node.op.steps), 0)
    base, value = (narrow(v) for v in node.inputs[:2])
    writes = isinstance(value, Constant) and bool(value.data.all()) and isinstance(base, Constant)
    return writes and all(k in axes for k in along)


def _of_matmul(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    """At most the rows of one operand and the columns of the other."""
    rows, columns = (any_along(s, v, axis) for s, v, axis in zip(parts, node.inputs, (-1, -2), strict=True))
    return _of_product(node, (rows, columns), field)


def _of_terms(node: Apply, parts: Sequence[Condition]) -> Condition:
    """The places where a term of a matrix product has both its factors."""
    (s, t), (x, y) = parts, node.inputs
    return in_matrix_product(s, x, t, y)


def _of_counted(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    """Of an op that adds elements: where one of them is. A sum of bools is whether any is true."""
    op, s = node.op, parts[0]
    if isinstance(op, Accumulate) and op.fn is not add:
        return _of_row(node, parts, field)
    if isinstance(s, bool) or not s.type.ndim:
        return s
    return computed(op, wide(s, node.inputs[0]), *node.inputs[1:])


def _of_joined(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    if all(isinstance(s, bool) for s in parts) and len({*parts}) == 1:
        return parts[0]
    return computed(node.op, *(wide(s, v) for s, v in zip(parts, node.inputs, strict=True)))


def _of_update(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    op, (base, value), (x, v, *starts) = node.op, parts, node.inputs
    assert isinstance(op, SliceUpdate)
    if base is value and isinstance(base, bool):
        return base
    if op.fn is None or (op.fn is add and base is False):
        return computed(SliceUpdate(op.starts, op.steps), wide(base, x), wide(value, v), *starts)
    return _of_any(node, parts, field)


def _of_scatter(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    op, (base, value), (x, v, *at) = node.op, parts, node.inputs
    assert isinstance(op, Scatter)
    if base is True or (value is False and (base is False or op.fn is add)):
        return base
    if op.fn not in (None, add):
        return _of_any(node, parts, field)
    if op.fn is None or (base is False and value is True):
        return computed(Scatter(op.axes), wide(base, x), wide(value, v), *at)
    return computed(op, wide(base, x), wide(value, v), *at)


READERS: Final[dict[object, Reader]] = {
    where: Reader(_of_choice, (1, 2), joins=True),
    multiply: Reader(_of_product),
    masked_product: Reader(_of_masked, (2, 3), makes=True),
    product_at_kink: Reader(_of_slope, (1, 2), makes=True),
    product_past_kink: Reader(_of_slope, (1, 2), makes=True),
    at_kink: Reader(_of_marked, (1,), makes=True),
    **dict.fromkeys((asked_where, asked_opposite), Reader(_of_asked, (1,), makes=True)),
    past_kink: Reader(_of_marked, (1,), makes=True),
    **dict.fromkeys((divide, per_expm1), Reader(_of_operand, (0,))),
    **dict.fromkeys((add, subtract, complex_of), Reader(_of_sum, joins=True)),
    **dict.fromkeys((negative, conjugate, absolute, square, real, imag), Reader(_of_operand)),
    **dict.fromkeys(MOVEMENTS, Reader(_of_movement, (0,), unites=True)),
    Named: Reader(_of_operand),
    Cast: Reader(_of_cast, makes=True),
    Reduce: Reader(_of_total, joins=True, unites=True),
    MatMul: Reader(_of_matmul, joins=True, of_terms=_of_terms),
    SumTo: Reader(_of_counted, (0,), joins=True, unites=True),
    Accumulate: Reader(_of_counted, joins=True, unites=True),
    Concatenate: Reader(_of_joined, unites=True),
    SliceUpdate: Reader(_of_update, (0, 1), joins=True, unites=True),
    Scatter: Reader(_of_scatter, (0, 1), joins=True, unites=True),
    CumProdPullback: Reader(_of_linear_row),
    ProductOfOthers: Reader(_of_row),
}
OTHER: Final = Reader(_of_any, joins=True)
