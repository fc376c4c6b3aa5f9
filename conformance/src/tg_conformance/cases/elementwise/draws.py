"""Cases of `ops/elementwise/draws`: the methods of their papers in Python's numbers, one element at a time."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any, Final

import mpmath
import numpy as np
from scipy import special

import tg
from tg.errors import DtypeError, NotDifferentiable
from tg.ops.elementwise import draws as ops
from tg.ops.elementwise.draws import FAMILY
from tg.plugin.case import Case, f64, fixed
from tg_conformance.cases.family import of_family
from tg_conformance.threefry import bits, threefry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAN: Final = math.nan
INF: Final = math.inf
KEY: Final = 2718281828 << 32 | 3141592653
COUNT: Final = 12  # draws of each set of parameters


def uniform(word: int) -> float:
    """The midpoint of one of 2^52 parts."""
    return ((word >> 12) + 0.5) * 2.0**-52


def normal(word: int) -> float:
    """The quantile of a uniform number."""
    return math.sqrt(2) * float(special.erfinv(2 * uniform(word) - 1))


def words(own: int) -> Iterator[int]:
    """The words that follow an element's own bits."""
    return (threefry(own, k) for k in itertools.count(1))


def log_gamma(a: float, own: int) -> float:
    """Marsaglia and Tsang's method, with their boost below 1."""
    if not 0 < a < INF:
        return -INF if a == 0 else INF if a == INF else NAN
    d = (a + 1 if a < 1 else a) - 1 / 3
    c, source = 1 / math.sqrt(9 * d), words(own)
    while True:
        x, u = normal(next(source)), uniform(next(source))
        v = (1 + c * x) ** 3
        if v > 0 and math.log(u) < 0.5 * x * x + d * (1 - v + math.log(v)):
            return math.log(d * v) + (math.log(uniform(own)) / a if a < 1 else 0.0)


def gamma(a: float, own: int) -> float:
    """The same, of which the logarithm is none where it is too small."""
    return float(np.exp(log_gamma(a, own)))


def searched(u: float, chance: Callable[[int], float]) -> float:
    """The quantile: the first number up to which the probabilities are above u."""
    total, k = chance(0), 0
    while u >= total:
        k += 1
        total += chance(k)
    return float(k)


def poisson(lam: float, own: int) -> float:
    """Quantiles for small means, else Hörmann's PTRS."""
    if not 0 <= lam < 2.0**63:
        return NAN
    if lam < 10:
        return searched(uniform(own), lambda k: math.exp(float(special.xlogy(k, lam)) - lam - math.lgamma(k + 1)))
    b = 0.931 + 2.53 * math.sqrt(lam)
    a = -0.059 + 0.02483 * b
    height, surely = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    source = words(own)
    while True:
        u, v = uniform(next(source)) - 0.5, uniform(next(source))
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + lam + 0.43)
        if us >= 0.07 and v <= surely:
            return float(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        if math.log(v * height / (a / us**2 + b)) <= k * math.log(lam) - lam - math.lgamma(k + 1):
            return float(k)


def log_choose(n: float, k: float) -> float:
    """The logarithm of a binomial coefficient."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def binomial(n: float, p: float, own: int) -> float:
    """Quantiles for small means of the rarer outcome, else Hörmann's BTRS."""
    if not (n >= 0 and 0 <= p <= 1):
        return NAN
    if p > 0.5:
        return n - binomial(n, 1 - p, own)

    def log_chance(k: float) -> float:
        return log_choose(n, k) + float(special.xlogy(k, p) + special.xlog1py(n - k, -p))

    if n * p < 10:
        return searched(uniform(own), lambda k: math.exp(log_chance(k)) if k <= n else 0.0)
    spread = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    height, surely = (2.83 + 5.1 / b) * spread, 0.92 - 4.2 / b
    mode, source = math.floor((n + 1) * p), words(own)
    while True:
        u, v = uniform(next(source)) - 0.5, uniform(next(source))
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + n * p + 0.5)
        if not 0 <= k <= n:
            continue
        if us >= 0.07 and v <= surely:
            return float(k)
        if math.log(v * height / (a / us**2 + b)) <= log_chance(k) - log_chance(mode):
            return float(k)


