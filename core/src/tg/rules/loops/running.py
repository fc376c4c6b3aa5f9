"""Loops whose carries are running sums, products, extremes or sums that decay, as operations on all steps.

It is for backends whose loops are Python's, which spend microseconds on a step. A loop of machine code takes less time
for a step than a running sum for an element: 1e5 steps that add take 110 us on `c` and 0.95 ms on `jax`, running sums
twice as long.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tg.graph.nodes import Constant, Variable, apply, size_value
from tg.ops.creation import zeros
from tg.ops.cumulative import Accumulate
from tg.ops.elementwise.arithmetic import add, divide, maximum, minimum, multiply, negative, subtract
from tg.ops.elementwise.cast import Cast
from tg.ops.indexing import flip, slice_axis
from tg.ops.iteration import scan
from tg.ops.loops import Scan
from tg.ops.reduction import Reduce
from tg.ops.reductions import REDUCTIONS
from tg.ops.shape import broadcast_to, concatenate, expand_dims, reshape, squeeze
from tg.rewrite.phases import REASSOCIATES, SPECIALIZE
from tg.rewrite.rule import node_rule
from tg.rules.loops.steps import constants_of, is_safe
from tg.rules.shape.moved import every
from tg.types import lengths, requirements
from tg.types.dtypes import float_limits, is_float, is_inexact

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.frozen import FrozenGraph, Node
    from tg.graph.nodes import Apply
    from tg.ops.elementwise.record import ElementwiseFunction
    from tg.rewrite.rule import Outputs

EXTREMES_AND_PRODUCTS: Final[dict[object, ElementwiseFunction]] = {fn.op: fn for fn in (multiply, maximum, minimum)}
BLOCK: Final = 1024  # steps of sums that decay that are taken together, at most, and
LEAST: Final = 16  # at least: fewer are no gain
MOST_TERMS: Final = 8  # that a step adds to a carry: with more the arrays of all steps are many
SHARE: Final = 1 / 3  # of a dtype's exponents, which the powers of a factor may have: neither end of its range is near


class _Combined(NamedTuple):
    """Result of each step for a carry: `fn` of it and one value, or a sum of values and the carry times a factor."""

    fn: ElementwiseFunction
    terms: tuple[tuple[float, int], ...]  # factors and values
    decay: float = 1.0


def _of_running_results(node: Apply, outputs: Outputs) -> Outputs | None:
    """Results of a loop all of whose carries are running results, of one another at most."""
    op = node.op
    assert isinstance(op, Scan)
    if not op.carries or op.counts_only or op.body.checks or not _is_of_elements(op):
        return None
    wanted = [one for k in range(op.carries) if (one := _combined(op.body, k)) is not None]
    results = _Steps(node, op).run(wanted) if len(wanted) == op.carries else None
    if results is None or not all(new.type.refines(old.type) for new, old in zip(results, outputs, strict=True)):
        return None
    return results


def _is_of_elements(op: Scan) -> bool:
    """Whether the steps of a loop work on the elements of arrays of one rank, each by itself."""
    body, moving = op.body, op.carries + op.sequences
    rank, *others = {t.ndim for t in body.input_types[:moving]}
    held = (*body.input_types[moving:], *(c.type for c in body.constants))
    return not others and all(t.ndim in (0, rank) for t in held) and all(map(_is_of_single_elements, body.nodes))


def _is_of_single_elements(one: Node) -> bool:
    return is_safe(one) or type(one.op) is Cast


def _combined(body: FrozenGraph, k: int) -> _Combined | None:
    """Result of each step for a carry; None where it is something else."""
    number, dtype = body.outputs[k], body.types[k].dtype
    last = next((one for one in body.nodes if one.outputs[0] == number), None)
    if last is None:
        return None
    forms = _sums(body, k)
    if last.op in EXTREMES_AND_PRODUCTS and k in last.inputs and number not in forms:
        others = [v for v in last.inputs if v not in _depending(body, k)]
        return _Combined(EXTREMES_AND_PRODUCTS[last.op], ((1.0, others[0]),)) if others else None
    form = forms.get(number)
    if form is None or not form.terms:
        return None
    is_plain = all(abs(factor) == 1.0 for factor in (form.decay, *(factor for factor, _ in form.terms)))
    if not is_plain and not is_float(dtype):
        return None
    return form if form.decay == 1.0 or _block(dtype, body.types[k].ndim, form.decay) else None


def _depending(body: FrozenGraph, k: int) -> set[int]:
    """The values of a step that depend on a carry."""
    dependents = {k}
    for one in body.nodes:
        if not dependents.isdisjoint(one.inputs):
            dependents.update(one.outputs)
    return dependents


def _sums(body: FrozenGraph, k: int) -> dict[int, _Combined]:
    """The values of a step that are sums of multiples of a carry and of values that do not depend on it."""
    depending, sums = _depending(body, k), {k: _Combined(add, ())}
    for one in body.nodes:
        if not depending.isdisjoint(one.inputs) and all(v in sums or v not in depending for v in one.inputs):
            forms = [sums[v] if v in depending else _Combined(add, ((1.0, v),), 0.0) for v in one.inputs]
            form = _sum_of(one, forms, [_number(body, v) for v in one.inputs])
            if form is not None and len(form.terms) <= MOST_TERMS:
                sums[one.outputs[0]] = form
    return sums


def _sum_of(one: Node, forms: Sequence[_Combined], numbers: Sequence[float | None]) -> _Combined | None:
    """Sum that a node gives of sums, some of which are numbers; None where it is no sum."""
    if one.op is negative.op:
        return _times(forms[0], -1.0)
    if one.op is add.op or one.op is subtract.op:
        other = forms[1] if one.op is add.op else _times(forms[1], -1.0)
        return _Combined(add, (*forms[0].terms, *other.terms), forms[0].decay + other.decay)
    if one.op is multiply.op and numbers[0] is not None:
        return _times(forms[1], numbers[0])
    if one.op is multiply.op and numbers[1] is not None:
        return _times(forms[0], numbers[1])
    return _times(forms[0], 1 / numbers[1]) if one.op is divide.op and numbers[1] else None


def _times(form: _Combined, factor: float) -> _Combined:
    return form._replace(terms=tuple((factor * f, v) for f, v in form.terms), decay=factor * form.decay)


def _number(body: FrozenGraph, k: int) -> float | None:
    """A value that is one real number."""
    constant = body.constant(k)
    is_number = constant is not None and not constant.type.ndim and is_float(constant.type.dtype)
    return float(constant.data) if constant is not None and is_number else None


def _block(dtype: str, rank: int, decay: float) -> int:
    """Number of steps of a decaying sum taken together, their powers in the range of a dtype; 0 for none.

    Arrays have enough to do in a step. Of integers the factor is -1, whose powers are exact.
    """
    if rank or not 0 < abs(decay) < math.inf:
        return 0
    if not is_inexact(dtype):
        return BLOCK
    exponent, most = abs(math.log2(abs(decay))), SHARE * float_limits(dtype).maxexp
    size = BLOCK
    while size * exponent > most:
        size //= 2
    return size if size >= LEAST else 0


class _Steps:
    """The values of all steps of a loop, as arrays with an axis in front, in the order of the steps.

    What no step changes is one value without that axis.
    """

    def __init__(self, node: Apply, op: Scan) -> None:
        self.op, self.body = op, op.body
        self.length = op.length if op.length is not None else size_value(node.inputs[0])
        self.starts, sequences, captured = op.parts(node.inputs)
        self.held = {**dict(enumerate(captured, op.carries + op.sequences)), **constants_of(op.body)}
        self.whole = dict(enumerate([self._turned(v) for v in sequences], op.carries))
        self.last: dict[int, Variable] = {}

    def run(self, wanted: Sequence[_Combined]) -> Outputs | None:
        """The results of the loop; None where carries need one another."""
        nodes, carries = list(self.body.nodes), list(range(self.op.carries))
        while nodes or carries:
            waiting = [one for one in nodes if not self._is_computed(one)]
            left = [k for k in carries if not self._is_run_through(k, wanted[k])]
            if len(waiting) == len(nodes) and len(left) == len(carries):
                return None
            nodes, carries = waiting, left
        traces = [self._turned(self._of_all(v)) for v in self.body.outputs[self.op.carries :]]
        return (*(self.last[k] for k in range(self.op.carries)), *traces)

    def _turned(self, v: Variable) -> Variable:
        """A value of all steps in the order of the axis, from that of the steps, or the other way round."""
        return flip(v, 0) if self.op.reverse else v

    def _is_known(self, k: int) -> bool:
        return k in self.held or k in self.whole

    def _is_computed(self, one: Node) -> bool:
        """Whether there is what a node is computed of; then so is the node."""
        (number,) = one.outputs
        if all(k in self.held for k in one.inputs):
            (self.held[number],) = apply(one.op, [self.held[k] for k in one.inputs])
        elif all(map(self._is_known, one.inputs)):
            (self.whole[number],) = apply(one.op, [self._beside(k) for k in one.inputs])
        else:
            return False
        return True

    def _beside(self, k: int) -> Variable:
        """A value as it stands beside those of all steps."""
        if k in self.whole:
            return self.whole[k]
        return expand_dims(self.held[k], 0) if self.held[k].type.ndim else self.held[k]

    def _of_all(self, k: int) -> Variable:
        """A value with an axis for the steps."""
        return self.whole[k] if k in self.whole else broadcast_to(self.held[k], (self.length, *self.held[k].shape))

    def _is_run_through(self, k: int, how: _Combined) -> bool:
        """Whether there is what is combined with a carry; then so are its values before all steps, and the last."""
        if not all(self._is_known(v) for _, v in how.terms):
            return False
        start, axis, steps = self.starts[k], -1 - self.starts[k].type.ndim, self._terms(k, how)
        first = expand_dims(start, 0)
        if how.decay != 1.0:
            after = slice_axis(_decaying(concatenate([first, steps]), how.decay), axis, 1, self.length)
        elif _is_identity(how.fn, start):
            after = Accumulate(how.fn, axis)(steps)
        elif how.fn is multiply:  # a start of 0 must stay 0 where a product of the others overflows
            after = slice_axis(Accumulate(multiply, axis)(concatenate([first, steps])), axis, 1, self.length)
        else:
            after = how.fn(first, Accumulate(how.fn, axis)(steps))
        self.whole[k] = slice_axis(concatenate([first, after]), axis, 0, self.length)
        is_total = how.fn is add and how.decay == 1.0 and self.body.outputs[k] not in self._traced()
        self.last[k] = add(start, Reduce(add, (axis,))(steps)) if is_total else self._last_of(first, after, axis)
        return True

    def _traced(self) -> Sequence[int]:
        return self.body.outputs[self.op.carries :]

    def _terms(self, k: int, how: _Combined) -> Variable:
        """Terms that are combined with a carry in all steps, in the carry's shape."""
        (factor, total), *others = [(factor, _scaled(self._beside(v), abs(factor))) for factor, v in how.terms]
        total = total if factor > 0 else negative(total)
        for factor, v in others:
            total = (add if factor > 0 else subtract)(total, v)
        wanted = (self.length, *self.starts[k].shape)
        is_wide = total.type.ndim == len(wanted) and all(map(requirements.equal_here, total.shape, wanted))
        return total if is_wide else broadcast_to(total, wanted)

    def _last_of(self, first: Variable, after: Variable, axis: int) -> Variable:
        """The value after the last step, or the first one where there is none."""
        some = lengths.minimum(self.length, 1)
        end = slice_axis(after, axis, lengths.subtract(self.length, some), some)
        last = end if lengths.same(some, 1) else slice_axis(concatenate([first, end]), axis, some, 1)
        return squeeze(last, 0)


