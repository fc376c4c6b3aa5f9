"""Trigonometric and hyperbolic functions.

Deviation from PyTorch: sinc of half precision goes by way of float32, which holds the product with pi.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from tg.backend import trigonometric as t

if TYPE_CHECKING:
    from tg.backend import Rule


def sinc(x: torch.Tensor) -> torch.Tensor:
    """sin(pi x) / (pi x)."""
    return torch.sinc(x.to(torch.float32)).to(x.dtype) if x.dtype.itemsize == 2 else torch.sinc(x)


def sech_squared(x: torch.Tensor) -> torch.Tensor:
    """The square of 1 / cosh(x), in one new array: all digits of the slope of tanh, which 1 - tanh(x)**2 has not."""
    if x.dtype.itemsize == 2:
        return sech_squared(x.to(torch.float32)).to(x.dtype)
    inverse = torch.cosh(x).reciprocal_()
    return inverse.mul_(inverse)


def arccos(x: torch.Tensor) -> torch.Tensor:
    """The inverse of the cosine; of complex numbers a 0 in the imaginary part has the sign that is not theirs."""
    if not x.is_complex():
        return torch.arccos(x)
    w = torch.arccos(x)
    return torch.complex(w.real, torch.where(w.imag == 0, torch.copysign(w.imag, -x.imag), w.imag))


RULES: Final[dict[object, Rule]] = {
    t.sin: torch.sin,
    t.cos: torch.cos,
    t.tan: torch.tan,
    t.arcsin: torch.arcsin,
    t.arccos: arccos,
    t.arctan: torch.arctan,
    t.arctan2: torch.arctan2,
    t.sinh: torch.sinh,
    t.cosh: torch.cosh,
    t.tanh: torch.tanh,
    t.arcsinh: torch.arcsinh,
    t.arccosh: torch.arccosh,
    t.arctanh: torch.arctanh,
    t.sinc: sinc,
    t.sech_squared: sech_squared,
}
