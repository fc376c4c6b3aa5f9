# %% [markdown]
# # Survival
#
# Times until an event, some of which are only known to be longer: a Weibull regression by its likelihood, and Cox's
# partial likelihood, which needs no distribution. The oracle is SciPy's `CensoredData` and a loop over the risk sets.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.stats

import tg

rng = np.random.default_rng(4)
n = 300
treated = rng.integers(0, 2, n).astype(float)
true = 10 * np.exp(0.6 * treated) * rng.weibull(1.6, n)
end = rng.uniform(2, 25, n)
time, happened = np.minimum(true, end), true <= end
print(f"{happened.mean():.0%} of the events were seen")

# %% [markdown]
# What was seen counts with its density, what was not with the probability of being later.


# %%
def loss(p):
    weibull = tg.distributions.weibull(tg.exp(p["shape"]), tg.exp(p["scale"] + p["effect"] * treated))
    return -tg.sum(tg.where(happened, weibull.logpdf(time), weibull.logsf(time)))


zeros = {"shape": np.array(0.0), "scale": np.array(2.0), "effect": np.array(0.0)}
fit = tg.function([], tg.optimize.minimize(loss, zeros, tol=1e-8).x)()
print({name: round(float(value), 4) for name, value in fit.items()})

for group in (0.0, 1.0):  # without the regression, SciPy fits each group
    mine = treated == group
    data = scipy.stats.CensoredData(uncensored=time[mine & happened], right=time[mine & ~happened])
    shape, _, scale = scipy.stats.weibull_min.fit(data, floc=0)

    def alone(p, mine=mine):
        weibull = tg.distributions.weibull(tg.exp(p[0]), tg.exp(p[1]))
        return -tg.sum(tg.where(happened[mine], weibull.logpdf(time[mine]), weibull.logsf(time[mine])))

    ours = np.exp(tg.function([], tg.optimize.minimize(alone, np.array([0.0, 2.0]), tol=1e-8).x)())
    print(group, ours, (shape, scale))
    assert np.allclose(ours, (shape, scale), rtol=1e-3)

# %% [markdown]
# Cox: of those still at risk when an event happens, how likely was it this one? In the order of descending times the
# sums over those at risk are a running `logcumsumexp`.

# %%
order = np.argsort(-time)
group, event = treated[order], happened[order]
b = tg.scalar("b")
partial = -tg.sum((b * group - tg.logcumsumexp(b * group)) * event)
newton = tg.function([b], [partial, tg.grad(partial, b), tg.hessian(partial, b)])


def by_loop(b):
    """Minus the logarithm of the partial likelihood, risk set by risk set."""
    return -sum(b * treated[k] - np.log(np.exp(b * treated[time >= time[k]]).sum()) for k in range(n) if happened[k])


cox = 0.0
for _ in range(10):
    _, slope, curve = newton(cox)
    cox -= slope / curve
assert np.isclose(newton(cox)[0], by_loop(cox), rtol=1e-12)
assert min(by_loop(cox - 0.01), by_loop(cox + 0.01)) > by_loop(cox)
print(f"hazard ratio {np.exp(cox):.3f}, of the Weibull fit {np.exp(-fit['effect'] * np.exp(fit['shape'])):.3f}")

# %%
fig, ax = plt.subplots()
t = np.linspace(0, 25, 200)
for group, color in ((0.0, "C0"), (1.0, "C1")):
    mine = np.sort(time[treated == group])
    seen = happened[treated == group][np.argsort(time[treated == group])]
    share = np.cumprod(1 - seen / np.arange(len(mine), 0, -1))  # Kaplan and Meier
    ax.step(mine, share, where="post", color=color, label=f"group {group:.0f}, counted")
    ax.plot(t, np.exp(-((t / np.exp(fit["scale"] + fit["effect"] * group)) ** np.exp(fit["shape"]))), "--", color=color)
ax.set(xlabel="time", ylabel="share without the event")
ax.legend()
