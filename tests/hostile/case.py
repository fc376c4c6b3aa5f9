"""A hostile program with its calls, and the arrays that it is called with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Case(NamedTuple):
    """A program, and the arguments that it is called with."""

    name: str
    dtypes: tuple[str, ...]
    ranks: tuple[int, ...]
    outputs: object  # of the variables
    calls: tuple
    every_layout: bool = True  # else the arguments lie at the end of memory, or as they are where they are too large


def numbers(*shape, dtype="float64"):
    """Different values that every dtype has."""
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 11 + 1).astype(dtype)


def whole(values, dtype="int64"):
    return np.array(values, dtype)