def _decaying(x: Variable, decay: float) -> Variable:
    """y[i] = decay * y[i - 1] + x[i], in blocks: each is doubled until it has what lies in it, then they are handed on.

    Source:
        The rounds are those of Hillis and Steele, "Data parallel algorithms", CACM 29(12), 1986. Powers of `decay`
        beyond a block, which may overflow or vanish, are not made.
    """
    size, dtype, count = _block(x.type.dtype, 0, decay), x.type.dtype, x.shape[0]
    rows = lengths.floor_divide(lengths.add(count, size - 1), size)
    whole = lengths.multiply(rows, size)
    y = slice_axis(concatenate([x, zeros(size - 1, dtype=dtype)]), -1, 0, whole)
    step = 1
    while step < size:
        earlier = concatenate([zeros(step, dtype=dtype), slice_axis(y, -1, 0, lengths.subtract(whole, step))])
        y = add(y, multiply(earlier, _power(decay, step, x)))
        step *= 2
    by = _power(decay, size, x)

    def handed_on(last: Variable, row: Variable) -> tuple[Variable, Variable]:
        row = add(row, multiply(last, by))
        return row, row

    _, blocks = scan(handed_on, zeros(size, dtype=dtype), reshape(y, (rows, size)))
    return slice_axis(reshape(blocks, (whole,)), -1, 0, count)


