"""The beta-binomial and the hypergeometric distribution: probabilities, and sums of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.distributions.sums import by_slopes, tail
from tg.ops.arranging import broadcast_arrays
from tg.ops.control import stop_gradient
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.exponential import exp, log
from tg.ops.elementwise.special.beta import betaln

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.graph.nodes import Variable


def log_betabinom(x: Variable, n: Variable, a: Variable, b: Variable) -> Variable:
    """The logarithm of the probability of x successes."""
    return betaln(x + a, n - x + b) - betaln(a, b) - log(n + 1) - betaln(n - x + 1, x + 1)


def betabinom_below(x: Variable, n: Variable, a: Variable, b: Variable) -> tuple[Variable, Variable]:
    """The probability of at most x, and of more: a sum to the end that is on this side of the mean."""
    x = where((n >= 0) & (a > 0) & (b > 0), x, np.nan)
    upward = x * (a + b) >= n * a
    return _tails(log_betabinom, _betabinom_ratio, (a >= 1) & (b >= 1), upward, x, n, a, b)


def _betabinom_ratio(k: Variable, upward: Variable, n: Variable, a: Variable, b: Variable) -> Variable:
    up = (n - k) * (k + a) / ((k + 1) * (n - k - 1 + b))
    down = k * (n - k + b) / ((n - k + 1) * (k - 1 + a))
    return where(upward, where(k < n, up, 0.0), where(k > 0, down, 0.0))


def log_hypergeometric(x: Variable, ngood: Variable, nbad: Variable, nsample: Variable) -> Variable:
    """The logarithm of the probability of x good ones."""
    rest, total = nsample - x, ngood + nbad
    ways = betaln(x + 1, ngood - x + 1) + betaln(rest + 1, nbad - rest + 1) - betaln(nsample + 1, total - nsample + 1)
    return log(total + 1) - log(ngood + 1) - log(nbad + 1) - ways


def hypergeometric_below(x: Variable, ngood: Variable, nbad: Variable, nsample: Variable) -> tuple[Variable, Variable]:
    """The probability of at most x, and of more: a sum to the end that is on this side of the mean."""
    x = where((ngood >= 0) & (nbad >= 0) & (nsample >= 0), x, np.nan)
    upward = x * (ngood + nbad) >= nsample * ngood
    return _tails(log_hypergeometric, _hypergeometric_ratio, True, upward, x, ngood, nbad, nsample)


def _hypergeometric_ratio(
    k: Variable, upward: Variable, ngood: Variable, nbad: Variable, nsample: Variable
) -> Variable:
    up = (ngood - k) * (nsample - k) / ((k + 1) * (nbad - nsample + k + 1))
    down = k * (nbad - nsample + k) / ((ngood - k + 1) * (nsample - k + 1))
    return where(upward, up, down)


def _tails(
    log_density: Callable[..., Variable],
    ratio: Callable[..., Variable],
    calm: Any,
    upward: Variable,
    x: Variable,
    *parameters: Variable,
) -> tuple[Variable, Variable]:
    """The sum of the probabilities on the side of x where there are fewer, and the rest, in their order."""

    def summed(first: Variable, upward: Variable, calm: Variable, *parameters: Variable) -> Variable:
        return tail(exp(log_density(first, *parameters)), first, upward, ratio, calm, parameters)

    first = stop_gradient(where(upward, x + 1, x))
    total = by_slopes(summed)(*broadcast_arrays(first, upward, calm, *parameters))
    return where(upward, 1 - total, total), where(upward, total, 1 - total)
