"""A program on the processes of a group, started by torchrun: losses and gradients on a mesh beside the reference's."""

from __future__ import annotations

import datetime as dt
import sys

import numpy as np
import torch
from torch import distributed
from torch.distributed.tensor import DTensor, Shard

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
    for layout_name in sys.argv[1:]:
        compare(layout_name)
    refusals()
    distributed.destroy_process_group()
