# %% [markdown]
# # A normalizing flow
#
# The density of two moons, learned by couplings whose inverse and volume are known. That it *is* a density is checked
# by a quadrature of the plane, and its volume by a determinant of NumPy.

# %%
import sys

import matplotlib.pyplot as plt
import numpy as np

import tg

sys.path.insert(0, "../../examples/networks")  # of tg's repository
from flow import Flow, moons, training_step

# %% [markdown]
# `Flow` stands in `examples/networks/flow.py`: six couplings, each moves one coordinate by numbers that hang on the
# other.

# %%
model = tg.nn.randomized(Flow(), tg.random.key(1))
step, data = training_step(model, "c"), moons(4096, 2).astype("float32")
batches = tg.data.batches(data, 128, key=tg.random.key(3), epochs=40)
losses = [float(step(batch)) for batch in batches]
print(f"{losses[0]:.2f} nats a point at first, {np.mean(losses[-50:]):.2f} after {len(losses)} steps")

# %% [markdown]
# A density: the sum over a fine grid is 1.

# %%
points = tg.matrix("points", "float32", shape=(None, 2))
density = tg.function([points], tg.exp(model(points)), backend="c")
a = np.linspace(-3.5, 3.5, 400)
grid = np.stack(np.meshgrid(a, a), axis=-1).reshape(-1, 2).astype("float32")
values = density(grid)
whole = values.sum(dtype="float64") * (a[1] - a[0]) ** 2
print(f"the integral is {whole:.4f}")
assert abs(whole - 1) < 0.02

# %% [markdown]
# Points of it: normal numbers, brought back. Going there and back is the identity, and the volume of the way is the
# determinant of a Jacobian, which NumPy computes.

# %%
normal = tg.matrix("normal", "float32", shape=(None, 2))
back = tg.function([normal], model.inverse(normal), backend="c")
z = np.random.default_rng(0).normal(size=(1000, 2)).astype("float32")
drawn = back(z)

one = tg.vector("one", "float32", shape=(2,))
jacobian = tg.function([one], tg.jacobian(model.inverse(one[None])[0], one), backend="c")
for there, here in zip(z[:20], drawn[:20], strict=True):
    volume = np.log(abs(np.linalg.det(jacobian(there).astype("float64"))))
    log_normal = -0.5 * np.sum(there.astype("float64") ** 2) - np.log(2 * np.pi)
    assert np.isclose(np.log(density(here[None])[0]), log_normal - volume, atol=1e-3)

# %%
fig, (left, right) = plt.subplots(1, 2)
left.pcolormesh(a, a, values.reshape(400, 400)[::1], cmap="Blues", rasterized=True)
left.plot(*data[:300].T, "k.", ms=1)
right.plot(*drawn.T, ".", ms=2)
for ax in (left, right):
    ax.set(xlim=(-2.2, 2.2), ylim=(-1.6, 1.6))
left.set_title("density, and data")
right.set_title("points that are drawn")
