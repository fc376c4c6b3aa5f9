"""Cases of `ops/calculus`: differences, integrals, interpolation, polynomials and choices."""

from __future__ import annotations

from typing import Final

import numpy as np

import tg
from tg.errors import BoundsError, DtypeError, InputError, ShapeError
from tg.ops.calculus import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed, i32
from tg_conformance.cases.family import of_family, twin

POINTS: Final = np.array([-2.0, -0.5, 0.0, 1.5, 2.5])
VALUES: Final = np.array([1.0, 3.0, -1.0, 0.5, 2.0])

WRITTEN: Final = (
    twin(
        "diff",
        lambda m, x: (m.diff(x), m.diff(x, axis=0), m.diff(x, 2, axis=1)),
        any_dtype("n", "m"),
        dtypes=("bool", "int32", "uint8", "float32", "float64"),
        layouts=("C", "reversed", "strided", "empty", "one"),
        gradient=True,
        condition=lambda x: (8, 8, 16),
    ),
    twin("diff joined", lambda m, x: m.diff(x, 1, 0, prepend=0.0, append=x[:2]), f64("n", "m"), condition=lambda x: 8),
    twin("diff of too few", lambda m, x: m.diff(x, 3, axis=1), f64("n", 2)),
    twin(
        "ediff1d", lambda m, x: (m.ediff1d(x), m.ediff1d(x, 9.0, [1.0, 2.0])), f64("n", "k"), condition=lambda x: (8, 8)
    ),
    twin(
        "trapezoid",
        lambda m, y, x: (
            m.trapezoid(y),
            m.trapezoid(y, dx=0.5, axis=0),
            m.trapezoid(y, x),
            m.trapezoid(y, y * y, axis=0),
        ),
        f64("n", "m"),
        f64("m"),
        gradient=True,
        condition=lambda y, x: (4 * y.size, 4 * y.size, 16 * y.size, 64 * y.size),
    ),
    twin("trapezoid of integers", lambda m, y: m.trapezoid(y), i32("n"), condition=lambda y: 9 * y.size),
    Case(
        lambda x: (tg.interp(x, POINTS, VALUES), tg.interp(x, POINTS, VALUES, left=-7.0, right=9.0)),
        [f64("n", "m")],
        name="interp",
        oracle=lambda x: (
            np.interp(x.astype(float), POINTS, VALUES),
            np.interp(x.astype(float), POINTS, VALUES, left=-7.0, right=9.0),
        ),
        condition=lambda x: (16, 16),
    ),
    Case(
        lambda x: tg.interp(x, POINTS, VALUES),
        [fixed(POINTS.tolist())],
        name="interp at the points",
        oracle=lambda x: VALUES,
        accuracy=0,
    ),
    Case(
        lambda x, y: tg.interp(x, POINTS, y),
        [fixed([-1.0, 0.7, 2.0, -1.9]), f64(5)],
        name="gradient of interp",
        gradient=True,
        oracle=lambda x, y: np.array(
            [
                y[0] + (y[1] - y[0]) * (x[0] + 2) / 1.5,
                y[2] + (y[3] - y[2]) * x[1] / 1.5,
                y[3] + (y[4] - y[3]) * (x[2] - 1.5),
                y[0] + (y[1] - y[0]) * (x[3] + 2) / 1.5,
            ]
        ),
        condition=lambda x, y: 16,
    ),
    Case(
        lambda x: tg.interp(x, np.array([0.5, 3.0, 1.75]), np.array([1.0, 2.0, -1.0]), period=2.0),
        [f64("n", "m")],
        name="interp with a period",
        oracle=lambda x: np.interp(x.astype(float), [0.5, 3.0, 1.75], [1.0, 2.0, -1.0], period=2.0),
        condition=lambda x: 32,
    ),
    Case(
        lambda x, y: tg.interp(x, np.arange(5.0), y),
        [
            fixed([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, np.nan]),
            fixed([1.0, np.inf, 3.0, np.inf, np.inf]),
        ],
        name="interp beside infinities",
        oracle=lambda x, y: np.interp(x.astype(float), np.arange(5.0), y.astype(float)),
    ),
    Case(
        lambda x, y: tg.interp(x, np.array([0.0, 1.0, 2.0]), y),
        [f64("n"), f64(2)],
        name="interp of points without values",
        raises=ShapeError,
    ),
    Case(tg.interp, [f64(3), f64(0), f64(0)], name="interp between no points", raises=BoundsError),
    Case(
        lambda x: tg.ediff1d(x, to_end=1.5),
        [i32("n")],
        name="ediff1d beside another kind",
        raises=DtypeError,
    ),
    twin(
        "clip at one end",
        lambda m, x: (m.clip(x, -1, None), m.clip(x, None, 1), m.clip(x, min=0), m.clip(x, max=m.max(x) / 2)),
        any_dtype("n", "m"),
        dtypes=("int8", "int64", "float32", "float64"),
        accuracy=0,
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.clip(x, 0.0) * 2 + tg.clip(x, max=1.0)), x),
        [fixed([-1.0, 0.0, 0.5, 1.0, 2.0])],
        name="grad of clip at one end",
        oracle=lambda x: np.array([1.0, 3.0, 3.0, 3.0, 2.0]),
    ),
    twin(
        "polyval",
        lambda m, x: m.polyval(np.array([2.0, -1.0, 0.5, 3.0]), x),
        f64("n", "m"),
        gradient=True,
        condition=lambda x: np.polyval([2.0, 1.0, 0.5, 3.0], abs(x)) * 4,
    ),
    Case(
        tg.polyval,
        [f64(3, static=True), f64("n")],
        name="polyval of variables",
        gradient=True,
        oracle=lambda p, x: p[0] * x * x + p[1] * x + p[2],
        condition=lambda p, x: np.polyval(abs(p), abs(x)) * 4,
    ),
    twin(
        "select",
        lambda m, x: m.select([x > 1, x > 0, x > -1], [x * 2, x, -x], default=5.0),
        f64("n", "m"),
        gradient=True,
    ),
    twin(
        "piecewise",
        lambda m, x: (
            m.piecewise(x, [x < -1, x > 0.5], [lambda v: v * v, 3.0]),
            m.piecewise(x, [x < -1, x > 0.5], [lambda v: -v, 2.0, lambda v: v + 1]),
        ),
        f64("n", "m"),
        gradient=True,
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.piecewise(x, [x > 0], [tg.log, 0.0])), x),
        [fixed([0.0, 2.0, -1.0])],
        name="grad of piecewise where a piece has none",
        traps=("T70",),
        oracle=lambda x: np.array([0.0, 0.5, 0.0]),
    ),
    Case(lambda x: tg.select([x > 0], []), [f64("n")], name="select of nothing", raises=InputError),
    Case(
        tg.polyval,
        [f64("n"), f64()],
        name="polyval of unknown length",
        raises=ShapeError,
        static=(False,),
    ),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
