"""Networks of several kinds: their losses and first steps are those of PyTorch, and what they learn."""

from __future__ import annotations

import numpy as np
import pytest
from networks import ensemble, experts, graph, tagger, unet

import tg

torch = pytest.importorskip("torch")
F = torch.nn.functional
SLOW = [pytest.param(name, marks=pytest.mark.long) for name in ("c", "numba", "jax", "torch", "mlx")]
BACKENDS = pytest.mark.parametrize("backend", ["perform", *SLOW])
RNG = np.random.default_rng(6)


def first_steps_are_alike(model, step, batches, loss_of, rate, optimizer=torch.optim.Adam, **options):
    """Three steps of both: each loss, and the weights behind them. `loss_of` has a batch and tensors by path."""
    p = {path: torch.tensor(w.get_value(), requires_grad=True) for path, w in tg.nn.params(model).items()}
    theirs = optimizer(p.values(), lr=rate, **options)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(theirs, 100)
    for batch in batches:
        loss = loss_of(*map(torch.tensor, batch), p)
        theirs.zero_grad()
        loss.backward()
        theirs.step()
        falling.step()
        np.testing.assert_allclose(np.mean(step(*batch)), loss.item(), rtol=1e-10)
    for path, w in tg.nn.params(model).items():
        np.testing.assert_allclose(w.get_value(), p[path].detach().numpy(), rtol=1e-6, atol=1e-8, err_msg=path)


def dense(x, p, name):
    y = x @ p[f"{name}.weight"].T
    return y + p[f"{name}.bias"] if f"{name}.bias" in p else y


def unet_by_torch(x, p):
    def twice(x, name):
        for k, conv in enumerate(("first", "second")):
            y, norm = F.conv2d(x, p[f"{name}.{conv}.weight"], padding=1), f"{name}.norms.{k}"
            x = F.batch_norm(y, None, None, p[f"{norm}.weight"], p[f"{norm}.bias"], training=True).relu()
        return x

    wide = twice(x, "down.0")
    middle = twice(F.max_pool2d(wide, 2), "down.1")
    x = twice(F.max_pool2d(middle, 2), "down.2")
    for k, beside in enumerate((middle, wide)):
        x = twice(torch.cat([F.interpolate(x, scale_factor=2), beside], 1), f"up.{k}")
    return F.conv2d(x, p["last.weight"], p["last.bias"])


@BACKENDS
def test_the_first_steps_of_the_unet_are_those_of_torch(backend, monkeypatch):
    for name, value in {"PIXELS": 16, "WIDTHS": (2, 3, 4), "BATCH": 2}.items():
        monkeypatch.setattr(unet, name, value)
    model = tg.nn.randomized(unet.UNet(), tg.random.key(1), "float64")
    images, labels = unet.pictures(6, 4)
    batches = [(images[k : k + 2].astype("float64"), labels[k : k + 2]) for k in (0, 2, 4)]
    step = unet.training_step(model, backend, 100)
    first_steps_are_alike(model, step, batches, lambda x, y, p: F.cross_entropy(unet_by_torch(x, p), y), unet.RATE)


@pytest.mark.long
def test_the_unet_tells_shapes_apart():
    result = unet.train("c", 200)
    assert np.all(result.overlaps > 0.6)
    assert result.losses[0] > 1.0


def tagger_by_torch(signs, tags, lengths, p):
    lstm = torch.nn.LSTM(tagger.WIDTH // 2, tagger.WIDTH, bidirectional=True, batch_first=True)
    x = F.embedding(signs, p["signs.weight"], padding_idx=0)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    own = {path.removeprefix("lstm."): w for path, w in p.items() if path.startswith("lstm.")}
    states = torch.func.functional_call(lstm, own, (packed,))[0]
    states, _ = torch.nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=signs.shape[1])
    counts = torch.arange(signs.shape[1]) < lengths[:, None]
    return F.cross_entropy(dense(states, p, "head")[counts], tags[counts])


@BACKENDS
def test_the_first_steps_of_the_tagger_are_those_of_torch(backend, monkeypatch):
    monkeypatch.setattr(tagger, "WIDTH", 6)
    monkeypatch.setattr(tagger, "LONGEST", 12)
    rows = [("x = 3", "n . 0"), ("return", "kkkkkk"), ("# a note", "########"), ('f("a", 1)', "n.ttt. 0.")] * 3
    batches = [tuple(a[k : k + 3] for a in tagger.padded(rows)) for k in (0, 3, 6)]
    model = tg.nn.randomized(tagger.Tagger(), tg.random.key(1), "float64")
    first_steps_are_alike(model, tagger.training_step(model, backend, 100), batches, tagger_by_torch, tagger.RATE)


@pytest.mark.long
def test_the_tagger_colours_lines_that_it_has_not_seen():
    result = tagger.train("c", 100)
    assert result.accuracy > 0.9
    assert result.losses[0] > 1.5
    assert all(len(text) == len(tags) for text, tags in result.tagged)


