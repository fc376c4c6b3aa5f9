# %% [markdown]
# # A Gaussian process
#
# Regression with lengths that are learned by the gradient of a likelihood through Cholesky's factor. scikit-learn has
# the same kernel with a gradient written by hand, and must find the same.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import tg

rng = np.random.default_rng(2)
x = np.sort(rng.uniform(-3, 3, 40))
y = np.sin(2 * x) + 0.3 * x + 0.15 * rng.normal(size=40)
places = np.linspace(-4, 4, 200)

# %% [markdown]
# The covariance is an expression of the logarithms of a variance, a length and the noise.

# %%
theta = tg.vector("theta", shape=(3,))
z = tg.vector("z")


def kernel(a, b):
    return tg.exp(theta[0] - 0.5 * ((a[:, None] - b[None, :]) / tg.exp(theta[1])) ** 2)


factor = tg.linalg.cholesky(kernel(tg.constant(x), x) + tg.exp(theta[2]) * tg.eye(40))
weights = tg.linalg.cho_solve((factor, True), y)
evidence = -0.5 * tg.sum(y * weights) - tg.sum(tg.log(tg.diagonal(factor))) - 20 * np.log(2 * np.pi)

# %% [markdown]
# SciPy's minimizer takes the value and its gradient. The Hessian of it tells how well each is known.

# %%
cost = tg.function([theta], [-evidence, tg.grad(-evidence, theta)], backend="c")
fit = scipy.optimize.minimize(cost, np.zeros(3), jac=True, method="L-BFGS-B")
errors = np.sqrt(np.diag(np.linalg.inv(tg.function([theta], tg.hessian(-evidence, theta))(fit.x))))
print(fit.x.round(3), "+-", errors.round(3))

theirs = GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(0.1), n_restarts_optimizer=2, random_state=0)
theirs.fit(x[:, None], y)
print(-fit.fun, theirs.log_marginal_likelihood_value_)
assert np.isclose(-fit.fun, theirs.log_marginal_likelihood_value_, atol=1e-5)

# %% [markdown]
# Predictions, with the deviation of the function itself.

# %%
across = kernel(tg.constant(x), z)
mean = weights @ across
deviation = tg.sqrt(tg.exp(theta[0]) - tg.sum(tg.linalg.solve_triangular(factor, across, lower=True) ** 2, axis=0))
middle, width = tg.function([theta, z], [mean, deviation], backend="c")(fit.x, places)
assert np.allclose(middle, theirs.predict(places[:, None]), atol=1e-3)

# %%
fig, ax = plt.subplots()
ax.fill_between(places, middle - 2 * width, middle + 2 * width, alpha=0.2, label="two deviations")
ax.plot(places, middle, label="expected")
ax.plot(places, np.sin(2 * places) + 0.3 * places, "k--", lw=1, label="the function")
ax.plot(x, y, ".", color="0.3")
ax.set(xlabel="x", ylabel="y")
ax.legend()
