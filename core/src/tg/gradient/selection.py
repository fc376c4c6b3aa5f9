"""Support of values: where a value is not 0 by selection.

A value is 0 *by selection* where it is identically 0 around the point and not merely at it: the operand of a choice
that is not taken, a masked element, the zeros into which a cotangent is written. Such a zero stays zero whatever it is
multiplied by, an infinite or undefined slope too; any other zero times infinity is NaN. The support is read off the
graph, never off a value, so it holds at every order and is the same in both modes.

Cotangents and tangents that a caller gives have a second condition: their zeros say that nothing is asked there. It is
carried apart, because a value is linear in what was given, at its zeros too (`masked_product`).
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np

from tg.gradient.regular import REGULAR, Regularity
from tg.graph.facts import holds
from tg.graph.function_graph import freeze
from tg.graph.nodes import Constant, Variable, apply
from tg.graph.traversal import key_of
from tg.ops.contraction import MatMul
from tg.ops.control import Call
from tg.ops.cumulative import Accumulate, CumProdPullback
from tg.ops.elementwise.arithmetic import (
    absolute,
    add,
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
from tg.ops.elementwise.comparison import isinf, logical_and, logical_not, logical_or, not_equal, where
from tg.ops.elementwise.complex import complex as complex_of
from tg.ops.elementwise.complex import conjugate, imag, real
from tg.ops.elementwise.record import align_ranks
from tg.ops.indexing import Gather, Scatter, Slice, SliceUpdate
from tg.ops.reduction import ProductOfOthers, Reduce
from tg.ops.shape import Named, broadcast_to, expand_dims_at, matrix_transpose
from tg.ops.shape_ops import (
    BroadcastTo,
    Concatenate,
    ExpandDims,
    Reshape,
    SpecifyShape,
    Squeeze,
    SumTo,
    Transpose,
    split_sizes,
)
from tg.types.dtypes import BOOL, is_inexact, numpy_dtype
from tg.types.lengths import same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.graph.checks import Check
    from tg.graph.nodes import Apply
    from tg.graph.op import Op

    Place = tuple[int, str]  # of a condition: the number of a value, and a field of its support
    Condition = Variable | bool  # True: everywhere; False: nowhere; else it broadcasts to the value, in its rank or 0-d


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


EVERYWHERE: Final = Support()
LARGEST: Final = 1_000_000  # elements of conditions that are computed while a derivative is built
FEW: Final = 4  # sums of values that are written into zeros, one in the other
NOWHERE: Final = Support(False)
FIELDS: Final = Support._fields  # that flow into inner graphs and out of them
PLAIN: Final = Support._field_defaults


def both(a: Condition, b: Condition) -> Condition:
    """Conjunction."""
    if a is False or b is False:
        return False
    if a is True or a is b:
        return b
    if b is True or _implies(a, b):
        return a
    if _implies(b, a):
        return b
    (u, s), (v, t) = _factors(a), _factors(b)
    if isinstance(s, Constant) and isinstance(t, Constant) and not (u is True and v is True):
        return both(both(u, v), both(s, t))
    return _computed(logical_and.op, a, b)


def either(a: Condition, b: Condition) -> Condition:
    """Disjunction; of complements everything."""
    if a is True or b is True or _are_opposite(a, b):
        return True
    if a is False or a is b:
        return b
    if b is False or _implies(b, a):
        return a
    if _implies(a, b):
        return b
    (u, s), (v, t) = _factors(a), _factors(b)
    return both(u, either(s, t)) if u is v and u is not True else _computed(logical_or.op, a, b)


def _factors(s: Condition) -> tuple[Condition, Condition]:
    """A scalar and a mask whose conjunction a condition is; of any other True and itself."""
    if isinstance(s, bool) or not s.type.ndim:
        return s, True
    if s.apply is not None and s.apply.key is logical_and:
        for v, mask in (s.apply.inputs, s.apply.inputs[::-1]):
            scalar = _narrow(v)
            if not scalar.type.ndim:
                return scalar, mask
    return True, s


def disjunction(parts: Iterable[Condition]) -> Condition:
    """Where one of some conditions holds; nowhere if there are none."""
    total: Condition = False
    for part in parts:
        total = either(total, part)
    return total


def _terms(s: Condition) -> list[tuple[Condition, Condition]]:
    """The factors of the parts of a disjunction."""
    if s is False:
        return []
    if isinstance(s, Variable) and s.apply is not None and s.apply.key is logical_or:
        parts = [_factors(v) for v in s.apply.inputs]
        if any(u is not True for u, _ in parts):
            return parts
    return [_factors(s)]


def opposite(a: Condition) -> Condition:
    """Negation."""
    if isinstance(a, bool):
        return not a
    if a.apply is not None and a.apply.key is logical_not:
        return a.apply.inputs[0]
    return _computed(logical_not.op, a)


def _computed(op: Op, *operands: Any) -> Condition:
    """An op applied to conditions; what the program says already is computed, and may be everywhere or nowhere."""
    if all(isinstance(v, Constant) for v in operands) and sum(v.data.size for v in operands) <= LARGEST:
        (data,) = op.perform(*(v.data for v in operands))
        return bool(data.flat[0]) if data.size and (data == data.flat[0]).all() else Constant(data)
    (found,) = apply(op, align_ranks(operands) if op.pointwise else operands)
    return found


def _are_opposite(a: Condition, b: Condition) -> bool:
    return any(
        isinstance(u, Variable) and u.apply is not None and u.apply.key is logical_not and u.apply.inputs[0] is v
        for u, v in ((a, b), (b, a))
    )


def _implies(a: Condition, b: Condition) -> bool:
    """Whether b is known to hold wherever a does."""
    while True:
        if a is b:
            return True
        if not isinstance(a, Variable) or a.apply is None or a.apply.key is not logical_and:
            return False
        first, a = a.apply.inputs
        if first is b:
            return True


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


@final
class Supports:
    """Supports of the values of one sweep, each found once."""

    __slots__ = ("_found", "kinks", "regularity")

    def __init__(self, regularity: Regularity | None = None) -> None:
        self.kinks = False  # whether a value may be a convention
        self.regularity = regularity or Regularity()
        self._found: dict[tuple[int, int], tuple[Variable, Support]] = {}  # with the variable: its id stays its own

    def set(self, v: Variable, support: Support) -> None:
        """State the support of a value that is not read off its graph."""
        self._found[key_of(v)] = v, support

    def asked(self, v: Variable) -> Variable:
        """A cotangent or tangent that was given, whose zeros are places where nothing is asked."""
        if not isinstance(v, Constant):
            return asked_where(not_equal(v, numpy_dtype(v.type.dtype).type(0)), v)
        if not v.data.any():
            self.set(v, Support(self.of(v).selected, False))
        return v if v.data.all() or not v.data.any() else asked_where(Constant(v.data != 0), v)

    def of(self, v: Variable) -> Support:
        """The support of a value, without recursion."""
        supports = self._found
        stack = [v]
        while stack:
            u = stack[-1]
            node = u.apply
            key = (id(u), 0) if node is None else (id(node), u.index + 1)
            if key in supports:
                stack.pop()
                continue
            reader = None if node is None else self._reader(node)
            if node is None or reader is None:
                supports[key] = u, _of_constant(u) if isinstance(u, Constant) else EVERYWHERE
                stack.pop()
                continue
            parts, plain = [], not reader.makes
            for w in node.inputs if not reader.operands else [node.inputs[k] for k in reader.operands]:
                below = w.apply
                entry = supports.get((id(w), 0) if below is None else (id(below), w.index + 1))
                if entry is not None:
                    parts.append(entry[1])
                    plain = plain and entry[1] is EVERYWHERE
                elif (below is None and not isinstance(w, Constant)) or (
                    below is not None and self._reader(below) is None
                ):
                    parts.append(EVERYWHERE)
                else:
                    stack.append(w)
            if stack[-1] is not u:
                continue
            stack.pop()
            if plain:
                supports[key] = u, EVERYWHERE
                continue
            if reader.joins and any(one.asked is not True for one in parts):
                parts = _asked_where_selected(parts, node.op)
            fields = zip(*parts, strict=True)
            supports[key] = u, _plain(Support(*(_read(reader, node, one, k) for k, one in enumerate(fields))))
        return supports[key_of(v)][1]

    def _reader(self, node: Apply) -> _Reader | None:
        reader = READERS.get(node.key)
        if reader is None and self.kinks and is_inexact(node.types[0].dtype) and not node.op.graph_fields:
            return OTHER
        return reader

    def times(self, a: Variable, b: Variable, *, turns: bool = False) -> Variable | None:
        """A cotangent or tangent a times a slope b; None if it is 0 everywhere.

        It is 0 where one of them is 0 by selection or was not asked for, and NaN where b is a convention that has no
        product with a, unless a linear map is turned round.
        """
        chosen = _by_choice(a, b)
        if chosen is not None:
            return chosen
        first, second = self.of(a), self.of(b)
        undefined = False if turns else either(second.inward, both(second.outward, either(first.inward, first.outward)))
        if first is not EVERYWHERE and _is_finite(b):
            first = EVERYWHERE
        if second is not EVERYWHERE and undefined is False and _is_finite(a):
            second = EVERYWHERE
        if first.asked is False or second.asked is False:
            return None
        if first.asked is not True and self.is_regular(b):
            first = _plain(first._replace(asked=True))
        if second.asked is not True and self.is_regular(a):
            second = _plain(second._replace(asked=True))
        if undefined is False and first is EVERYWHERE and second is EVERYWHERE:
            return inside(a, lambda x: product(x, b))
        written = self._by_place(a, b, FEW, turns=turns)
        if written is not None:
            return written
        selected, asked = both(first.selected, second.selected), both(first.asked, second.asked)
        if selected is False or asked is False:
            return None
        if undefined is not False:
            b = where(undefined, numpy_dtype(b.type.dtype).type(np.nan), b)
        if not isinstance(selected, bool):
            a, b = _stripped(a, selected), _stripped(b, selected)
        found = product(a, b, first.asked, second.asked)
        return found if isinstance(selected, bool) else where.op(*align_ranks((selected, found, zero_of(found))))

    def matmul(self, a: Variable, b: Variable) -> Variable | None:
        """The matrix product, in which the zeros by selection of one operand meet nothing of the other.

        That holds of rows and columns that are 0 as a whole: where some of their elements are selected, an infinite
        one opposite is NaN in all the sums that it has a part in. None if the product is 0 everywhere.
        """
        s, t = self.of(a).selected, self.of(b).selected
        if s is False or t is False:
            return None
        whole: Condition = True
        if t is not True and not self._stays_finite(a):
            whole, a = (both(whole, t), a) if not _has_axes(t) else (whole, _opposite_of(a, b, t, -1))
        if s is not True and not self._stays_finite(b):
            whole, b = (both(whole, s), b) if not _has_axes(s) else (whole, _opposite_of(b, a, s, -2))
        found: Variable = MatMul()(a, b)
        return found if isinstance(whole, bool) else where(whole, found, zero_of(found))

    def _stays_finite(self, v: Variable) -> bool:
        return _is_finite(v) or self.is_regular(v)

    def is_regular(self, v: Variable) -> bool:
        """Whether a value is finite wherever the operands of the program are."""
        return self.regularity.of(v) & REGULAR == REGULAR

    def _by_place(self, a: Variable, b: Variable, depth: int, *, turns: bool) -> Variable | None:
        """a * b where a is a value that is written into zeros, or a sum of a few: the products are written there.

        Axes that have been added before those written along are repeated.
        """
        node = a.apply
        if node is None or not all(map(same, a.shape, b.shape)) or a.type.ndim != b.type.ndim:
            return None
        if node.key is negative and depth:
            (part,) = (self._by_place(v, b, depth - 1, turns=turns) for v in node.inputs)
            return None if part is None else negative(part)
        if node.key is add and depth:
            parts = [self._by_place(v, b, depth - 1, turns=turns) for v in node.inputs]
            return None if any(v is None for v in parts) else add(*parts)
        added: tuple[int, ...] = ()
        if type(node.op) is BroadcastTo and node.inputs[0].type.ndim == a.type.ndim:
            node = node.inputs[0].apply
        if node is not None and type(node.op) is ExpandDims:
            added, node = node.op.axes, node.inputs[0].apply
        if node is None or type(node.op) is not SliceUpdate or node.op.fn not in (None, add):
            return None
        base, v, *starts = node.inputs
        written = len(node.op.steps)
        if self.of(base).selected is not False or any(k >= -written for k in added):
            return None
        if not all(map(same, base.shape[-written:], b.shape[-written:])):
            return None
        field, sizes = split_sizes(v.shape[v.type.ndim - written :])
        slope = Slice(node.op.starts, field, node.op.steps)(b, *starts, *sizes)
        if added or base.type.shape != b.type.shape:
            base, v = (broadcast_to(expand_dims_at(u, added), w.shape) for u, w in ((base, b), (v, slope)))
        value = self.times(v, slope, turns=turns)
        return None if value is None else node.op(base, value, *starts)

    def leaves_like(self, values: Sequence[Variable]) -> list[Variable]:
        """A leaf for each value but constants, with its type and lengths, and as regular as it is."""
        made = []
        for v in values:
            leaf = v
            if not isinstance(v, Constant):
                leaf = Variable(v.type, name=v.name)
                leaf.with_lengths(v.shape)
                self.regularity.same(leaf, v)
            made.append(leaf)
        return made

    def inside(self, inner: Sequence[Variable], operands: Sequence[Variable]) -> Supports:
        """Supports of what an inner graph makes of its inputs, which have the values of operands."""
        return Supports(Regularity(inner, lambda: [*map(self.regularity.of, operands)]))

    def stand_in(self, leaf: Variable, outer: Support, v: Variable) -> tuple[Variable, list[tuple[Variable, Variable]]]:
        """A leaf of an inner graph that a value v with a support is given to, as a value with that support.

        Besides, pairs of a further leaf and the condition that is given to it.
        """
        conditions = {field: wide(s, v) for field, s in zip(FIELDS, outer, strict=True) if s is not PLAIN[field]}
        flags = {field: Variable(leaf.type.with_dtype(BOOL)) for field in conditions}
        return self.stated(leaf, flags), [(flag, conditions[field]) for field, flag in flags.items()]

    def stated(self, v: Variable, conditions: Mapping[str, Variable]) -> Variable:
        """A value whose support has these fields; that it is a convention somewhere stands in the graph."""
        self.set(v, self.of(v)._replace(**{field: s for field, s in conditions.items() if field not in MARKS}))
        for field, mark in MARKS.items():
            if field in conditions:
                self.kinks = True
                v = mark(conditions[field], v)
        return v

    def of_call(
        self,
        inside: Supports,
        leaves: Sequence[Variable],
        operands: Sequence[Variable],
        flags: Sequence[tuple[Variable, Variable]],
        results: Sequence[Variable | None],
        checks: Sequence[Check],
    ) -> list[Variable | None]:
        """One call of a graph with these results, whose supports come out beside them."""
        kept = [v for v in results if v is not None]
        if not kept:
            return [None] * len(results)
        beside = inside.places(dict(enumerate(kept)))
        graph = freeze([*leaves, *(leaf for leaf, _ in flags)], [*kept, *beside.values()], checks)
        outputs = apply(Call(graph), [*operands, *(s for _, s in flags)])
        told = self.told(dict(enumerate(outputs[: len(kept)])), outputs[len(kept) :], beside)
        rest = iter(told.values())
        return [None if v is None else next(rest) for v in results]

    def told(
        self, values: Mapping[int, Variable | None], conditions: Sequence[Variable], places: Iterable[Place]
    ) -> dict[int, Variable | None]:
        """Numbered values with the supports that an inner graph has computed: a condition for each place."""
        fields: dict[int, dict[str, Variable]] = {}
        for s, (k, field) in zip(conditions, places, strict=False):
            fields.setdefault(k, {})[field] = s
        return {k: v if v is None or k not in fields else self.stated(v, fields[k]) for k, v in values.items()}

    def places(self, values: Mapping[int, Variable]) -> dict[Place, Variable]:
        """The conditions of numbered values that are not everywhere, each in its value's shape, by number and field."""
        return {
            (k, field): wide(s, v)
            for k, v in values.items()
            for field, s in zip(FIELDS, asked_inside(self.of(v)), strict=True)
            if s is not PLAIN[field]
        }


