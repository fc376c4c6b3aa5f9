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
from typing import TYPE_CHECKING, Final, final

import numpy as np

from tg.gradient.conditions import (
    any_along,
    both,
    carried,
    computed,
    either,
    has_axes,
    in_matrix_product,
    nan_where,
    narrow,
    without_places,
)
from tg.gradient.products import by_choice, defined, inside, is_finite, or_zero, product, stripped, zero_of
from tg.gradient.reading import (
    ASKED,
    EVERYWHERE,
    FIELDS,
    MARKS,
    OTHER,
    PLAIN,
    READERS,
    SELECTED,
    Reader,
    Support,
    asked_inside,
    asked_where_selected,
    is_plain,
    is_zero,
    normalized,
    of_constant,
    read,
)
from tg.gradient.regular import Regularity
from tg.gradient.regular_ops import REGULAR
from tg.graph.function_graph import freeze
from tg.graph.nodes import Constant, Variable, apply
from tg.graph.traversal import key_of
from tg.ops.contraction import MatMul
from tg.ops.control import Call
from tg.ops.elementwise.arithmetic import (
    add,
    asked_opposite,
    asked_where,
    negative,
)
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import logical_or, not_equal, where
from tg.ops.indexing import Slice, SliceUpdate
from tg.ops.reduction import Reduce
from tg.ops.shape import broadcast_to, expand_dims_at, matrix_transpose, squeeze
from tg.ops.shape_ops import ExpandDims
from tg.ops.sized_ops import BroadcastTo, split_sizes
from tg.types.dtypes import BOOL, is_inexact, numpy_dtype
from tg.types.lengths import same
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tg.gradient.conditions import Condition
    from tg.graph.checks import Check
    from tg.graph.nodes import Apply

    Place = tuple[int, str]  # of a condition: the number of a value, and a field of its support

PLACES: Final = {negative, add, BroadcastTo, ExpandDims, SliceUpdate}  # what makes a value that is written into zeros
FEW: Final = 4  # sums of values that are written into zeros, one in the other


