# %% [markdown]
# # Profiling
#
# Where the time of a call goes, line by line, and what a change brings: a covariance with far too much work in it, seen
# in the profile, written otherwise, and the same numbers as SciPy's in a part of the time.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import scipy.spatial.distance

import tg

rng = np.random.default_rng(0)
places = rng.normal(size=(600, 8))
x = tg.matrix("x", shape=(None, 8))

# %% [markdown]
# Distances of all pairs as one writes them with NumPy: an array of (600, 600, 8) differences.

# %%
apart = x[:, None, :] - x[None, :, :]
squared = tg.sum(apart**2, axis=-1)
kernel = tg.exp(-0.5 * squared)
total = tg.sum(kernel)
slow = tg.function([x], [total, tg.grad(total, x)], backend="c", name="pairs")
profile = slow.profile(places)
print(profile)

# %% [markdown]
# The rows are loops and calls, with the lines that they come from. The same distances by a product of matrices:

# %%
lengths = tg.sum(x**2, axis=1)
product = tg.exp(x @ x.T - 0.5 * (lengths[:, None] + lengths[None, :]))
fast = tg.function([x], [tg.sum(product), tg.grad(tg.sum(product), x)], backend="c", name="products")
print(fast.profile(places))

# %% [markdown]
# Both are right: SciPy's distances, and its sum of differences for the gradient.

# %%
weights = np.exp(-0.5 * scipy.spatial.distance.cdist(places, places, "sqeuclidean"))
slopes = 2 * (weights @ places - weights.sum(1)[:, None] * places)
for f in (slow, fast):
    value, slope = f(places)
    assert np.isclose(value, weights.sum(), rtol=1e-10)
    assert np.allclose(slope, slopes, atol=1e-8)

# %% [markdown]
# What compiling cost, step by step.

# %%
print("\n".join(str(slow.compile_report()).splitlines()[:14]))

# %%
counts = [50, 100, 200, 400, 800]
seconds = {f.name: [] for f in (slow, fast)}
for n in counts:
    points = rng.normal(size=(n, 8))
    for f in (slow, fast):
        f(points)
        times = []
        for _ in range(7):
            start = time.perf_counter()
            f(points)
            times.append(time.perf_counter() - start)
        seconds[f.name].append(min(times))
fig, ax = plt.subplots()
for name, measured in seconds.items():
    ax.loglog(counts, 1e3 * np.array(measured), "o-", label=name)
ax.set(xlabel="places", ylabel="ms a call, with the gradient")
ax.legend()
