# %% [markdown]
# # A variational autoencoder
#
# Handwritten digits from eight numbers each. The gradient through drawn numbers is PyTorch's for the same weights and
# the same noise; the divergence is that of PyTorch's distributions.

# %%
import sys

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.distributions import Normal, kl_divergence

import tg
from tg.demo.digits import load

sys.path.insert(0, "../../examples/networks")  # of tg's repository
from autoencoder import Autoencoder, drawn, training_step

model = tg.nn.randomized(Autoencoder(), tg.random.key(1))
digits = load().images.astype("float32")

# %% [markdown]
# The loss and its gradients, beside PyTorch's.

# %%
weights = tg.nn.params(model)
images, noise = tg.matrix("images", "float32"), tg.matrix("noise", "float32")
f = tg.function([images, noise], tg.value_and_grad(model(images, noise), weights), backend="c")
batch, drawn_noise = digits[:32], np.random.default_rng(0).normal(size=(32, 8)).astype("float32")
value, slopes = f(batch, drawn_noise)

p = {name: torch.tensor(w.get_value(), requires_grad=True) for name, w in weights.items()}


def linear(x, name):
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


x = torch.tensor(batch)
mean, log_variance = linear(torch.relu(linear(x, "encoder.0")), "encoder.2").chunk(2, -1)
code = mean + torch.exp(0.5 * log_variance) * torch.tensor(drawn_noise)
logits = linear(torch.relu(linear(code, "decoder.0")), "decoder.2")
pixels = torch.nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(-1)
apart = kl_divergence(Normal(mean, torch.exp(0.5 * log_variance)), Normal(0.0, 1.0)).sum(-1)
expected = (pixels + apart).mean()
expected.backward()
print(value, expected.item())
assert np.isclose(value, expected.item(), rtol=1e-5)
assert all(np.allclose(slopes[name], w.grad, atol=1e-4) for name, w in p.items())

# %% [markdown]
# Training: the noise is drawn inside of the program, from a stream that is part of its state.

# %%
step = training_step(model, "c")
batches = tg.data.batches(digits, 64, key=tg.random.key(2), epochs=12)
losses = [float(step(batch)) for batch in batches]
print(f"{np.mean(losses[:20]):.1f} nats an image at first, {np.mean(losses[-20:]):.1f} after {len(losses)} steps")
assert np.mean(losses[-20:]) < 0.85 * np.mean(losses[:20])

# %% [markdown]
# Digits that nobody has written.

# %%
fig, axes = plt.subplots(2, 10, figsize=(6.4, 1.6))
for ax, image in zip(axes.flat, drawn(model, "c", 20), strict=True):
    ax.imshow(image, cmap="gray_r")
    ax.set(xticks=[], yticks=[])