@final
class Supports:
    """Supports of the values of one sweep, each found once."""

    __slots__ = ("_found", "kinks", "regularity")

    def __init__(self, regularity: Regularity | None = None, *, kinks: bool = False) -> None:
        self.kinks = kinks  # whether a value may be a convention
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
            reader = None if node is None else READERS.get(node.key) or self._of_others(node)
            if node is None or reader is None:
                supports[key] = u, of_constant(u, kinks=self.kinks) if isinstance(u, Constant) else EVERYWHERE
                stack.pop()
                continue
            parts, plain = [], not reader.makes
            for w in node.inputs if not reader.operands else [node.inputs[k] for k in reader.operands]:
                below = w.apply
                entry = supports.get((id(w), 0) if below is None else (id(below), w.index + 1))
                if entry is not None:
                    parts.append(entry[1])
                    plain = plain and entry[1] is EVERYWHERE
                elif (
                    not isinstance(w, Constant)
                    if below is None
                    else below.key not in READERS and self._of_others(below) is None
                ):
                    parts.append(EVERYWHERE)
                else:
                    stack.append(w)
            if stack[-1] is not u:
                continue
            stack.pop()
            supports[key] = u, EVERYWHERE if plain else _read(reader, node, parts, kinks=self.kinks)
        return supports[key_of(v)][1]

    def _of_others(self, node: Apply) -> Reader | None:
        """The way of an op that has none of its own: while there are conventions it may give some."""
        gives = self.kinks and is_inexact(node.types[0].dtype) and not node.op.graph_fields
        return OTHER if gives else None

    def same(self, v: Variable, a: Variable) -> Variable:
        """A value in the shape of a, as often 0 as that: a multiple, or what it is between others."""
        entry = self._found.get(key_of(a))
        if entry is not None and v.type.ndim == a.type.ndim:
            self._found[key_of(v)] = v, entry[1]
        return v

    def within(self, a: Variable, fn: Callable[[Variable], Variable]) -> Variable:
        """A multiple of a value by what is nowhere 0, `inside` of choices."""
        return self.same(inside(a, fn), a)

    def times(self, a: Variable, b: Variable, *, turns: bool = False) -> Variable | None:
        """A cotangent or tangent a times a slope b; None if it is 0 everywhere.

        It is 0 where one of them is 0 by selection or was not asked for, and NaN where b is a convention that has no
        product with a, unless a linear map is turned round.
        """
        chosen = by_choice(a, b)
        if chosen is not None:
            return chosen
        first, second = one, other = self.of(a), self.of(b)
        if second is EVERYWHERE and self._is_chosen(a, first):
            return self.chosen(a.inputs[0], product(a.inputs[1], b))
        undefined = False if turns else either(second.inward, both(second.outward, either(first.inward, first.outward)))
        if first is not EVERYWHERE and is_finite(b):
            first = EVERYWHERE
        if second is not EVERYWHERE and undefined is False and is_finite(a):
            second = EVERYWHERE
        if first.asked is False or second.asked is False:
            return None
        if first.asked is not True and self.is_regular(b):
            first = normalized(first._replace(asked=True))
        if second.asked is not True and self.is_regular(a):
            second = normalized(second._replace(asked=True))
        if undefined is False and first is EVERYWHERE and second is EVERYWHERE:
            multiple = inside(a, lambda x: product(x, b))
            return self.same(multiple, a) if other is EVERYWHERE else multiple
        written = self._by_place(a, b, FEW, turns=turns)
        if written is not None:
            return written
        if second is EVERYWHERE:
            selected, condition = first.selected, first.asked
        else:
            selected, condition = both(first.selected, second.selected), both(first.asked, second.asked)
        if selected is False or condition is False:
            return None
        if undefined is not False:
            b = where(undefined, numpy_dtype(b.type.dtype).type(np.nan), b)
        if not isinstance(selected, bool):
            a, b = stripped(a, selected), stripped(b, selected)
        value = product(a, b, first.asked, second.asked)
        if isinstance(selected, bool):
            return value
        if condition is True and first is one and second is other and not self.kinks:
            return self.chosen(selected, value)
        return or_zero(selected, value)

    def _is_chosen(self, a: Variable, support: Support) -> bool:
        """Whether a value is a choice between another and 0, by its selection, of which all is asked for."""
        if self.kinks or a.apply is None or a.apply.key is not where or support.asked is not True:
            return False
        c, _, y = a.apply.inputs
        return (c is support.selected or narrow(c) is support.selected) and is_zero(y)

    def chosen(self, c: Variable, x: Variable) -> Variable:
        """A value where a condition holds that is its selection, or a narrower one, and else 0."""
        value = or_zero(c, x)
        self.set(value, Support(narrow(value.inputs[0])))
        return value

    def matmul(self, a: Variable, b: Variable) -> Variable | None:
        """The matrix product; what one operand is 0 by selection in, or is not asked for, meets nothing of the other.

        That holds of rows and columns that are 0 as a whole: where some of their elements are selected, an infinite
        one opposite is NaN in all the sums that it has a part in. None if the product is 0 everywhere.
        """
        first, second = self.of(a), self.of(b)
        if any(s is False for s in (first.selected, second.selected, first.asked, second.asked)):
            return None
        left, right = (self._opposite_of(s, v) for s, v in ((second, a), (first, b)))
        if (left is not EVERYWHERE or right is not EVERYWHERE) and same(a.shape[-1], 1):
            return self.times(a, b, turns=True)  # sums of one product: each element has conditions of its own
        whole = both(*(True if has_axes(s.selected) else s.selected for s in (left, right)))
        undefined = self._undefined(first, a, second, b)
        a, b = defined(first, a), defined(second, b)
        x, y = a, b
        if has_axes(left.selected):
            a = where(_opposite(a, y, left.selected, -1), a, zero_of(a))
        if has_axes(right.selected):
            b = where(_opposite(b, x, right.selected, -2), b, zero_of(b))
        if left.asked is not True:
            a = asked_opposite(_opposite(a, y, left.asked, -1), a)
        if right.asked is not True:
            b = asked_opposite(_opposite(b, x, right.asked, -2), b)
        c = nan_where(undefined, MatMul()(a, b))
        return c if isinstance(whole, bool) else where(whole, c, zero_of(c))

    def _undefined(self, first: Support, a: Variable, second: Support, b: Variable) -> Condition:
        """Mask of elements of a matrix product with a term of which a factor is NaN and both are asked for."""
        if first.undefined is False and second.undefined is False:
            return False
        s, t = (both(one.selected, one.asked) for one in (first, second))
        of_first = in_matrix_product(both(s, first.undefined), a, t, b)
        return either(of_first, in_matrix_product(s, a, both(t, second.undefined), b))

    def rows(self, dy: Variable, *factors: Variable) -> Callable[..., Variable]:
        """A function of what has a row, or a number, for each row of dy: another one, 0 unless given, of some.

        They are those that are 0 by selection or not asked for as a whole, if one of the factors that they are
        multiplied by may be infinite.
        """
        first = self._opposite_of(self.of(dy), *factors)
        selected, condition = (any_along(s, dy, -1) for s in (first.selected, first.asked))

        def of_rows(v: Variable, other: float = 0) -> Variable:
            fill = numpy_dtype(v.type.dtype).type(other)
            s, t = (squeeze(c, -1) if has_axes(c) and v.type.ndim < dy.type.ndim else c for c in (selected, condition))
            if s is not True:
                v = where(s, v, fill)
            return v if t is True else asked_opposite(t, v) if not other else where(t, v, fill)

        return of_rows

    def _opposite_of(self, support: Support, *factors: Variable) -> Support:
        """A support for what is multiplied by some factors: it does not matter beside finite ones.

        Beside those that are finite wherever the operands of the program are, only what depends on values does: that is
        branches that are not taken, not the places into which a cotangent was written.
        """
        if support is EVERYWHERE or all(map(is_finite, factors)):
            return EVERYWHERE
        if all(is_finite(v) or self.is_regular(v) for v in factors):
            return normalized(support._replace(asked=True, selected=without_places(support.selected)))
        return support

    def is_regular(self, v: Variable) -> bool:
        """Whether a value is finite wherever the operands of the program are."""
        return self.regularity.of(v) & REGULAR == REGULAR

    def _by_place(self, a: Variable, b: Variable, depth: int, *, turns: bool) -> Variable | None:
        """a * b where a is a value that is written into zeros, or a sum of a few: the products are written there.

        Axes that have been added before those written along are repeated.
        """
        node = a.apply
        if node is None or node.key not in PLACES or a.type.ndim != b.type.ndim or not all(map(same, a.shape, b.shape)):
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
        return None if value is None else node.op(cast_variable(base, value.type.dtype), value, *starts)

    def leaves_like(self, values: Sequence[Variable]) -> list[Variable]:
        """A leaf for each value but constants, with its type and lengths, regular and a convention where it is."""
        leaves = []
        for v in values:
            leaf = v
            if not isinstance(v, Constant):
                leaf = Variable(v.type, name=v.name)
                leaf.with_lengths(v.shape)
                self.regularity.same(leaf, v)
                if self.kinks:
                    self.set(leaf, self.of(v))
            leaves.append(leaf)
        return leaves

    def inside(self, inner: Sequence[Variable], operands: Sequence[Variable]) -> Supports:
        """Supports of what an inner graph makes of its inputs, which have the values of operands."""
        return Supports(Regularity(inner, functools.partial(self.regularity.of_all, operands)), kinks=self.kinks)

    def known(self, values: Mapping[int, Variable]) -> dict[int, Callable[[], int]]:
        """The regularity of numbered values, worked out when it is needed."""
        return {k: functools.partial(self.regularity.of, v) for k, v in values.items()}

    def stand_in(self, leaf: Variable, outer: Support, v: Variable) -> tuple[Variable, list[tuple[Variable, Variable]]]:
        """A leaf of an inner graph that a value v with a support is given to, as a value with that support.

        Besides, pairs of a further leaf and the condition that is given to it.
        """
        conditions = {field: carried(s, v) for field, s in zip(FIELDS, outer, strict=True) if s is not PLAIN[field]}
        flags = {field: flag_of(leaf, whole=has_axes(s)) for field, s in conditions.items()}
        return self.stated(leaf, flags), [(flag, conditions[field]) for field, flag in flags.items()]

    def stated(self, v: Variable, conditions: Mapping[str, Variable]) -> Variable:
        """A value whose support has these fields; all but its selection stand in the graph, for later sweeps too."""
        if "selected" in conditions:
            self.set(v, self.of(v)._replace(selected=conditions["selected"]))
        for field, mark in MARKS.items():
            if field in conditions:
                self.kinks = self.kinks or mark is not asked_where
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
        values = [v for v in results if v is not None]
        if not values:
            return [None] * len(results)
        beside = inside.places(dict(enumerate(values)))
        graph = freeze([*leaves, *(leaf for leaf, _ in flags)], [*values, *beside.values()], checks)
        outputs = apply(Call(graph), [*operands, *(s for _, s in flags)])
        told = self.told(dict(enumerate(outputs[: len(values)])), outputs[len(values) :], beside)
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
        """Conditions of numbered values that are not everywhere, each a scalar or in its value's shape."""
        return {
            (k, field): carried(s, v)
            for k, v in values.items()
            for field, s in zip(FIELDS, asked_inside(self.of(v)), strict=True)
            if s is not PLAIN[field]
        }


