"""Cases of `ops/numbers`: exact results at the ends of dtypes, divisors, bits, angles."""

from __future__ import annotations

from typing import Final

import numpy as np

import tg
from tg.errors import DtypeError
from tg.ops.numbers import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.family import alike, of_family, twin

WRITTEN: Final = (
    twin(
        "fmod and modf",
        lambda m, x: (m.fmod(x, 0.75), m.fmod(x, -2.5), *m.modf(x), m.fabs(x)),
        any_dtype("n"),
        dtypes=("float32", "float64"),
        accuracy=0,
    ),
    twin(
        "fmod of integers",
        lambda m, x: (m.fmod(x, 3), m.fmod(x, 7)),
        any_dtype("n", "m"),
        dtypes=("int8", "uint8", "int64"),
    ),
    Case(
        tg.spacing,
        [fixed([0.0, 1.0, -3.75, 1e300, 5e-324, 1.7976931348623157e308, np.inf, np.nan])],
        name="spacing",
        oracle=lambda x: np.spacing(x.astype("float64")),
    ),
    twin(
        "ldexp and frexp",
        lambda m, x: (*m.frexp(x), m.ldexp(x, 5), m.ldexp(x, 1030), m.ldexp(x, -2000)),
        fixed([0.0, -0.0, 1.0, -3.75, 1e300, 2.0**-1022, 1.7976931348623157e308, np.inf, -np.inf, np.nan]),
        accuracy=0,
    ),
    twin(
        "ldexp and frexp of subnormals",
        lambda m, x: (*m.frexp(x), m.ldexp(x, 5), m.ldexp(x, -1060)),
        fixed([0.75, -3.75, 5e-324, 1e-310, 2.0**-1022]),
        accuracy=0,
        needs=frozenset({"subnormals"}),
    ),
    twin(
        "divisors and bits",
        lambda m, x, y: (m.gcd(x, y), m.lcm(x, 12), m.bitwise_count(x), m.gcd(x, 0)),
        fixed([0, 1, -12, 35, 1024, 9007199254740992], "int64"),
        fixed([0, 4, 18, -49, 96, 6], "int64"),
    ),
    twin("bits of bytes", lambda m, x: m.bitwise_count(x), any_dtype("n"), dtypes=("int8", "uint8", "int16", "uint64")),
    twin(
        "logaddexp2 and float_power",
        lambda m, x, y: (m.logaddexp2(x, y), m.float_power(m.abs(x), y)),
        f64("n"),
        f64("n"),
        gradient=True,
        accuracy=8,
        condition=lambda x, y: (
            np.abs(x) + np.abs(y) + 1,
            np.abs(x) ** y * (1 + np.abs(y * np.log(np.abs(x) + 1e-300))),
        ),
    ),
    twin(
        "infinities and parts",
        lambda m, x: (m.isneginf(x), m.isposinf(x), m.isreal(x), m.iscomplex(x)),
        fixed([1.0, -np.inf, np.inf, np.nan, -0.0]),
    ),
    alike(
        "sort_complex", lambda m, x: m.sort_complex(x), [any_dtype("n", "m")], dtypes=("int16", "float32", "float64")
    ),
    twin(
        "unwrap",
        lambda m, x: (m.unwrap(x), m.unwrap(x, period=2.5)),
        fixed([0.2, 3.1, 6.0, -1.0, 2.5, 9.0]),
        gradient=True,
        condition=lambda x: (20.0, 20.0),
    ),
    Case(lambda x: tg.gcd(x, 3), [f64("n")], name="gcd of floats", raises=DtypeError),
    Case(lambda x: tg.isposinf(x * 1j), [f64("n")], name="isposinf of complex", raises=DtypeError),
)

CASES: Final = of_family(FAMILY.path, WRITTEN)