def _plain(support: Support) -> Support:
    """The one support that says nothing, for any that does not."""
    return EVERYWHERE if all(s is PLAIN[field] for field, s in zip(FIELDS, support, strict=True)) else support


def _asked_where_selected(parts: Sequence[Support], op: Op) -> list[Support]:
    """The supports of values whose elements meet, each asked for within its selection.

    A selection that all have in common is that of the result, and a scalar of one too: it need not be said twice.
    """
    somewhere = [one.selected for one in parts if one.selected is not False]
    if op.pointwise and all(s is somewhere[0] for s in somewhere):
        own: list[Condition] = [one.selected is not False for one in parts]
    else:
        factors = [_factors(s) for s in somewhere]
        is_common = all(u is factors[0][0] for u, _ in factors)
        own = [_factors(one.selected)[1] if is_common and one.selected is not False else one.selected for one in parts]
    return [one._replace(asked=both(s, one.asked)) for one, s in zip(parts, own, strict=True)]


def _of_constant(c: Constant) -> Support:
    """Zeros that a program writes are 0 by selection if all elements are; single ones are data."""
    is_zero = is_inexact(c.type.dtype) and c.data.size > 0 and not c.data.any()
    return NOWHERE if is_zero else EVERYWHERE


def _is_finite(v: Variable) -> bool:
    return _is_number(v) if isinstance(v, Constant) and not v.data.ndim else holds(v, "finite")


