"""Conditions: where a value is selected or asked for, as variables that broadcast to it, or everywhere or nowhere."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.gradient.literals import are_opposite, holds_within, is_compound, literals, terms
from tg.graph.nodes import Constant, Variable, apply
from tg.graph.traversal import key_of
from tg.ops.contraction import MatMul
from tg.ops.elementwise.arithmetic import multiply
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.comparison import logical_and, logical_not, logical_or, not_equal, where
from tg.ops.elementwise.record import Elementwise
from tg.ops.indexing import Gather, Slice, SliceUpdate
from tg.ops.reduction import Reduce
from tg.ops.shape import broadcast_to, expand_dims_at
from tg.ops.shape_ops import ExpandDims, Squeeze, Transpose
from tg.ops.sized_ops import BroadcastTo, Reshape, SpecifyShape
from tg.types.dtypes import BOOL, numpy_dtype
from tg.types.lengths import same

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tg.gradient.literals import Literals
    from tg.graph.nodes import Apply
    from tg.graph.op import Op

    Condition = Variable | bool  # True: everywhere; False: nowhere; else it broadcasts to the value, in its rank or 0-d

MOST_TERMS: Final = 8  # of a disjunction that are compared with one another
MOST_PARTS: Final = 32  # that a mask is made of that are looked at
LARGEST: Final = 1_000_000  # elements of conditions that are computed while a derivative is built
MOVEMENTS: Final = (ExpandDims, Reshape, Squeeze, Transpose, Slice, Gather, BroadcastTo, SpecifyShape)


def both(a: Condition, b: Condition) -> Condition:
    """Conjunction."""
    if a is False or b is False:
        return False
    if a is True or a is b:
        return b
    if b is True:
        return a
    simpler = _met(a, b)
    if simpler is not None:
        return simpler
    (u, s), (v, t) = factors_of(a), factors_of(b)
    if (u is not True and s is not True) or (v is not True and t is not True):
        return both(both(u, v), both(s, t))  # scalars stay outside: masks are mostly constants, and meet as such
    written = _both_by_place(a, b)
    return computed(logical_and.op, a, b) if written is None else written


def _both_by_place(a: Variable, b: Variable) -> Variable | None:
    """The conjunction of conditions that are written into constants at one place, written there."""
    first, second = _place(a), _place(b)
    if first is None or second is None or first.op != second.op:
        return None
    pairs = [*zip(first.inputs, second.inputs, strict=True)]
    is_one = all(key_of(v) == key_of(u) for v, u in pairs[2:])
    if not is_one or not all(v.type.ndim == u.type.ndim and all(map(same, v.shape, u.shape)) for v, u in pairs[:2]):
        return None
    around, written = (both(narrow(v), narrow(u)) for v, u in pairs[:2])
    if isinstance(written, bool) or not isinstance(around, bool | Constant):
        return None
    for whole, (base, value) in ((a, first.inputs[:2]), (b, second.inputs[:2])):
        if written is narrow(value) and around is narrow(base):
            return whole
    joint: Variable = first.op(wide(around, a), wide(written, first.inputs[1]), *first.inputs[2:])
    return joint


def either(a: Condition, b: Condition) -> Condition:
    """Disjunction; of complements everything."""
    if a is True or b is True:
        return True
    if a is False or a is b:
        return b
    if b is False:
        return a
    simpler = _joined(a, b)
    if simpler is not None:
        return simpler
    (u, s), (v, t) = factors_of(a), factors_of(b)
    if u is v and u is not True:
        return both(u, either(s, t))
    terms = [*terms_of(a), *terms_of(b)]
    scalars = {id(scalar): scalar for scalar, _ in terms}
    if len(scalars) == len(terms) or len(scalars) == 1:
        return computed(logical_or.op, a, b)
    alike = [[mask for u, mask in terms if u is scalar] for scalar in scalars.values()]
    parts = [both(scalar, disjunction(masks)) for scalar, masks in zip(scalars.values(), alike, strict=True)]
    return functools.reduce(_or, sorted(parts, key=has_axes))


def _met(a: Variable, b: Variable) -> Condition | None:
    """The conjunction, where a law makes it simpler: nowhere, or what implies the other."""
    if not (is_compound(a) or is_compound(b)):
        return a if _is_of_row(a, b) else b if _is_of_row(b, a) else None
    first, second = literals(a), literals(b)
    if are_opposite(first, second):
        return False
    return a if _hold(first, second) else b if _hold(second, first) else None


def _joined(a: Variable, b: Variable) -> Condition | None:
    """The disjunction, where a law makes it simpler, of the whole or of a part of each."""
    if not (is_compound(a) or is_compound(b)):
        return b if _is_of_row(a, b) else a if _is_of_row(b, a) else None
    simpler = _simpler(a, b)
    first, second = terms(a), terms(b)
    if simpler is not None or not 2 < len(first) + len(second) <= MOST_TERMS:
        return simpler
    for u, v in itertools.product(first, second):
        simpler = _simpler(u, v)
        if simpler is not None:
            if simpler is u:
                return either(a, disjunction(w for w in second if w is not v))
            rest = disjunction(w for w in first if w is not u)
            return either(rest, b) if simpler is v else either(either(rest, simpler), b)
    return None


def _simpler(a: Variable, b: Variable) -> Condition | None:
    """The disjunction of two conditions one of which implies the other, or that are the same but for opposites."""
    first, second = literals(a), literals(b)
    if _hold(second, first):
        return a
    if _hold(first, second):
        return b
    rest, other = first.keys() - second.keys(), second.keys() - first.keys()
    if len(rest) == len(other) == 1 and are_opposite(rest, second):
        everywhere: Condition = True
        return functools.reduce(both, (v for k, v in first.items() if k in second), everywhere)
    return None


def _or(a: Condition, b: Condition) -> Condition:
    return True if a is True or b is True else computed(logical_or.op, a, b)


def factors_of(s: Condition) -> tuple[Condition, Condition]:
    """A scalar and a mask whose conjunction a condition is; of any other True and itself."""
    if isinstance(s, bool) or not s.type.ndim:
        return s, True
    if s.apply is not None and s.apply.key is logical_and:
        for v, mask in (s.apply.inputs, s.apply.inputs[::-1]):
            scalar = narrow(v)
            if not scalar.type.ndim:
                return scalar, mask
    return True, s


def disjunction(parts: Iterable[Condition]) -> Condition:
    """The places where one of some conditions holds; nowhere if there are none."""
    total: Condition = False
    for part in parts:
        total = either(total, part)
    return total


def terms_of(s: Condition) -> list[tuple[Condition, Condition]]:
    """The factors of the parts of a disjunction, if one has a scalar."""
    if isinstance(s, bool):
        return [(True, True)] if s else []
    parts, stack = [], [s]
    while stack:
        v = narrow(stack.pop())
        if v.apply is not None and v.apply.key is logical_or:
            stack += v.apply.inputs
        else:
            parts.append(factors_of(v))
        if len(parts) + len(stack) > MOST_TERMS:
            return [factors_of(s)]
    return parts if any(u is not True for u, _ in parts) else [factors_of(s)]


def opposite(a: Condition) -> Condition:
    """Negation."""
    if isinstance(a, bool):
        return not a
    negated = _negated(a)
    return computed(logical_not.op, a) if negated is None else negated


def computed(op: Op, *operands: Any) -> Condition:
    """An op applied to conditions; what the program says already is computed, and may be everywhere or nowhere."""
    if all(isinstance(v, Constant) for v in operands) and sum(v.data.size for v in operands) <= LARGEST:
        (data,) = op.perform(*(v.data for v in operands))
        return bool(data.flat[0]) if data.size and (data == data.flat[0]).all() else Constant(data)
    if type(op) is Elementwise:
        return op.result(operands, BOOL)
    (result,) = apply(op, operands)
    return result


def implies(a: Condition, b: Condition) -> bool:
    """Whether b is known to hold wherever a does: by the conditions whose conjunction a is, or by rows of one."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is False or b is True
    return a is b or _hold(literals(a), literals(b))


