"""Lengths with others, or with numbers, in place of the atoms that they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tg.types.atoms import Derived
from tg.types.lengths import OPERATIONS, Length, add, multiply, of_atom

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from tg.types.atoms import Atom


def atoms(length: int | Length | None) -> Iterator[Atom]:
    """The basic atoms below a length."""
    return (atom for atom in _below(length) if type(atom) is not Derived)


def _below(length: int | Length | None) -> Iterator[Atom]:
    """The atoms of a length, and those in the operations among them, each operation once."""
    visited: set[Atom] = set()
    stack = [length]
    while stack:
        top = stack.pop()
        for monomial in top.terms if type(top) is Length else ():
            for atom in monomial:
                if type(atom) is Derived:
                    if atom in visited:
                        continue
                    visited.add(atom)
                    stack += (atom.rhs, atom.lhs)
                yield atom


def substitute(length: int | Length, values: Mapping[Atom, int | Length]) -> int | Length:
    """The length with atoms replaced."""
    return evaluate(length, values.get) if _mentions(length, values) else length


def _mentions(length: int | Length, values: Container[Atom]) -> bool:
    return any(atom in values for atom in _below(length))


def mentioned(atom: Atom, length: int | Length) -> bool:
    """Whether a length is made of an atom, in operations too."""
    return _mentions(length, (atom,))


def evaluate(length: int | Length, value_of: Callable[[Atom], int | Length | None]) -> int | Length:
    """The length with each basic atom replaced by `value_of(atom)` (None keeps it): numbers in, a number out."""
    return _evaluated(length, value_of, {})


def _evaluated(
    length: int | Length, value_of: Callable[[Atom], int | Length | None], memo: dict[Derived, int | Length]
) -> int | Length:
    if type(length) is not Length:
        return length
    total: int | Length = 0
    for monomial, factor in length.terms.items():
        product: int | Length = factor
        for atom in monomial:
            product = multiply(product, _atom_value(atom, value_of, memo))
        total = add(total, product)
    return total


def _atom_value(
    atom: Atom, value_of: Callable[[Atom], int | Length | None], memo: dict[Derived, int | Length]
) -> int | Length:
    value = value_of(atom)
    if value is not None:
        return value
    if type(atom) is not Derived:
        return of_atom(atom)
    value = memo.get(atom)
    if value is None:
        sides = (_evaluated(side, value_of, memo) for side in (atom.lhs, atom.rhs))
        value = memo[atom] = OPERATIONS[atom.kind](*sides)
    return value