def zero_of(v: Variable) -> Constant:
    """The 0 of a value's dtype."""
    return _zero(v.type.dtype)


@functools.cache
def _zero(dtype: str) -> Constant:
    return Constant(np.zeros((), numpy_dtype(dtype)))


def inside(a: Variable, fn: Callable[[Variable], Variable]) -> Variable:
    """A function that keeps 0, of a value; of a choice between a value and 0 inside of it, so that choices meet."""
    if a.apply is None or a.apply.key is not where:
        return fn(a)
    c, x, y = a.apply.inputs
    return where(c, fn(x), y) if isinstance(y, Constant) and not y.data.any() else fn(a)


def _by_choice(a: Variable, b: Variable) -> Variable | None:
    """a * b where b is a choice between constants: a choice between multiples of a."""
    node = b.apply
    if node is None or node.key is not where:
        return None
    c, x, y = node.inputs
    if not _is_number(x):
        return None
    first = _multiple(a, x)
    if _is_number(y):
        return where(c, first, _multiple(a, y))
    rest = _by_choice(a, y)
    return None if rest is None else where(c, first, rest)


def _is_number(v: Variable) -> bool:
    return isinstance(v, Constant) and v.data.ndim == 0 and bool(np.isfinite(v.data))


def _multiple(a: Variable, c: Variable) -> Any:
    assert isinstance(c, Constant)
    return zero_of(a) if c.data == 0 else a if c.data == 1 else negative(a) if c.data == -1 else multiply(a, c)


