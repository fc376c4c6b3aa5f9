# %% [markdown]
# # Signals
#
# A spectrum, a filter, and a filter that is found by its gradient: `tg.fft` and `tg.signal` beside NumPy and SciPy.

# %%
import matplotlib.pyplot as plt
import numpy as np
import scipy.signal

import tg

rate = 500
t = np.arange(1000) / rate
rng = np.random.default_rng(0)
clean = np.sin(2 * np.pi * 7 * t) + 0.5 * np.sin(2 * np.pi * 19 * t)
heard = clean + 0.6 * np.sin(2 * np.pi * 120 * t) + 0.3 * rng.normal(size=t.size)

# %% [markdown]
# The power spectrum, with a window.

# %%
x = tg.vector("x")
window = np.hanning(t.size)
power = tg.abs(tg.fft.rfft(x * window)) ** 2
spectrum = tg.function([x], power)(heard)
assert np.allclose(spectrum, abs(np.fft.rfft(heard * window)) ** 2)
frequencies = np.fft.rfftfreq(t.size, 1 / rate)
print("peaks at", frequencies[scipy.signal.find_peaks(spectrum, height=spectrum.max() / 20)[0]])

# %% [markdown]
# A filter of 101 taps, by transforms and directly, as SciPy has it.

# %%
taps = scipy.signal.firwin(101, 40, fs=rate)
filtered = tg.function([x], [tg.signal.fftconvolve(x, taps, "same"), tg.signal.convolve(x, taps, "same")])(heard)
expected = scipy.signal.convolve(heard, taps, "same")
assert np.allclose(filtered[0], expected)
assert np.allclose(filtered[1], expected)

# %% [markdown]
# Wiener's filter by its gradient: the taps that bring what is heard nearest to what is clean. They solve linear
# equations, which NumPy does.

# %%
h = tg.vector("h", shape=(41,))
error = tg.mean((tg.signal.convolve(heard, h, "same") - clean) ** 2) + 1e-6 * tg.sum(h**2)
best = tg.function(
    [],
    tg.optimize.minimize(
        lambda h: tg.mean((tg.signal.convolve(heard, h, "same") - clean) ** 2) + 1e-6 * tg.sum(h**2),
        np.zeros(41),
        "L-BFGS",
        tol=1e-9,
    ).x,
)()
columns = np.stack([np.convolve(heard, unit, "same") for unit in np.eye(41)], axis=1)
exact = np.linalg.solve(columns.T @ columns / t.size + 1e-6 * np.eye(41), columns.T @ clean / t.size)
print(abs(best - exact).max())
assert np.allclose(best, exact, atol=1e-5)

slope = tg.function([h], tg.grad(error, h))(exact)
assert abs(slope).max() < 1e-10

# %%
fig, (left, right) = plt.subplots(1, 2)
left.semilogy(frequencies, spectrum, lw=0.8)
left.set(xlabel="Hz", ylabel="power", xlim=(0, 150))
right.plot(t, heard, color="0.8", label="heard")
right.plot(t, np.convolve(heard, best, "same"), label="filtered")
right.plot(t, clean, "k--", lw=0.8, label="clean")
right.set(xlabel="s", xlim=(0.5, 0.9))
right.legend()
