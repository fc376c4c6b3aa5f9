"""Products with slopes, and choices between a value and 0, as `tg.gradient.selection` makes them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.gradient.conditions import implies, narrow, wide
from tg.gradient.reading import is_zero
from tg.graph.facts import holds
from tg.graph.nodes import Constant, Variable
from tg.ops.control import StopGradient
from tg.ops.elementwise.arithmetic import divide, masked_product, multiply, negative
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.exponential import per_expm1
from tg.ops.elementwise.record import align_ranks
from tg.types.dtypes import numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.gradient.conditions import Condition
    from tg.gradient.reading import Support

DIVISIONS: Final = {divide, per_expm1}


def is_finite(v: Variable) -> bool:
    """Whether a value is known to be finite."""
    return is_number(v) if isinstance(v, Constant) and not v.data.ndim else holds(v, "finite")


def defined(s: Support, v: Variable) -> Variable:
    """A value, 0 where its support says that it is NaN; of that 0 nothing is read."""
    if s.undefined is False:
        return v
    return where(wide(s.undefined, v), StopGradient()(zero_of(v)), v)


def zero_of(v: Variable) -> Constant:
    """The 0 of a value's dtype."""
    return _zero(v.type.dtype)


@functools.cache
def _zero(dtype: str) -> Constant:
    return Constant(np.zeros((), numpy_dtype(dtype)))


def or_zero(c: Variable, x: Variable) -> Variable:
    """A value where a condition holds, and else 0."""
    return where.op.result((c, x, zero_of(x)), x.type.dtype)


def is_chosen_within(v: Variable, s: Variable) -> bool:
    """Whether a value is a choice between another and 0, by a condition that holds only where another does."""
    if v.apply is None or v.apply.key is not where:
        return False
    c, _, y = v.apply.inputs
    return is_zero(y) and implies(narrow(c), s)


def inside(a: Variable, fn: Callable[[Variable], Variable]) -> Variable:
    """A function that keeps 0, of a value; of a choice between a value and 0 inside of it, so that choices meet."""
    if a.apply is None or a.apply.key is not where:
        return fn(a)
    c, x, y = a.apply.inputs
    return where(c, fn(x), y) if is_zero(y) else fn(a)


def by_choice(a: Variable, b: Variable) -> Variable | None:
    """a * b where b is a choice between constants: a choice between multiples of a."""
    node = b.apply
    if node is None or node.key is not where:
        return None
    c, x, y = node.inputs
    if not is_number(x):
        return None
    first = _multiple(a, x)
    if is_number(y):
        return where(c, first, _multiple(a, y))
    rest = by_choice(a, y)
    return None if rest is None else where(c, first, rest)


def is_number(v: Variable) -> bool:
    """Whether a value is a finite number that the program writes."""
    return isinstance(v, Constant) and v.data.ndim == 0 and bool(np.isfinite(v.data))


def _multiple(a: Variable, c: Variable) -> Any:
    assert isinstance(c, Constant)
    return zero_of(a) if c.data == 0 else a if c.data == 1 else negative(a) if c.data == -1 else multiply(a, c)


def stripped(v: Variable, s: Variable) -> Variable:
    """v without a choice of 0 that a condition implies."""
    while v.apply is not None and v.apply.key is where:
        c, x, y = v.apply.inputs
        if not (is_zero(y) and implies(s, c)):
            break
        v = x
    return v


def product(a: Variable, b: Variable, condition: Condition = True, other: Condition = True) -> Variable:
    """a * b where both are asked for; by b = c / y with a number c as (a * c) / y, whose derivatives have no 1 / y**2.

    The slopes -z / y of a quotient z and -z * z of a reciprocal z are multiplied from the left for the same reason: the
    product of a cotangent and the value it is of has the scale of the cost, but z / y may be 1 / y**2.
    """
    node = b.apply
    everywhere = condition is True and other is True
    if node is not None and (node.key is multiply or node.key in DIVISIONS) and other is True:
        c, y = node.inputs
        if everywhere and node.key in DIVISIONS and is_number(c):
            return node.op.fn(_multiple(a, c), y)  # type: ignore[attr-defined, no-any-return]
        if c.apply is not None and c.apply.key is negative and a.type.dtype == b.type.dtype:
            first = product(a, c.apply.inputs[0], condition)
            if everywhere:
                return negative(node.op(*align_ranks((first, y))))
            return negative(masked_product(condition, True, first, node.op.fn(1, y) if node.key in DIVISIONS else y))  # type: ignore[attr-defined]
    if not everywhere:
        return masked_product(condition, other, a, b)
    if a.type.dtype != b.type.dtype:
        return multiply(a, b)
    return multiply.op.result((a, b), a.type.dtype)
