"""Cases of `ops/random/continuous`: uniform numbers bit for bit, others by SciPy's quantiles of these."""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np
from scipy import special

import tg
from tg.errors import DtypeError, InputError, ShapeError
from tg.ops.random.continuous import FAMILY
from tg.plugin.case import Case, f64, fixed
from tg_conformance.cases.family import of_family
from tg_conformance.threefry import bits, number

KEY: Final = fixed([2718281828, 3141592653], "uint32")
COUNT: Final = 60
FORMATS: Final = (("float64", 64, 52), ("float32", 32, 23), ("float16", 16, 10), ("bfloat16", 8, 7))


def _uniform(key: Any, shape: tuple[int, ...], width: int = 64, places: int = 52, dtype: Any = np.float64) -> Any:
    whole = bits(number(key), shape, width) >> (width - places)
    return np.ldexp(whole.astype(np.float64), -places).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def _between(u: Any, low: Any, high: Any) -> Any:
    """Rounded as float64 rounds: the product, then the sum."""
    return low + u * (high - low)


def _standard(u: Any) -> tuple[Any, ...]:
    """The quantiles of the distributions at uniform numbers, none of which is near 0 or 1."""
    t = 2 * u + (2.0**-53 - 1)
    c = u * (1 - 2.0**-52) + 2.0**-52
    return (
        np.sqrt(2) * special.erfinv(t),
        -np.log1p(-u),
        np.sign(t) * np.log1p(-np.abs(t)),
        special.logit(u),
        -np.log(-np.log(u)),
        -1 / np.tan(np.pi * c),
    )


def _all(key: Any, loc: Any, scale: Any, shape: Any) -> tuple[Any, ...]:
    r = tg.random
    return (
        r.normal(key, loc, scale, shape=shape),
        r.exponential(key, scale, shape=shape) + loc,
        r.laplace(key, loc, scale, shape=shape),
        r.logistic(key, loc, scale, shape=shape),
        r.gumbel(key, loc, scale, shape=shape),
        r.cauchy(key, loc, scale, shape=shape),
    )


def _sizes(key: Any, loc: Any, scale: Any) -> tuple[Any, ...]:
    """The terms: an error of the uniform number counts as the quantile's slope says."""
    z = _standard(_uniform(key, (COUNT, 3)))
    return tuple(np.abs(loc) + np.abs(scale) * (1 + v * v) for v in z)


WRITTEN: Final = (
    Case(
        lambda key: tuple(tg.random.uniform(key, shape=(11, 3), dtype=dtype) for dtype, _, _ in FORMATS),
        [KEY],
        name="uniform",
        oracle=lambda key: tuple(_uniform(key, (11, 3), width, places, dtype) for dtype, width, places in FORMATS),
        accuracy=0,
    ),
    Case(
        lambda key, low, high: tg.random.uniform(key, low, high, shape=(COUNT, 3)),
        [KEY, fixed([-1.0, 0.25, 5.0]), fixed([2.0, 0.25, -7.0])],
        name="uniform between limits",
        oracle=lambda key, low, high: _between(_uniform(key, (COUNT, 3)), low.astype(float), high.astype(float)),
        accuracy=0,
    ),
    Case(
        lambda key, loc, scale: _all(key, loc, scale, (COUNT, 3)),
        [KEY, f64(3), f64(3, low=0.5)],
        name="draws by quantiles",
        oracle=lambda key, loc, scale: tuple(loc + scale * z for z in _standard(_uniform(key, (COUNT, 3)))),
        condition=_sizes,
        accuracy=16,
    ),
    Case(
        lambda key, loc, scale: tg.grad(tg.sum(tg.random.normal(key, loc, scale) ** 2), [loc, scale]),
        [KEY, fixed([0.5, -2.0, 3.0]), fixed([1.0, 2.0, 0.25])],
        name="gradient of a draw by its parameters",
        oracle=lambda key, loc, scale: (
            2 * (loc + scale * _standard(_uniform(key, (3,)))[0]),
            2 * (loc + scale * _standard(_uniform(key, (3,)))[0]) * _standard(_uniform(key, (3,)))[0],
        ),
        condition=lambda key, loc, scale: (np.full(3, 16.0),) * 2,
    ),
    Case(
        lambda key, p: (tg.random.bernoulli(key, p), tg.random.bernoulli(key, 0.3, shape=(40,))),
        [KEY, fixed([0.0, 0.5, 1.0, float("nan")])],
        name="bernoulli",
        oracle=lambda key, p: (_uniform(key, (4,)) < p, _uniform(key, (40,)) < 0.3),
    ),
    Case(
        lambda keys: tg.scan(
            lambda total, key: (total + tg.random.uniform(key), tg.random.uniform(key, shape=(2,))), 0.0, keys
        ),
        [fixed([[0, 1], [2, 3], [4, 5]], "uint32")],
        name="draws in a loop",
        oracle=lambda keys: (
            sum(_uniform(key, ()) for key in keys),
            np.array([_uniform(key, (2,)) for key in keys]),
        ),
    ),
    Case(lambda key: tg.random.normal(key, (3,)), [KEY], name="a shape as loc", raises=InputError),
    Case(lambda key: tg.random.normal(key, dtype="int32"), [KEY], name="normal of integers", raises=DtypeError),
    Case(
        lambda key, loc: tg.random.normal(key, loc, shape=(3,)),
        [KEY, f64(2, static=True)],
        name="parameters of another shape",
        raises=ShapeError,
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
