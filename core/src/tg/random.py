"""`tg.random`: random numbers of explicit keys, the same on every backend.

    key = tg.random.key(42)
    x = tg.random.normal(key, shape=(1000,))

A key gives the same numbers whenever it is used: `split` and `fold_in` make others of it.
"""

from __future__ import annotations

from typing import Any

import tg
from tg.ops.random.continuous import (
    bernoulli,
    cauchy,
    exponential,
    gumbel,
    laplace,
    logistic,
    normal,
    uniform,
)
from tg.ops.random.integers import choice, integers, permutation
from tg.ops.random.keys import bits, fold_in, key, split
from tg.words import unknown_in

__all__ = [
    "bernoulli",
    "bits",
    "cauchy",
    "choice",
    "exponential",
    "fold_in",
    "gumbel",
    "integers",
    "key",
    "laplace",
    "logistic",
    "normal",
    "permutation",
    "split",
    "uniform",
]


def __getattr__(name: str) -> Any:
    text = name if name.startswith("__") else unknown_in(__name__, __all__, name, dir(tg))
    raise AttributeError(text, name=name)
