"""Cases of `ops/elementwise/comparison`: comparison, logic and choice; what is not chosen never leaks."""

from __future__ import annotations

import operator
from typing import Any, Final

import numpy as np

import tg
from tg.ops.elementwise.comparison import FAMILY
from tg.plugin.case import Case, b1, f64, fixed, i32
from tg_conformance.cases.elementwise.record import Facts, Oracle, generated
from tg_conformance.cases.family import of_family


def _compared(ufunc: Any, python: Any) -> Facts:
    return Facts(Oracle(ufunc, python))


FACTS: Final = {
    tg.equal: _compared(np.equal, operator.eq),
    tg.not_equal: _compared(np.not_equal, operator.ne),
    tg.less: _compared(np.less, operator.lt),
    tg.less_equal: _compared(np.less_equal, operator.le),
    tg.greater: _compared(np.greater, operator.gt),
    tg.greater_equal: _compared(np.greater_equal, operator.ge),
    tg.logical_and: _compared(np.logical_and, lambda x, y: bool(x and y)),
    tg.logical_or: _compared(np.logical_or, lambda x, y: bool(x or y)),
    tg.logical_xor: _compared(np.logical_xor, lambda x, y: bool(x) != bool(y)),
    tg.logical_not: _compared(np.logical_not, lambda x: not x),
    tg.isnan: _compared(np.isnan, lambda x: False),
    tg.isinf: _compared(np.isinf, lambda x: False),
    tg.isfinite: _compared(np.isfinite, lambda x: True),
    tg.where: Facts(Oracle(np.where, lambda c, x, y: x if c else y)),
}

EDGES: Final = [-1.0, 0.0, 2.0, 1e-300]


def safe_log(x: Any) -> Any:
    """Log x where x is positive, else 0."""
    return tg.where(x > 0, tg.log(x), 0.0)


WRITTEN: Final = (
    Case(
        lambda x: tg.grad(tg.sum(safe_log(x)), x),
        [fixed(EDGES)],
        name="grad of a branch not taken",
        traps=("T70",),
        oracle=lambda x: np.where(x > 0, 1 / np.where(x > 0, x, 1), 0),
    ),
    Case(safe_log, [fixed(EDGES)], name="branch not taken", oracle=lambda x: np.log(np.where(x > 0, x, 1))),
    Case(
        lambda x: tg.grad(tg.sum(tg.where(x > 0, tg.sqrt(x), x * x)), x),
        [fixed([0.0, 4.0, -1.0])],
        name="grad of sqrt not taken",
        traps=("T70",),
        oracle=lambda x: np.array([0.0, 0.25, -2.0]),
    ),
    Case(
        lambda c, x, y: tg.grad(tg.sum(tg.where(c, x, tg.cast(y, "float64"))), x),
        [b1("n"), f64("n"), i32("n")],
        name="grad of where with integers",
        traps=("T10",),
        oracle=lambda c, x, y: c.astype(float),
    ),
    Case(
        tg.where,
        [b1("n", "m"), f64("m"), f64()],
        name="where broadcast",
        traps=("T59",),
        oracle=np.where,
        gradient=True,
    ),
    Case(
        lambda x: tg.where(x, x, -1),
        [i32("n", "m")],
        name="where an integer differs from 0",
        oracle=lambda x: np.where(x != 0, x, -1),
    ),
    Case(
        lambda x, y: (x == y, x < y),
        [i32("n"), f64("n")],
        name="comparing integers with floats",
        oracle=lambda x, y: (x == y, x < y),
    ),
)

CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN)
