# %% [markdown]
# # Kalman's filter
#
# A level and its trend, seen through noise: the filter as a scan, its likelihood with gradient, and the noises that
# fit. The oracle is the joint normal density of all that was seen, as one matrix in SciPy.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
import scipy.stats

import tg

rng = np.random.default_rng(8)
steps = 120
move = np.array([[1.0, 1.0], [0.0, 1.0]])
state, level = np.zeros(2), []
for _ in range(steps):
    state = move @ state + rng.normal(size=2) * [0.2, 0.1]
    level.append(state[0])
seen = np.array(level) + 1.5 * rng.normal(size=steps)

# %% [markdown]
# A step: predict, then correct by what was seen. The log-density of what was seen comes with it.

# %%
theta = tg.vector("theta", shape=(3,))  # logarithms of deviations: of the level, of the trend, of what is seen
q = tg.diag(tg.exp(2 * theta[:2]))
r = tg.exp(2 * theta[2])


def one(carry, y):
    mean, cov = carry
    mean, cov = move @ mean, move @ cov @ move.T + q
    spread = cov[0, 0] + r
    gain = cov[:, 0] / spread
    wrong = y - mean[0]
    density = -0.5 * (wrong**2 / spread + tg.log(2 * np.pi * spread))
    return (mean + gain * wrong, cov - tg.outer(gain, cov[0])), (density, mean[0], spread)


start = (np.zeros(2), np.eye(2))
_, (densities, expected, spreads) = tg.scan(one, start, tg.constant(seen))
cost = -tg.sum(densities)
f = tg.function([theta], [cost, tg.grad(cost, theta)], backend="c")

# %% [markdown]
# The oracle writes what was seen as one normal vector.


# %%
def by_matrix(theta):
    power, states = np.eye(2), []
    cov, noise = np.eye(2), np.diag(np.exp(2 * np.array(theta[:2])))
    for _ in range(steps):
        cov = move @ cov @ move.T + noise
        states.append(cov)
    joint = np.zeros((steps, steps))
    for i, cov in enumerate(states):
        power = np.eye(2)
        for j in range(i, steps):
            joint[i, j] = joint[j, i] = (power @ cov)[0, 0]
            power = move @ power
    return -scipy.stats.multivariate_normal.logpdf(seen, np.zeros(steps), joint + np.exp(2 * theta[2]) * np.eye(steps))


at = np.log([0.3, 0.2, 1.0])
print(f(at)[0], by_matrix(at))
assert np.isclose(f(at)[0], by_matrix(at), rtol=1e-9)
assert np.allclose(f(at)[1], scipy.optimize.approx_fprime(at, by_matrix, 1e-6), rtol=1e-3)

# %%
fit = scipy.optimize.minimize(f, at, jac=True, method="BFGS")
print("deviations", np.exp(fit.x).round(3), "of 0.2, 0.1, 1.5")
middle, spread = tg.function([theta], [expected, spreads], backend="c")(fit.x)
within = np.mean(abs(seen - middle) < 1.96 * np.sqrt(spread))
print(f"{within:.0%} of the points lie where 95 % should")
assert 0.88 < within <= 1

# %%
fig, ax = plt.subplots()
ax.plot(seen, ".", color="0.6", label="seen")
ax.plot(level, "k", lw=0.8, label="the level")
ax.plot(middle, label="expected by the filter")
ax.fill_between(np.arange(steps), middle - 2 * np.sqrt(spread), middle + 2 * np.sqrt(spread), alpha=0.15)
ax.set(xlabel="step", ylabel="level")
ax.legend()
