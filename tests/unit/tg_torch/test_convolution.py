"""Convolutions by whichever of PyTorch's functions they are: straight, transposed, or the gradient of weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tg.ops.nn.convolved import Convolution
from tg_torch.rules.nn.convolution import convolution


def drawn(r):
    """A convolution of two axes, its operands, and whether their samples and channels are exchanged in memory."""
    n, g, c, o = (int(k) for k in r.integers(1, 4, 4))
    kernel, length = r.integers(1, 4, 2), r.integers(3, 7, 2)
    strides, dilations, spread = (tuple(map(int, r.choice([1, 1, 2, 3], 2))) for _ in range(3))
    if r.random() < 0.5:
        dilations = tuple(-d for d in dilations)
    op = Convolution(
        strides, dilations, spread, tuple(map(int, r.integers(-3, 4, 2))), tuple(map(int, r.integers(1, 6, 2)))
    )
    x, w = r.normal(size=(c, g, n, *length)), r.normal(size=(g, c, o, *kernel))
    return op, x.swapaxes(0, 2), w.swapaxes(1, 2), bool(r.random() < 0.5)


@pytest.mark.parametrize("seed", range(12))
def test_every_stride_spread_and_padding_in_either_layout(seed) -> None:
    r = np.random.default_rng(seed)
    for _ in range(20):
        op, x, w, is_exchanged = drawn(r)
        (wanted,) = op.perform(x, w)
        given = [torch.from_numpy(a if is_exchanged else a.copy()) for a in (x, w)]
        np.testing.assert_allclose(convolution(op, *given).numpy(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("stride", [1, 2])
def test_a_gradient_of_weights_is_that_of_torch(stride) -> None:
    r = np.random.default_rng(0)
    x, w = torch.from_numpy(r.normal(size=(2, 3, 8, 8))), torch.from_numpy(r.normal(size=(4, 3, 3, 3))).requires_grad_()
    y = torch.nn.functional.conv2d(x, w, stride=stride, padding=1)
    dy = torch.from_numpy(r.normal(size=tuple(y.shape)))
    op = Convolution((1, 1), (stride, stride), (1, 1), (1, 1), (3, 3))
    found = convolution(op, x.transpose(0, 1)[:, None], dy.transpose(0, 1)[None])
    (wanted,) = torch.autograd.grad(y, w, dy)
    np.testing.assert_allclose(found[:, 0].transpose(0, 1), wanted, rtol=1e-12, atol=1e-12)
