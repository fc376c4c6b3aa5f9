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


class Block(torch.nn.Module):
    """The block of the network, by PyTorch's modules."""

    def __init__(self, inner, width, stride):
        super().__init__()
        self.first, self.second = convolution(inner, width, 3, stride), convolution(width, width, 3)
        self.shortcut = convolution(inner, width, 1, stride) if inner != width else None

    def forward(self, x):
        y = self.second(self.first(x).relu())
        return (y + (self.shortcut(x) if self.shortcut else x)).relu()


class Network(torch.nn.Module):
    """The network, by PyTorch's modules, under the same names."""

    def __init__(self):
        super().__init__()
        widths = digits.WIDTHS
        self.stem = convolution(1, widths[0], 3)
        self.blocks = torch.nn.ModuleList(
            [Block(widths[max(k - 1, 0)], width, 2 if k else 1) for k, width in enumerate(widths)]
        )
        self.last = torch.nn.Linear(widths[-1], 10)

    def forward(self, images):
        x = self.stem(images.reshape(-1, 1, 8, 8)).relu()
        for block in self.blocks:
            x = block(x)
        return self.last(x.mean((2, 3)))


def convolution(inner, width, window, stride=1):
    conv = torch.nn.Conv2d(inner, width, window, stride, window // 2, bias=False)
    return torch.nn.Sequential(conv, torch.nn.BatchNorm2d(width))


@pytest.mark.parametrize("backend", ["perform", *SLOW])
def test_the_first_steps_with_digits_are_those_of_torch(backend, monkeypatch):
    monkeypatch.setattr(digits, "BATCH", 8)
    monkeypatch.setattr(digits, "WIDTHS", (4, 6))
    data, theirs = digits.load(), Network().double()
    model = tg.nn.load(digits.Network(), theirs.state_dict())
    step = digits.training_step(data, model, backend)
    weights = [w for w in theirs.parameters() if w.ndim > 1]
    groups = [
        {"params": weights, "weight_decay": digits.DECAY},
        {"params": [w for w in theirs.parameters() if w.ndim == 1]},
    ]
    optimizer = torch.optim.SGD(groups, lr=digits.RATE, momentum=digits.MOMENTUM)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, digits.EPOCHS * (len(data.images) // digits.BATCH))
    for batch in np.random.default_rng(5).integers(0, len(data.images), (FEW, digits.BATCH)):
        x, labels = (torch.tensor(a[batch]) for a in (data.images, data.labels))
        loss = F.cross_entropy(theirs(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        falling.step()
        np.testing.assert_allclose(step(batch), loss.item(), rtol=1e-10)
    for name, v in {**tg.nn.params(model), **tg.nn.state(model)}.items():
        want = theirs.state_dict()[name].numpy()
        np.testing.assert_allclose(v.get_value(), want, rtol=1e-8, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("backend", ["perform", *SLOW])
def test_the_first_steps_with_characters_are_those_of_torch(backend, monkeypatch):
    monkeypatch.setattr(characters, "KIND", gpt.Kind(tokens=96, positions=8, layers=2, heads=2, width=8))
    monkeypatch.setattr(characters, "BATCH", 4)
    text, kind = torch.tensor(characters.text()[0]), characters.KIND
    t = {name: torch.tensor(w, requires_grad=True) for name, w in gpt.random_weights(kind, "float64").items()}
    betas = characters.DECAY, characters.DECAY_OF_SQUARES
    optimizer, losses = torch.optim.Adam(t.values(), lr=1.0, betas=betas), []
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
