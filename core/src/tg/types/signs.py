"""Signs of lengths: whether one is known to be at least 0, by the bounds of the operations in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.types.atoms import Derived
from tg.types.lengths import Length, add, from_terms, is_natural, multiply, without

if TYPE_CHECKING:
    from tg.types.atoms import Atom

    Bound = tuple[int | Length, int]  # a value, and by how much it has been multiplied

BOUNDS: Final = 24  # how many bounds are tried to find a sign
TRIED: Final = (0, 1_000_003)
"""Lengths for which what may be below 0 mostly is."""
MOST_BITS: Final = 256


def decide(length: Length) -> bool:
    """Whether a length can be shown to be at least 0."""
    return not _is_refuted(length) and _is_bounded(length, [BOUNDS])


def _is_refuted(length: Length) -> bool:
    """Whether a length is below 0 where all lengths that it is made of are one of `TRIED`: no bounds show more then.

    Each word is looked at once, where bounds are put in place of atoms one after another, and mostly show nothing: a
    chain of 400 times `concatenate([y, y[:2]])` is built in a tenth of the time.
    """
    return any((value := _value_at(length, point, {})) is not None and value < 0 for point in TRIED)


def _value_at(length: int | Length, point: int, values: dict[Atom, int | None]) -> int | None:
    """A length where all that it is made of are `point`; None where lengths do not broadcast, or numbers get long."""
    if type(length) is not Length:
        return length
    total = 0
    for monomial, c in length.terms.items():
        term = c
        for atom in monomial:
            if atom not in values:
                values[atom] = _atom_at(atom, point, values)
            factor = values[atom]
            if factor is None:
                return None
            term *= factor
            if term.bit_length() > MOST_BITS:  # squares of squares would have more digits than there is memory
                return None
        total += term
    return total


def _atom_at(atom: Atom, point: int, values: dict[Atom, int | None]) -> int | None:
    if type(atom) is not Derived:
        return point
    a, b = _value_at(atom.lhs, point, values), _value_at(atom.rhs, point, values)
    if a is None or b is None:
        return None
    if atom.kind == "broadcast":
        return a if b in (a, 1) else b if a == 1 else None
    if atom.kind in ("//", "%"):
        return 0 if b == 0 else a // b if atom.kind == "//" else a % b
    return a * b if atom.kind == "*" else min(a, b) if atom.kind == "min" else max(a, b)


def _is_bounded(length: int | Length, budget: list[int]) -> bool:
    """As `is_natural`, by putting bounds in place of derived atoms; a number of them is tried, not more."""
    if type(length) is not Length:
        return length >= 0
    fine = True
    derived: dict[Derived, None] = {}
    for monomial, c in length.terms.items():
        fine = fine and c >= 0
        for atom in monomial:
            fine = fine and atom.natural
            if type(atom) is Derived:
                derived[atom] = None
    if fine:
        return True
    for atom in derived:
        where = {m: c for m, c in length.terms.items() if atom in m}
        signs = {c > 0 for c in where.values()}
        plain = all(m.count(atom) == 1 and all(other.natural for other in m if other != atom) for m in where)
        if not plain:
            continue
        every, bounds = _bounds(atom, signs)
        enough = all if every else any
        if bounds and enough(_is_bounded_with(length, atom, bound, budget) for bound in bounds):
            return True
    return False


def _is_bounded_with(length: Length, atom: Atom, bound: Bound, budget: list[int]) -> bool:
    budget[0] -= 1
    if budget[0] < 0:
        return False
    value, scale = bound
    total: int | Length = 0
    for monomial, c in length.terms.items():
        rest = without(monomial, (atom,))
        if rest is None:
            total = add(total, from_terms({monomial: scale * c}))
        else:
            total = add(total, multiply(from_terms({rest: c}), value))
    return _is_bounded(total, budget)


def _bounds(atom: Derived, signs: set[bool]) -> tuple[bool, list[Bound]]:
    """Bounds of an atom where its coefficients have these signs (whether above 0), and whether all bounds are needed.

    A positive coefficient takes a bound from below, a negative one from above. Both hold for the values of which a min
    or max is one, if each of them is tried.
    """
    a, b = atom.lhs, atom.rhs
    if atom.kind in ("min", "max"):
        return signs != {atom.kind == "max"}, [(a, 1), (b, 1)]
    if len(signs) > 1 or atom.kind == "broadcast" or not is_natural(a) or not is_natural(b):
        return False, []
    if signs == {True}:
        return False, [(0, 1)]
    if atom.kind == "*":
        return False, []
    if atom.kind == "//":
        return False, [(a, b)] if type(b) is int and b > 0 else [(a, 1)]
    return False, [(a, 1), (b - 1 if type(b) is int and b > 0 else b, 1)]


Length.decide = decide