def test_lines_are_tagged_as_python_reads_them():
    rows = dict(tagger.lines(tagger.textwrap))
    assert rows["import re"] == "kkkkkk nn"
    assert not any('"""' in text and text.count('"""') == 1 for text in rows)


def graph_by_torch(x, edges, groups, told, p):
    source, target = edges
    for k in range(graph.LAYERS):
        total = torch.zeros_like(x).index_add(0, target, x[source])
        count = torch.bincount(target, minlength=len(x)).clamp(min=1)
        x = (dense(x, p, f"layers.{k}.own") + dense(total / count[:, None], p, f"layers.{k}.others")).relu()
    return F.cross_entropy(dense(x, p, "head")[told], groups[told])


@BACKENDS
def test_the_first_steps_of_the_graph_network_are_those_of_torch(backend, monkeypatch):
    for name, value in {"NODES": 30, "TOLD": 7, "WIDTH": 5, "FEATURES": 3, "WITHIN": 0.4}.items():
        monkeypatch.setattr(graph, name, value)
    model = tg.nn.randomized(graph.Network(), tg.random.key(1), "float64")
    model = tg.nn.replaced(model, {"dropout": tg.nn.Dropout(0.0)})
    p = {path: torch.tensor(w.get_value(), requires_grad=True) for path, w in tg.nn.params(model).items()}
    data, step = graph.drawn(3, "float64"), graph.training_step(model, backend)
    theirs = torch.optim.AdamW(p.values(), lr=graph.RATE)
    for _ in range(3):
        loss = graph_by_torch(*map(torch.tensor, data), p)
        theirs.zero_grad()
        loss.backward()
        theirs.step()
        np.testing.assert_allclose(step(*data), loss.item(), rtol=1e-10)


@pytest.mark.long
def test_the_graph_network_finds_groups_by_edges():
    data = graph.drawn(2)
    assert graph.train("c", data).accuracy > 0.8
    assert graph.train("c", data._replace(edges=data.edges[:, :0])).accuracy < 0.65  # so it is the edges that tell


def experts_by_torch(x, p, name):
    """Token by token: first choices of all tokens take slots before second ones."""
    shares = torch.softmax(dense(x, p, f"{name}.router"), -1)
    n, t, e = shares.shape
    slots = int(experts.ROOM * experts.CHOICES * experts.POSITIONS / experts.EXPERTS)
    weights, chosen = torch.topk(shares, experts.CHOICES)
    weights = weights / weights.sum(-1, keepdim=True)
    y, used = torch.zeros_like(x), np.zeros((n, e), int)
    for choice in range(experts.CHOICES):
        for i, j in np.ndindex(n, t):
            k = int(chosen[i, j, choice])
            used[i, k] += 1
            if used[i, k] <= slots:
                names = [f"{part}.{w}" for part in "02" for w in ("weight", "bias")]
                own = {path: p[f"{name}.nets.members.{path}"][k] for path in names}
                out = dense(F.gelu(dense(x[i, j], own, "0")), own, "2")
                y = y.index_put((torch.tensor(i), torch.tensor(j)), weights[i, j, choice] * out, accumulate=True)
    first = F.one_hot(chosen[..., 0], e).to(x.dtype)
    return y, e * (first.mean(1) * shares.mean(1)).sum(-1).mean(), used.max() > slots


def gpt_by_torch(lines, p):
    tokens, width = lines[:, :-1], experts.WIDTH
    n, t = tokens.shape
    x, balance, is_full = p["tokens.weight"][tokens] + p["positions.weight"], 0.0, False

    def normed(x, name):
        return F.layer_norm(x, (width,), p[f"{name}.weight"], p[f"{name}.bias"])

    for k in range(experts.LAYERS):
        name, y = f"blocks.{k}.attention", normed(x, f"blocks.{k}.norms.0")
        qkv = y @ p[f"{name}.in_proj_weight"].T + p[f"{name}.in_proj_bias"]
        q, key, v = (a.reshape(n, t, experts.HEADS, -1).transpose(1, 2) for a in qkv.split(width, -1))
        y = F.scaled_dot_product_attention(q, key, v, is_causal=True).transpose(1, 2).reshape(n, t, width)
        x = x + dense(y, p, f"{name}.out_proj")
        y, loss, full = experts_by_torch(normed(x, f"blocks.{k}.norms.1"), p, f"blocks.{k}.experts")
        x, balance, is_full = x + y, balance + loss, is_full or full
    logits = normed(x, "norm") @ p["tokens.weight"].T * width**-0.5
    return F.cross_entropy(logits.transpose(1, 2), lines[:, 1:]), balance, is_full


