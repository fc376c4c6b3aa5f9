"""Cases of `ops/assumptions`: promises that are kept change no result, wherever they stand."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.assumptions import FAMILY
from tg.plugin.case import Case, any_dtype, f64
from tg_conformance.cases.family import of_family

FLOATS: Final = ("float32", "float64")
ALL: Final = ("bool", "int8", "uint8", "int64", "float16", "float32", "float64", "complex128")


def promised(x: Any) -> Any:
    """Values that a promise makes cheaper to compute, over an input and over a result."""
    v = tg.assume(x, positive=True, finite=True)
    w = tg.assume(v + 1, positive=True)
    return tg.absolute(v), tg.sqrt(w * w), tg.sign(w), tg.maximum(v, 0), tg.log(tg.exp(v))


def promised_oracle(x: Any) -> Any:
    """The same with NumPy."""
    return np.abs(x), np.sqrt((x + 1) * (x + 1)), np.sign(x + 1), np.maximum(x, 0), np.log(np.exp(x))


def symmetric(x: Any) -> Any:
    """A matrix that is promised to be what it is."""
    s = tg.assume(x + x.T, symmetric=True)
    return s @ s.T, tg.exp(s).T, tg.sum(tg.tril(s))


def symmetric_oracle(x: Any) -> Any:
    """The same with NumPy."""
    s = x + x.T
    return s @ s.T, np.exp(s).T, np.sum(np.tril(s))


def in_a_call(x: Any) -> Any:
    """A promise inside an inner graph, and none outside."""
    return tg.call(lambda v: tg.absolute(tg.assume(v, nonnegative=True)), tg.absolute(x)) + tg.absolute(x)


CASES: Final = of_family(
    FAMILY.path,
    Case(
        lambda x: tg.assume(x, not_nan=True),
        [any_dtype("n", "m")],
        name="assume",
        dtypes=ALL,
        oracle=lambda x: x,
    ),
    Case(
        promised,
        [any_dtype("n", "m", low=0.5, high=3.0)],
        name="assume positive",
        dtypes=FLOATS,
        oracle=promised_oracle,
        accuracy=16,
        gradient=True,
    ),
    Case(
        symmetric,
        [f64("n", "n")],
        name="assume symmetric",
        oracle=symmetric_oracle,
        condition=lambda x: (np.abs(x + x.T) @ np.abs(x + x.T), np.exp(x + x.T), np.abs(x + x.T).sum()),
        accuracy=16,
        gradient=True,
    ),
    Case(in_a_call, [f64("n")], name="assume inside a call", oracle=lambda x: 2 * abs(x)),
)
