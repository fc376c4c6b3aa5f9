# %% [markdown]
# # Sparse matrices
#
# A field on a lattice, smoothed by a sparse system: products, Cholesky's factor, a log-determinant and its gradient.
# SciPy solves the same system, and NumPy has the determinant of the dense matrix.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg

import tg

side = 24
path = scipy.sparse.diags_array([[-1.0] * (side - 1), [2.0] * side, [-1.0] * (side - 1)], offsets=[-1, 0, 1])
one = scipy.sparse.eye_array(side)
laplacian = scipy.sparse.csr_array(scipy.sparse.kron(path, one) + scipy.sparse.kron(one, path))
identity = scipy.sparse.csr_array(scipy.sparse.eye_array(side**2))

rng = np.random.default_rng(1)
u, v = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side))
truth = np.exp(-4 * ((u - 0.3) ** 2 + v**2)) - 0.8 * np.exp(-6 * ((u + 0.4) ** 2 + (v - 0.2) ** 2))
seen = (truth + 0.3 * rng.normal(size=truth.shape)).ravel()

# %% [markdown]
# The precision of the field has the lattice's pattern; its elements are expressions of a stiffness.

# %%
stiffness = tg.scalar("stiffness")
places = scipy.sparse.csr_array(laplacian + 0 * identity)
rows, columns = places.nonzero()
on = (rows == columns).astype(float)


def matrix(k):
    return tg.sparse.csr(k * places.data + on, indices=places.indices, indptr=places.indptr, shape=places.shape)


smooth = tg.function([stiffness], tg.sparse.linalg.cholesky(matrix(stiffness)).solve(seen), backend="c")
theirs = scipy.sparse.linalg.spsolve(scipy.sparse.csc_array(5.0 * laplacian + identity), seen)
print(abs(smooth(5.0) - theirs).max())
assert np.allclose(smooth(5.0), theirs, atol=1e-10)

# %% [markdown]
# The log-determinant, and its derivative by the stiffness: the trace of the inverse times the lattice.

# %%
logdet = tg.sparse.linalg.slogdet(matrix(stiffness))[1]
value, slope = tg.function([stiffness], [logdet, tg.grad(logdet, stiffness)], backend="c")(5.0)
dense = 5.0 * laplacian.toarray() + np.eye(side**2)
print(value - np.linalg.slogdet(dense)[1], slope - np.trace(np.linalg.solve(dense, laplacian.toarray())))
assert np.isclose(value, np.linalg.slogdet(dense)[1])
assert np.isclose(slope, np.trace(np.linalg.solve(dense, laplacian.toarray())))

# %% [markdown]
# Products, with the gradient by the stored elements only.

# %%
data = tg.vector("data")
product = tg.sparse.csr(data, indices=places.indices, indptr=places.indptr, shape=places.shape) @ tg.constant(seen)
grad = tg.function([data], tg.grad(tg.sum(product**2), data), backend="c")(places.data)
assert np.allclose(grad, 2 * (places @ seen)[rows] * seen[columns])

# %%
fig, axes = plt.subplots(1, 4, figsize=(6.4, 1.9))
shown = [("truth", truth), ("seen", seen), ("stiffness 1", smooth(1.0)), ("stiffness 20", smooth(20.0))]
for ax, (title, field) in zip(axes, shown, strict=True):
    ax.imshow(field.reshape(side, side), cmap="RdBu", vmin=-1, vmax=1)
    ax.set(xticks=[], yticks=[], title=title)
    ax.grid(visible=False)
