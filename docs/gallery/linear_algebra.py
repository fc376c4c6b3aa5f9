# %% [markdown]
# # Linear algebra, differentiated
#
# Derivatives through a solution, a determinant, eigenvalues and a matrix exponential: each is one line, and each is
# held against a formula or against differences in NumPy and SciPy.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg

import tg

rng = np.random.default_rng(0)
root = rng.normal(size=(6, 6))
a0 = root @ root.T + np.eye(6)
b = rng.normal(size=6)
A = tg.matrix("A", shape=(6, 6))

# %% [markdown]
# Textbook formulas: the gradient of log det is the inverse, that of b' A^-1 b is minus an outer product.

# %%
logdet = tg.linalg.slogdet(A)[1]
quadratic = b @ tg.linalg.solve(A, b)
f = tg.function([A], [tg.grad(logdet, A), tg.grad(quadratic, A)], backend="c")
by_logdet, by_quadratic = f(a0)
inverse = np.linalg.inv(a0)
assert np.allclose(by_logdet, inverse.T)
assert np.allclose(by_quadratic, -np.outer(inverse.T @ b, inverse @ b))

# %% [markdown]
# A symmetric matrix that depends on a number: how fast each eigenvalue moves is v' A' v, by perturbation theory, and
# how far each goes is what NumPy computes.

# %%
t = tg.scalar("t")
left, right = (rng.normal(size=(2, 6, 6)) + np.swapaxes(rng.normal(size=(2, 6, 6)), 1, 2)) / 2
left, right = (left + left.T) / 2, (right + right.T) / 2
values = tg.linalg.eigvalsh(tg.cos(t) * left + tg.sin(t) * right)
eigen = tg.function([t], [values, tg.jvp(values, t, tg.constant(1.0))], backend="c")

at = 0.4
computed, speed = eigen(at)
_, vectors = np.linalg.eigh(np.cos(at) * left + np.sin(at) * right)
change = -np.sin(at) * left + np.cos(at) * right
assert np.allclose(speed, np.einsum("ik,ij,jk->k", vectors, change, vectors))

# %% [markdown]
# A matrix exponential and its derivative in a direction, which SciPy has too.

# %%
direction = rng.normal(size=(6, 6))
power = tg.function([A], [tg.linalg.expm(A), tg.jvp(tg.linalg.expm(A), A, direction)])(0.3 * root)
exact = scipy.linalg.expm_frechet(0.3 * root, direction)
print([abs(ours - theirs).max() for ours, theirs in zip(power, exact, strict=True)])
assert np.allclose(power[0], exact[0])
assert np.allclose(power[1], exact[1])

# %% [markdown]
# A mistake that linear algebra punishes elsewhere by NaN is an error here, with its line.

# %%
try:
    tg.function([A], tg.linalg.cholesky(A), backend="c")(-a0)
except tg.LinAlgError as error:
    print(error)

# %%
angles = np.linspace(0, np.pi, 200)
both = [eigen(angle) for angle in angles]
fig, ax = plt.subplots()
ax.plot(angles, [values for values, _ in both])
for k in range(20, 200, 45):
    for value, slope in zip(*both[k], strict=True):
        ax.plot(angles[k] + np.array([-0.12, 0.12]), value + slope * np.array([-0.12, 0.12]), "k", lw=1)
ax.set(xlabel="t", ylabel="eigenvalues, and their tangents")