@BACKENDS
def test_loss_and_gradients_of_the_experts_are_those_of_torch(backend, monkeypatch):
    sizes = {"TOKENS": 9, "POSITIONS": 8, "WIDTH": 4, "HEADS": 2, "EXPERTS": 3, "ROOM": 0.8}
    for name, value in sizes.items():
        monkeypatch.setattr(experts, name, value)
    model = tg.nn.randomized(experts.Network(), tg.random.key(2), "float64")
    p = {path: torch.tensor(w.get_value(), requires_grad=True) for path, w in tg.nn.params(model).items()}
    text, lines = RNG.integers(0, 9, (2, 9)), tg.matrix("lines", "int64", shape=(2, 9))
    loss, balance, shares = experts.costs(model, lines)
    slopes = tg.grad(loss + balance, tg.nn.params(model))
    found = tg.function([lines], [loss, balance, shares, slopes], backend=backend)(text)
    *wants, is_full = gpt_by_torch(torch.tensor(text), p)
    sum(wants).backward()
    assert is_full  # some find no room
    assert np.all(found[2].sum(axis=-1) < 1)
    np.testing.assert_allclose(found[:2], [v.item() for v in wants], rtol=1e-10)
    for path, slope in found[3].items():
        np.testing.assert_allclose(slope, p[path].grad.numpy(), rtol=1e-8, atol=1e-10, err_msg=path)


@BACKENDS
def test_the_first_steps_of_the_experts_are_those_of_torch(backend, monkeypatch):
    for name, value in {"POSITIONS": 8, "WIDTH": 4, "HEADS": 2, "EXPERTS": 3, "BATCH": 2}.items():
        monkeypatch.setattr(experts, name, value)
    model = tg.nn.randomized(experts.Network(), tg.random.key(2), "float64")
    p = {path: torch.tensor(w.get_value(), requires_grad=True) for path, w in tg.nn.params(model).items()}
    theirs = torch.optim.Adam(p.values(), betas=(0.9, 0.99))
    step, text = experts.training_step(model, backend, 30), torch.tensor(experts.text()[0])
    for k, starts in enumerate(RNG.integers(0, 1000, (4, 2))):
        theirs.param_groups[0]["lr"] = experts.RATE * k / 3  # the rate grows for a tenth of the steps
        lines = text[torch.tensor(starts)[:, None] + torch.arange(experts.POSITIONS + 1)]
        loss, balance, _ = gpt_by_torch(lines, p)
        theirs.zero_grad()
        (loss + experts.BALANCE * balance).backward()
        theirs.step()
        np.testing.assert_allclose(step(starts), loss.item(), rtol=1e-8)


@pytest.mark.long
def test_the_experts_share_the_work_and_learn():
    result = experts.train("c")
    assert result.unseen < 2.3  # nats a character; how often pairs of characters occur has 2.48
    assert result.losses[0] > 4.0
    assert np.all(result.shares > 0.1)
    assert np.all(result.shares.sum(axis=-1) > 0.9)


def ensemble_by_torch(x, y, p):
    losses = []
    for k in range(len(x)):
        own = {path.removeprefix("members."): w[k] for path, w in p.items()}
        hidden = torch.tanh(dense(torch.tanh(dense(x[k], own, "body.0")), own, "body.2"))
        mean, log_variance = dense(hidden, own, "head").split(1, -1)
        losses.append((0.5 * (log_variance + (y[k] - mean) ** 2 * torch.exp(-log_variance))).mean())
    return torch.stack(losses)


@BACKENDS
def test_the_first_steps_of_the_ensemble_are_those_of_its_members_by_torch(backend, monkeypatch):
    monkeypatch.setattr(ensemble, "WIDTH", 5)
    model = tg.nn.randomized(tg.nn.Ensemble(ensemble.Member(), 3), tg.random.key(1), "float64")
    batches = list(RNG.normal(size=(3, 2, 3, 7, 1)))
    step = ensemble.training_step(model, backend, 100)
    by_torch = lambda x, y, p: ensemble_by_torch(x, y, p).mean()  # noqa: E731 (Adam's steps are the same by any factor)
    first_steps_are_alike(model, step, batches, by_torch, ensemble.RATE, eps=1e-8 / 3)


def test_the_ensemble_is_unsure_where_it_has_seen_nothing():
    result = ensemble.train("c")
    inside = np.concatenate([np.linspace(low + 0.2, high - 0.2, 20) for low, high in ensemble.SEEN])
    outside = np.array([-4.0, -3.8, 0.0, 0.2, 0.3, 3.8, 4.0])
    mean, spread, noise = (v[:, 0] for v in result.predict(inside.astype("float32")[:, None]))
    _, unsure, _ = (v[:, 0] for v in result.predict(outside.astype("float32")[:, None]))
    assert np.sqrt(np.mean((mean - ensemble.truth(inside)) ** 2)) < 0.1
    assert 0.05 < np.median(noise) < 0.2  # the points have 0.1
    assert np.mean(unsure) > 4 * np.mean(spread)
