# %% [markdown]
# # A mixture of normal distributions
#
# Three groups of points by the gradient of a likelihood that is summed over groups with `logsumexp`. scikit-learn's EM
# climbs the same likelihood by another way and must arrive at the same place.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
from sklearn.mixture import GaussianMixture

import tg

rng = np.random.default_rng(0)
centres = np.array([[-2.0, 0.0], [1.5, 1.5], [1.5, -1.5]])
points = np.concatenate([rng.normal(c, s, (150, 2)) for c, s in zip(centres, (0.7, 0.5, 0.9), strict=True)])

# %% [markdown]
# Parameters without bounds: logits of weights, means, logarithms of deviations, in one dict.

# %%
start = {"logits": np.zeros(3), "means": points[[0, 200, 400]], "scales": np.zeros((3, 2))}
p = {name: tg.tensor(name, shape=value.shape) for name, value in start.items()}
normal = tg.distributions.normal(p["means"], tg.exp(p["scales"]))
each = tg.sum(normal.logpdf(points[:, None, :]), axis=-1) + tg.log_softmax(p["logits"], axis=0)
cost = -tg.sum(tg.logsumexp(each, axis=-1))
f = tg.function([p], tg.value_and_grad(cost, p), backend="c")

# %% [markdown]
# `ravel` for SciPy: a vector there, a dict here.

# %%
names, shapes = list(start), [value.shape for value in start.values()]
places = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]


def packed(d):
    return np.concatenate([np.ravel(d[name]) for name in names])


def unpacked(v):
    return {name: part.reshape(s) for name, part, s in zip(names, np.split(v, places), shapes, strict=True)}


def objective(v):
    value, slopes = f(unpacked(v))
    return float(value), packed(slopes)


fit = scipy.optimize.minimize(objective, packed(start), jac=True, method="BFGS", options={"gtol": 1e-4})
found = unpacked(fit.x)

em = GaussianMixture(3, covariance_type="diag", means_init=start["means"], tol=1e-10, max_iter=5000, reg_covar=0)
em.fit(points)
print(-fit.fun, em.score(points) * len(points))
assert np.isclose(-fit.fun, em.score(points) * len(points), atol=1e-3)
order, theirs = np.lexsort(found["means"].T), np.lexsort(em.means_.T)
assert np.allclose(found["means"][order], em.means_[theirs], atol=1e-3)

# %% [markdown]
# The probability of each group at each point is the gradient of a logsumexp: a softmax.

# %%
belongs = tg.function([p], tg.softmax(each, axis=-1))(found)
columns = np.lexsort(em.means_.T)[np.argsort(np.lexsort(found["means"].T))]
assert np.allclose(belongs, em.predict_proba(points)[:, columns], atol=1e-3)

fig, ax = plt.subplots()
ax.scatter(*points.T, c=np.clip(belongs, 0, 1), s=8)
for mean, scale in zip(found["means"], np.exp(found["scales"]), strict=True):
    angle = np.linspace(0, 2 * np.pi, 100)
    ax.plot(mean[0] + 2 * scale[0] * np.cos(angle), mean[1] + 2 * scale[1] * np.sin(angle), "k", lw=1)
ax.set(aspect="equal", xlabel="first", ylabel="second")
