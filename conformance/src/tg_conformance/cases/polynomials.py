"""Cases of `ops/polynomials`: sums, products, derivatives, quotients, roots and fits."""

from __future__ import annotations

from typing import Final

import numpy as np

import tg
from tg.errors import InputError, ShapeError
from tg.ops.polynomials import FAMILY
from tg.plugin.case import Case, f64, fixed
from tg_conformance.cases.family import of_family, twin

FIT: Final = np.polyfit(np.arange(6.0), np.eye(6), 2)
WEIGHTS: Final = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0])

WRITTEN: Final = (
    twin(
        "sums and products of polynomials",
        lambda m, p, q: (m.polyadd(p, q), m.polysub(p, q), m.polymul(p, q)),
        fixed([2.0, -3.0, 0.5, 1.0]),
        fixed([1.0, 0.25, -2.0]),
        gradient=True,
        condition=lambda p, q: (6.0, 6.0, 40.0),
    ),
    twin(
        "derivatives and antiderivatives of polynomials",
        lambda m, p: (m.polyder(p), m.polyder(p, 2), m.polyint(p), m.polyint(p, 2, [1.0, 2.0])),
        fixed([2.0, -3.0, 0.5, 1.0]),
        gradient=True,
    ),
    twin(
        "polydiv",
        lambda m, p: (*m.polydiv(p, [1.0, 0.25, -2.0]), *m.polydiv([1.0, 2.0], p)),
        fixed([2.0, -3.0, 0.5, 1.0], static=True),
        gradient=True,
        condition=lambda p: (40.0, 40.0, 1.0, 10.0),
    ),
    twin(
        "poly",
        lambda m, p: m.poly(p),
        fixed([2.0, -3.0, 0.5], static=True),
        gradient=True,
        condition=lambda p: 60.0,
    ),
    Case(
        lambda p: tg.sort(tg.real(tg.roots(p))),
        [fixed([1.0, -6.0, 11.0, -6.0], static=True)],
        name="roots",
        oracle=lambda p: np.array([1.0, 2.0, 3.0]),
        condition=lambda p: 400.0,
    ),
    Case(
        lambda y: (tg.polyfit(np.arange(6.0), y, 2), tg.polyfit(np.arange(6.0), y, 1, w=WEIGHTS)),
        [f64(6)],
        name="polyfit",
        oracle=lambda y: (
            np.polyfit(np.arange(6.0), y.astype("float64"), 2),
            np.polyfit(np.arange(6.0), y.astype("float64"), 1, w=WEIGHTS),
        ),
        condition=lambda y: (np.sum(np.abs(y)) * 50, np.sum(np.abs(y)) * 50),
    ),
    Case(
        lambda y: tg.polyfit(np.arange(6.0), y, 2),
        [f64(6)],
        name="slopes of polyfit",
        oracle=lambda y: FIT @ y,  # the fit is linear, and differences of NumPy's have no longer precision
        condition=lambda y: np.sum(np.abs(y)) * 50,
        gradient=True,
        analytic=True,
    ),
    Case(tg.roots, [f64("n")], name="roots of unknown length", raises=ShapeError, static=(False,)),
    Case(lambda p: tg.polyder(p, -1), [f64("n")], name="polyder of order -1", raises=InputError),
    Case(lambda p: tg.polyint(p, 2, [1.0, 2.0, 3.0]), [f64("n")], name="polyint of 3 constants", raises=InputError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
