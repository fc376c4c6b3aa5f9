"""A pipeline on the two processes that torchrun has started: loss and gradients beside the reference's."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from torch import distributed

import tg


def network():
    """The inputs, loss, weights and batch of a network whose first weight is read by both stages."""
    x, labels = tg.matrix("x"), tg.vector("labels", "int64")
    ws = [tg.matrix(f"w{k}") for k in range(3)]
    first = tg.tanh(x @ ws[0])
    second = tg.stage(1, tg.sin(first)) @ ws[1] + first
    loss = tg.nn.cross_entropy(tg.tanh(second @ ws[2]) @ ws[0].T, labels)
    return [x, labels, *ws], loss, ws, [x, labels]


def compare():
    inputs, loss, ws, batch = network()
    oracle = tg.function(inputs, [loss, *tg.grad(loss, ws)], backend="perform")
    draw = np.random.default_rng(0)
    weights = [draw.normal(size=(5, 5)) for _ in ws]
    for schedule in ("gpipe", "1f1b"):
        backend = tg.backend("torch", mesh=tg.Mesh({"stage": 2}))
        f = tg.pipeline(inputs, loss, ws, batch=batch, microbatches=4, schedule=schedule, backend=backend)
        for rows in (4, 12):
            arrays = [draw.normal(size=(rows, 5)), draw.integers(0, 5, rows), *weights]
            value, slopes = f(*arrays)
            for a, b in zip([value, *slopes], oracle(*arrays), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def refusals():
    inputs, loss, ws, batch = network()

    def made(axes, microbatches):
        backend = tg.backend("torch", mesh=tg.Mesh(axes))
        tg.pipeline(inputs, loss, ws, batch=batch, microbatches=microbatches, backend=backend)

    with pytest.raises(tg.OptionError, match="needed 'stage' to be the only axis"):
        made({"stage": 2, "model": 2}, 4)
    with pytest.raises(tg.OptionError, match="found 1 microbatches for 2 stages"):
        made({"stage": 2}, 1)


if __name__ == "__main__":
    distributed.init_process_group("gloo", timeout=dt.timedelta(seconds=60))
    compare()
    refusals()
    distributed.destroy_process_group()
