# %% [markdown]
# # An epidemic, fitted
#
# Daily counts of cases, a loop of SIR's equations, and a likelihood whose gradient goes through all of its steps. The
# oracle is the same loop in NumPy, with differences, and the parameters that made the data.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
import scipy.stats

import tg

PEOPLE, DAYS = 10_000.0, 90
TRUTH = np.log([0.32, 0.12])  # infections and recoveries a day

# %% [markdown]
# A step of the equations, used by both: the functions of arithmetic do not care what they are given.


# %%
def step(s, i, beta, gamma):
    new = beta * s * i / PEOPLE
    return s - new, i + new - gamma * i, new


def in_numpy(log_rates):
    (beta, gamma), s, i, expected = np.exp(log_rates), PEOPLE - 20.0, 20.0, []
    for _ in range(DAYS):
        s, i, new = step(s, i, beta, gamma)
        expected.append(new)
    return np.array(expected)


def in_tg(log_rates):
    beta, gamma = tg.exp(log_rates[0]), tg.exp(log_rates[1])

    def day(state, _):
        s, i, new = step(*state, beta, gamma)
        return (s, i), new

    return tg.scan(day, (PEOPLE - 20.0, 20.0), length=DAYS)[1]


counts = np.random.default_rng(3).poisson(in_numpy(TRUTH))

# %% [markdown]
# The likelihood of the counts, with its gradient and its Hessian, in one program.

# %%
theta = tg.vector("theta", shape=(2,))
cost = -tg.sum(tg.distributions.poisson(in_tg(theta)).logpmf(counts))
f = tg.function([theta], [cost, tg.grad(cost, theta)], backend="c")
hessian = tg.function([theta], tg.hessian(cost, theta), backend="c")

start = np.log([0.5, 0.2])
differences = scipy.optimize.approx_fprime(
    start, lambda v: -scipy.stats.poisson.logpmf(counts, in_numpy(v)).sum(), 1e-7
)
print(f(start)[1], differences)
assert np.allclose(f(start)[1], differences, rtol=1e-4)

# %%
fit = scipy.optimize.minimize(f, start, jac=True, method="BFGS")
errors = np.sqrt(np.diag(np.linalg.inv(hessian(fit.x))))
for name, found, error, true in zip(("beta", "gamma"), fit.x, errors, TRUTH, strict=True):
    print(f"{name:6} {np.exp(found):.4f} +- {np.exp(found) * error:.4f}, was {np.exp(true):.4f}")
assert np.all(abs(fit.x - TRUTH) < 3 * errors)

# %%
fig, ax = plt.subplots()
ax.bar(np.arange(DAYS), counts, color="0.75", label="counted")
ax.plot(in_numpy(fit.x), label="fitted")
ax.set(xlabel="day", ylabel="cases")
ax.legend()
