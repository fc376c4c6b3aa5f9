# %% [markdown]
# # A regression of counts with splines
#
# A generalized additive model: Poisson counts whose rate is a smooth curve of B-splines, as stiff as the data want it.
# The oracle is SciPy's design matrix, and a solution by iterated weighted least squares in NumPy.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.interpolate

import tg

rng = np.random.default_rng(5)
x = np.sort(rng.uniform(0, 1, 300))
rate = np.exp(1 + np.sin(6 * x) + 1.5 * np.exp(-(((x - 0.75) / 0.06) ** 2)))
counts = rng.poisson(rate)

# %% [markdown]
# Twenty B-splines over equal intervals. Their second differences are penalised: P-splines (Eilers and Marx, 1996).

# %%
knots = np.r_[[0.0] * 3, np.linspace(0, 1, 18), [1.0] * 3]
design = tg.function([], tg.interpolate.bspline_basis(x, knots))()
reference = scipy.interpolate.BSpline.design_matrix(x, knots, 3).toarray()
assert np.allclose(design, reference, atol=1e-14)

size = design.shape[1]
second = np.diff(np.eye(size), n=2, axis=0)

# %% [markdown]
# The penalised likelihood, and its minimum as a program of the penalty.

# %%
penalty = tg.scalar("penalty")


def loss(b):
    eta = design @ b
    return tg.sum(tg.exp(eta) - counts * eta) + 0.5 * penalty * tg.sum((second @ b) ** 2)


coefficients = tg.optimize.minimize(loss, np.zeros(size), "Newton-CG", tol=1e-9).x
solve = tg.function([penalty], coefficients)


def by_weights(penalty, steps=50):
    """Iterated weighted least squares, in NumPy."""
    b = np.full(size, np.log(counts.mean()))
    for _ in range(steps):
        mu = np.exp(design @ b)
        working = design @ b + (counts - mu) / mu
        curvature = design.T @ (mu[:, None] * design) + penalty * second.T @ second
        b = np.linalg.solve(curvature, design.T @ (mu * working))
    return b


print(abs(solve(1.0) - by_weights(1.0)).max())
assert np.allclose(solve(1.0), by_weights(1.0), atol=1e-6)

# %% [markdown]
# The penalty is chosen by points that the fit has not seen: the deviance of new counts, and its derivative *through the
# fit*, which differences confirm.

# %%
new = rng.poisson(rate)
eta = design @ coefficients
deviance = 2 * tg.sum(tg.exp(eta) - new * eta)
unseen = tg.function([penalty], [deviance, tg.grad(deviance, penalty)])
value, slope = unseen(3.0)
around = (unseen(3.0 + 1e-3)[0] - unseen(3.0 - 1e-3)[0]) / 2e-3
print(slope, around)
assert np.isclose(slope, around, rtol=1e-3)

grid = np.logspace(-2, 3, 21)
best = grid[np.argmin([unseen(p)[0] for p in grid])]

# %%
fig, ax = plt.subplots()
ax.plot(x, counts, ".", color="0.75", label="counts")
for p, style in ((0.01, ":"), (best, "-"), (1e3, "--")):
    ax.plot(x, np.exp(design @ solve(p)), style, label=f"penalty {p:.3g}")
ax.plot(x, rate, "k", lw=0.8, label="the rate that made them")
ax.set(xlabel="x", ylabel="count")
ax.legend()
