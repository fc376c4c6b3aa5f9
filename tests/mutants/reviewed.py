"""Mutants that mean the same as what they are mutants of, each with the reason: read one by one."""

from __future__ import annotations

ORDERS = (
    "No integer dtype has so many bits that a bit or an eighth fewer puts it on the other side of another's digits."
)
ALIKE = "At the place where one formula follows the other both have one value, but for its last digit."
BOUND = "It keeps finite what is not chosen beyond the place where the formulas follow one another, as the other does."

EQUIVALENT: dict[str, str] = {
    "axes._of_transposed: y if left == tuple(range(-len(left), 0)) else Transpose(left)(y): always the second": (
        "A transpose that leaves every axis where it is has the same elements, and goes by a rule of its own."
    ),
    "cast._bits: 8 as 7 in numpy_dtype(dtype).itemsize * 8": ORDERS,
    "cast._bits: 1 as 2 in 0 if is_unsigned(dtype) else 1": ORDERS,
    "logarithms._log1p_of_minus_exp: greater(x, -LN2) by greater_equal": ALIKE,
    "logarithms._log1p_of_minus_exp: 1 as 2 in minimum(-x, 1)": BOUND,
    "logarithms._log_of_expm1: greater(x, 1) by greater_equal": ALIKE,
    "logarithms._log_of_expm1: 1 as 2 in greater(x, 1)": ALIKE,
    "logarithms._log_of_expm1: 2 as 3 in minimum(x, 2)": BOUND,
    "logarithms._log_of_expm1: 2 as 1 in minimum(x, 2)": BOUND,
    "logarithms._of_power: 0 as 1 in value < 0": "No number between 0 and 1 is odd.",
    "products._meeting_factors: JOINED[node.op](*reversed(parts)) or product_of(y)"
    " without JOINED[node.op](*reversed(parts))": (
        "Reading the product anew finds the factors that its operands have, one level less deep, and takes longer."
    ),
}
