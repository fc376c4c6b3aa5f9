# %% [markdown]
# # Debugging NaN
#
# A softmax that is written by hand overflows. The guard says at which line, rewriting may cure it, and a gradient
# that is NaN in a branch that is not taken is 0 here. Values are held against SciPy.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.special

import tg

x = tg.vector("x")
exponentials = tg.exp(x)
weights = exponentials / tg.sum(exponentials)

# %% [markdown]
# As it is written, without rewriting: infinity divided by infinity.

# %%
plain = tg.function([x], weights, backend="c", mode="off")
print(plain([1.0, 2.0]), plain([1.0, 1000.0]))
assert np.isnan(plain([1.0, 1000.0])[1])

# %% [markdown]
# `nan_guard=True` runs a call that is not finite again, in parts, and names the first line that makes it so.

# %%
guarded = tg.function([x], weights, backend="c", mode="off", nan_guard=True)
try:
    guarded([1.0, 1000.0])
except tg.NonFiniteError as error:
    print(error)

# %% [markdown]
# With rewriting, which is the default, the quotient is recognised as a softmax, whose stable form subtracts the
# maximum.

# %%
cured = tg.function([x], weights, backend="c")
print(cured([1.0, 1000.0]))
for values in ([1.0, 2.0], [1.0, 1000.0], [-2000.0, -2001.0]):
    assert np.allclose(cured(values), scipy.special.softmax(values))

# %% [markdown]
# The other classic: a root, and a branch that is not taken. In reverse mode the derivative of the root at 0 is
# infinite, and 0 times infinity is NaN elsewhere; here what is not chosen sends nothing.

# %%
y = tg.where(x > 0, tg.sqrt(x), 0.0)
slope = tg.function([x], tg.grad(tg.sum(y), x), backend="c")
print(slope([4.0, 0.0, -1.0]))
assert np.array_equal(slope([4.0, 0.0, -1.0]), [0.25, 0.0, 0.0])

# %% [markdown]
# log(1 + x) and log(sigmoid(x)), written by hand, lose all their digits; rewritten they do not.

# %%
tiny = np.logspace(-20, 2, 200)
both = tg.log(1 + x), -tg.log(1 / (1 + tg.exp(-x)))
by_hand = tg.function([x], both, backend="c", mode="off")
rewritten = tg.function([x], both, backend="c")
exact = np.log1p(tiny), np.logaddexp(0, -10 * tiny)
ours = rewritten(tiny)[0], rewritten(10 * tiny)[1]
hands = by_hand(tiny)[0], by_hand(10 * tiny)[1]
assert all(np.allclose(a, b, rtol=1e-12, atol=0) for a, b in zip(ours, exact, strict=True))

fig, ax = plt.subplots()
for name, found, color in (("by hand", hands, "C3"), ("rewritten", ours, "C0")):
    for style, values, true in zip(("-", "--"), found, exact, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            ax.loglog(tiny, np.maximum(abs(values / true - 1), 1e-17), style, color=color, label=name)
ax.set(xlabel="x", ylabel="relative error", title="log(1 + x), and dashed -log(sigmoid(10 x))")
ax.legend()
