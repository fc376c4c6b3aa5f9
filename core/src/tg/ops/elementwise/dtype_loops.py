"""The dtypes that functions of single elements have loops for, asked of NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.errors import DtypeError, message
from tg.types.dtypes import dtype_name, is_inexact
from tg.variables.conversion import promote

if TYPE_CHECKING:
    from collections.abc import Callable

    Kind = str | type  # a dtype's name, or the Python type of a weak scalar
    Loop = tuple[tuple[str, ...], str]  # the dtypes of the operands and of the result


def floating(kinds: tuple[Kind, ...]) -> Loop:
    """The loops of `np.exp` for one operand, of `np.arctan2` for two: floating in, the same out."""
    return from_ufunc(np.exp if len(kinds) == 1 else np.arctan2)(kinds)


def real_floating(kinds: tuple[Kind, ...]) -> Loop:
    """As `floating`, without complex dtypes."""
    loop = floating(kinds)
    if not is_inexact(loop[1]) or loop[1].startswith("complex"):
        raise DtypeError(message(f"found {loop[1]}, needed a real dtype"))
    return loop


COMPARISONS: Final = "Python computes & and | before < and >: (0 < x) & (x < 1) is a condition"
BITS: Final = "x.astype('int64') has bits"
OF_BITS: Final = {  # functions of integers, and what is meant where a number with a fraction is
    np.bitwise_and: BITS,
    np.bitwise_or: BITS,
    np.bitwise_xor: f"x ** 2 is a power; {BITS}",
    np.invert: f"x == 0 is a condition; {BITS}",
    np.left_shift: f"x * 2**k scales; {BITS}",
    np.right_shift: f"x // 2**k scales; {BITS}",
}


def _bits_hint(ufunc: np.ufunc, kinds: tuple[Kind, ...]) -> str | None:
    """The way out for a function of bits that is asked of floats; None of all others."""
    if ufunc in (np.bitwise_and, np.bitwise_or):
        if kinds[0] is int:  # x > 0 & x < 1
            return COMPARISONS
        if "bool" in kinds or bool in kinds:
            return "x != 0 is a condition"
    return OF_BITS.get(ufunc)


KINDS: Final = (("b", "bool"), ("iu", "integers"), ("f", "floats"), ("c", "complex numbers"))


def _taken_by(ufunc: np.ufunc, count: int) -> str:
    """The kinds of dtypes that a ufunc has loops for, in words."""
    kinds = {np.dtype(code).kind for loop in ufunc.types for code in loop.partition("->")[0]}
    names = [name for codes, name in KINDS if kinds & set(codes)]
    return f"{' or '.join(names)}{' of a common dtype' if count > 1 else ''}"


def from_ufunc(ufunc: np.ufunc) -> Callable[[tuple[Kind, ...]], Loop]:
    """The loops of a NumPy ufunc, asked of NumPy itself; bfloat16 stays where it can hold the other operands."""

    def loops(kinds: tuple[Kind, ...]) -> Loop:
        half = "bfloat16" in kinds
        numpy_kinds = [
            np.dtype("float32") if k == "bfloat16" else np.dtype(k) if isinstance(k, str) else k for k in kinds
        ]
        alone = all(isinstance(k, type) for k in kinds)  # NumPy needs at least one dtype
        numpy_kinds = [np.dtype(k) if k is bool or (alone and isinstance(k, type)) else k for k in numpy_kinds]
        try:
            loop = ufunc.resolve_dtypes((*numpy_kinds, None))
        except TypeError as error:
            names = ", ".join(k if isinstance(k, str) else k.__name__ for k in kinds)
            hint = _bits_hint(ufunc, kinds)
            raise DtypeError(message(f"found {names}, needed {_taken_by(ufunc, len(kinds))}", hint=hint)) from error
        dtypes = [dtype_name(d) for d in loop]
        if half and all(promote("bfloat16", k) == "bfloat16" for k in kinds):
            dtypes = ["bfloat16" if d == "float32" else d for d in dtypes]
        return tuple(dtypes[:-1]), dtypes[-1]

    return loops