def _hold(given: Literals, wanted: Literals) -> bool:
    """Whether some conditions hold wherever others do."""
    return all(
        k in given or holds_within(given, v) or any(_is_of_row(u, v) for u in given.values()) for k, v in wanted.items()
    )


def _is_of_row(a: Condition, b: Condition) -> bool:
    """Whether b is whether a holds of any element along some axes, which stay with length 1."""
    below = b.apply if isinstance(b, Variable) else None
    if below is None or not isinstance(below.op, ExpandDims):
        return False
    total = below.inputs[0].apply
    is_any = total is not None and isinstance(total.op, Reduce) and total.op.fn is logical_or
    return is_any and total.op.axes == below.op.axes and total.inputs[0] is a  # type: ignore[union-attr]


def _negated(s: Condition) -> Variable | None:
    """The condition that a condition is the negation of."""
    is_negation = isinstance(s, Variable) and s.apply is not None and s.apply.key is logical_not
    return s.inputs[0] if is_negation else None  # type: ignore[union-attr]


def wide(s: Condition, v: Variable) -> Variable:
    """A condition in the shape of the value."""
    if isinstance(s, bool):
        s = Constant(np.asarray(s))
    if s.type.ndim == v.type.ndim and all(map(same, s.shape, v.shape)):
        return s
    shape = v.type.shape
    if isinstance(s, Constant) and None not in shape and math.prod(shape) <= LARGEST:  # type: ignore[arg-type]
        return Constant(np.array(np.broadcast_to(s.data, shape)))  # type: ignore[arg-type]
    if v.apply is not None and type(v.apply.op) is BroadcastTo and not s.type.ndim:
        return v.apply.op(s, *v.apply.inputs[1:])  # type: ignore[no-any-return]
    return broadcast_to(s, v.shape)


