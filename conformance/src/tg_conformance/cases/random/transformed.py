"""Cases of `ops/random/transformed`: SciPy's quantiles of uniform numbers, and draws of own bits one by one."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy import special, stats

import tg
from tg.errors import DtypeError, InputError
from tg.ops.random.transformed import FAMILY
from tg.plugin.case import Case, fixed
from tg_conformance.cases.elementwise.draws import uniform, vonmises, wald
from tg_conformance.cases.family import of_family
from tg_conformance.threefry import bits, number

KEY: Final = fixed([2718281828, 3141592653], "uint32")
COUNT: Final = 40


def _units(key: Any) -> Any:
    """Uniform numbers of [0, 1)."""
    return np.ldexp((bits(number(key), (COUNT,), 64) >> 12).astype(np.float64), -52)


def _middles(key: Any) -> Any:
    """Uniform numbers of (0, 1)."""
    return np.array([uniform(int(word)) for word in bits(number(key), (COUNT,), 64)])


def _one_by_one(key: Any, method: Any, *parameters: float) -> Any:
    return np.array([method(*parameters, int(word)) for word in bits(number(key), (COUNT,), 64)])


def _all(key: Any, a: Any) -> tuple[Any, ...]:
    r, shape = tg.random, (COUNT,)
    return (
        r.standard_normal(key, shape=shape),
        r.lognormal(key, 0.5, a, shape=shape),
        r.halfnormal(key, 1.0, a, shape=shape),
        r.truncnorm(key, -1.0, a, shape=shape),
        r.truncnorm(key, 30.0, 30.0 + a, shape=shape),
        r.truncexpon(key, a, 1.0, 2.0, shape=shape),
        r.halfcauchy(key, 1.0, a, shape=shape),
        r.rayleigh(key, a, shape=shape),
        r.weibull(key, a, 2.0, shape=shape),
        r.pareto(key, 3.0, a, shape=shape),
        r.power(key, a, shape=shape),
        r.triangular(key, -1.0, 0.5, a, shape=shape),
        r.wald(key, a, 2.0, shape=shape),
        r.vonmises(key, 3.0, a, shape=shape),
    )


def _quantiles(key: Any, a: Any) -> tuple[Any, ...]:
    u, middle, a = _units(key), _middles(key), float(a)
    z = np.sqrt(2) * special.erfinv(2 * u + (2.0**-53 - 1))
    e = -np.log1p(-u)
    angle = 3.0 + _one_by_one(key, vonmises, a)
    return (
        z,
        np.exp(0.5 + a * z),
        1 + a * np.abs(z),
        stats.truncnorm(-1, a).ppf(middle),
        stats.truncnorm(30, 30 + a).ppf(middle),
        stats.truncexpon(a, 1, 2).ppf(u),
        1 + a * np.tan(np.pi / 2 * u),
        a * np.sqrt(2 * e),
        2 * e ** (1 / a),
        a * np.exp(e / 3),
        np.exp(-e / a),
        stats.triang(1.5 / (a + 1), -1, a + 1).ppf(u),
        _one_by_one(key, wald, a, 2.0),
        np.arctan2(np.sin(angle), np.cos(angle)),
    )


def _sizes(key: Any, a: Any) -> tuple[Any, ...]:
    """An error of the uniform number counts as the quantile's slope says, which is at most that of its square."""
    return tuple(1 + np.abs(v) + v * v for v in _quantiles(key, a))


WRITTEN: Final = (
    Case(
        _all,
        [KEY, fixed(1.5)],
        name="draws",
        oracle=_quantiles,
        condition=_sizes,
        accuracy=32,
        layouts=("C",),
        static=(False,),
    ),
    Case(
        lambda key, a: (
            tg.random.weibull(key, -a),
            tg.random.pareto(key, -a),
            tg.random.power(key, -a),
            tg.random.triangular(key, 0.0, -a, a),
            tg.random.truncexpon(key, -a),
        ),
        [KEY, fixed(1.5)],
        name="parameters of no distribution",
        layouts=("C",),
        static=(False,),
        oracle=lambda key, a: (np.array(np.nan),) * 5,
    ),
    Case(lambda key: tg.random.rayleigh(key, dtype="int32"), [KEY], name="rayleigh of integers", raises=DtypeError),
    Case(
        lambda *given: tg.random.lognormal(*given, (3,)),  # type: ignore[call-arg]
        [KEY, fixed(0.0), fixed(1.0)],
        name="a shape by position",
        raises=InputError,
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
