# %% [markdown]
# # A differential equation, fitted
#
# Hares and lynxes: rates found by least squares through a solver of differential equations, with exact derivatives.
# The solutions are held against SciPy's `solve_ivp`, and derivatives against differences of it.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.integrate
import scipy.optimize

import tg

years = np.arange(1900, 1921) - 1900.0  # Hudson's Bay Company, thousands of pelts
hares = np.array([30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1, 40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6,
                  14.6, 16.2, 24.7])  # fmt: skip
lynxes = np.array([4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4, 8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7,
                   10.1, 8.6])  # fmt: skip

# %% [markdown]
# The rates of change, written once, for variables and for numbers.


# %%
def change(p, h, l):
    return p[0] * h - p[1] * h * l, p[2] * h * l - p[3] * l


def solution(p, times):
    """The states of both, from the last two parameters on."""
    return tg.integrate.odeint(
        lambda t, y: change(p, *y), (tg.exp(p[4]), tg.exp(p[5])), times, rtol=1e-8, atol=1e-8, max_steps=2000
    )


p = tg.vector("p", shape=(6,))
curves = tg.function([p], solution(p, years), backend="c")
start = np.array([0.55, 0.028, 0.024, 0.8, np.log(33.0), np.log(6.0)])


def by_scipy(p, times=years):
    return scipy.integrate.solve_ivp(
        lambda t, y: change(p, *y), (times[0], times[-1]), np.exp(p[4:]), t_eval=times, rtol=1e-10, atol=1e-10
    ).y


print(abs(np.array(curves(start)) - by_scipy(start)).max())
assert np.allclose(curves(start), by_scipy(start), rtol=1e-5)

# %% [markdown]
# Derivatives of the last count of hares, by all six parameters.

# %%
slope = tg.function([p], tg.grad(solution(p, years)[0][-1], p), backend="c")(start)
differences = [(by_scipy(start + h)[0, -1] - by_scipy(start - h)[0, -1]) / 2e-4 for h in 1e-4 * np.eye(6)]
print(slope, differences, sep="\n")
assert np.allclose(slope, differences, rtol=1e-3)

# %% [markdown]
# The fit: logarithms of counts, by the Jacobian of the residuals.


# %%
h, l = solution(p, years)
misfit = tg.concatenate([tg.log(h / hares), tg.log(l / lynxes)])
residuals = tg.function([p], misfit, backend="c")
jacobian = tg.function([p], tg.jacobian(misfit, p, direction="forward"), backend="c")
fit = scipy.optimize.least_squares(residuals, start, jac=jacobian, x_scale="jac")
print(fit.x.round(4), f"left over {np.sqrt(np.mean(fit.fun**2)):.3f}")
assert fit.success
assert np.abs(jacobian(fit.x).T @ fit.fun).max() < 1e-2

# %%
times = np.linspace(0, 20, 300)
fig, ax = plt.subplots()
for name, counted, fitted, color in zip(
    ("hares", "lynxes"), (hares, lynxes), by_scipy(fit.x, times), "gr", strict=True
):
    ax.plot(1900 + years, counted, "o", color=color, ms=4)
    ax.plot(1900 + times, fitted, color=color, label=name)
ax.set(xlabel="year", ylabel="thousands")
ax.legend()