def hypergeometric(good: float, bad: float, chosen: float, own: int) -> float:
    """Quantiles for few things, else Stadlober's ratio of uniform numbers."""
    n = good + bad
    if not (good >= 0 and bad >= 0 and 0 <= chosen <= n):
        return NAN
    if chosen > n - chosen:
        return good - hypergeometric(good, bad, n - chosen, own)
    if good > bad:
        return chosen - hypergeometric(bad, good, chosen, own)

    def log_chance(j: float) -> float:
        return log_choose(good, j) + log_choose(bad, chosen - j) - log_choose(n, chosen)

    most = min(good, chosen)
    if most < 10:
        return searched(uniform(own), lambda j: math.exp(log_chance(j)) if j <= most else 0.0)
    mean = chosen * good / n
    spread = math.sqrt((n - chosen) * mean * (bad / n) / (n - 1) + 0.5)
    width = 2 * math.sqrt(2 / math.e) * spread + 3 - 2 * math.sqrt(3 / math.e)
    mode, source = math.floor((chosen + 1) * (good + 1) / (n + 2)), words(own)
    while True:
        u, v = uniform(next(source)), uniform(next(source))
        j = math.floor(mean + 0.5 + width * (v - 0.5) / u)
        if 0 <= j <= most and 2 * math.log(u) <= log_chance(j) - log_chance(mode):
            return float(j)


def vonmises(kappa: float, own: int) -> float:
    """Best and Fisher's method; even for 0, normal from a million on."""
    if not 0 < kappa < 1e6:
        even, peaked = (2 * uniform(own) - 1) * math.pi, normal(own) / math.sqrt(abs(kappa) or 1)
        return even if kappa == 0 else peaked if kappa > 0 else NAN
    with mpmath.workdps(30):  # s is near 1, and so are cosines of small angles
        kappa = mpmath.mpf(kappa)
        r = 1 + mpmath.sqrt(1 + 4 * kappa * kappa)
        rho = (r - mpmath.sqrt(2 * r)) / (2 * kappa)
        s, source = (1 + rho * rho) / (2 * rho), words(own)
        while True:
            z, v = mpmath.cos(mpmath.pi * uniform(next(source))), uniform(next(source))
            w = (1 + s * z) / (s + z)
            y = kappa * (s - w)
            if mpmath.log(y / v) + 1 - y >= 0:
                return math.copysign(float(mpmath.acos(w)), uniform(own) - 0.5)


def wald(mean: float, scale: float, own: int) -> float:
    """Michael, Schucany and Haas' method."""
    if not (mean > 0 and scale > 0):
        return NAN
    y = mean * normal(threefry(own, 1)) ** 2
    larger = mean + mean * (y + math.sqrt(4 * scale * y + y * y)) / (2 * scale)
    x = mean * mean / larger
    return x if uniform(own) * (mean + x) <= mean else larger


PARAMETERS: Final[dict[Any, tuple[Any, list[list[float]]]]] = {
    ops.gamma_draw: (gamma, [[0.0, 1e-3, 0.3, 1.0, 2.5, 40.0, 1e6, INF, -1.0, NAN]]),
    ops.log_gamma_draw: (log_gamma, [[0.0, 1e-3, 0.3, 1.0, 2.5, 40.0, 1e6, INF, -1.0, NAN]]),
    ops.poisson_draw: (poisson, [[0.0, 0.02, 4.0, 9.99, 10.0, 35.0, 1e6, -1.0, NAN, INF]]),
    ops.binomial_draw: (
        binomial,
        [[0, 1, 20, 20, 40, 40, 1000, 10**6, 5, -1, 5], [0.3, 0.5, 0.3, 0.97, 0.25, 0.75, 0.5, 0.999, 1.5, 0.5, NAN]],
    ),
    ops.hypergeometric_draw: (
        hypergeometric,
        [[5, 7, 3, 60, 40, 50, 12, 0, 3], [7, 5, 400, 40, 60, 50, 1000, 9, 4], [4, 9, 200, 30, 70, 50, 500, 4, 8]],
    ),
    ops.vonmises_draw: (vonmises, [[0.0, 0.01, 1.0, 50.0, 4e6, INF, -1.0, NAN]]),
    ops.wald_draw: (wald, [[1.0, 300.0, 2.0, 1.0, NAN], [2.0, 1.0, 500.0, -1.0, 1.0]]),
}


