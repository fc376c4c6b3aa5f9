# %% [markdown]
# # On a cluster
#
# A thousand fits, spread over worker processes: a compiled function goes to an executor as it is, and results come in
# order. A plain loop and `numpy.linalg.lstsq` say what must come out.

# %%
from concurrent.futures import ThreadPoolExecutor

import joblib
import matplotlib.pyplot as plt
import numpy as np

import tg

rng = np.random.default_rng(0)
n, samples = 80, 1000
design = np.stack([np.ones(n), rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)], axis=1)
y = design @ [1.0, 2.0, -1.0] + rng.normal(size=n)
chosen = rng.integers(0, n, (samples, n))  # the bootstrap: rows drawn with replacement

# %% [markdown]
# One fit, as a function of the rows that were drawn: normal equations, solved by Cholesky's factor.

# %%
rows = tg.vector("rows", "int64")
X, t = tg.constant(design)[rows], tg.constant(y)[rows]
fit = tg.function([rows], tg.linalg.cho_solve((tg.linalg.cholesky(X.T @ X), True), X.T @ t), backend="c", name="fit")
exact = np.array([np.linalg.lstsq(design[r], y[r])[0] for r in chosen])

# %% [markdown]
# A loop, threads, and processes of joblib. Dask's client or Ray's module stand in the same place, on machines of a
# cluster.

# %%
alone = np.array(list(tg.map_over(fit, chosen)))
assert np.allclose(alone, exact, atol=1e-9)

with ThreadPoolExecutor(2) as pool:
    threads = np.array(list(tg.map_over(fit, chosen, executor=pool)))
assert np.array_equal(threads, alone)

processes = np.array(list(tg.map_over(fit, chosen, executor=joblib.Parallel(2))))
assert np.array_equal(processes, alone)
print(processes.mean(axis=0), processes.std(axis=0))

# %% [markdown]
# An element that fails is named, and what has come before it was given.

# %%
bad = [*chosen[:5], np.array([0, 1, n])]
results, count = tg.map_over(fit, bad), 0
try:
    for _ in results:
        count += 1
except tg.BoundsError as error:
    print(f"after {count} results:", error, *error.__notes__, sep="\n")
assert count == 5

# %% [markdown]
# The same without executors: `vmap` makes one program of all fits.

# %%
batched = tg.vmap(
    lambda r: tg.linalg.solve(
        tg.constant(design)[r].T @ tg.constant(design)[r], tg.constant(design)[r].T @ tg.constant(y)[r]
    )
)
many = tg.matrix("many", "int64", shape=(None, n))
together = tg.function([many], batched(many), backend="c")(chosen)
assert np.allclose(together, exact, atol=1e-9)

spread = np.sqrt(
    np.diag(np.linalg.inv(design.T @ design)) * np.sum((y - design @ np.linalg.lstsq(design, y)[0]) ** 2) / (n - 3)
)
print("bootstrap", alone.std(axis=0).round(3), "formula", spread.round(3))
assert np.allclose(alone.std(axis=0), spread, rtol=0.25)

# %%
fig, ax = plt.subplots()
for k, true in enumerate((1.0, 2.0, -1.0)):
    ax.hist(alone[:, k], 40, alpha=0.6, label=f"coefficient {k}")
    ax.axvline(true, color="k", lw=0.8)
ax.set(xlabel="value", ylabel="samples")
ax.legend()
