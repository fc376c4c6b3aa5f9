# %% [markdown]
# # Regression, fitted three ways
#
# A line through noisy points by an exact solution, by Newton's step and by a solver, with its errors and with a fit
# that outliers do not move. The oracle is `numpy.linalg.lstsq` and SciPy's `least_squares`.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

import tg

rng = np.random.default_rng(0)
n = 60
t = np.sort(rng.uniform(0, 4, n))
y = 1.5 * t - 0.8 + 0.3 * rng.normal(size=n)
y[::9] += rng.uniform(2, 5, len(y[::9]))  # outliers

# %% [markdown]
# The model is written once. `beta` is symbolic; so is the cost.

# %%
beta = tg.vector("beta", shape=(2,))
line = beta[0] + beta[1] * t
cost = tg.sum((line - y) ** 2) / 2

# %% [markdown]
# The cost is quadratic, so one step of Newton's method from anywhere is the exact solution.

# %%
step = beta - tg.linalg.solve(tg.hessian(cost, beta), tg.grad(cost, beta))
newton = tg.function([beta], step)([10.0, -10.0])

design = np.stack([np.ones(n), t], axis=1)
exact, rest, *_ = np.linalg.lstsq(design, y)
print(newton.round(6), exact.round(6))
assert np.allclose(newton, exact, rtol=1e-10)

# %% [markdown]
# Standard errors come from the Hessian of the same expression: the textbook's formula says the same.

# %%
covariance = tg.linalg.inv(tg.hessian(cost, beta)) * 2 * cost / (n - 2)
errors = tg.function([beta], tg.sqrt(tg.diagonal(covariance)))(exact)
textbook = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * rest / (n - 2))
print(errors, textbook)
assert np.allclose(errors, textbook, rtol=1e-10)

# %% [markdown]
# Outliers pull the line. A loss that grows slowly holds it: `minimize` finds its minimum, and SciPy's `soft_l1` finds
# the same.


# %%
def soft(r):
    return tg.sum(tg.sqrt(1 + r**2) - 1)


robust = tg.function([], tg.optimize.minimize(lambda b: soft(b[0] + b[1] * t - y), np.zeros(2)).x)()
theirs = scipy.optimize.least_squares(lambda b: b[0] + b[1] * t - y, np.zeros(2), loss="soft_l1").x
print(robust.round(4), theirs.round(4))
assert np.allclose(robust, theirs, atol=1e-3)

# %%
fig, ax = plt.subplots()
ax.plot(t, y, ".", color="0.4", label="points")
ax.plot(t, design @ exact, label="least squares")
ax.plot(t, design @ robust, label="robust")
ax.plot(t, 1.5 * t - 0.8, "k--", lw=1, label="the line that made them")
ax.set(xlabel="t", ylabel="y")
ax.legend()