def _stripped(v: Variable, s: Variable) -> Variable:
    """v without a choice of 0 that a condition implies."""
    while v.apply is not None and v.apply.key is where:
        c, x, y = v.apply.inputs
        if not (isinstance(y, Constant) and not y.data.any() and _implies(s, c)):
            break
        v = x
    return v


def product(a: Variable, b: Variable, asked: Condition = True, other: Condition = True) -> Variable:
    """a * b where both are asked for; by b = c / y with a number c as (a * c) / y, whose derivatives have no 1 / y**2.

    The slopes -z / y of a quotient z and -z * z of a reciprocal z are multiplied from the left for the same reason: the
    product of a cotangent and the value it is of has the scale of the cost, but z / y may be 1 / y**2.
    """
    node = b.apply
    everywhere = asked is True and other is True
    if node is not None and node.key in (divide, multiply) and other is True:
        c, y = node.inputs
        if everywhere and node.key is divide and _is_number(c):
            return divide(_multiple(a, c), y)
        if c.apply is not None and c.apply.key is negative and a.type.dtype == b.type.dtype:
            first = product(a, c.apply.inputs[0], asked)
            if everywhere:
                return negative(node.op(*align_ranks((first, y))))
            return negative(masked_product(asked, True, first, divide(1, y) if node.key is divide else y))
    if not everywhere:
        return masked_product(asked, other, a, b)
    if a.type.dtype != b.type.dtype:
        return multiply(a, b)
    return multiply.op(*align_ranks((a, b)))  # type: ignore[no-any-return]


