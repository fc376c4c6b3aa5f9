"""Programs on the processes of a group, started by torchrun: losses and gradients on a mesh beside the reference's."""

from __future__ import annotations

import datetime as dt

import numpy as np
import torch
from torch import distributed
from torch.distributed.tensor import DTensor, Shard
from torch.utils._python_dispatch import TorchDispatchMode

import tg

LAYOUTS = {
    "data": ({"data": 2}, {"x": ("data", None)}),
    "model": ({"model": 2}, {"first": (None, "model"), "second": ("model", None)}),
}


def network(layout):
    """The loss and gradients of a perceptron whose inputs and weights are split as the layout says."""
    inputs = {name: tg.matrix(name, dtype="float64") for name in ("x", "first", "second", "y")}
    values = {name: tg.shard(v, *layout[name]) if name in layout else v for name, v in inputs.items()}
    hidden = tg.tanh(values["x"] @ values["first"])
    loss = tg.mean((tg.softmax(hidden @ values["second"], axis=-1) - values["y"]) ** 2)
    return [*inputs.values()], [loss, *tg.grad(loss, [inputs["first"], inputs["second"]])]


def drawn():
    generator = np.random.default_rng(0)
    shapes = ((8, 4), (4, 6), (6, 2), (8, 2))
    return [generator.normal(size=shape) for shape in shapes]


def compare(name):
    axes, layout = LAYOUTS[name]
    inputs, outputs = network(layout)
    mesh = tg.Mesh(axes)
    expected = tg.function(inputs, outputs, backend="perform")(*drawn())
    found = tg.function(inputs, outputs, backend=tg.backend("torch", mesh=mesh))(*drawn())
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-12)
    native = tg.function(inputs, outputs, backend=tg.backend("torch", mesh=mesh), output="native")
    results = native(*drawn())
    assert all(isinstance(y, DTensor) for y in results), [type(y) for y in results]
    split = {"data": None, "model": Shard(1)}[name]
    assert split is None or results[1].placements == (split,), results[1].placements
    again = native(*[torch.from_numpy(a) for a in drawn()])
    torch.testing.assert_close(again[0].full_tensor(), results[0].full_tensor())


class Sent(TorchDispatchMode):
    """The most numbers that one exchange between processes gives to one of them."""

    def __init__(self):
        super().__init__()
        self.most = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if any(issubclass(t, DTensor) for t in types):
            return NotImplemented  # its own parts come again
        result = function(*args, **(kwargs or {}))
        if function.namespace == "_c10d_functional" and isinstance(result, torch.Tensor):
            self.most = max(self.most, result.numel())
        return result


def near(inputs, outputs, arrays, most):
    """A program on a mesh gives what the reference does, and no exchange has more numbers than that."""
    expected = tg.function(inputs, outputs, backend="perform")(*arrays)
    f = tg.function(inputs, outputs, backend=tg.backend("torch", mesh=tg.Mesh({"data": 2})))
    for a, b in zip(f(*arrays), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)
    with Sent() as sent:
        f(*arrays)
    assert 0 < sent.most <= most, sent.most


def convolutions():
    """A residual network on a batch that is split: convolutions, norms by the whole batch, pooling, both gradients."""
    draw = np.random.default_rng(1)
    shapes = {"first": (8, 3, 3, 3), "second": (16, 8, 3, 3), "third": (16, 16, 3, 3), "last": (16, 10)}
    weights = {name: tg.tensor(name, shape=shape) for name, shape in shapes.items()}
    images, labels = tg.tensor("images", shape=(None, 3, 16, 16)), tg.vector("labels", "int64")

    def norm(y):
        channels = y.type.shape[1]
        return tg.nn.batch_norm_training(y, np.ones(channels), np.zeros(channels))[0]

    y = tg.nn.conv2d(tg.shard(images, "data", None, None, None), weights["first"], padding=1)
    y = tg.relu(norm(tg.nn.max_pool2d(y, 2)))
    y = tg.relu(norm(tg.nn.conv2d(y, weights["second"], padding=1)))
    y = tg.relu(y + norm(tg.nn.conv2d(y, weights["third"], padding=1)))
    loss = tg.nn.cross_entropy(tg.mean(y, axis=(2, 3)) @ weights["last"], labels)
    arrays = [draw.normal(size=(32, 3, 16, 16)), draw.integers(0, 10, 32)]
    arrays += [draw.normal(size=shape) * 0.3 for shape in shapes.values()]
    wrt = [weights[name] for name in ("second", "third", "last")]
    near([images, labels, *weights.values()], [loss, *tg.grad(loss, wrt)], arrays, 16 * 16 * 3 * 3)


def attention():
    """Self-attention of a batch that is split, with a mask for all samples, and its gradients."""
    draw = np.random.default_rng(2)
    x, mask = tg.tensor("x", shape=(None, 12, 8)), tg.matrix("mask", dtype="bool")
    weights = [tg.matrix(name, shape=(8, 8)) for name in ("queries", "keys", "values")]
    split = tg.shard(x, "data", None, None)
    heads = [tg.transpose(tg.reshape(split @ w, (x.shape[0], 12, 2, 4)), (0, 2, 1, 3)) for w in weights]
    y = tg.nn.scaled_dot_product_attention(*heads, mask=mask, is_causal=True)
    loss = tg.mean(tg.square(y))
    arrays = [draw.normal(size=(16, 12, 8)), draw.random((12, 12)) < 0.8]
    arrays += [draw.normal(size=(8, 8)) for _ in weights]
    near([x, mask, *weights], [loss, *tg.grad(loss, weights)], arrays, 12 * 12)


def refusals():
    inputs, outputs = network(LAYOUTS["data"][1])
    try:
        tg.function(inputs, outputs, backend=tg.backend("torch", mesh=tg.Mesh({"data": 4})))
    except tg.OptionError as error:
        assert "needed one of 2 processes" in str(error), error  # noqa: PT017
    else:
        raise AssertionError


if __name__ == "__main__":
    distributed.init_process_group("gloo", timeout=dt.timedelta(seconds=30))
    for layout_name in LAYOUTS:
        compare(layout_name)
    convolutions()
    attention()
    refusals()
    distributed.destroy_process_group()
