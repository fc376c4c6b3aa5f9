"""Trigonometric and hyperbolic functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tg.ops.elementwise import trigonometric as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.lanes import select
from tg_native.kernels.libm import complex_named, libm_named, sin

if TYPE_CHECKING:
    from tg.plugin.records import Rule
    from tg_native.kernels.lanes import Lanes


def both(name: str) -> Elementwise:
    """A function of libm, which has it for complex numbers too."""
    return Elementwise(floating=libm_named(name), complex=complex_named(f"c{name}"))


def sinc(x: Lanes) -> Lanes:
    """sin(pi x) / (pi x), and 1 at 0."""
    a = x * np.pi
    return select(a == 0, 1, sin(a) / a)


KERNELS: Final[dict[object, Rule]] = {
    t.sin: both("sin"),
    t.cos: both("cos"),
    t.tan: both("tan"),
    t.arcsin: both("asin"),
    t.arccos: both("acos"),
    t.arctan: both("atan"),
    t.arctan2: Elementwise(floating=libm_named("atan2")),
    t.sinh: both("sinh"),
    t.cosh: both("cosh"),
    t.tanh: both("tanh"),
    t.arcsinh: both("asinh"),
    t.arccosh: both("acosh"),
    t.arctanh: both("atanh"),
    t.sinc: Elementwise(floating=sinc),
}
