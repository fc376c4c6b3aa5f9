"""Cases of `ops/quantiles`: every method, several axes, NaN, infinities, no elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

import tg
from tg.errors import InputError
from tg.ops.quantiles import FAMILY, METHODS
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import of_family, twin

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARES: Final = np.array([0.0, 0.1, 0.375, 0.5, 0.9, 1.0])
NAN: Final = float("nan")


def methods() -> Iterator[Case]:
    """Every method, with shares at and between elements."""
    for method in METHODS:
        yield twin(
            f"quantile {method}",
            lambda m, x, method=method: m.quantile(x, SHARES, 1, method=method),
            f64("n", "m", values="distinct"),
            condition=lambda x: np.max(abs(x)),
            gradient=True,
        )


WRITTEN: Final = (
    twin(
        "median",
        lambda m, x: (m.median(x), m.median(x, 0), m.median(x, 1, keepdims=True)),
        any_dtype("n", "m", values="distinct"),
        dtypes=("int32", "uint8", "float32", "float64"),
        gradient=True,
    ),
    twin("median over axes", lambda m, x: m.median(x, (0, 2)), f64("n", "p", "k", values="distinct"), gradient=True),
    twin("median with nan", lambda m, x: m.median(x, 1), fixed([[1.0, NAN, 2.0], [5.0, 3.0, 4.0]]), traps=("T23",)),
    Case(
        lambda x: tg.median(x, 1),
        [fixed([[np.inf, np.inf, 1.0, np.inf], [-np.inf, 1.0, 2.0, 3.0], [-np.inf, -np.inf, -np.inf, 0.0]])],
        name="median with infinities",
        oracle=lambda x: np.array([np.inf, 1.5, -np.inf]),
    ),
    Case(
        lambda x: (tg.median(x), tg.median(x, 0)),
        [f64(0, 2)],
        name="median of nothing",
        traps=("T32",),
        oracle=lambda x: (NAN, np.full(2, NAN)),
    ),
    twin(
        "percentile",
        lambda m, x: (m.percentile(x, 30), m.percentile(x, [5, 95], (0, 1), keepdims=True)),
        f64("n", "m"),
        condition=lambda x: (8, 8),
    ),
    twin("quantile of float32", lambda m, x: m.quantile(x, 0.5, 0), any_dtype("n", "m"), dtypes=("float32",)),
    Case(
        lambda x, q: tg.quantile(x, q, -1),
        [f64("n", "m"), f64("k", low=0.05, high=0.95)],
        name="quantile at a run-time share",
        oracle=lambda x, q: np.quantile(x, q, -1),
        condition=lambda x, q: 8 * x.shape[1],
    ),
    twin("quantile of a single row", lambda m, x: m.quantile(x, [0.25, 0.5], 1), f64("n", 1)),
    Case(lambda x: tg.quantile(x, 1.5), [f64("n")], name="quantile outside", raises=InputError),
    Case(lambda x: tg.quantile(x, 0.5, method="best"), [f64("n")], name="quantile by no method", raises=InputError),  # type: ignore[arg-type]
)

CASES: Final = of_family(FAMILY.path, methods(), WRITTEN)
