"""Cases of `ops/random/gammas`: what is made of gamma draws, one by one."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy import special

import tg
from tg.errors import DtypeError, ShapeError
from tg.ops.random.gammas import FAMILY
from tg.plugin.case import Case, fixed
from tg_conformance.cases.elementwise.draws import log_gamma, normal
from tg_conformance.cases.family import of_family
from tg_conformance.threefry import bits, number, threefry

KEY: Final = fixed([2718281828, 3141592653], "uint32")
COUNT: Final = 20


def _all(key: Any, a: Any, b: Any) -> tuple[Any, ...]:
    r, shape = tg.random, (COUNT, 2)
    return (
        r.gamma(key, a, b, shape=shape, dtype="float32"),
        r.gengamma(key, a, -2.0, b, shape=shape),
        r.beta(key, a, b, shape=shape),
        r.t(key, a, 1.0, b, shape=shape),
    )


def _logs(shapes: Any, own: Any) -> Any:
    """Logarithms of gamma draws, each of its own bits."""
    return np.array([[log_gamma(float(a), int(o)) for a, o in zip(shapes, row, strict=True)] for row in own])


def _one_by_one(key: Any, a: Any, b: Any) -> tuple[Any, ...]:
    own = bits(number(key), (COUNT, 2), 64)
    first, second = (np.vectorize(lambda o, k=k: threefry(int(o), k), otypes=[np.uint64])(own) for k in range(2))
    whole, under = _logs(a, own), _logs(a / 2, second)
    z = np.vectorize(lambda o: normal(int(o)))(first)
    return (
        (b * np.exp(whole)).astype("float32"),
        b * np.exp(whole / -2),
        special.expit((_logs(a, first) - _logs(b, second)).astype(np.float64)),
        1 + b * z * np.exp(0.5 * (np.log(a / 2) - under)),
    )


def _sizes(key: Any, a: Any, b: Any) -> tuple[Any, ...]:
    return tuple(4 + np.abs(v) * (4 + np.log1p(np.abs(v))) for v in _one_by_one(key, a, b))


def _of_alpha(key: Any, alpha: Any) -> Any:
    own = bits(number(key), (COUNT, *alpha.shape), 64)
    places = np.ndindex(own.shape)
    logs = np.reshape([log_gamma(float(alpha[k]), int(own[j, k])) for j, k in places], own.shape)
    return special.softmax(logs, -1)


WRITTEN: Final = (
    Case(
        _all,
        [KEY, fixed([0.6, 7.0]), fixed([2.0, 3.5])],
        name="draws",
        oracle=_one_by_one,
        condition=_sizes,
        accuracy=64,
        layouts=("C",),
        static=(False,),
    ),
    Case(
        lambda key, alpha: tg.random.dirichlet(key, alpha, shape=(COUNT,)),
        [KEY, fixed([0.4, 1e-3, 3.0])],
        name="dirichlet",
        oracle=_of_alpha,
        condition=lambda key, alpha: 1e-3 + 16 * _of_alpha(key, alpha),
        accuracy=64,
        layouts=("C",),
        static=(False,),
    ),
    Case(lambda key: tg.random.dirichlet(key, 2.0), [KEY], name="dirichlet of a scalar", raises=ShapeError),
    Case(lambda key: tg.random.gamma(key, 2.0, dtype="int32"), [KEY], name="gamma of integers", raises=DtypeError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
