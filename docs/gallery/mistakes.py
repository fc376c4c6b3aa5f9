# %% [markdown]
# # A NumPy user, a regression, ten mistakes
#
# A logistic regression by somebody whose fingers know NumPy, with ten mistakes on the way and the error of each. The
# fit in the end is scikit-learn's.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import tg

rng = np.random.default_rng(1)
x = rng.normal(size=(200, 2))
y = (x @ [2.0, -1.0] + 0.5 + rng.logistic(size=200) > 0).astype("int64")


def attempt(mistake):
    """The error of a mistake, as it is told."""
    try:
        mistake()
    except Exception as error:
        print(f"{type(error).__name__}: {error}\n")
    else:
        raise AssertionError("no error")


X, t, w = tg.matrix("X"), tg.vector("t", "int64"), tg.vector("w")

# %% [markdown]
# **1, 2: treating a symbol as an array.** A variable has no value yet: not for `if`, and not for `float`.


# %%
def asks_a_value():
    return w if w[0] > 0 else -w


attempt(asks_a_value)
attempt(lambda: float(tg.sum(w)))

# %% [markdown]
# **3, 4: writing in place, and a shape that does not fit.**


# %%
def writes():
    w[0] = 1.0


attempt(writes)
attempt(lambda: tg.tensor("X", shape=(200, 2)) @ tg.tensor("w", shape=(3,)))

# %% [markdown]
# **5, 6: a keyword and a name of another library.**

# %%
attempt(lambda: tg.sum(X, dim=0))
attempt(lambda: tg.clamp(X, 0, 1))

# %% [markdown]
# **7: a gradient of something that is no scalar**, and **8: by something that is no input of it.**

# %%
probability = tg.sigmoid(X @ w)
attempt(lambda: tg.grad(probability, w))
attempt(lambda: tg.grad(tg.sum(probability), tg.vector("other")))

# %% [markdown]
# **9: an index that is out of bounds**, told with the numbers of the call, by whatever backend. **10: data of a wrong
# rank.**

# %%
k = tg.scalar("k", dtype="int64")
pick = tg.function([X, k], X[k], backend="c")
attempt(lambda: pick(x, 200))
attempt(lambda: pick(x[:, 0], 0))

# %% [markdown]
# Now the regression. Each error has named what it found and what it needed; what is left is the model.

# %%
bias = tg.scalar("bias")
score = X @ w + bias
loss = tg.sum(tg.softplus(score) - t * score) + 0.5 * tg.sum(w**2)
cost = tg.function([[w, bias], X, t], tg.value_and_grad(loss, [w, bias]))
fit = tg.optimize.minimize(
    lambda p: tg.sum(tg.softplus(x @ p["w"] + p["bias"]) - y * (x @ p["w"] + p["bias"])) + 0.5 * tg.sum(p["w"] ** 2),
    {"w": np.zeros(2), "bias": np.array(0.0)},
).x
best = tg.function([], fit)()
theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(x, y)
print(best["w"], best["bias"], theirs.coef_, theirs.intercept_)
assert np.allclose(best["w"], theirs.coef_[0], atol=1e-5)
assert np.allclose(best["bias"], theirs.intercept_[0], atol=1e-5)
value, slopes = cost([best["w"], best["bias"]], x, y)
assert max(np.abs(slope).max() for slope in slopes) < 1e-4

# %%
fig, ax = plt.subplots()
ax.scatter(*x.T, c=y, cmap="coolwarm", s=12)
a = np.linspace(-3, 3, 2)
ax.plot(a, -(best["bias"] + best["w"][0] * a) / best["w"][1], "k", label="probability 1/2")
ax.set(xlabel="first feature", ylabel="second feature", ylim=(-3, 3))
ax.legend()
