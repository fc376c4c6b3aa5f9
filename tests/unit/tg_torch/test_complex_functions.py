"""Derivatives of complex functions on the axes, where the cases of their text meet: PyTorch's own."""

from __future__ import annotations

import pytest
import torch

from tg.backend import arithmetic, exponential, trigonometric
from tg_torch.rules import RULES

FUNCTIONS = {
    "negative": (arithmetic.negative, torch.neg),
    "reciprocal": (arithmetic.reciprocal, torch.reciprocal),
    "sign": (arithmetic.sign, torch.sgn),
    "log1p": (exponential.log1p, torch.log1p),
    "arccos": (trigonometric.arccos, torch.arccos),
}


def slope(function, z):
    x = torch.tensor(z, dtype=torch.complex128, requires_grad=True)
    (dx,) = torch.autograd.grad(function(x).real, x)
    return dx.item()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("z", [2 + 0j, 2j, -0.5 + 0j, 0.3 + 0.2j])
def test_derivatives_are_those_of_pytorch(name, z) -> None:
    key, own = FUNCTIONS[name]
    assert slope(RULES[key], z) == pytest.approx(slope(own, z), rel=1e-14)
