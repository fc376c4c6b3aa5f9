"""Elementwise functions: dask's own, told the dtype; those that it has none of, chunk by chunk."""

import dask.array as da
import numpy as np
from dask.array.core import elemwise

from tg.backend import (
    Cast,
    Hosted,
    arithmetic,
    bitwise,
    comparison,
    complex,
    exponential,
    is_complex,
    is_inexact,
    is_integer,
    rounding,
    trigonometric,
)

ARITHMETIC = (
    "add subtract multiply divide floor_divide remainder negative absolute sign square sqrt maximum minimum"
    " cbrt hypot copysign nextafter"
)
BITWISE = "bitwise_and bitwise_or bitwise_xor left_shift right_shift"
COMPARISON = (
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not"
    " isnan isinf isfinite signbit where"
)
EXPONENTIAL = "exp exp2 expm1 log log2 log10 log1p logaddexp"
TRIGONOMETRIC = "sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh"
HOSTED = (
    *(arithmetic.reciprocal, arithmetic.power, arithmetic.clip, arithmetic.gate, complex.complex),
    *(exponential.sigmoid, exponential.softplus, trigonometric.sinc),
)


def chunkwise(fn, function):
    """The rule that applies a NumPy function to chunks, in the dtype of the function's loop."""

    def rule(*arrays):
        _, result = fn.loop(tuple(x.dtype.name for x in arrays))
        return elemwise(function, *arrays, dtype=np.dtype(result))

    return rule


def library(family, names):
    """The functions of a family that dask has under the same name: its ufuncs apply NumPy's to chunks."""
    return {getattr(family, name): chunkwise(getattr(family, name), getattr(np, name)) for name in names.split()}


def cast(op, x):
    """`astype`; from floating to integer by the reference, which saturates."""
    source, target = x.dtype.name, op.dtype
    if target == "bool":
        return x != 0
    if is_integer(target) and is_inexact(source):
        return saturated(op, x)
    if is_complex(source) and not is_complex(target):
        x = da.real(x)
    return x.astype(target)


def saturated(op, x):
    """The reference, chunk by chunk."""
    return elemwise(lambda chunk: op.perform(chunk)[0], x, dtype=np.dtype(op.dtype))


RULES = {
    **library(arithmetic, ARITHMETIC),
    **library(bitwise, BITWISE),
    **library(comparison, COMPARISON),
    **library(exponential, EXPONENTIAL),
    **library(rounding, "floor ceil trunc rint"),
    **library(trigonometric, TRIGONOMETRIC),
    bitwise.bitwise_invert: chunkwise(bitwise.bitwise_invert, np.invert),
    complex.real: chunkwise(complex.real, np.real),
    complex.imag: chunkwise(complex.imag, np.imag),
    complex.conjugate: chunkwise(complex.conjugate, np.conjugate),
    **{fn: Hosted(chunkwise(fn, fn.reference)) for fn in HOSTED},
    Cast: Hosted(cast),
}
