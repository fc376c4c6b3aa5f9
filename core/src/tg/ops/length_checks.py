"""Checks that lengths computed at run time are lengths: their arithmetic, without bounds, stays within `LONGEST`.

A size is an int64 value, and arithmetic on int64 wraps. Types, though, read the polynomial that a size is computed by,
as integers have it. So wherever a size becomes a length, or two lengths are found equal, and it is not known that
nothing wraps, a check computes the polynomials exactly: from there on length and value are one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from tg.errors import ShapeError, message
from tg.graph.checks import STATUS_VALUES, Check, Descriptor
from tg.graph.nodes import MAX_DEPTH, Variable, as_size_variable, size_value
from tg.graph.op import Op
from tg.ops.elementwise.arithmetic import (
    absolute,
    add,
    floor_divide,
    maximum,
    minimum,
    multiply,
    negative,
    remainder,
    subtract,
)
from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.comparison import greater_equal, less, less_equal, logical_and
from tg.types.atoms import Derived, ScalarValue
from tg.types.lengths import LONGEST, Length, is_natural, of_atom, product
from tg.types.magnitudes import is_exact, is_exact_inside
from tg.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.types.atoms import Atom

    Array = np.ndarray[Any, Any]
    Polynomial = tuple[tuple[int, tuple[int, ...]], ...]

NATURAL_HINT: Final = "tg.maximum(length, 0) is never negative"
RING: Final = (add, subtract, multiply, negative)
NEAR: Final = 2.0**62  # a float64 result that is this near to one that has wrapped shows that nothing has
COUNTABLE: Final = 2.0**110  # terms up to this have rounding errors far below `NEAR`


@final
class LengthsFit(Op):
    """Whether polynomials in int64 scalars, computed without bounds, lie in [-2**62, 2**62].

    A polynomial is a tuple of terms, a term its factor and the places of the operands that it multiplies.

    Shapes:
        () for each operand -> (), bool
    """

    polynomials: tuple[Any, ...]
    has_expansion = True

    def infer(self, *values: TensorType) -> tuple[TensorType, ...]:
        """A bool scalar."""
        return (TensorType("bool"),)

    def perform(self, *values: Array) -> tuple[Array, ...]:
        """Integers without bounds."""
        integers = [int(v) for v in values]
        return (np.asarray(all(abs(_value(p, integers)) <= LONGEST for p in self.polynomials)),)

    def expansion(self, *values: Variable) -> Variable:
        """In int64, which may wrap, and in float64, which may round: where both nearly agree nothing has wrapped."""
        fits: Variable | None = None
        for polynomial in self.polynomials:
            fine = _fits(polynomial, values)
            fits = fine if fits is None else logical_and(fits, fine)
        assert fits is not None, "there is at least one polynomial"
        return fits

    def pullback(self, tools: Any, inputs: Any, outputs: Any, cotangents: Any) -> Sequence[Variable | None]:
        """None: a length has no derivative."""
        return (None,) * len(inputs)

    def batch(self, tools: Any, size: Any, inputs: Any, batched: Any) -> Sequence[Variable]:
        """As it is written with other ops."""
        return tools.batch_expansion(self, size, inputs, batched)  # type: ignore[no-any-return]


def _value(polynomial: Polynomial, values: Sequence[int]) -> int:
    return sum(factor * math.prod(values[k] for k in places) for factor, places in polynomial)


def _fits(polynomial: Polynomial, values: Sequence[Variable]) -> Variable:
    wrapped = _sum([_product(factor, [values[k] for k in places], "int64") for factor, places in polynomial])
    inside = logical_and(less_equal(wrapped, LONGEST), greater_equal(wrapped, -LONGEST))
    if _is_plain(polynomial):
        return inside
    terms = [_product(factor, [values[k] for k in places], "float64") for factor, places in polynomial]
    near = less(absolute(subtract(_sum(terms), cast_variable(wrapped, "float64"))), NEAR)
    if len(terms) > 1 and any(len(places) > 1 for _, places in polynomial):
        near = logical_and(near, less(_sum([absolute(t) for t in terms]), COUNTABLE))
    return logical_and(inside, near)


def _is_plain(polynomial: Polynomial) -> bool:
    """Whether a polynomial is just one operand."""
    return len(polynomial) == 1 and polynomial[0][0] == 1 and len(polynomial[0][1]) == 1


def _product(factor: int, values: Sequence[Variable], dtype: str) -> Variable:
    total: Variable | None = None
    for v in [cast_variable(v, dtype) for v in values]:
        total = v if total is None else multiply(total, v)
    constant = cast_variable(as_size_variable(factor), dtype)
    return constant if total is None else total if factor == 1 else multiply(total, constant)


def _sum(terms: Sequence[Variable]) -> Variable:
    total = terms[0]
    for term in terms[1:]:
        total = add(total, term)
    return total


class _Collector:
    """The polynomials that must stay within `LONGEST`, and the atoms that they are made of."""

    def __init__(self) -> None:
        self.places: dict[Atom, int] = {}
        self.polynomials: dict[Polynomial, None] = {}

    def add(self, length: int | Length) -> None:
        """Collect a length, and what is inside it, unless arithmetic on it is known to be exact."""
        if type(length) is Length and not is_exact(length):
            terms = tuple((factor, tuple(map(self._place, m))) for m, factor in length.terms.items())
            self.polynomials[terms] = None

    def _place(self, atom: Atom) -> int:
        if type(atom) is Derived:
            for side in (atom.lhs, atom.rhs):
                if not is_exact_inside(side):
                    self.add(side)
        return self.places.setdefault(atom, len(self.places))


def fit_check(lengths: Sequence[int | Length], what: str) -> Check | None:
    """The check that int64 arithmetic gives some lengths, each at most `LONGEST`; None where that is known.

    Raises:
        ShapeError: a known length is above.
    """
    for n in lengths:
        if type(n) is int and n > LONGEST:
            raise ShapeError(message(f"{what}: found {n}, needed at most 2**62"))
    collector = _Collector()
    for n in lengths:
        if not is_exact_inside(n):
            collector.add(n)
    if not collector.polynomials:
        return None
    values = {a: as_size_variable(of_atom(a)) for a in collector.places}
    fits = LengthsFit(tuple(collector.polynomials))(*values.values())
    scalars = [v for a, v in values.items() if type(a) is not Derived]
    shown = ", ".join(f"{{{k}}}" for k in range(min(len(scalars), STATUS_VALUES)))
    source = f" computed from {shown}" if scalars else ""
    text = f"{what}{source}: found more than 2**62, needed at most that"
    return Check(fits, tuple(scalars), Descriptor("ShapeError", text))


def is_ring(size: Any, depth: int = MAX_DEPTH) -> bool:
    """Whether a size is made of its atoms by sums and products: it has its exact value if that fits into int64.

    A quotient of what has wrapped is another one.
    """
    node = size.apply if isinstance(size, Variable) else None
    if node is None or getattr(node.op, "fn", None) not in (*RING, floor_divide, remainder, minimum, maximum):
        return True
    return depth > 0 and node.op.fn in RING and all(is_ring(v, depth - 1) for v in node.inputs)  # type: ignore[attr-defined]


def natural_checks(sizes: Sequence[Variable]) -> tuple[Check, ...]:
    """The checks that sizes given at run time are at least 0."""
    text = "shape: found the length {0}, needed one of at least 0"
    return tuple(
        Check(greater_equal(v, 0), (v,), Descriptor("ShapeError", text, NATURAL_HINT))
        for v in sizes
        if not is_natural(size_value(v))
    )


def size_checks(sizes: Sequence[Variable], shape: Sequence[int | Length] = ()) -> tuple[Check, ...]:
    """The checks that sizes given at run time are lengths, and that an array of a shape can be counted."""
    checks = [*natural_checks(sizes)]
    rest: list[int | Length] = []
    for v in sizes:
        n = size_value(v)
        if type(n) is Length and type(n.atom) is ScalarValue:
            text = "shape: found the length {0}, needed one of at most 2**62"
            checks.append(Check(less_equal(v, LONGEST), (v,), Descriptor("ShapeError", text)))
        else:
            rest.append(n)
    fits = fit_check(rest, "shape: a length")
    if fits is not None:
        checks.append(fits)
    if len(shape) > 1:
        counted = fit_check([product(tuple(shape))], "shape: the number of elements")
        if counted is not None:
            checks.append(counted)
    return tuple(checks)
