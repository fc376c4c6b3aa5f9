"""How well chains mix: how many independent draws theirs are worth, and whether they agree with one another.

Both are computed of normal quantiles of the ranks, which exist whatever the tails, and of halves of chains, which
differ if a chain has not come to rest (A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner,
Rank-normalization, folding, and localization: an improved R for assessing convergence of MCMC, 2021, section 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

Array = np.ndarray[Any, Any]


def effective_size(draws: Array) -> float:
    """As how many independent draws the mean of the quantiles is known, of draws (chains, n)."""
    z = quantiles(halves(draws))
    chains, n = z.shape
    within, whole = variances(z)
    correlation = 1 - (within - np.mean(autocovariances(z), axis=0)) / whole
    correlation[0] = 1
    pairs = np.add(*correlation[: n // 2 * 2].reshape(-1, 2).T)
    count = int(np.argmax(pairs <= 0)) if np.any(pairs <= 0) else len(pairs)  # beyond, noise is all there is
    falling = np.minimum.accumulate(pairs[:count])
    rest = max(float(correlation[2 * count]), 0.0) if 2 * count < n else 0.0
    time = max(2 * np.sum(falling) - 1 + rest, 1 / np.log10(chains * n))
    return float(chains * n / time)


def disagreement(draws: Array) -> float:
    """The square root of the variance of all draws (chains, n) over that within chains, in place or in width: R."""
    split = halves(draws)
    folded = np.abs(split - np.median(split))
    return max(float(np.sqrt(np.divide(*variances(quantiles(v))[::-1]))) for v in (split, folded))


def halves(draws: Array) -> Array:
    """Each chain as two; the one in the middle is left out of an odd number."""
    n = draws.shape[1] // 2
    return np.concatenate([draws[:, :n], draws[:, -n:]])


def quantiles(draws: Array) -> Array:
    """The normal quantiles of the ranks among all draws."""
    rank = rankdata(draws).reshape(draws.shape)
    return ndtri((rank - 3 / 8) / (draws.size + 1 / 4))  # type: ignore[no-any-return]


def variances(z: Array) -> tuple[Array, Array]:
    """The variance within chains (chains, n), and of all."""
    n = z.shape[1]
    within = np.mean(np.var(z, axis=1, ddof=1))
    return within, within * (n - 1) / n + np.var(np.mean(z, axis=1), ddof=1)


def autocovariances(z: Array) -> Array:
    """Those of each chain (chains, n) at all distances."""
    n = z.shape[1]
    away = z - np.mean(z, axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(away, 2 * n)) ** 2
    return np.fft.irfft(power)[:, :n] / n
