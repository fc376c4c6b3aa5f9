"""Lengths, and what is asked of them, as operands of LLVM's instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tg.backend import LONGEST
from tg_native.plan.shapes import LONG_AND_EMPTY
from tg_numba.assembly import constant_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg_numba.body import Body

FORMS: Final = {
    "+": "add i64 {}, {}",
    "*": "mul i64 {}, {}",
    "//": "call i64 @tg.floor(i64 {}, i64 {})",
    "%": "call i64 @tg.remainder(i64 {}, i64 {})",
    "min": "call i64 @llvm.smin.i64(i64 {}, i64 {})",
    "max": "call i64 @llvm.smax.i64(i64 {}, i64 {})",
    "broadcast": "call i64 @tg.broadcast(i64 {}, i64 {})",
    "==": "icmp eq i64 {}, {}",
    "!=": "icmp ne i64 {}, {}",
    ">=": "icmp sge i64 {}, {}",
    "or": "or i1 {}, {}",
    "is a length": f"icmp sle i64 {{}}, {LONGEST}",
    "is near": "call i1 @tg.fits(i64 {}, double {})",
    "float": "sitofp i64 {} to double",
    "float +": "fadd double {}, {}",
    "float *": "fmul double {}, {}",
}
"""The words of `tg_native.graphs.lengths`."""

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

BROADCAST: Final = """
define internal i64 @tg.broadcast(i64 %a, i64 %b) {
  %one = icmp eq i64 %a, 1
  %found = select i1 %one, i64 %b, i64 %a
  ret i64 %found
}
"""

FITS: Final = f"""
define internal i1 @tg.fits(i64 %wrapped, double %rounded) {{
  %low = icmp sge i64 %wrapped, {-LONGEST}
  %high = icmp sle i64 %wrapped, {LONGEST}
  %within = and i1 %low, %high
  %float = sitofp i64 %wrapped to double
  %apart = fsub double %rounded, %float
  %less = fcmp olt double %apart, {constant_text(LONGEST, "float64")}
  %more = fcmp ogt double %apart, {constant_text(-LONGEST, "float64")}
  %near = and i1 %less, %more
  %found = and i1 %within, %near
  ret i1 %found
}}
"""
"""Whether int64 holds a polynomial that is no longer than lengths are: what it made of it is near what float64 did."""

DEFINITIONS: Final = {
    "//": {"tg.floor": FLOOR},
    "%": {"tg.floor": FLOOR, "tg.remainder": REMAINDER},
    "broadcast": {"tg.broadcast": BROADCAST},
    "is near": {"tg.fits": FITS},
}


def derived(body: Body, word: str, *operands: str) -> str:
    """An operation on lengths, or a condition."""
    for name, text in DEFINITIONS.get(word, {}).items():
        body.module.define(name, text)
    if word in ("min", "max"):
        body.module.declare(f"llvm.s{word}.i64", "i64", ("i64", "i64"))
    return body.find(FORMS[word].format(*operands))


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