def carried(s: Condition, v: Variable) -> Variable:
    """A condition of a value as one that goes into an inner graph or out of it: a scalar, or in the value's shape."""
    if isinstance(s, bool):
        return Constant(np.asarray(s))
    scalar = narrow(s)
    return wide(s, v) if scalar.type.ndim else scalar


def narrow(c: Variable) -> Variable:
    """A condition, of one that is repeated the scalar."""
    v = c
    while v.type.ndim and v.apply is not None and type(v.apply.op) in MOVEMENTS:
        v = v.apply.inputs[0]
    return v if not v.type.ndim else c


def without_places(s: Condition) -> Condition:
    """A condition without its part that says into which places something was written: that no value decides."""
    scalar, mask = factors_of(s)
    return s if isinstance(mask, Variable) and _is_decided_by_values(mask) else scalar


def _is_decided_by_values(mask: Variable) -> bool:
    """Whether a mask is made of more than truths that the program writes, moved and written into one another."""
    stack, visited = [mask], {id(mask)}
    while stack:
        v = stack.pop()
        if isinstance(v, Constant):
            continue
        below = [] if v.apply is None else [u for u in v.apply.inputs if u.type.dtype == BOOL]
        if not below or len(visited) > MOST_PARTS:
            return True
        fresh = [u for u in below if id(u) not in visited]
        visited.update(map(id, fresh))
        stack += fresh
    return False


def anywhere(s: Condition, v: Variable) -> Condition:
    """Whether a condition of a value holds of one of its elements."""
    if isinstance(s, bool) or not s.type.ndim:
        return s
    return computed(Reduce(logical_or, tuple(range(-v.type.ndim, 0))), s)


def has_axes(s: Condition) -> bool:
    """Whether a condition may differ between elements."""
    return not isinstance(s, bool) and s.type.ndim > 0


def any_along(s: Condition, v: Variable, axis: int) -> Condition:
    """Whether a condition of a value holds of one of its elements along an axis, which stays with length 1.

    A scalar, where no other axis is left along which it differs.
    """
    if isinstance(s, bool) or not s.type.ndim:
        return s
    rest = s.type.shape[:axis] + s.type.shape[s.type.ndim + axis + 1 :]
    if all(n == 1 for n in rest):
        return anywhere(s, v)
    if s.type.shape[axis] == 1:
        return s
    total = any_over(s, (axis,))
    return expand_dims_at(total, (axis,)) if isinstance(total, Variable) and total.type.ndim else total


def any_over(s: Variable, axes: tuple[int, ...]) -> Condition:
    """Whether a condition holds of one of the elements along some axes, which go."""
    scalar, mask = factors_of(s)
    if isinstance(scalar, Variable) and isinstance(mask, Variable):
        return both(scalar, any_over(mask, axes))
    place = _place(s)
    if place is not None and all(k in axes for k in range(-len(place.op.steps), 0)):  # type: ignore[attr-defined]
        around = narrow(place.inputs[0])
        s = place.inputs[1] if isinstance(around, Constant) and not around.data.any() else s
    return computed(Reduce(logical_or, axes), s)


def _place(s: Variable) -> Apply | None:
    """The node of a condition that is written into a place of another one."""
    node = s.apply
    return node if node is not None and type(node.op) is SliceUpdate and node.op.fn is None else None


def nan_where(s: Condition, v: Variable) -> Variable:
    """A value, NaN where a condition holds: a product with NaN, which has no derivatives there either."""
    if s is False:
        return v
    one, nan = (numpy_dtype(v.type.dtype).type(c) for c in (1, np.nan))
    return multiply(v, where(s, nan, one))


def in_matrix_product(s: Condition, x: Variable, t: Condition, y: Variable) -> Condition:
    """Of which elements of a matrix product x y a term has both its factors where these conditions of them hold."""
    if s is False or t is False:
        return False
    if has_axes(s) and has_axes(t) and s.type.shape[-1] != 1 and t.type.shape[-2] != 1:  # type: ignore[union-attr]
        counts = computed(MatMul(), *(computed(Cast("float32"), wide(c, v)) for c, v in ((s, x), (t, y))))
        return (
            counts if isinstance(counts, bool) else computed(not_equal.op, counts, Constant(np.zeros((), np.float32)))
        )
    return both(any_along(s, x, -1), any_along(t, y, -2))
