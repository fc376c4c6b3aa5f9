"""Texts of lengths: the polynomial as one writes it, operations in operations to a depth."""

from __future__ import annotations

from typing import Final

from tg.types.atoms import Atom, Derived, Monomial, Terms
from tg.types.lengths import Length, add, from_terms, operation, subtract, terms_of

DEPTH: Final = 4  # of operations in operations, deeper ones are not written into texts


def to_text(length: int | Length, depth: int = DEPTH) -> str:
    """A length as one writes it; of operations in operations, so many."""
    if type(length) is not Length:
        return str(length)
    return " + ".join(_term_text(m, c, depth) for m, c in written(length).items()).replace("+ -", "- ")


def _term_text(monomial: Monomial, factor: int, depth: int) -> str:
    names = [_atom_text(atom, depth) for atom in monomial]
    if factor != 1 or not names:
        names.insert(0, str(factor))
    return "*".join(names)


def _atom_text(atom: Atom, depth: int) -> str:
    if type(atom) is not Derived:
        return repr(atom)
    if not depth:
        return "…"
    if atom.kind in ("//", "%", "*"):
        return f"({_operand(atom.lhs, depth - 1)} {atom.kind} {_operand(atom.rhs, depth - 1)})"
    return f"{atom.kind}({to_text(atom.lhs, depth - 1)}, {to_text(atom.rhs, depth - 1)})"


def _operand(length: int | Length, depth: int) -> str:
    """A length as an operand of `//` or `%`: sums and products in parentheses."""
    lone = [(len(monomial), c) for monomial, c in terms_of(length).items()] == [(1, 1)]
    text = to_text(length, depth)
    return text if isinstance(length, int) or lone else f"({text})"


def written(length: int | Length) -> Terms:
    """The terms of a length as one writes them: n - min(n, 1) is max(0, n - 1), and n + m - min(n, m) is max(n, m)."""
    terms = terms_of(length)
    for monomial, c in terms.items():
        atom = monomial[0] if len(monomial) == 1 else None
        if type(atom) is not Derived or atom.kind != "min" or c >= 0:
            continue
        a, b = (atom.rhs, atom.lhs) if type(atom.lhs) is int else (atom.lhs, atom.rhs)
        for whole, largest in ((add(a, b), (a, b)), (a, (0, subtract(a, b))), (b, (0, subtract(b, a)))):
            taken = {m: -c * k for m, k in terms_of(whole).items()}
            if taken and all(terms.get(m, 0) >= k for m, k in taken.items()):
                rest = {m: k - taken.get(m, 0) for m, k in terms.items() if m is not monomial}
                return written(from_terms(rest)) | dict.fromkeys(operation("max", *largest).terms, -c)
    return terms


Length.text = to_text
