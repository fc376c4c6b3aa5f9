"""Bounds on integers before they are computed: between which lengths they lie, and which vectors are steps."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.graph.nodes import Constant, Variable, size_value
from tg.ops.creation import Arange
from tg.ops.elementwise.arithmetic import (
    add,
    clip,
    floor_divide,
    maximum,
    minimum,
    multiply,
    negative,
    remainder,
    subtract,
)
from tg.ops.elementwise.cast import Cast
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.record import Elementwise
from tg.ops.indexing import Nonzero, Slice, WrapIndex
from tg.ops.reduction import ArgReduce, Reduce
from tg.ops.shape import BroadcastTo, Concatenate, ExpandDims, Reshape, SpecifyShape, Squeeze, Transpose
from tg.ops.sorting import ArgSort, SearchSorted
from tg.types import lengths, magnitudes, requirements
from tg.types.atoms import Derived, ScalarValue
from tg.types.dtypes import is_integer
from tg.types.lengths import LONGEST, Length, is_natural, same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tg.types.atoms import Atom

Number = int | Length

DEPTH: Final = 6  # how far below a value its bounds are looked for
TRIALS: Final = 40  # how many bounds of atoms one proof may try
VERY_MANY: Final = 1 << 14  # constant indices that are not looked through
LARGE: Final = 1 << 53  # constants beyond might overflow where they are added


class Interval(NamedTuple):
    """The least and the largest that the elements of an integer array may be; None where nothing is known."""

    low: Number | None
    high: Number | None


UNKNOWN: Final = Interval(None, None)


def at_most(a: Number, b: Number) -> bool:
    """Whether a is known not to exceed b."""
    difference = lengths.subtract(b, a)
    if type(difference) is not Length:
        return difference >= 0
    return bool(requirements.remembered(difference.key, _shown_natural, difference))


def _shown_natural(d: Length) -> bool:
    return _is_natural(d, [TRIALS])


def _is_natural(d: Number, trials: list[int]) -> bool:
    """Whether a length is known to be at least 0, its atoms replaced one by one by what they are at least or at most.

    Args:
        trials: how many replacements may still be tried, counted down.
    """
    if is_natural(d):
        return True
    if type(d) is not Length:
        return False
    lone = [(m[0], factor) for m, factor in d.terms.items() if len(m) == 1]
    for atom, factor in sorted(lone, key=_by_factor):
        rest = lengths.subtract(d, lengths.multiply(factor, lengths.of_atom(atom)))
        for cases in _lower_bounds(atom, factor):
            trials[0] -= 1
            if trials[0] < 0:
                return False
            if all(_is_natural(lengths.add(rest, low), trials) for low in cases):
                return True
    return False


def _by_factor(term: tuple[Atom, int]) -> int:
    return term[1]


def _lower_bounds(atom: Atom, factor: int) -> Iterator[tuple[Number, ...]]:
    """Lower bounds of `factor * atom`, each time as the cases of which one holds."""
    is_plus = factor > 0
    if type(atom) is ScalarValue:
        owner: Any = atom.owner
        bounds = interval(owner)
        for bound in (bounds.low if is_plus else bounds.high, checked_value(owner)):
            if bound is not None:
                yield (lengths.multiply(factor, bound),)
    elif type(atom) is Derived:
        left, right = lengths.multiply(factor, atom.lhs), lengths.multiply(factor, atom.rhs)
        if atom.kind == "min":  # one of both, and at most each of them
            yield from ((left, right),) if is_plus else ((left,), (right,))
        elif atom.kind == "//" and type(atom.rhs) is int and atom.rhs > 0 and factor % atom.rhs == 0:
            share = lengths.multiply(factor // atom.rhs, atom.lhs)
            yield (lengths.subtract(share, factor - factor // atom.rhs) if is_plus else share,)
        elif atom.kind == "%" and type(atom.rhs) is int and atom.rhs > 0:
            yield (0 if is_plus else factor * (atom.rhs - 1),)


def checked_value(v: Variable) -> Number | None:
    """Value of a constant index once it is counted from the start, if a check makes sure that it lies in its axis."""
    if v.apply is None or type(v.apply.op) is not WrapIndex or v.apply.op.mode != "raise":
        return None
    i, n = v.apply.inputs
    if not isinstance(i, Constant) or i.data.size != 1:
        return None
    k = int(i.data.reshape(()))
    return k if k >= 0 else lengths.add(size_value(n), k)


def interval(v: Variable, depth: int = DEPTH) -> Interval:
    """Between what the elements of an integer array lie; anything holds of an array without elements."""
    if not is_integer(v.type.dtype):
        return Interval(0, 1) if v.type.dtype == "bool" else UNKNOWN
    if isinstance(v, Constant):
        return _of_constant(v)
    if depth and v.apply is not None:
        if v.type.ndim == 0:
            n = size_value(v)
            if magnitudes.is_exact(n):
                return Interval(n, n)
        op: Any = v.apply.op
        find = _BY_FUNCTION.get(op.fn) if type(op) is Elementwise else _BY_OP.get(type(op))
        bounds = find(op, v.apply.inputs, depth - 1) if find is not None else UNKNOWN
        if bounds is not UNKNOWN and _fits(bounds, v.type.dtype):
            return bounds
    limits = np.iinfo(v.type.dtype)
    return Interval(int(limits.min), int(limits.max)) if limits.bits < 64 else UNKNOWN


def _fits(bounds: Interval, dtype: str) -> bool:
    """Whether numbers between these bounds are numbers of a dtype, so that none wraps around."""
    limits = np.iinfo(dtype)
    for bound in bounds:
        if type(bound) is int and not limits.min <= bound <= limits.max:
            return False
        if type(bound) is Length and magnitudes.magnitude(bound, of_scalars=LONGEST) > limits.max:
            return False
    return True


def _of_constant(v: Constant) -> Interval:
    if not v.data.size:
        return Interval(0, -1)
    low, high = int(v.data.min()), int(v.data.max())
    return Interval(low, high) if low > -LARGE and high < LARGE else UNKNOWN


def _both(find: Callable[[Any, Any, Any, Any], Interval]) -> Callable[[Any, Any, int], Interval]:
    """A rule for two operands both of whose bounds have to be known, so that nothing overflows."""

    def of_operands(op: Any, inputs: Any, depth: int) -> Interval:
        a, b = (interval(v, depth) for v in inputs)
        return UNKNOWN if None in a or None in b else find(*a, *b)

    return of_operands


def _product(a: Any, b: Any, c: Any, d: Any) -> Interval:
    if is_natural(a) and is_natural(c):
        return Interval(lengths.multiply(a, c), lengths.multiply(b, d))
    if type(c) is int and same(c, d):
        ends = lengths.multiply(c, a), lengths.multiply(c, b)
        return Interval(*ends) if c > 0 else Interval(*ends[::-1])
    return _product(c, d, a, b) if type(a) is int and same(a, b) else UNKNOWN


def _quotient(a: Any, b: Any, c: Any, d: Any) -> Interval:
    if type(c) is not int or not same(c, d) or c < 0:
        return UNKNOWN
    return Interval(lengths.floor_divide(a, c), lengths.floor_divide(b, c))


def _hull(a: Any, b: Any, c: Any, d: Any) -> Interval:
    return Interval(lengths.minimum(a, c), lengths.maximum(b, d))


def _negative(op: Any, inputs: Any, depth: int) -> Interval:
    low, high = interval(inputs[0], depth)
    if low is None or high is None:
        return UNKNOWN
    return Interval(lengths.multiply(-1, high), lengths.multiply(-1, low))


def _minimum(op: Any, inputs: Any, depth: int) -> Interval:
    a, b = (interval(v, depth) for v in inputs)
    low = None if a.low is None or b.low is None else lengths.minimum(a.low, b.low)
    return Interval(low, _joined(lengths.minimum, a.high, b.high))


def _maximum(op: Any, inputs: Any, depth: int) -> Interval:
    a, b = (interval(v, depth) for v in inputs)
    high = None if a.high is None or b.high is None else lengths.maximum(a.high, b.high)
    return Interval(_joined(lengths.maximum, a.low, b.low), high)


def _joined(choose: Callable[[Any, Any], Number], a: Number | None, b: Number | None) -> Number | None:
    """A bound of one of two values is one of the value chosen."""
    if a is None or b is None:
        return b if a is None else a
    return choose(a, b)


def _clip(op: Any, inputs: Any, depth: int) -> Interval:
    """The lower limit gives way to the upper one."""
    low, high = (interval(v, depth) for v in inputs[1:])
    if low.low is None or high.low is None:
        return UNKNOWN
    return Interval(lengths.minimum(low.low, high.low), high.high)


def _remainder(op: Any, inputs: Any, depth: int) -> Interval:
    low, high = interval(inputs[1], depth)
    if low is None or high is None or not at_most(1, low):
        return UNKNOWN
    return Interval(0, lengths.subtract(high, 1))


def _where(op: Any, inputs: Any, depth: int) -> Interval:
    return _both(_hull)(op, inputs[1:], depth)


def _cast(op: Any, inputs: Any, depth: int) -> Interval:
    """Numbers of which both bounds are numbers of the dtype stay what they are."""
    bounds = interval(inputs[0], depth)
    return UNKNOWN if None in bounds else bounds


def _same(op: Any, inputs: Any, depth: int) -> Interval:
    return interval(inputs[0], depth)


def _places(op: Any, inputs: Any, depth: int) -> Interval:
    axis = getattr(op, "axis", -1)
    return Interval(0, lengths.subtract(inputs[0].shape[axis], 1))


def _wrapped(op: Any, inputs: Any, depth: int) -> Interval:
    n = size_value(inputs[1])
    if op.mode == "promise" and not at_most(1, n):
        return UNKNOWN
    return Interval(0, lengths.subtract(n, 1))


def _arange(op: Any, inputs: Any, depth: int) -> Interval:
    n = size_value(inputs[0]) if inputs else op.length
    return Interval(0, lengths.subtract(n, 1))


def _concatenate(op: Any, inputs: Any, depth: int) -> Interval:
    every = [interval(v, depth) for v in inputs] if len(inputs) <= DEPTH else [UNKNOWN]
    return UNKNOWN if any(None in bounds for bounds in every) else functools.reduce(lambda a, b: _hull(*a, *b), every)


def _reduce(op: Any, inputs: Any, depth: int) -> Interval:
    """Of no elements `total` gives the other end of the dtype: the bound that cannot hurt is left."""
    bounds = interval(inputs[0], depth)
    if not op.reduction.is_extreme:
        return UNKNOWN
    if not op.total:
        return bounds
    return Interval(None, bounds.high) if op.reduction.sign > 0 else Interval(bounds.low, None)


_BY_FUNCTION: Final[dict[object, Callable[[Any, Any, int], Interval]]] = {
    add: _both(lambda a, b, c, d: Interval(lengths.add(a, c), lengths.add(b, d))),
    subtract: _both(lambda a, b, c, d: Interval(lengths.subtract(a, d), lengths.subtract(b, c))),
    multiply: _both(_product),
    floor_divide: _both(_quotient),
    negative: _negative,
    clip: _clip,
    minimum: _minimum,
    maximum: _maximum,
    remainder: _remainder,
    where: _where,
}
_BY_OP: Final[dict[type, Callable[[Any, Any, int], Interval]]] = {
    Arange: _arange,
    WrapIndex: _wrapped,
    ArgSort: _places,
    ArgReduce: _places,
    Nonzero: _places,
    SearchSorted: lambda op, inputs, depth: Interval(0, inputs[0].shape[-1]),
    Cast: _cast,
    Reduce: _reduce,
    Concatenate: _concatenate,
    **dict.fromkeys((BroadcastTo, Reshape, ExpandDims, Squeeze, Transpose, SpecifyShape, Slice), _same),
}


class Steps(NamedTuple):
    """A vector of integers `start`, `start + step`, …, `size` of them; the step is not 0."""

    start: Number
    size: Number
    step: int


def steps_of(v: Variable, depth: int = DEPTH) -> Steps | None:
    """A vector of int64 as evenly spaced numbers, if it is known to be that."""
    if v.type.ndim != 1 or v.type.dtype != "int64":
        return None
    if isinstance(v, Constant):
        return _constant_steps(v.data)
    if v.apply is None or not depth:
        return None
    op: Any = v.apply.op
    if type(op) is Arange:
        return Steps(0, v.shape[0], 1)
    if type(op) is not Elementwise:
        return None
    if op.fn is negative:
        return _scaled(steps_of(v.apply.inputs[0], depth - 1), -1)
    if op.fn in (add, subtract, multiply):
        a, b = v.apply.inputs
        steps = _moved(op.fn, steps_of(a, depth - 1), b)
        if steps is None and op.fn is not subtract:
            return _moved(op.fn, steps_of(b, depth - 1), a)
        return steps or _moved(add, _scaled(steps_of(b, depth - 1), -1), a)
    return None


def _constant_steps(data: np.ndarray[Any, Any]) -> Steps | None:
    if not 0 < data.size <= VERY_MANY:
        return None
    step = int(data[1]) - int(data[0]) if data.size > 1 else 1
    if not step or not bool(np.all(np.diff(data) == step)):
        return None
    return Steps(int(data[0]), int(data.size), step)


def _scaled(steps: Steps | None, factor: int) -> Steps | None:
    if steps is None or not factor or abs(factor * steps.step) >= LARGE:
        return None  # steps of 2 ** 64 would repeat one number
    return Steps(lengths.multiply(factor, steps.start), steps.size, factor * steps.step)


def _moved(fn: Any, steps: Steps | None, by: Variable) -> Steps | None:
    """Steps and a scalar added, subtracted or multiplied."""
    if steps is None or by.type.dtype != "int64" or any(n != 1 for n in by.type.shape):
        return None
    if isinstance(by, Constant):
        amount: Number = int(by.data.reshape(()))
    elif by.type.ndim:
        return None
    else:
        amount = size_value(by)
    if fn is multiply:
        return _scaled(steps, amount) if type(amount) is int else None
    return steps._replace(start=(lengths.add if fn is add else lengths.subtract)(steps.start, amount))


def is_unique(indices: tuple[Variable, ...]) -> bool:
    """Whether no position repeats among indices of one shape: known of evenly spaced ones and of constants."""
    if not indices or any(all(n == 1 for n in v.type.shape) or steps_of(v) is not None for v in indices):
        return True
    constants = [v.data.ravel() for v in indices if isinstance(v, Constant)]
    if len(constants) != len(indices) or constants[0].size > VERY_MANY:
        return False
    return len(set(zip(*(k.tolist() for k in constants), strict=True))) == constants[0].size
