"""Mutants that mean the same as what they are mutants of, each with the reason: read one by one."""

from __future__ import annotations

ORDERS = (
    "No integer dtype has so many bits that a bit or an eighth fewer puts it on the other side of another's digits."
)
IN_ORDER = "An operand that is a constant stands second in an operation whose operands may change places."
ADMITTED = "The rule is asked only where an operand is made by what `below` names, and the other is a constant."

EQUIVALENT: dict[str, str] = {
    "axes._of_transposed: y if left == tuple(range(-len(left), 0)) else Transpose(left)(y): always the second": (
        "A transpose that leaves every axis where it is has the same elements, and goes by a rule of its own."
    ),
    "cast._bits: 8 as 7 in numpy_dtype(dtype).itemsize * 8": ORDERS,
    "cast._bits: 1 as 2 in 0 if is_unsigned(dtype) else 1": ORDERS,
    "bitwise._number: is_scalar_constant(v) and is_integer(v.type.dtype) without is_integer(v.type.dtype)": (
        "Of two masks of bool the one that they make is right as well; rules of logic are asked before."
    ),
    "bitwise._merged_masks: -1 without its sign": IN_ORDER,
    "bitwise._merged_shifts: inner is None or outer is None or inner.op not in (left_shift.op, right_shift.op)"
    " without inner.op not in (left_shift.op, right_shift.op)": ADMITTED,
    "bitwise._merged_shifts: 0 < outer < width, number 1 as LtE": (
        "A second shift by the width leaves nothing but the sign, as the sum of the counts says; it is never the first."
    ),
    "bitwise._merged_shifts: 1 as 0 in width - 1": "A shift by the width gives the sign as one by a place less does.",
}