def _scaled(v: Variable, factor: float) -> Variable:
    return v if factor == 1.0 else multiply(v, Constant(np.asarray(factor, v.type.numpy_dtype)))


def _power(decay: float, n: int, like: Variable) -> Constant:
    power = decay**n
    # An unsigned -1 wraps only as an integer: NumPy refuses to make it of a float.
    return Constant(np.asarray(power if is_inexact(like.type.dtype) else int(power)).astype(like.type.numpy_dtype))


def _is_identity(fn: ElementwiseFunction, start: Variable) -> bool:
    """Whether a carry begins with what changes nothing."""
    identity = REDUCTIONS[fn].identity(start.type.dtype)
    return every(start, lambda u: isinstance(u, Constant) and bool((u.data == identity).all()))


def _sums_of_sums(x: Variable) -> Variable:
    """Results of steps that add up rows, and their running sums."""

    def step(carry: tuple[Variable, Variable], row: Variable) -> tuple[tuple[Variable, Variable], Variable]:
        level, total = carry[0] + row, carry[1] + carry[0]
        return (level, total), level * total

    return scan(step, (x, x), broadcast_to(x, (9, *x.shape)))[1]  # type: ignore[no-any-return]


RUNNING_RESULTS: Final = node_rule(
    "scan_of_running",
    keys=(Scan,),
    apply=_of_running_results,
    phase=SPECIALIZE,
    kind=REASSOCIATES,
    why="What is known of all steps is added up in a few operations, and each step would take several.",
    example=_sums_of_sums,
)
"""For backends whose loops are Python's."""
