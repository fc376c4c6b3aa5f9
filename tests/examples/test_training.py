"""Networks that learn: their first losses are those of PyTorch with its optimisers, and what they reach."""

from __future__ import annotations

import numpy as np
import pytest
import training
from networks import characters, digits, gpt

import tg
from tests.examples.test_gpt import by_torch as gpt_by_torch

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")
F = torch.nn.functional
SLOW = [pytest.param(name, marks=pytest.mark.long) for name in ("c", "numba", "jax", "torch", "mlx")]
FEW = 3


def digits_by_torch(x, p):
    """The network, while training; running means and variances are updated in p."""

    def conv(x, name, stride=1):
        w = p[f"{name}.weight"]
        y = F.conv2d(x, w, None, stride, w.shape[-1] // 2)
        running = p[f"{name}.mean"], p[f"{name}.var"]
        return F.batch_norm(y, *running, p[f"{name}.scale"], p[f"{name}.shift"], training=True, momentum=0.1)

    x = conv(x.reshape(-1, 1, 8, 8), "stem").relu()
    for k in range(len(digits.WIDTHS)):
        y = conv(conv(x, f"{k}.first", 2 if k else 1).relu(), f"{k}.second")
        x = (y + (conv(x, f"{k}.shortcut", 2) if k else x)).relu()
    return x.mean((2, 3)) @ p["last.weight"] + p["last.bias"]


@pytest.mark.parametrize("backend", ["perform", *SLOW])
def test_the_first_steps_with_digits_are_those_of_torch(backend, monkeypatch):
    monkeypatch.setattr(digits, "BATCH", 8)
    monkeypatch.setattr(digits, "WIDTHS", (4, 6))
    data, values = digits.load(), digits.parameters("float64")
    p = {name: tg.shared(value, name, shape=value.shape) for name, value in values.items()}
    step = digits.training_step(data, p, backend)
    t = {name: torch.tensor(value) for name, value in values.items()}
    weights = [v.requires_grad_() for name, v in t.items() if name.endswith("weight")]
    others = [v.requires_grad_() for name, v in t.items() if name.endswith(("scale", "shift", "bias"))]
    groups = [{"params": weights, "weight_decay": digits.DECAY}, {"params": others}]
    optimizer = torch.optim.SGD(groups, lr=0.05, momentum=digits.MOMENTUM)
    for batch in np.random.default_rng(5).integers(0, len(data.images), (FEW, digits.BATCH)):
        x, labels = (torch.tensor(a[batch]) for a in (data.images, data.labels))
        loss = F.cross_entropy(digits_by_torch(x, t), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        np.testing.assert_allclose(step(batch, 0.05), loss.item(), rtol=1e-10)
    for name, v in t.items():
        np.testing.assert_allclose(p[name].get_value(), v.detach().numpy(), rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("backend", ["perform", *SLOW])
def test_the_first_steps_with_characters_are_those_of_torch(backend, monkeypatch):
    monkeypatch.setattr(characters, "KIND", gpt.Kind(tokens=96, positions=8, layers=2, heads=2, width=8))
    monkeypatch.setattr(characters, "BATCH", 4)
    text, kind = torch.tensor(characters.text()[0]), characters.KIND
    t = {name: torch.tensor(w, requires_grad=True) for name, w in gpt.random_weights(kind, "float64").items()}
    betas = characters.DECAY, characters.DECAY_OF_SQUARES
    optimizer, losses = torch.optim.Adam(t.values(), lr=1.0, betas=betas, eps=characters.TINY), []
    for k, starts in enumerate(characters.batches(FEW)):
        optimizer.param_groups[0]["lr"] = characters.rate_at(k)
        lines = text[torch.tensor(starts)[:, None] + torch.arange(kind.positions + 1)]
        loss = F.cross_entropy(gpt_by_torch(lines[:, :-1], t, kind).transpose(1, 2), lines[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    result = characters.train(backend, FEW, "float64")
    np.testing.assert_allclose(result.losses, losses, rtol=1e-9)
    assert result.losses[-1] < result.losses[0]
    assert np.isclose(result.unseen, losses[-1], rtol=0.02)
    assert result.written.startswith("The ")
    assert len(result.written) == kind.positions


@pytest.mark.long(minutes=3)
def test_trainings_reach_what_is_stated(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["training.py", "c", "--docs", str(tmp_path)])
    assert training.main() == 0
    assert {path.name for path in tmp_path.iterdir()} == {"training.svg", "training.txt"}


def test_a_training_that_learns_nothing_is_no_success(monkeypatch, capsys):
    poor = digits.Result(np.ones(3), [0.9], 1.0), characters.Result(np.full(60, 2.5), 2.5, 1.0, "The")
    for module, result in zip((digits, characters), poor, strict=True):
        monkeypatch.setattr(module, "train", lambda backend, report, result=result: result)
    monkeypatch.setattr("sys.argv", ["training.py", "c"])
    assert training.main() == 1
    assert "90.00" in capsys.readouterr().out
