"""The words that lengths are put together of: dtypes of operands and result, and what Python makes of numbers."""

from __future__ import annotations

import operator

from tg.types.lengths import LONGEST


def wrapped(n):
    """What int64 keeps of a number."""
    return (n + 2**63) % 2**64 - 2**63


WORDS = {
    "+": (("int64", "int64"), "int64", lambda a, b: wrapped(a + b)),
    "*": (("int64", "int64"), "int64", lambda a, b: wrapped(a * b)),
    "//": (("int64", "int64"), "int64", lambda a, b: wrapped(a // b) if b else 0),
    "%": (("int64", "int64"), "int64", lambda a, b: a % b if b else 0),
    "min": (("int64", "int64"), "int64", min),
    "max": (("int64", "int64"), "int64", max),
    "broadcast": (("int64", "int64"), "int64", lambda a, b: b if a == 1 else a),
    "==": (("int64", "int64"), "bool", operator.eq),
    "!=": (("int64", "int64"), "bool", operator.ne),
    ">=": (("int64", "int64"), "bool", operator.ge),
    "or": (("bool", "bool"), "bool", operator.or_),
    "is a length": (("int64",), "bool", lambda n: n <= LONGEST),
    "is near": (("int64", "float64"), "bool", lambda n, x: abs(n) <= LONGEST and abs(x - float(n)) < 2.0**62),
    "float": (("int64",), "float64", float),
    "float +": (("float64", "float64"), "float64", operator.add),
    "float *": (("float64", "float64"), "float64", operator.mul),
}
