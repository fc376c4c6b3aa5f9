"""Cases of `ops/random/counts`: what is more than one draw of own bits; what is not a number is -1."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from scipy import special

import tg
from tg.errors import DtypeError
from tg.ops.random.counts import FAMILY
from tg.plugin.case import Case, fixed
from tg_conformance.cases.elementwise.draws import binomial, gamma, log_gamma, poisson, uniform
from tg_conformance.cases.family import of_family
from tg_conformance.threefry import bits, number, threefry

KEY: Final = fixed([2718281828, 3141592653], "uint32")
COUNT: Final = 30


def _geometric(p: float, own: int) -> float:
    return max(1.0, math.ceil(math.log(uniform(own)) / math.log1p(-p)))


def _nbinom(n: float, p: float, own: int) -> float:
    return poisson(gamma(n, threefry(own, 0)) * (1 - p) / p, threefry(own, 1))


def _nbinom2(mu: float, alpha: float, own: int) -> float:
    return poisson(gamma(alpha, threefry(own, 0)) / alpha * mu, threefry(own, 1))


def _betabinom(n: float, a: float, b: float, own: int) -> float:
    p = float(special.expit(log_gamma(a, threefry(own, 0)) - log_gamma(b, threefry(own, 1))))
    return binomial(n, p, threefry(own, 2))


METHODS: Final[list[tuple[Any, Any, tuple[float, ...]]]] = [
    (tg.random.poisson, poisson, (-1.0,)),
    (tg.random.betabinom, _betabinom, (30, 2.0, 3.0)),
    (tg.random.nbinom, _nbinom, (2.5, 0.3)),
    (tg.random.nbinom2, _nbinom2, (4.0, 2.5)),
    (tg.random.geometric, _geometric, (0.1,)),
]


def _one_by_one(key: Any, shift: Any) -> tuple[Any, ...]:
    own = [int(word) for word in bits(number(key), (COUNT,), 64)]
    draws = (np.array([method(*parameters, word) for word in own]) for _, method, parameters in METHODS)
    return tuple(np.where(np.isnan(v), -1, v).astype("int64") for v in draws)


WRITTEN: Final = (
    Case(
        lambda key, shift: tuple(
            sampler(key, given[0] + shift, *given[1:], shape=(COUNT,)) for sampler, _, given in METHODS
        ),
        [KEY, fixed(0.0)],
        name="counts",
        oracle=_one_by_one,
        layouts=("C",),
        static=(False,),
    ),
    Case(
        lambda key: tg.random.poisson(key, 3.0, dtype="uint8"), [KEY], name="counts without a sign", raises=DtypeError
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
