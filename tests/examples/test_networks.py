"""Small networks that learn: their losses and first steps are those of PyTorch, and what they reach."""

from __future__ import annotations

import numpy as np
import pytest
from networks import autoencoder, flow

import tg

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")
F = torch.nn.functional
SLOW = [pytest.param(name, marks=pytest.mark.long) for name in ("c", "numba", "jax", "torch", "mlx")]
RNG = np.random.default_rng(0)


def arrays_of(model):
    return {path: w.get_value() for path, w in tg.nn.params(model).items()}


def tensors_of(model):
    return {path: torch.tensor(w, requires_grad=True) for path, w in arrays_of(model).items()}


def dense(x, p, name):
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def autoencoder_by_torch(images, noise, p):
    mean, log_variance = dense(dense(images, p, "encoder.0").relu(), p, "encoder.2").chunk(2, dim=-1)
    normal = torch.distributions.Normal(mean, torch.exp(0.5 * log_variance))
    logits = dense(dense(mean + normal.scale * noise, p, "decoder.0").relu(), p, "decoder.2")
    pixels = F.binary_cross_entropy_with_logits(logits, images, reduction="none").sum(-1)
    apart = torch.distributions.kl_divergence(normal, torch.distributions.Normal(0.0, 1.0)).sum(-1)
    return (pixels + apart).mean()


@pytest.mark.parametrize("backend", ["perform", *SLOW])
def test_the_first_steps_of_the_autoencoder_are_those_of_torch(backend, monkeypatch):
    monkeypatch.setattr(autoencoder, "HIDDEN", 7)
    monkeypatch.setattr(autoencoder, "LATENT", 3)
    model = tg.nn.randomized(autoencoder.Autoencoder(), tg.random.key(1), "float64")
    p = tensors_of(model)
    step = autoencoder.training_step(model, backend, tg.matrix("noise"))
    optimizer = torch.optim.Adam(p.values(), lr=autoencoder.RATE)
    for _ in range(3):
        images, noise = RNG.random((5, 64)), RNG.normal(size=(5, 3))
        loss = autoencoder_by_torch(torch.tensor(images), torch.tensor(noise), p)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        np.testing.assert_allclose(step(images, noise), loss.item(), rtol=1e-10)
    for path, w in arrays_of(model).items():
        np.testing.assert_allclose(w, p[path].detach().numpy(), rtol=1e-7, atol=1e-9, err_msg=path)


def test_the_autoencoder_learns_to_draw():
    model, losses = autoencoder.train("c", epochs=15)
    assert losses[-1] < 29  # nats an image
    assert losses[0] > 34
    images = autoencoder.drawn(model, "c", 200)
    seen = autoencoder.load().images
    corner, middle = images[:, 0, 0].mean(), images[:, 3:5, 3:5].mean()
    assert corner < 0.02
    assert np.isclose(middle, seen.reshape(-1, 8, 8)[:, 3:5, 3:5].mean(), atol=0.1)


def moved_by_torch(points, p):
    for k in range(flow.LAYERS):
        other, own = points[1 - k % 2], points[k % 2]
        stretch, shift = dense(torch.tanh(dense(other[None], p, f"couplings.{k}.net.0")), p, f"couplings.{k}.net.2")
        own = own * torch.exp(torch.tanh(stretch)) + shift
        points = torch.stack([own, other] if k % 2 == 0 else [other, own])
    return points


@pytest.mark.parametrize("backend", ["perform", *SLOW])
def test_the_density_of_the_flow_is_that_of_its_jacobian(backend):
    model = tg.nn.randomized(flow.Flow(), tg.random.key(1), "float64")
    p = {path: torch.tensor(w) for path, w in arrays_of(model).items()}
    points, x = RNG.normal(size=(5, 2)), tg.matrix("x", shape=(None, 2))
    density, back = tg.function([x], [model(x), model.inverse(x)], backend=backend)(points)
    for point, found, origin in zip(torch.tensor(points), density, back, strict=True):
        jacobian = torch.autograd.functional.jacobian(lambda v: moved_by_torch(v, p), point)
        normal = torch.distributions.Normal(0.0, 1.0).log_prob(moved_by_torch(point, p)).sum()
        np.testing.assert_allclose(found, (normal + torch.linalg.slogdet(jacobian)[1]).item(), rtol=1e-10)
        np.testing.assert_allclose(moved_by_torch(torch.tensor(origin), p).numpy(), point.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.long
def test_the_flow_learns_the_moons():
    model, losses, unseen = flow.train("c", 500)
    assert unseen < 1.2  # nats a point
    assert losses[0] > 2.0
    grid = np.stack(np.meshgrid(np.linspace(-4, 4, 401), np.linspace(-4, 4, 401)), axis=-1).reshape(-1, 2)
    x = tg.matrix("x", "float32", shape=(None, 2))
    density = np.exp(tg.function([x], model(x), backend="c")(grid.astype("float32")).astype("float64"))
    assert np.isclose(density.sum() * (8 / 400) ** 2, 1.0, atol=0.02)
