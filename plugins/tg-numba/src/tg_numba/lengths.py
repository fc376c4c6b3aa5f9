"""Lengths as operands of LLVM's instructions: a polynomial is computed where it is first needed."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from tg.types.lengths import LONGEST, Derived, Length
from tg_native.plan.shapes import LONG_AND_EMPTY, is_scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.types.lengths import Atom
    from tg_numba.body import Body

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


def fits(body: Body, length: Length, atom_operand: Callable[[Atom], str]) -> str:
    """Whether int64 holds a length that is no longer than lengths are: what it has made of it is near what floats make.

    float64 rounds and does not wrap.
    """
    wrapped = operand(body, length, atom_operand)
    fine = body.find(f"icmp sle i64 {wrapped}, {LONGEST}")
    if is_scalar(length):
        return fine
    fine = body.find(f"and i1 {fine}, {body.find(f'icmp sge i64 {wrapped}, {-LONGEST}')}")
    total = ""
    for monomial, factor in length.terms.items():
        term = _float(float(factor))
        for atom in monomial:
            value = body.find(f"sitofp i64 {_atom(body, atom, atom_operand)} to double")
            term = body.find(f"fmul double {term}, {value}")
        total = body.find(f"fadd double {total}, {term}") if total else term
    apart = body.find(f"fsub double {total}, {body.find(f'sitofp i64 {wrapped} to double')}")
    for order, bound in (("olt", float(LONGEST)), ("ogt", -float(LONGEST))):
        fine = body.find(f"and i1 {fine}, {body.find(f'fcmp {order} double {apart}, {_float(bound)}')}")
    return fine


def _float(value: float) -> str:
    """A float64 in LLVM's language: its bits."""
    return f"0x{int.from_bytes(struct.pack('>d', value)):016X}"


def countable(body: Body, item: int, lengths: Sequence[str]) -> tuple[str, str]:
    """Whether int64 counts the bytes of an array, its lengths of 0 left out, and whether loops may go over these."""
    name = "llvm.smul.with.overflow.i64"
    body.module.declare(name, "{i64, i1}", ("i64", "i64"))
    size, fails, empty = str(item), "false", "false"
    for n in lengths:
        zero = body.find(f"icmp eq i64 {n}, 0")
        empty = body.find(f"or i1 {empty}, {zero}")
        factor = body.find(f"select i1 {zero}, i64 1, i64 {n}")
        both = body.find(f"call {{i64, i1}} @{name}(i64 {size}, i64 {factor})")
        size = body.find(f"extractvalue {{i64, i1}} {both}, 0")
        fails = body.find(f"or i1 {fails}, {body.find(f'extractvalue {{i64, i1}} {both}, 1')}")
    long = body.find(f"icmp sgt i64 {size}, {LONG_AND_EMPTY}")
    idle = body.find(f"and i1 {empty}, {long}")
    return body.find(f"xor i1 {fails}, true"), body.find(f"xor i1 {idle}, true")


def derived(body: Body, kind: str, a: str, b: str) -> str:
    """An operation on two lengths: one of //, %, min, max and *."""
    if kind == "*":
        return body.product(a, b)
    if kind in ("min", "max"):
        return body.called(f"llvm.s{kind}.i64", "i64", [("i64", a), ("i64", b)])
    body.module.define("tg.floor", FLOOR)
    if kind == "//":
        return body.find(f"call i64 @tg.floor(i64 {a}, i64 {b})")
    body.module.define("tg.remainder", REMAINDER)
    return body.find(f"call i64 @tg.remainder(i64 {a}, i64 {b})")
