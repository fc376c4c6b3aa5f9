"""Cases of `ops/random/vectors`: vectors of normal numbers, counts of categories, their numbers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy import special

import tg
from tg.errors import InputError, LinAlgError
from tg.ops.random.vectors import FAMILY
from tg.plugin.case import Case, fixed
from tg_conformance.cases.elementwise.draws import binomial
from tg_conformance.cases.family import of_family
from tg_conformance.threefry import bits, number

KEY: Final = fixed([2718281828, 3141592653], "uint32")
COUNT: Final = 20
METHODS: Final = ("cholesky", "eigh", "svd")


def _units(key: Any, shape: tuple[int, ...]) -> Any:
    return np.ldexp((bits(number(key), shape, 64) >> 12).astype(np.float64), -52)


def _normal_vectors(key: Any, mean: Any, cov: Any) -> tuple[Any, ...]:
    mean, cov = mean.astype(np.float64), cov.astype(np.float64)
    z = np.sqrt(2) * special.erfinv(2 * _units(key, (COUNT, len(mean))) + (2.0**-53 - 1))
    values, vectors = np.linalg.eigh(cov)
    lower, symmetric = np.linalg.cholesky(cov), vectors * np.sqrt(values) @ vectors.T
    return tuple(mean + z @ root.T for root in (lower, symmetric, symmetric))


def _categories(key: Any, p: Any) -> tuple[Any, Any]:
    scores = np.log(p) - np.log(-np.log(_units(key, (COUNT, len(p)))))
    return scores.argmax(-1), scores.argmax(-1)


def _counts(key: Any, n: Any, p: Any) -> Any:
    own = bits(number(key), (*n.shape, len(p)), 64)
    counts = np.zeros(own.shape, np.int64)
    for j, rest in enumerate(n):
        for k in range(len(p)):
            share = p[k] / p[k:].sum()
            counts[j, k] = binomial(float(rest), float(share), int(own[j, k]))
            rest -= counts[j, k]  # noqa: PLW2901 (what is left for the next one)
    return counts


WRITTEN: Final = (
    Case(
        lambda key, mean, cov: tuple(
            tg.random.multivariate_normal(key, mean, cov, shape=(COUNT,), method=method) for method in METHODS
        ),
        [KEY, fixed([1.0, -2.0]), fixed([[2.0, 0.6], [0.6, 1.0]])],
        name="multivariate_normal",
        oracle=_normal_vectors,
        accuracy=64,
        condition=lambda key, mean, cov: tuple(8 + np.abs(v) ** 2 for v in _normal_vectors(key, mean, cov)),
        layouts=("C",),
        static=(False,),
    ),
    Case(
        lambda key, cov: tg.random.multivariate_normal(key, np.zeros(2), cov),
        [KEY, fixed([[1.0, 2.0], [2.0, 1.0]])],
        name="a covariance that is none",
        raises=LinAlgError,
    ),
    Case(
        lambda key, p: (
            tg.random.categorical(key, p, shape=(COUNT,)),
            tg.random.categorical(key, logits=tg.log(p), shape=(COUNT,)),
        ),
        [KEY, fixed([0.2, 3.0, 1.0])],
        name="categorical",
        oracle=_categories,
        layouts=("C",),
        static=(False,),
    ),
    Case(
        tg.random.multinomial,
        [KEY, fixed([0, 20, 500], "int64"), fixed([0.1, 0.0, 0.6, 0.3])],
        name="multinomial",
        oracle=_counts,
        layouts=("C",),
        static=(False,),
    ),
    Case(tg.random.categorical, [KEY], name="categorical of nothing", raises=InputError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
