"""PyTorch beside functions of networks: values, gradients, and gradients of these, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import tg

if TYPE_CHECKING:
    from collections.abc import Callable


def assert_as_torch(
    ours: Callable[..., Any], theirs: Callable[..., Any], *arrays: Any, order: int = 2, rtol: float = 1e-10
) -> None:
    """Hold a function to PyTorch's: its value, the gradient of a sum of it with weights, and the gradient of that."""
    given = [np.asarray(a) for a in arrays]
    inputs = [tg.tensor(f"v{k}", a.dtype.name, (None,) * a.ndim) for k, a in enumerate(given)]
    peers = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in given]
    floats = [k for k, a in enumerate(given) if a.dtype.kind == "f"]
    found, needed = [ours(*inputs)], [theirs(*peers)]
    weights = np.random.default_rng(1)
    for _ in range(order):
        factors = [weights.uniform(0.5, 1.5, tuple(y.shape)) for y in needed[-len(floats) :]]
        terms = [tg.sum(y * f) for y, f in zip(found[-len(floats) :], factors, strict=True)]
        found += tg.grad(sum(terms[1:], terms[0]), [inputs[k] for k in floats], disconnected="zero")
        total = sum((y * torch.tensor(f)).sum() for y, f in zip(needed[-len(floats) :], factors, strict=True))
        wrt = [peers[k] for k in floats]
        slopes = (
            torch.autograd.grad(total, wrt, create_graph=True, allow_unused=True)
            if total.requires_grad
            else [None] * len(wrt)
        )
        needed += [torch.zeros_like(v) if d is None else d for v, d in zip(wrt, slopes, strict=True)]
    values = tg.function(inputs, found, backend="perform")(*given)
    for y, expected in zip(values, [v.detach().numpy() for v in needed], strict=True):
        assert y.shape == expected.shape
        np.testing.assert_allclose(y, expected, rtol=rtol, atol=rtol * 1e-3)


def slopes(f: Callable[..., Any], at: Any, order: int = 1) -> Any:
    """The derivative of a function of elements at some points, or that of its derivative."""
    x = tg.vector("x")
    y = f(x)
    for _ in range(order):
        y = tg.grad(tg.sum(y), x, disconnected="zero")
    return tg.function([x], y, backend="perform")(at)
