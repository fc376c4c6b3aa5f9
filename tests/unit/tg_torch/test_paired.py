"""Both gradients of a convolution by one call of PyTorch's, beside PyTorch's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

import tg
from tg_torch.paired import ConvolutionGradients


def gradients(f):
    return [node for node in f.graph.nodes if type(node.op) is ConvolutionGradients]


def both(make, x, w, backend="torch"):
    """The value of a cost, and its gradients by x and w, as a function."""
    v, u = (tg.tensor(name, a.dtype.name, a.shape) for name, a in (("x", x), ("w", w)))
    cost = make(v, u)
    return tg.function([v, u], [cost, *tg.grad(cost, [v, u])], backend=backend)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("lengths", "kernel", "how"),
    [
        ((7, 6), (3, 3), {"padding": 1}),
        ((9, 8), (3, 2), {"stride": 2, "padding": 1}),
        ((8, 8), (1, 1), {"stride": 2}),
        ((9, 9), (3, 3), {"dilation": 2, "padding": 2}),
        ((9, 9), (3, 3), {"groups": 2, "padding": (1, 0)}),
        ((9,), (4,), {"stride": 3}),
        ((5, 4, 6), (2, 3, 2), {"stride": (1, 2, 1), "padding": 1}),
    ],
)
def test_the_gradients_are_those_of_torch_by_one_call(dtype, lengths, kernel, how) -> None:
    r, groups = np.random.default_rng(0), how.get("groups", 1)
    x = r.normal(size=(3, 4, *lengths)).astype(dtype)
    w = r.normal(size=(6, 4 // groups, *kernel)).astype(dtype)
    name = f"conv{len(lengths)}d"
    f = both(lambda v, u: tg.sum(getattr(tg.nn, name)(v, u, **how) ** 3), x, w)
    assert len(gradients(f)) == 1
    a, b = (torch.from_numpy(array).requires_grad_() for array in (x, w))
    cost = (getattr(functional, name)(a, b, **how) ** 3).sum()
    cost.backward()
    eps = np.finfo(dtype).eps
    for actual, expected in zip(f(x, w), (cost.detach(), a.grad, b.grad), strict=True):
        scale = float(abs(expected).max())
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1000 * eps * scale)


def test_the_op_by_itself_is_that_of_torch() -> None:
    r = np.random.default_rng(1)
    x, w, dy = r.normal(size=(2, 2, 3, 9, 8)), r.normal(size=(2, 4, 3, 3, 2)), r.normal(size=(2, 2, 4, 5, 5))
    op = ConvolutionGradients((2, 2), (1, 1), (1, 1))
    a, b = (torch.from_numpy(v).requires_grad_() for v in (x.reshape(2, 6, 9, 8), w.reshape(8, 3, 3, 2)))
    functional.conv2d(a, b, stride=2, padding=1, groups=2).backward(torch.from_numpy(dy.reshape(2, 8, 5, 5)))
    for actual, expected in zip(op.perform(dy, x, w), (a.grad, b.grad), strict=True):
        np.testing.assert_allclose(actual.reshape(expected.shape), expected, atol=1e-12)


def test_a_gradient_alone_has_its_own_call() -> None:
    x, w = np.ones((2, 3, 5, 5)), np.ones((4, 3, 3, 3))
    v, u = (tg.tensor(name, "float64", a.shape) for name, a in (("x", x), ("w", w)))
    f = tg.function([v, u], tg.grad(tg.sum(tg.nn.conv2d(v, u) ** 2), u), backend="torch")
    assert not gradients(f)


def test_uneven_zeros_are_as_they_were() -> None:
    r = np.random.default_rng(2)
    x, w = r.normal(size=(2, 3, 6, 6)), r.normal(size=(4, 3, 3, 3))

    def make(v, u):
        return tg.sum(tg.nn.conv2d(v, u, padding=((0, 2), (1, 1))) ** 2)

    f = both(make, x, w)
    assert not gradients(f)
    for actual, expected in zip(f(x, w), both(make, x, w, "perform")(x, w), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_images_that_depend_on_a_gradient_are_not_computed_with_it() -> None:
    r = np.random.default_rng(3)
    x, w = r.normal(size=(2, 3, 6, 6)), r.normal(size=(3, 3, 3, 3))

    def make(v, u):
        """A step down the gradient, and the cost behind it, whose gradient is taken again."""
        inner = tg.sum(tg.nn.conv2d(v, u, padding=1) ** 2)
        return tg.sum(tg.nn.conv2d(v, u - 0.01 * tg.grad(inner, u), padding=1) ** 2)

    f = both(make, x, w)
    assert gradients(f)
    for actual, expected in zip(f(x, w), both(make, x, w, "perform")(x, w), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


def test_images_read_from_the_transpose_of_a_convolution_stand() -> None:
    """Tied weights: the convolution's transpose makes images, which the same weights read."""
    r = np.random.default_rng(4)
    x, w = r.normal(size=(2, 3, 6, 6)), r.normal(size=(4, 3, 3, 3))

    def make(v, u):
        hidden = tg.tanh(tg.nn.conv2d(v, u, padding=1))
        return tg.sum((tg.nn.conv_transpose2d(hidden, u, padding=1) - v) ** 2)

    f = both(make, x, w)
    a, b = (torch.from_numpy(array).requires_grad_() for array in (x, w))
    hidden = torch.tanh(functional.conv2d(a, b, padding=1))
    ((functional.conv_transpose2d(hidden, b, padding=1) - a) ** 2).sum().backward()
    for actual, expected in zip(f(x, w)[1:], (a.grad, b.grad), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-10)