def _read(reader: Reader, node: Apply, parts: Sequence[Support], *, kinks: bool) -> Support:
    """The support of the result of a node from those of operands; where there are conventions, term by term."""
    if not reader.makes and all(map(is_plain, parts)):
        selected = [one.selected for one in parts]
        said = selected[0] if len(selected) == 1 or selected[0] is selected[-1] else None
        said = True if said is True else read(reader, node, selected, SELECTED)
        return EVERYWHERE if said is True else Support(said)
    of_terms = reader.of_terms if kinks and all(one.asked is not True for one in parts) else None
    if reader.joins:
        for one in parts:
            if one.asked is not True:
                parts = asked_where_selected(parts, node.op)
                break
    fields = []
    for field, plain in enumerate(EVERYWHERE):
        conditions = [one[field] for one in parts]
        said = conditions[0] if len(conditions) == 1 or conditions[0] is conditions[-1] else None
        fields.append(plain if said is plain and not reader.makes else read(reader, node, conditions, field))
    if of_terms is not None:
        fields[ASKED] = of_terms(node, [one.asked for one in parts])
    return normalized(Support._make(fields))


def flag_of(v: Variable, *, whole: bool) -> Variable:
    """A leaf for a condition of a value: in its shape, or a scalar."""
    return Variable(v.type.with_dtype(BOOL) if whole else TensorType(BOOL))


def _opposite(v: Variable, other: Variable, s: Condition, free: int) -> Condition:
    """The places where a factor of a matrix product is opposite a condition's along the other's free axis."""
    mask = any_along(s, other, free)
    repeated = tuple(k - v.type.ndim for k, n in enumerate(v.type.shape[:-2]) if n == 1 and not same(other.shape[k], 1))
    if has_axes(mask) and repeated:  # what is shared by many products is kept where one of them needs it
        mask = computed(Reduce(logical_or, repeated), mask)
        mask = expand_dims_at(mask, repeated) if isinstance(mask, Variable) else mask
    return matrix_transpose(mask) if has_axes(mask) else mask
