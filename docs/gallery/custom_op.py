# %% [markdown]
# # A custom op
#
# Somebody's simulator in NumPy becomes a part of expressions: as a wrapped function with a derivative, then as an op
# of its own, which other backends compute by an expansion. `tg.check_grad` and SciPy say whether the derivatives are
# right.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.optimize

import tg
from tg.graph.op import Op

# %% [markdown]
# A wrapped function: NumPy's, with its rule for derivatives. Kepler's equation, solved by somebody's Newton.


# %%
def kepler(mean, e):
    """E with E - e sin E = mean, by Newton's steps."""
    anomaly = mean + e * np.sin(mean)
    for _ in range(20):
        anomaly = anomaly - (anomaly - e * np.sin(anomaly) - mean) / (1 - e * np.cos(anomaly))
    return anomaly


def derivative(inputs, outputs, cotangents):
    (_, e), (anomaly,), (dy,) = inputs, outputs, cotangents
    by_mean = dy / (1 - e * tg.cos(anomaly))
    return by_mean, tg.sum(by_mean * tg.sin(anomaly))


wrapped = tg.wrap(kepler, infer=lambda mean, e: mean, grad=derivative, name="kepler")
mean, e = tg.vector("mean"), tg.scalar("e")
anomaly = wrapped(mean, e)
f = tg.function([mean, e], [anomaly, tg.grad(tg.sum(anomaly**2), e)], backend="perform")
times = np.linspace(0, 2 * np.pi, 50)
values, slope = f(times, 0.7)
assert np.allclose(values - 0.7 * np.sin(values), times)
(difference,) = scipy.optimize.approx_fprime(np.array([0.7]), lambda v: np.sum(kepler(times, v[0]) ** 2), 1e-7)
print(slope, difference)
assert np.isclose(slope, difference, rtol=1e-5)

# %% [markdown]
# `tg.check_grad` compares all derivatives with differences by itself.

# %%
print(tg.check_grad(tg.sum(anomaly**2), {mean: times, e: 0.7}))

# %% [markdown]
# An op of one's own: a type rule, a meaning in NumPy, a derivative. With an *expansion* every backend has it.


# %%
class SmoothStep(Op):
    """3 u^2 - 2 u^3 where u is x between 0 and `width`, as a part of it."""

    width: float
    has_expansion = True

    def infer(self, x):
        return (x,)

    def perform(self, x):
        u = np.clip(x / self.width, 0, 1)
        return (u * u * (3 - 2 * u),)

    def expansion(self, x):
        u = tg.clip(x / self.width, 0, 1)
        return (u * u * (3 - 2 * u),)

    def pullback(self, tools, inputs, outputs, cotangents):
        u = tg.clip(inputs[0] / self.width, 0, 1)
        return (cotangents[0] * 6 * u * (1 - u) / self.width,)


x = tg.vector("x")
step = SmoothStep(2.0)(x)
places = np.linspace(-1, 3, 200)
expected = SmoothStep(2.0).perform(places)[0]
for backend in ("perform", "c", "numba", "jax", "torch"):
    ours, slopes = tg.function([x], [step, tg.grad(tg.sum(step), x)], backend=backend)(places)
    assert np.allclose(ours, expected)
    assert np.allclose(slopes, np.gradient(expected, places), atol=2e-2)
    print(backend, abs(ours - expected).max())

# %%
fig, (left, right) = plt.subplots(1, 2)
for eccentricity in (0.0, 0.4, 0.8):
    angle = f(times, eccentricity)[0]
    left.plot(np.cos(angle) - eccentricity, np.sqrt(1 - eccentricity**2) * np.sin(angle), ".", ms=3)
left.set(aspect="equal", title="planets at equal times")
right.plot(places, ours, label="step")
right.plot(places, slopes, label="its derivative")
right.legend()
