"""Loops on PyTorch: they end where a check fails, and compiled programs compile their steps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

import tg
from tg.graph.checks import STEP
from tg.graph.function_graph import freeze
from tg.ops.loops import Scan
from tg_torch import Options
from tg_torch.compiled import Compiled
from tg_torch.place import RUN
from tg_torch.rules.loops import scan


def loop_of(inputs, output):
    (op,) = (node.op for node in freeze(inputs, [output]).nodes if isinstance(node.op, Scan))
    return op


def test_no_step_runs_after_one_that_fails() -> None:
    w, i = tg.vector("w"), tg.vector("i", dtype="int64")
    op = loop_of([w, i], tg.scan(lambda c, k: (c + w[k], c * 2), 0.0, i)[1])
    seen = []

    def step(carry, k, *_):
        seen.append(int(k))
        made = [carry + 1] * len(op.body.outputs)
        return (*made, torch.tensor([int(k == 7), *[0] * STEP]))

    zero = torch.zeros((), dtype=torch.float64)
    given = [3, zero, torch.tensor([1, 7, 2]), *([zero] * (op.body.arity - 2))]
    found = scan(op, *given[op.length is not None :], graphs=(step,), context=RUN)
    assert seen == [1, 7]
    assert found[-1].tolist() == [1, *[0] * (STEP - 1), 1]
    assert found[-2].shape == (3,)


@pytest.fixture
def compiled(monkeypatch):
    """What `torch.compile` is given, which takes seconds: it runs as it was traced."""
    found = []
    monkeypatch.setattr(torch, "compile", lambda graph, **_: found.append(graph) or graph)
    return found


@pytest.mark.long
def test_steps_are_compiled_and_the_loop_is_not(compiled) -> None:
    x = tg.vector("x")
    (a, b), kept = tg.scan(lambda c, v: ((c[1] * v, c[0]), c[0]), (1.0, 2.0), tg.exp(x))
    f = tg.function([x], [a, b, kept], backend=tg.backend("torch", compile=True))
    for n in (0, 3, 3, 200):
        given = np.linspace(-0.1, 0.1, n)
        u, w, rows = 1.0, 2.0, []
        for v in np.exp(given):
            rows.append(u)
            u, w = w * v, u
        for found, wanted in zip(f(given), (u, w, rows), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert len(compiled) == 1


def test_a_tensor_given_twice_is_two_inputs_of_what_is_compiled(compiled) -> None:
    program = Compiled(lambda a, b, c: (b, a, c), SimpleNamespace(options=Options(compile=True)))
    x, y, z = (torch.full((3,), k) for k in (1.0, 2.0, 3.0))
    assert [v[0].item() for v in program(x, y, x)] == [2, 1, 1]
    assert [v[0].item() for v in program(x, y, z)] == [2, 1, 3]
    assert len(compiled) == 1
