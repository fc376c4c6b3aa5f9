# %% [markdown]
# # How tg works: a walk through one program
#
# One expression, followed through what becomes of it: the graph, what the rules make of it, the generated C, the
# machine code's results, and a call. Everything shown is the real thing, and the end is held against NumPy.

# %%
import matplotlib.pyplot as plt
import numpy as np

import tg

x = tg.matrix("x")
w = tg.vector("w")
t = tg.vector("t")
logits = x @ w
loss = tg.mean(tg.log(1 + tg.exp(logits)) - t * logits)
slope = tg.grad(loss, w)

# %% [markdown]
# **1. The expression.** Variables that were made by applications of ops, each with the line that made it. Nothing is
# computed, and the gradient is more of the same.

# %%
tg.print([loss])
print(loss.op.name, "made at", loss.loc)

# %% [markdown]
# **2. Rewriting.** Rules in phases, each with a reason. What was asked for is still what is computed.

# %%
story = tg.explain([loss, slope])
print("\n".join(str(story).splitlines()[:40]))

# %% [markdown]
# The graph that a backend is given: both results share what they can, and `log(1 + exp(z))` has become `softplus`,
# which does not overflow.

# %%
f = tg.function([x, w, t], [loss, slope], backend="c", name="logistic")
tg.print(f)

# %% [markdown]
# **3. Code.** The backend `c` writes one function: checks of lengths, one call of BLAS for each product, and a loop in
# which everything of single elements is fused.

# %%
code = str(f.source())
lines = code.splitlines()
loop = next(k for k, line in enumerate(lines) if "for (" in line)
print(f"{len(lines)} lines; around the first loop:")
print("\n".join(line[:110] for line in lines[max(0, loop - 3) : loop + 22]))

# %% [markdown]
# **4. A call.** Arguments are checked, the status is looked at, and what fails is told with the numbers of the call and
# the line of the program.

# %%
rng = np.random.default_rng(0)
data, truth = rng.normal(size=(500, 3)), np.array([1.0, -2.0, 0.5])
seen = (data @ truth + rng.logistic(size=500) > 0).astype(float)
value, gradient = f(data, np.zeros(3), seen)
z = data @ np.zeros(3)
assert np.isclose(value, np.mean(np.log1p(np.exp(z)) - seen * z))
assert np.allclose(gradient, data.T @ (1 / (1 + np.exp(-z)) - seen) / 500)
try:
    f(data, np.zeros(4), seen)
except tg.ShapeError as error:
    print(error)

# %% [markdown]
# Where a call's time goes, and what compiling cost.

# %%
large = rng.normal(size=(200_000, 3))
print(f.profile(large, truth, (large @ truth > 0).astype(float)))

# %% [markdown]
# **5. The same graph elsewhere.** Other backends are given the same table, and give the same numbers.

# %%
values = {
    b: tg.function([x, w, t], [loss, slope], backend=b)(data, truth, seen) for b in ("perform", "numba", "jax", "torch")
}
for backend, (other, _) in values.items():
    print(f"{backend:8} {other:.15f}")
    assert np.isclose(other, f(data, truth, seen)[0], rtol=1e-12)

# %%
a = np.linspace(-3, 3, 61)
grid = np.array([[f(data, np.array([u, v, 0.5]), seen)[0] for u in a] for v in a])
step = np.zeros(3)
path = [step]
for _ in range(60):
    step = step - 4 * f(data, step, seen)[1]
    path.append(step)
fig, ax = plt.subplots()
ax.contour(a, a, grid, levels=15, linewidths=0.8, cmap="viridis")
ax.plot(*np.array(path)[:, :2].T, "k.-", lw=0.8, ms=3)
ax.set(xlabel="w[0]", ylabel="w[1]", title="the loss, and steps along its gradient")
