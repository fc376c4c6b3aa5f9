"""Lengths as operands of LLVM's instructions: a polynomial is computed where it is first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.types.lengths import Derived, Length

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.types.lengths import Atom
    from tg_numba.assembly import Body

FLOOR: Final = """
define internal i64 @tg.floor(i64 %a, i64 %b) {
  %zero = icmp eq i64 %b, 0
  %one = icmp eq i64 %b, -1
  %special = or i1 %zero, %one
  br i1 %special, label %without, label %divided
without:
  %negative = sub i64 0, %a
  %found = select i1 %zero, i64 0, i64 %negative
  ret i64 %found
divided:
  %quotient = sdiv i64 %a, %b
  %rest = srem i64 %a, %b
  %uneven = icmp ne i64 %rest, 0
  %signs = xor i64 %rest, %b
  %differ = icmp slt i64 %signs, 0
  %less = and i1 %uneven, %differ
  %one_less = zext i1 %less to i64
  %floor = sub i64 %quotient, %one_less
  ret i64 %floor
}
"""
"""The quotient rounded down; 0 for a divisor of 0."""

REMAINDER: Final = """
define internal i64 @tg.remainder(i64 %a, i64 %b) {
  %floor = call i64 @tg.floor(i64 %a, i64 %b)
  %whole = mul i64 %b, %floor
  %rest = sub i64 %a, %whole
  %zero = icmp eq i64 %b, 0
  %found = select i1 %zero, i64 0, i64 %rest
  ret i64 %found
}
"""
"""The remainder with the sign of the divisor; 0 for a divisor of 0."""


def operand(body: Body, length: int | Length, atom_operand: Callable[[Atom], str]) -> str:
    """A length as an operand; `atom_operand` gives that of the basic atoms."""
    if type(length) is not Length:
        return str(length)
    total = ""
    for monomial, factor in length.terms.items():
        term = str(factor)
        for atom in monomial:
            term = body.product(term, _atom(body, atom, atom_operand))
        total = body.find(f"add i64 {total}, {term}") if total else term
    return total or "0"


def _atom(body: Body, atom: Atom, atom_operand: Callable[[Atom], str]) -> str:
    if type(atom) is not Derived:
        return atom_operand(atom)
    a, b = (operand(body, side, atom_operand) for side in (atom.lhs, atom.rhs))
    if atom.kind == "broadcast":
        return body.find(f"select i1 {body.find(f'icmp eq i64 {a}, 1')}, i64 {b}, i64 {a}")
    return derived(body, atom.kind, a, b)


def derived(body: Body, kind: str, a: str, b: str) -> str:
    """An operation on two lengths: one of //, %, min and max."""
    if kind in ("min", "max"):
        return body.called(f"llvm.s{kind}.i64", "i64", [("i64", a), ("i64", b)])
    body.module.define("tg.floor", FLOOR)
    if kind == "//":
        return body.find(f"call i64 @tg.floor(i64 {a}, i64 {b})")
    body.module.define("tg.remainder", REMAINDER)
    return body.find(f"call i64 @tg.remainder(i64 {a}, i64 {b})")
