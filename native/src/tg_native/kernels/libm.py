"""Functions of libm on lanes: kernels of this package, the platform's vector library, else libm lane by lane."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final

from tg_native.kernels.functions import complex_libm
from tg_native.kernels.mathematics import KERNELS
from tg_native.kernels.mathematics.exponential import exp_down, exp_shifted
from tg_native.kernels.mathematics.kernel import Kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg_native.kernels.body import Machine
    from tg_native.kernels.lanes import Lanes, Pair

WRITTEN_OUT: Final = 4  # vectors of a function in a unit that are written in place: each costs a compiler 1 to 2 ms
ABREAST: Final = 2
"""Vectors that go through a long kernel together: its polynomials and quotients are chains of steps that wait."""


def is_written(name: str, dtype: str, machine: Machine) -> bool:
    """Whether a function is a kernel whatever library there is."""
    return name in KERNELS and KERNELS[name].is_preferred(dtype, machine)


def libm(name: str, *operands: Lanes) -> Lanes:
    """A function of libm, of operands of one float dtype.

    A kernel that is faster than a library's function is taken always, since equal elements have equal results.
    """
    body, dtype = operands[0].body, operands[0].dtype
    kernel = KERNELS.get(name)
    if kernel is not None and kernel.only:
        return kernel.on(name, operands, inline=False)
    if body.exact or not (body.lanes or (body.single_by_kernels and is_written(name, dtype, body.machine))):
        return body.one_by_one(name, operands)
    if kernel is not None and kernel.is_preferred(dtype, body.machine):
        return kernel.on(name, operands, inline=body.uses(name, dtype) <= WRITTEN_OUT)
    value = body.vector_library(name, operands)
    if value is None:
        value = kernel.on(name, operands, inline=False) if kernel is not None else body.one_by_one(name, operands)
    return value


def libm_named(name: str) -> Callable[..., Lanes]:
    """A function of libm, as rules take them."""
    return functools.partial(libm, name)


def complex_named(name: str) -> Callable[..., Pair]:
    """A function of libm for complex numbers."""
    return functools.partial(complex_libm, name)


def exp_of_nonpositive(x: Lanes) -> Lanes:
    """The exponential of numbers that are not above 0, with the bits that it has of any."""
    body = x.body
    if not body.lanes or body.exact:
        return exp(x)
    return DOWN.on("exp_down", (x,), inline=body.uses("exp", x.dtype) <= WRITTEN_OUT)


def exp_of_shifted(x: Lanes) -> Lanes:
    """As `exp_of_nonpositive`, and infinite at the latest where the exponential is."""
    body = x.body
    if not body.lanes or body.exact:
        return exp(x)
    return SHIFTED.on("exp_shifted", (x,), inline=body.uses("exp", x.dtype) <= WRITTEN_OUT)


DOWN: Final = Kernel(exp_down, error=1.5)
SHIFTED: Final = Kernel(exp_shifted, error=1.5)
exp, log, log1p, sin, cos = (libm_named(name) for name in ("exp", "log", "log1p", "sin", "cos"))
