"""A causal transformer beside GPT-2 by PyTorch's functions, and its step with a cache beside the whole network."""

from __future__ import annotations

import numpy as np
import pytest
from networks import gpt

import tg

torch = pytest.importorskip("torch")
F = torch.nn.functional
SMALL = gpt.Kind(tokens=17, positions=12, layers=2, heads=3, width=12)
SLOW = [pytest.param(name, marks=pytest.mark.long) for name in ("numba", "jax", "torch", "mlx")]


def by_torch(tokens, p, kind):
    """GPT-2: the order and the axes are those of its first program, `x @ w + b` its convolutions of length 1."""
    n, t = tokens.shape

    def linear(x, name):
        return torch.addmm(p[f"{name}.bias"], x.reshape(-1, x.shape[-1]), p[f"{name}.weight"]).reshape(n, t, -1)

    def norm(x, name):
        return F.layer_norm(x, (kind.width,), p[f"{name}.weight"], p[f"{name}.bias"], 1e-5)

    x = F.embedding(tokens, p["wte.weight"]) + p["wpe.weight"][:t]
    future = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
    for k in range(kind.layers):
        parts = linear(norm(x, f"h.{k}.ln_1"), f"h.{k}.attn.c_attn").split(kind.width, dim=2)
        q, key, v = (y.reshape(n, t, kind.heads, -1).transpose(1, 2) for y in parts)
        scores = (q @ key.transpose(-1, -2) / np.sqrt(q.shape[-1])).masked_fill(future, -torch.inf)
        y = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(n, t, kind.width)
        x = x + linear(y, f"h.{k}.attn.c_proj")
        y = F.gelu(linear(norm(x, f"h.{k}.ln_2"), f"h.{k}.mlp.c_fc"), approximate="tanh")
        x = x + linear(y, f"h.{k}.mlp.c_proj")
    return F.linear(norm(x, "ln_f"), p["wte.weight"])


def weights_of(kind, seed):
    """Weights in float64 of which none is 0 or 1."""
    draw = np.random.default_rng(seed)
    return {name: w + 0.3 * draw.normal(size=w.shape) for name, w in gpt.random_weights(kind, "float64").items()}


@pytest.mark.parametrize("backend", ["perform", "c", *SLOW])
def test_logits_loss_and_gradients_are_those_of_torch(backend):
    weights, text = weights_of(SMALL, 3), np.random.default_rng(4).integers(0, SMALL.tokens, (2, 10))
    tokens = tg.matrix("tokens", "int64")
    p = {name: tg.tensor(name, shape=w.shape) for name, w in weights.items()}
    logits = gpt.gpt(tokens[:, :-1], p, SMALL)
    loss = tg.nn.cross_entropy(tg.swapaxes(logits, 1, 2), tokens[:, 1:])
    f = tg.function([tokens, p], [logits, loss, tg.grad(loss, p)], backend=backend)
    found, cost, slopes = f(text, weights)
    t, given = {name: torch.tensor(w, requires_grad=True) for name, w in weights.items()}, torch.tensor(text)
    want = by_torch(given[:, :-1], t, SMALL)
    total = F.cross_entropy(want.transpose(1, 2), given[:, 1:])
    total.backward()
    np.testing.assert_allclose(found, want.detach().numpy(), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(cost, total.item(), rtol=1e-10)
    for name, slope in slopes.items():
        other = t[name].grad.numpy()
        np.testing.assert_allclose(slope, other, rtol=0, atol=1e-10 * max(1, abs(other).max()), err_msg=name)


@pytest.mark.parametrize("backend", ["perform", "c", *SLOW])
def test_steps_with_a_cache_give_what_the_whole_network_gives(backend):
    p = weights_of(SMALL, 5)
    step = gpt.decoder(backend, SMALL, dtype="float64")
    caches = {name: cache + 7 for name, cache in gpt.no_past(SMALL, 1, "float64").items()}  # an earlier text's
    tokens, logits = gpt.generate(step, [3, 1, 4, 1, 5], 8, caches, p)
    t = {name: torch.tensor(w) for name, w in p.items()}
    want = by_torch(torch.tensor([tokens[:-1]]), t, SMALL)[0].numpy()
    np.testing.assert_allclose(logits, want, rtol=1e-10, atol=1e-10)
    assert tokens[:5] == [3, 1, 4, 1, 5]
    assert tokens[5:] == [int(np.argmax(row)) for row in want[4:]]


def test_a_position_beyond_the_cache_is_an_error():
    p = weights_of(SMALL, 5)
    step = gpt.decoder("c", SMALL, dtype="float64")
    caches = gpt.no_past(SMALL, 1, "float64")
    with pytest.raises(tg.errors.BoundsError, match="12"):
        step(np.array([1]), SMALL.positions, caches, p)
    assert all(not cache.any() for cache in caches.values())


def test_caches_are_written_where_they_lie():
    p = weights_of(SMALL, 5)
    step = gpt.decoder("c", SMALL, dtype="float64")
    caches = gpt.no_past(SMALL, 1, "float64")
    _, after = step(np.array([1]), 3, caches, p)
    assert all(after[name] is cache for name, cache in caches.items())
    assert all(cache[:, :, 3].all() and not cache[:, :, :3].any() for cache in after.values())


def test_the_example_prints_a_text(monkeypatch, capsys):
    monkeypatch.setattr(gpt, "GPT2", SMALL._replace(positions=30))
    gpt.main("perform")
    text = capsys.readouterr().out.removeprefix("GPT-2 on perform: ")
    assert len(text.split(", ")) == 30
    assert text.startswith("[1, 2, 3, ")
