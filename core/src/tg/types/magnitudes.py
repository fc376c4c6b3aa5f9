"""Magnitudes of lengths: how large one can be, and whether arithmetic in int64 gives it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tg.types.atoms import AxisLength, Derived, ScalarValue
from tg.types.lengths import LONGEST, LONGEST_GIVEN, Length, is_natural, of_atom, subtract

if TYPE_CHECKING:
    from tg.types.atoms import Atom, Monomial


def magnitude(length: int | Length, of_scalars: float = math.inf) -> float:
    """A bound of the size of a length whose atoms are lengths of arrays; infinite where anything could be too large.

    One up to `LONGEST` says that arithmetic in int64 gives the length, in whatever order it is done.

    Args:
        of_scalars: what no scalar in it exceeds.
    """
    return _magnitude(length, of_scalars, {})


def _magnitude(length: int | Length, of_scalars: float, memo: dict[Derived, float]) -> float:
    if type(length) is not Length:
        return abs(length)
    total = 0
    for monomial, factor in length.terms.items():
        size = abs(factor)
        if not _is_of_one_array(monomial):
            for atom in monomial:
                bound = _bound_of(atom, of_scalars, memo)
                if bound > LONGEST:
                    return math.inf
                size *= int(bound)
        else:
            size *= LONGEST_GIVEN
        total += size
    return total


def _is_of_one_array(monomial: Monomial) -> bool:
    """Whether a product is one of different axes of one array: the number of elements of a part of it."""
    first = monomial[0] if monomial else None
    if type(first) is not AxisLength or not all(type(a) is AxisLength and a.owner is first.owner for a in monomial):
        return False
    return len({a.axis for a in monomial}) == len(monomial)  # type: ignore[attr-defined]


def _bound_of(atom: Atom, of_scalars: float, memo: dict[Derived, float]) -> float:
    if type(atom) is not Derived:
        return of_scalars if type(atom) is ScalarValue else LONGEST_GIVEN
    bound = memo.get(atom)
    if bound is None:
        lhs, rhs = (_magnitude(side, of_scalars, memo) for side in (atom.lhs, atom.rhs))
        bound = max(lhs, rhs)
        if bound <= LONGEST:
            bound = {"//": lhs, "%": rhs, "*": lhs * rhs}.get(atom.kind, bound)
        memo[atom] = bound
    return bound


def is_exact(length: int | Length) -> bool:
    """Whether arithmetic in int64 is known to give a length, which is at most `LONGEST`."""
    if type(length) is not Length:
        return abs(length) <= LONGEST
    if length._exact is None:
        length._exact = magnitude(length) <= LONGEST or _is_within_axis(length)
    return length._exact


def is_exact_inside(length: int | Length) -> bool:
    """Whether int64 holds an operand of `//`, `min` and the like: it may be any value of a scalar."""
    return (type(length) is Length and type(length.atom) is ScalarValue) or is_exact(length)


def _is_within_axis(length: int | Length) -> bool:
    """Whether a length is known to be from 0 to that of an axis which it mentions, and what is inside is exact."""
    if type(length) is not Length or not is_natural(length):
        return False
    derived = [a for m in length.terms for a in m if type(a) is Derived]
    if not all(is_exact_inside(side) for a in derived for side in (a.lhs, a.rhs)):
        return False
    axes = {m[0] for m in length.terms if len(m) == 1 and type(m[0]) is AxisLength}
    return any(is_natural(subtract(of_atom(n), length)) for n in axes)
