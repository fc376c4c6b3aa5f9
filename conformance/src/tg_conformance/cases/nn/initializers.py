"""Cases of `ops/nn/initializers`: uniform weights bit for bit, others by quantiles and by what they must be."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from scipy import special

import tg
from tg.errors import ShapeError
from tg.ops.nn.initializers import FAMILY
from tg.plugin.case import Case, fixed
from tg_conformance.cases.family import of_family
from tg_conformance.threefry import bits, number

KEY: Final = fixed([2718281828, 3141592653], "uint32")
SHAPE: Final = (6, 4, 5)
init: Final = tg.nn.init


def _uniform(key: Any, dtype: Any = np.float64) -> Any:
    """Numbers in [0, 1) of the high bits."""
    width, places = (64, 52) if dtype == np.float64 else (32, 23)
    return np.ldexp((bits(number(key), SHAPE, width) >> (width - places)).astype(np.float64), -places).astype(dtype)


def _between(key: Any, dtype: Any, size: float) -> Any:
    """Numbers in [-1, 1), times a root that is computed in the dtype."""
    return (2 * _uniform(key, dtype) - 1) * np.sqrt(np.asarray(3, dtype) * np.asarray(size, dtype))


def _normal(key: Any) -> Any:
    return np.sqrt(2) * special.erfinv(2 * _uniform(key) + (2.0**-53 - 1))


def _truncated(key: Any) -> Any:
    a = special.erf(np.sqrt(2))
    return np.sqrt(2) * special.erfinv(_uniform(key) * 2 * a - a)


def _products(tall: Any, wide: Any) -> Any:
    rows = tg.reshape(tall, (-1, 5))
    return rows.mT @ rows, wide @ wide.mT


WRITTEN: Final = (
    Case(
        lambda key: (
            init.glorot_uniform(key, SHAPE),
            init.he_uniform(key, SHAPE, "float64", 1, 0),
            init.lecun_uniform(key, SHAPE, "float64", batch_axis=0),
        ),
        [KEY],
        name="uniform weights",
        accuracy=0,
        oracle=lambda key: (
            _between(key, np.float32, 1 / 27),
            _between(key, np.float64, 2 / 20),
            _between(key, np.float64, 1 / 4),
        ),
    ),
    Case(
        lambda key: (
            init.normal(key, SHAPE, "float64", stddev=1.0),
            init.variance_scaling(key, SHAPE, 4.0, "fan_out", "normal", "float64"),
            init.truncated_normal(key, SHAPE, "float64", stddev=1.0),
            init.he_normal(key, SHAPE, "float64"),
        ),
        [KEY],
        name="normal weights",
        condition=lambda key: (16, 16, 64, 16),
        oracle=lambda key: (
            _normal(key),
            _normal(key) * 2 / np.sqrt(30),
            _truncated(key),
            _truncated(key) * np.sqrt(2 / 24) / 0.87962566103423978,
        ),
    ),
    Case(
        lambda key: _products(init.orthogonal(key, (3, 4, 5), "float64"), init.orthogonal(key, (2, 7), "float64")),
        [KEY],
        name="orthogonal weights",
        condition=lambda key: (16, 16),
        oracle=lambda key: (np.eye(5), np.eye(2)),
    ),
    Case(
        lambda key: (init.zeros(key, (2, 3)), init.ones(key, (2,), "int8"), init.constant(key, (2,), 0.5)),
        [KEY],
        name="weights without draws",
        oracle=lambda key: (np.zeros((2, 3)), np.ones(2), np.full(2, 0.5)),
    ),
    Case(lambda key: init.he_uniform(key, (3,)), [KEY], name="a weight of one axis", raises=ShapeError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
