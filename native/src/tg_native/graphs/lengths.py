"""The lengths of a graph as its function knows them: what they are called there, and what is made sure of.

A length is a polynomial; it is computed where it is first needed, with int64, which wraps, and where that may be with
float64 beside it, which rounds. What is written is put together of a dozen words, of which each printer has a table.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

from tg.types.atoms import AxisLength, Derived, key
from tg.types.lengths import Length, of_atom, same
from tg_native.graphs.failure import Failure
from tg_native.plan.shapes import inexact, is_countable, is_scalar, is_within, number_of
from tg_native.plan.values import Scalar, is_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tg.types.atoms import Atom
    from tg_native.plan.values import Value


class Lengths(abc.ABC):
    """The names of lengths in the function in the making, and the facts that it has made sure of."""

    values: dict[int, Value]

    def __init__(self) -> None:
        self.known_lengths: dict[object, str] = {}
        self.known_atoms: dict[Atom, str] = {}
        self.ensured: set[object] = set()

    # --- what a printer writes ---------------------------------------------------------------------------------------

    @abc.abstractmethod
    def expression(self, word: str, *operands: str) -> str:
        """The text of an operation.

        Args:
            word: on int64 one of `+`, `*`, `//`, `%`, `min`, `max` and `broadcast` (the second where the first is 1),
                or, for a condition, `==`, `!=`, `>=` and `is a length` (not more than the longest that there is);
                on conditions `or`; `float` for a float64 of an int64, `float +` and `float *` on these;
                `is near` for whether an int64 is what the exact result must be that a float64 is near to.
        """

    @abc.abstractmethod
    def literal(self, value: Any, dtype: str) -> str:
        """The text of a number."""

    @abc.abstractmethod
    def number(self, scalar: Scalar) -> str:
        """The text of a real scalar as an int64."""

    def named_length(self, text: str, count: int) -> str:
        """Name of a length from here on, as the function has got so many before."""
        return text

    @abc.abstractmethod
    def leave_unless(self, condition: str, code: str) -> None:
        """Leave the function with a code unless a condition holds."""

    @abc.abstractmethod
    def leave_if_uncounted(self, item: int, lengths: Sequence[str], *, empty_only: bool) -> None:
        """Leave the function where int64 does not count the bytes of an array, its lengths of 0 left out.

        Or where there are no elements and the axes are too long to be gone over; with `empty_only`, only there.
        """

    # --- lengths as text ---------------------------------------------------------------------------------------------

    def length(self, length: int | Length) -> str:
        """A length as text: a number, or what it is called."""
        if type(length) is not Length:
            return self.literal(length, "int64")
        name = self.known_lengths.get(key(length))
        if name is None:
            text = self._operation(length.atom) if _is_operation(length.atom) else self._polynomial(length)
            name = self.known_lengths[key(length)] = self.named_length(text, len(self.known_lengths))
        return name

    def _operation(self, atom: Any) -> str:
        return self.expression(atom.kind, self.length(atom.lhs), self.length(atom.rhs))

    def _polynomial(self, length: int | Length) -> str:
        if type(length) is not Length:
            return self.literal(length, "int64")
        return self._sum(length, "", "int64", self._derived)

    def _rounded(self, length: Length) -> str:
        """The polynomial in float64."""
        return self._sum(length, "float ", "float64", lambda atom: self.expression("float", self._derived(atom)))

    def _sum(self, length: Length, kind: str, dtype: str, atom_text: Callable[[Atom], str]) -> str:
        total = ""
        for monomial, factor in length.terms.items():
            is_plain = factor == 1 and monomial and not kind
            term = "" if is_plain else self.literal(factor, dtype)
            for atom in monomial:
                text = atom_text(atom)
                term = self.expression(f"{kind}*", term, text) if term else text
            total = self.expression(f"{kind}+", total, term) if total else term
        return total

    def _derived(self, atom: Atom) -> str:
        """An atom as text; an operation has a name, as long polynomials have many of it."""
        return self.length(of_atom(atom)) if _is_operation(atom) else self._atom(atom)

    def _atom(self, atom: Atom) -> str:
        text = self.known_atoms.get(atom)
        if text is None and type(atom) is Derived:  # a product, of what has names
            text = self.expression("*", self.length(atom.lhs), self.length(atom.rhs))
        elif text is None:
            value = self.values[number_of(atom)]
            assert isinstance(value, Scalar), "a length that is no parameter is the value of a scalar"
            text = self.number(value)
        self.known_atoms[atom] = text
        return text

    def give_lengths(self, shape: Sequence[Any], number: int, texts: Sequence[str]) -> None:
        """Say what the lengths of value `number` are called that nothing but it determines."""
        for n, text in zip(shape, texts, strict=True):
            if self.is_own(n, number):
                self.known_atoms[n.atom] = text

    @staticmethod
    def is_own(n: int | Length, number: int) -> bool:
        """Whether nothing but value `number` itself determines a length."""
        return type(n) is Length and type(n.atom) is AxisLength and number_of(n.atom) == number

    # --- what they must be -------------------------------------------------------------------------------------------

    def require(self, condition: str, failure: Failure) -> None:
        """Leave the function unless a condition holds."""
        self.leave_unless(condition, str(int(failure)))

    def same(self, a: int | Length, b: int | Length) -> None:
        """Leave the function unless two lengths are equal."""
        if not same(a, b) and self._is_new((key(a), key(b))):
            self.require(self.expression("==", self.length(a), self.length(b)), Failure.UNEQUAL)

    def natural(self, length: int | Length) -> None:
        """Leave the function unless a length is one: from 0 to the longest that there is."""
        if is_within(length):
            return
        for part in inexact(length):
            if self._is_new(("fits", part.key)):
                self.require(self._fits(part), Failure.NEGATIVE)
        if self._is_new(key(length)):
            self.require(self.expression(">=", self.length(length), "0"), Failure.NEGATIVE)

    def _fits(self, length: Length) -> str:
        """The condition that int64 holds a length."""
        if is_scalar(length):
            return self.expression("is a length", self.length(length))
        return self.expression("is near", self.length(length), self._rounded(length))

    def countable(self, shape: Sequence[Any], item: int, others: Iterable[Sequence[Any]]) -> None:
        """Leave the function where int64 does not count the bytes of an array, or the elements of a loop."""
        if not is_countable(shape, others):
            lengths = [n for n in shape if not is_one(n)]
            if self._is_new(("bytes", item, *map(key, lengths))):
                self.leave_if_uncounted(item, [*map(self.length, lengths)], empty_only=False)

    def not_endless(self, shape: Sequence[Any], item: int) -> None:
        """Leave the function where an array has no elements and axes too long to be gone over."""
        lengths = [n for n in shape if not is_one(n)]
        if len(lengths) > 1 and not all(type(n) is int and n for n in lengths):
            self.leave_if_uncounted(item, [*map(self.length, lengths)], empty_only=True)

    def _is_new(self, fact: object) -> bool:
        if fact in self.ensured:
            return False
        self.ensured.add(fact)
        return True


def _is_operation(atom: Atom | None) -> bool:
    """Whether an atom is made of lengths, and no product of them."""
    return type(atom) is Derived and atom.kind != "*"
