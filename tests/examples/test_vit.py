"""Vision transformers beside PyTorch's modules under torchvision's names: logits, loss and gradients."""

from __future__ import annotations

import numpy as np
import pytest
from networks import vit

import tg

torch = pytest.importorskip("torch")
nn = torch.nn
SMALL = vit.Kind(pixels=16, patch=4, layers=2, heads=3, width=12, inner=20)
SLOW = [pytest.param(name, marks=pytest.mark.long) for name in ("numba", "jax", "torch", "mlx")]


class Layer(nn.Module):
    """A layer of torchvision's encoder."""

    def __init__(self, kind):
        super().__init__()
        self.ln_1, self.ln_2 = (nn.LayerNorm(kind.width, eps=1e-6) for _ in range(2))
        self.self_attention = nn.MultiheadAttention(kind.width, kind.heads, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(kind.width, kind.inner), nn.GELU(), nn.Dropout(0), nn.Linear(kind.inner, kind.width)
        )

    def forward(self, x):
        y = self.ln_1(x)
        x = x + self.self_attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class Transformer(nn.Module):
    """torchvision's VisionTransformer, by the names of its parameters."""

    def __init__(self, kind, classes):
        super().__init__()
        self.class_token = nn.Parameter(torch.zeros(1, 1, kind.width))
        self.conv_proj = nn.Conv2d(3, kind.width, kind.patch, kind.patch)
        self.encoder = nn.Module()
        self.encoder.pos_embedding = nn.Parameter(torch.zeros(1, (kind.pixels // kind.patch) ** 2 + 1, kind.width))
        self.encoder.layers = nn.Module()
        for k in range(kind.layers):
            self.encoder.layers.add_module(f"encoder_layer_{k}", Layer(kind))
        self.encoder.ln = nn.LayerNorm(kind.width, eps=1e-6)
        self.heads = nn.Module()
        self.heads.head = nn.Linear(kind.width, classes)

    def forward(self, images):
        x = self.conv_proj(images).flatten(2).permute(0, 2, 1)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], dim=1) + self.encoder.pos_embedding
        for layer in self.encoder.layers.children():
            x = layer(x)
        return self.heads.head(self.encoder.ln(x)[:, 0])


def agrees_with_torch(backend, kind, classes, count):
    """Compare logits, loss and gradients in float64."""
    draw = np.random.default_rng(2)
    weights = vit.random_weights(kind, classes, "float64")
    weights = {name: w + 0.1 * draw.normal(size=w.shape) * (w.ndim == 1) for name, w in weights.items()}
    x, labels = draw.normal(size=(count, 3, kind.pixels, kind.pixels)), draw.integers(0, classes, count)
    images = tg.tensor("images", shape=(None, *x.shape[1:]))
    p = {name: tg.tensor(name, shape=w.shape) for name, w in weights.items()}
    logits = vit.vit(images, p, kind)
    loss = tg.nn.cross_entropy(logits, labels)
    found, cost, slopes = tg.function([images, p], [logits, loss, tg.grad(loss, p)], backend=backend)(x, weights)
    network = Transformer(kind, classes).double()
    network.load_state_dict({name: torch.tensor(w) for name, w in weights.items()})
    want = network(torch.tensor(x))
    total = nn.functional.cross_entropy(want, torch.tensor(labels))
    total.backward()
    np.testing.assert_allclose(found, want.detach().numpy(), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(cost, total.item(), rtol=1e-10)
    others = {name: v.grad.numpy() for name, v in network.named_parameters()}
    assert slopes.keys() == others.keys()
    for name, slope in slopes.items():
        other = others[name]
        np.testing.assert_allclose(slope, other, rtol=0, atol=1e-10 * max(1, abs(other).max()), err_msg=name)


@pytest.mark.parametrize("backend", ["perform", "c", *SLOW])
def test_a_small_transformer_is_that_of_torch(backend):
    agrees_with_torch(backend, SMALL, 5, 3)


@pytest.mark.long(minutes=2)
@pytest.mark.parametrize("backend", ["perform", "c", "numba", "jax", "torch", "mlx"])
def test_b16_is_that_of_torch(backend):
    agrees_with_torch(backend, vit.B16, 10, 1)


def test_the_parameters_of_b16_are_as_many_as_torchvision_states():
    assert sum(int(np.prod(shape)) for shape in vit.shapes(vit.B16).values()) == 86_567_656


def test_the_example_prints_what_it_takes(monkeypatch, capsys):
    monkeypatch.setattr(vit, "B16", SMALL)
    vit.main("perform")
    assert capsys.readouterr().out.startswith("ViT-B/16 on perform: ")
