# %% [markdown]
# # A hierarchical model
#
# Eight schools: effects of coaching, each measured badly, drawn from one distribution whose width is unknown. Laplace's
# approximation of the width's likelihood is exact here, so a quadrature in SciPy is the oracle.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.integrate
import scipy.stats

import tg

effect = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])  # Rubin, 1981
error = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])

# %% [markdown]
# The joint density of the mean `mu` and the schools' own effects, given the width `tau`.

# %%
tau = tg.scalar("tau")


def joint(v):
    mu, own = v[0], v[1:]
    return (
        tg.distributions.normal(0.0, 20.0).logpdf(mu)
        + tg.sum(tg.distributions.normal(mu, tau).logpdf(own))
        + tg.sum(tg.distributions.normal(own, error).logpdf(effect))
    )


# %% [markdown]
# Laplace: the top of the density, found by a solver inside of the program, and the curvature there.

# %%
top = tg.optimize.minimize(lambda v: -joint(v), np.zeros(9), "BFGS", tol=1e-9).x
v = tg.vector("v", shape=(9,))
curvature = tg.linalg.slogdet(-tg.hessian(joint(v), v))[1]
at = tg.function([tau, v], [joint(v), curvature])
find = tg.function([tau], top)


def evidence(width):
    value, logdet = at(width, find(width))
    return value + 4.5 * np.log(2 * np.pi) - 0.5 * logdet


# %% [markdown]
# The oracle: the schools' effects integrate out by hand, and the mean by quadrature.


# %%
def by_quadrature(width):
    def density(mu):
        return np.exp(
            scipy.stats.norm.logpdf(mu, 0, 20) + scipy.stats.norm.logpdf(effect, mu, np.hypot(width, error)).sum()
        )

    return np.log(scipy.integrate.quad(density, -100, 100, points=[0, 8], epsabs=0, epsrel=1e-10)[0])


widths = np.linspace(0.5, 30, 40)
ours = np.array([evidence(width) for width in widths])
theirs = np.array([by_quadrature(width) for width in widths])
print(abs(ours - theirs).max())
assert np.allclose(ours, theirs, atol=1e-6)

# %% [markdown]
# The wider the distribution may be, the less the schools are drawn towards one another.

# %%
shrunk = np.array([find(width)[1:] for width in widths])
fig, (left, right) = plt.subplots(1, 2)
left.plot(widths, np.exp(ours - ours.max()))
left.set(xlabel="width of schools' effects", ylabel="likelihood, of the largest")
right.plot(widths, shrunk)
right.plot([30.5] * 8, effect, "k<", ms=4)
right.set(xlabel="width of schools' effects", ylabel="effect of a school")