def _one_by_one(method: Callable[..., float], *arrays: Any) -> Any:
    """The method for each element, of the bits that its place has."""
    shape = (COUNT, *np.broadcast_shapes(*(a.shape for a in arrays)))
    own = bits(KEY, shape, 64)
    operands = np.broadcast_arrays(own, *(np.asarray(a, np.float64) for a in arrays))
    draws = [method(*map(float, place), int(o)) for o, *place in zip(*(v.ravel() for v in operands), strict=True)]
    return np.array(draws).reshape(shape)


def _size(method: Callable[..., float]) -> Callable[..., Any]:
    """The magnitude to which rounding is relative: a logarithm's error is that of the number it is exponentiated to."""

    def of(*arrays: Any) -> Any:
        y = np.abs(_one_by_one(method, *arrays))
        finite = np.where(np.isfinite(y) & (y > 0), y, 1.0)
        return finite * (4 + np.abs(np.log(finite)))

    return of


def _own(arrays: Any) -> Any:
    """Own bits for some draws of each set of parameters."""
    packed = np.array([KEY >> 32, KEY & 0xFFFFFFFF], np.uint32)
    return tg.random.bits(tg.constant(packed), (COUNT, *arrays[0].shape))


def _draws(function: Any) -> Case:
    method, values = PARAMETERS[function]
    return Case(
        lambda *arrays: function(*arrays, _own(arrays)),
        [fixed([float(v) for v in each], "float64") for each in values],
        name=function.name,
        layouts=("C",),
        static=(False,),
        oracle=functools.partial(_one_by_one, method),
        condition=_size(method),
        accuracy=64,
    )


def _slope(a: float, y: float) -> float:
    """The derivative of a gamma draw in its shape: -(dP/da) / (dP/dy), by mpmath."""
    with mpmath.workdps(30):
        in_shape = mpmath.diff(lambda s: mpmath.gammainc(s, 0, y, regularized=True), mpmath.mpf(a))
        density = mpmath.exp((a - 1) * mpmath.log(y) - y - mpmath.loggamma(a))
        return float(-in_shape / density)


def _slopes(a: Any) -> Any:
    y = _one_by_one(gamma, a)
    return y, np.sum([[_slope(*map(float, place)) for place in zip(a, row, strict=True)] for row in y], 0)


def _with_slopes(a: Any) -> Any:
    y = ops.gamma_draw(a, _own([a]))
    return y, tg.grad(tg.sum(y), a)


WRITTEN: Final = (
    *map(_draws, PARAMETERS),
    Case(
        _with_slopes,
        [fixed([0.3, 1.0, 2.5, 40.0], "float64")],
        name="derivative of gamma_draw in its shape",
        layouts=("C",),
        static=(False,),
        oracle=_slopes,
        accuracy=512,
        condition=lambda a: (8 * np.abs(_slopes(a)[0]), COUNT + np.abs(_slopes(a)[1])),
    ),
    Case(
        lambda kappa: tg.grad(tg.sum(ops.vonmises_draw(kappa, _own([kappa]))), kappa),
        [f64(2)],
        name="derivative of vonmises_draw",
        raises=NotDifferentiable,
    ),
    Case(lambda a: ops.gamma_draw(a, a), [f64(2)], name="own bits that are floats", raises=DtypeError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
