"""Cases of `ops/histogram`: edges, values on them and outside, weights, lengths that depend on values."""

from __future__ import annotations

from typing import Final

import numpy as np

import tg
from tg.errors import BoundsError, DomainError, ShapeError
from tg.ops.histogram import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed, i64
from tg_conformance.cases.family import of_family, twin

EDGES: Final = np.array([-2.0, -0.5, 0.0, 1.5, 2.0])

WRITTEN: Final = (
    twin(
        "bincount",
        lambda m, x: (m.bincount(x), m.bincount(x, minlength=12)),
        any_dtype("m", values="ties"),
        dtypes=("bool", "int8", "uint16", "int64"),
    ),
    Case(
        lambda x, w: tg.bincount(x, weights=w, minlength=2),
        [i64("m", values="ties"), f64("m")],
        name="bincount with weights",
        oracle=lambda x, w: np.array([np.sum(w[x == k]) for k in range(max(2, x.max(initial=-1) + 1))]),
        condition=lambda x, w: np.sum(abs(w)),
        gradient=True,
    ),
    twin("bincount of nothing", lambda m, x: (m.bincount(x), m.bincount(x, minlength=3)), i64(0)),
    Case(
        lambda x: tg.bincount(x, size=3),
        [i64("m", low=0, high=5, values="integers")],
        name="bincount of a size",
        oracle=lambda x: np.bincount(x, minlength=3)[:3],
    ),
    Case(tg.bincount, [fixed([1, -1, 2], "int64")], name="bincount of a negative number", raises=BoundsError),
    twin(
        "histogram",
        lambda m, x: m.histogram(x, 7),
        any_dtype("n", "m"),
        dtypes=("int32", "float64"),
        accuracy=8,
    ),
    twin("histogram of given edges", lambda m, x: m.histogram(x, EDGES)[0], f64("n", "m")),
    twin(
        "histogram at the edges", lambda m, x: m.histogram(x, EDGES)[0], fixed([-2.0, -0.5, 0.0, 1.5, 2.0, 2.5, -9.0])
    ),
    twin("histogram of a range", lambda m, x: m.histogram(x, 4, range=(-1.0, 2.0))[0], f64("n", "m")),
    twin("histogram of one value", lambda m, x: m.histogram(x, 3), fixed([2.5, 2.5])),
    twin("histogram of nothing", lambda m, x: m.histogram(x, 3), f64(0)),
    twin(
        "histogram density",
        lambda m, x: m.histogram(x, EDGES, density=True)[0],
        f64("n", "m"),
    ),
    twin(
        "histogram with weights",
        lambda m, x, w: m.histogram(x, EDGES, weights=w)[0],
        f64("m"),
        f64("m"),
        condition=lambda x, w: np.sum(abs(w)),
    ),
    Case(
        lambda x: tg.histogram(x, EDGES)[0],
        [fixed([float("nan"), 0.25, 9.0])],
        name="histogram of nan",
        oracle=lambda x: np.array([0, 0, 1, 0]),
    ),
    Case(
        tg.bincount,
        [fixed([1, 0, 2], "int64"), fixed([0.5])],
        name="bincount with one weight for all",
        raises=ShapeError,
    ),
    Case(lambda x: tg.histogram(x, 3, (1, -1))[0], [f64("n")], name="histogram of no range", raises=DomainError),
    Case(lambda x: tg.histogram(x, [0, 2, 1])[0], [f64("n")], name="histogram of no edges", raises=DomainError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
