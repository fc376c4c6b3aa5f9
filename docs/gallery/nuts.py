# %% [markdown]
# # The No-U-Turn Sampler
#
# A whole sampler as one program: warm-up, trees and four chains. Its draws are held against the moments of a normal
# distribution, and against a quadrature of a curved one.

# %%
import sys

import matplotlib.pyplot as plt
import numpy as np
import scipy.integrate

import tg

sys.path.insert(0, "../../examples")  # of tg's repository
from mixing import disagreement, effective_size
from nuts import sample

# %% [markdown]
# `sample(density, size, warmup, draws, key)` stands in `examples/nuts.py`. The density is any function of a vector;
# chains are a `vmap` over keys.


# %%
def chains(density, size, warmup=500, draws=1000, number=4):
    seed = tg.scalar("seed", "int64")
    keys = tg.random.split(tg.random.key(seed), number)
    run = tg.vmap(lambda key: sample(density, size, warmup, draws, key).theta)(keys)
    return tg.function([seed], run, backend="c", name="nuts")(7)


# %% [markdown]
# First a normal distribution of two correlated variables, whose moments are known.

# %%
covariance = np.array([[1.0, 0.8], [0.8, 2.0]])
precision = np.linalg.inv(covariance)
normal = chains(lambda v: -0.5 * (v @ precision @ v), 2)
flat = normal.reshape(-1, 2)
print(normal.shape, flat.mean(0).round(3), np.cov(flat.T).round(3), sep="\n")
assert np.allclose(flat.mean(0), 0, atol=0.12)
assert np.allclose(np.cov(flat.T), covariance, atol=0.25)

# %% [markdown]
# Then a banana, whose moments are integrals over the plane.


# %%
def banana(v):
    return -0.5 * v[0] ** 2 - 2 * (v[1] - v[0] ** 2 / 2) ** 2


draws = chains(banana, 2)
found = draws.reshape(-1, 2).mean(0)


def moment(f):
    def weighted(b, a):
        return f(a, b) * np.exp(-0.5 * a**2 - 2 * (b - a**2 / 2) ** 2)

    return scipy.integrate.dblquad(weighted, -8, 8, lambda a: a**2 / 2 - 5, lambda a: a**2 / 2 + 5)[0]


mean = moment(lambda a, b: b) / moment(lambda a, b: 1.0)
spread = draws.reshape(-1, 2).std(0)
print(found, mean, spread)
for k in range(2):
    print(f"{effective_size(draws[:, :, k]):.0f} effective draws of 4000, R {disagreement(draws[:, :, k]):.3f}")
    assert disagreement(draws[:, :, k]) < 1.03
assert abs(found[1] - mean) < 0.1
assert abs(found[0]) < 0.15

# %%
fig, (left, right) = plt.subplots(1, 2)
a, b = np.meshgrid(np.linspace(-3.5, 3.5, 100), np.linspace(-1.5, 5, 100))
left.contour(a, b, np.exp(banana((a, b))), levels=8, linewidths=0.7, cmap="Greys")
left.plot(*draws[:, ::4].reshape(-1, 2).T, ".", ms=1.5, alpha=0.6)
right.plot(draws[:, :200, 1].T, lw=0.6)
right.set(xlabel="draw", title="four chains")