# --- readers ---------------------------------------------------------------------------------------------------------


SELECTED, ASKED, INWARD, OUTWARD = range(4)
MARKS: Final = {"inward": at_kink, "outward": past_kink}
KINKS: Final = {product_at_kink, product_past_kink, at_kink, past_kink}


class _Reader(NamedTuple):
    """The way from the supports of operands (all, or those with these numbers) to that of the result."""

    read: Callable[[Apply, Sequence[Condition], int], Condition]
    operands: tuple[int, ...] = ()
    makes: bool = False  # whether it is not everywhere though those of all operands are
    joins: bool = False  # whether elements meet: what is asked of one counts where it is selected
    unites: bool = False  # whether it is the union of what single operands give, each of whose parts gives a part


def asked_inside(s: Support) -> Support:
    """A support whose second condition is no wider than the first."""
    return s if s.asked is True else s._replace(asked=both(s.selected, s.asked))


def _read(reader: _Reader, node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    """A condition of the result: scalars stay outside of masks that are moved and joined, which are constants then."""
    everywhere = field < INWARD
    if not reader.makes and all(s is everywhere for s in parts):
        return everywhere
    if not reader.unites or getattr(node.op, "fn", None) not in (None, add):
        return reader.read(node, parts, field)
    terms = [_terms(s) for s in parts]
    scalars = list({id(u): u for pairs in terms for u, _ in pairs}.values())
    if all(u is True for u in scalars):
        return reader.read(node, parts, field)
    union: Condition = False
    for scalar in scalars:
        masks = [disjunction([m for u, m in pairs if u is scalar]) for pairs in terms]
        union = either(union, both(scalar, reader.read(node, masks, field)))
    return union


def _narrow(c: Variable) -> Variable:
    """A condition, of one that is repeated the scalar."""
    v = c
    while v.type.ndim and v.apply is not None and type(v.apply.op) in MOVEMENTS:
        v = v.apply.inputs[0]
    return v if not v.type.ndim else c


def _of_choice(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    c, (x, y) = _narrow(node.inputs[0]), parts
    if x is y or field == ASKED:
        return either(x, y)
    return both(c, x) if y is False else either(both(c, x), both(opposite(c), y))


def _of_product(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    return either(*parts) if field >= INWARD else both(*parts)


def _of_masked(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    total = _of_product(node, parts, field)
    for asked in node.inputs[:2] if field == ASKED else ():
        always = isinstance(asked, Constant) and bool(asked.data.all())
        total = both(total, True if always else asked)
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
    return disjunction([_any_along(s, v, axis) for s, v in zip(parts, node.inputs, strict=False)])


def anywhere(s: Condition, v: Variable) -> Condition:
    """Whether a condition of a value holds of one of its elements."""
    if isinstance(s, bool) or not s.type.ndim:
        return s
    return _computed(Reduce(logical_or, tuple(range(-v.type.ndim, 0))), wide(s, v))


def _of_sum(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    return either(*parts)


def _of_operand(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    return parts[0]


def _of_cast(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    (x,) = node.inputs
    return parts[0] if x.type.dtype != BOOL or field != SELECTED else _narrow(x)


def _of_movement(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    (s, *_), (x, *rest) = parts, node.inputs
    if isinstance(s, bool) or not s.type.ndim:
        return s
    if type(node.op) is BroadcastTo:  # broadcasts as it is
        rank = len(node.types[0].shape)
        return s if s.type.ndim == rank else expand_dims_at(s, tuple(range(-rank, -s.type.ndim)))
    return _computed(node.op, wide(s, x), *rest)


def _of_total(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    op, (s,) = node.op, parts
    assert isinstance(op, Reduce)
    if op.fn is not add and field < INWARD:
        return True
    if isinstance(s, bool) or not s.type.ndim:
        return s
    if _marks_places(s, op.axes):
        return True
    return _computed(Reduce(logical_or, op.axes), wide(s, node.inputs[0]))


def _marks_places(s: Variable, axes: Sequence[int]) -> bool:
    """Whether a condition is true at places along some axes at most; as of a sum, that there are any is not asked."""
    node = s.apply
    if node is None or not isinstance(node.op, Scatter | SliceUpdate) or node.op.fn is not None:
        return False
    along = node.op.axes if isinstance(node.op, Scatter) else range(-len(node.op.steps), 0)
    base, value = (_narrow(v) for v in node.inputs[:2])
    writes = isinstance(value, Constant) and bool(value.data.all()) and isinstance(base, Constant)
    return writes and all(k in axes for k in along)


def _of_matmul(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    """At most the rows of one operand and the columns of the other."""
    rows, columns = (_any_along(s, v, axis) for s, v, axis in zip(parts, node.inputs, (-1, -2), strict=True))
    return _of_product(node, (rows, columns), field)


def _has_axes(s: Condition) -> bool:
    return not isinstance(s, bool) and s.type.ndim > 0


def _opposite_of(v: Variable, other: Variable, s: Condition, free: int) -> Variable:
    """A factor of a matrix product, 0 opposite of what is 0 by selection in all of the other's free axis."""
    found = _any_along(s, other, free)
    repeated = tuple(k - v.type.ndim for k, n in enumerate(v.type.shape[:-2]) if n == 1 and not same(other.shape[k], 1))
    if isinstance(found, Variable) and repeated:  # what is shared by many products is kept where one of them needs it
        found = _computed(Reduce(logical_or, repeated), found)
        found = expand_dims_at(found, repeated) if isinstance(found, Variable) else found
    return v if isinstance(found, bool) else where(matrix_transpose(found), v, zero_of(v))


def _any_along(s: Condition, v: Variable, axis: int) -> Condition:
    if isinstance(s, bool) or not s.type.ndim:
        return s
    total = _computed(Reduce(logical_or, (axis,)), wide(s, v))
    return expand_dims_at(total, (axis,)) if isinstance(total, Variable) else total


def _of_counted(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    """Of an op that adds elements: where one of them is. A sum of bools is whether any is true."""
    op, s = node.op, parts[0]
    if isinstance(op, Accumulate) and op.fn is not add:
        return _of_row(node, parts, field)
    if isinstance(s, bool) or not s.type.ndim:
        return s
    return _computed(op, wide(s, node.inputs[0]), *node.inputs[1:])


def _of_joined(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    if all(isinstance(s, bool) for s in parts) and len({*parts}) == 1:
        return parts[0]
    return _computed(node.op, *(wide(s, v) for s, v in zip(parts, node.inputs, strict=True)))


def _of_update(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    op, (base, value), (x, v, *starts) = node.op, parts, node.inputs
    assert isinstance(op, SliceUpdate)
    if base is value and isinstance(base, bool):
        return base
    if op.fn is None or (op.fn is add and base is False):
        return _computed(SliceUpdate(op.starts, op.steps), wide(base, x), wide(value, v), *starts)
    return _of_any(node, parts, field)


def _of_scatter(node: Apply, parts: Sequence[Condition], field: int) -> Condition:
    op, (base, value), (x, v, *at) = node.op, parts, node.inputs
    assert isinstance(op, Scatter)
    if base is True or (value is False and (base is False or op.fn is add)):
        return base
    if op.fn not in (None, add):
        return _of_any(node, parts, field)
    if op.fn is None or (base is False and value is True):
        return _computed(Scatter(op.axes), wide(base, x), wide(value, v), *at)
    return _computed(op, wide(base, x), wide(value, v), *at)


MOVEMENTS: Final = (ExpandDims, Reshape, Squeeze, Transpose, Slice, Gather, BroadcastTo, SpecifyShape)

READERS: Final[dict[object, _Reader]] = {
    where: _Reader(_of_choice, (1, 2), joins=True),
    multiply: _Reader(_of_product),
    masked_product: _Reader(_of_masked, (2, 3), makes=True),
    product_at_kink: _Reader(_of_slope, (1, 2), makes=True),
    product_past_kink: _Reader(_of_slope, (1, 2), makes=True),
    at_kink: _Reader(_of_marked, (1,), makes=True),
    asked_where: _Reader(_of_asked, (1,), makes=True),
    past_kink: _Reader(_of_marked, (1,), makes=True),
    divide: _Reader(_of_operand, (0,)),
    **dict.fromkeys((add, subtract, complex_of), _Reader(_of_sum, joins=True)),
    **dict.fromkeys((negative, conjugate, absolute, square, real, imag), _Reader(_of_operand)),
    **dict.fromkeys(MOVEMENTS, _Reader(_of_movement, (0,), unites=True)),
    Named: _Reader(_of_operand),
    Cast: _Reader(_of_cast, makes=True),
    Reduce: _Reader(_of_total, joins=True, unites=True),
    MatMul: _Reader(_of_matmul, joins=True),
    SumTo: _Reader(_of_counted, (0,), joins=True, unites=True),
    Accumulate: _Reader(_of_counted, joins=True, unites=True),
    Concatenate: _Reader(_of_joined, unites=True),
    SliceUpdate: _Reader(_of_update, (0, 1), joins=True, unites=True),
    Scatter: _Reader(_of_scatter, (0, 1), joins=True, unites=True),
    CumProdPullback: _Reader(_of_row),
    ProductOfOthers: _Reader(_of_row),
}
OTHER: Final = _Reader(_of_any, joins=True)


# --- infinities that a program writes --------------------------------------------------------------------------------


def through_sum(fn: object, inputs: Sequence[Variable], k: int, dv: Variable) -> Variable:
    """A cotangent or tangent of operand k of a sum: 0 where the other one is an infinity that the program writes.

    Such a sum is infinite around the point, whatever the operand.
    """
    if (fn is not add and fn is not subtract) or not _writes_infinity(inputs[1 - k]):
        return dv
    return where(isinf(inputs[1 - k]), zero_of(dv), dv)


def _writes_infinity(v: Variable) -> bool:
    """Whether an infinite constant reaches a value by movements alone."""
    stack, depth = [v], 0
    while stack and depth < 32:
        depth += 1
        u = stack.pop()
        if isinstance(u, Constant):
            if u.data.dtype.kind in "fcV" and bool(np.isinf(u.data).any()):
                return True
        elif u.apply is not None:
            op = u.apply.op
            if type(op) is Concatenate:
                stack.extend(u.apply.inputs)
            elif type(op) in MOVEMENTS or type(op) is Named:
                stack.append(u.apply.inputs[0])
    return False
