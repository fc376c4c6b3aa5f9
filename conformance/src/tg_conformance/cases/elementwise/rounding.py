"""Cases of `ops/elementwise/rounding`: ties go to the even number, and zeros keep the sign of what was rounded."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

import tg
from tg.ops.elementwise.rounding import FAMILY
from tg.plugin.case import Case, any_dtype, f64, fixed
from tg_conformance.cases.elementwise.record import Facts, Oracle, generated
from tg_conformance.cases.family import of_family


def _flat(function: Any) -> Facts:
    """A function whose derivative is 0; differences are taken between its steps."""
    return Facts(Oracle(function), gradient=((2.1, 2.4),), signed_zero=True, traps=("T27",))


FACTS: Final = {
    tg.floor: _flat(np.floor),
    tg.ceil: _flat(np.ceil),
    tg.trunc: _flat(np.trunc),
    tg.rint: _flat(np.rint),
}

HALVES: Final = [
    -2.5,
    -1.5,
    -0.5,
    -0.2,
    -0.0,
    0.0,
    0.5,
    1.5,
    2.5,
    2.675,
    0.125,
    1e300,
    -1e-300,
    np.inf,
    -np.inf,
    np.nan,
]


def _rounded(x: Any, power: int) -> Any:
    """An integer as a multiple of a power of ten, by Python's own rounding."""
    digits = -len(str(power)) + 1
    limits = np.iinfo(x.dtype)
    integers = [(round(int(v), digits) - int(limits.min)) % (1 << limits.bits) + int(limits.min) for v in x]
    return np.array(integers, x.dtype)


WRITTEN: Final = (
    Case(
        lambda x: (tg.round(x), tg.rint(x)),
        [fixed(HALVES)],
        name="round half to even",
        accuracy=0,
        signed_zero=True,
        traps=("T27",),
        oracle=lambda x: (np.rint(x), np.rint(x)),
    ),
    Case(
        lambda x: (tg.round(x, 1), tg.round(x, 2), tg.round(x, -1), tg.round(x, -2)),
        [fixed([v for v in HALVES if abs(v) != 1e300] + [15.0, 25.0, 250.0, -55.5, 149.999, 1e17])],
        name="round decimals",
        accuracy=1,
        signed_zero=True,
        oracle=lambda x: tuple(np.round(x.astype(float), d) for d in (1, 2, -1, -2)),
    ),
    Case(
        lambda x: (tg.round(x, 300), tg.round(x, -400)),
        [fixed([1.5, -1e300, 1e300, -0.0, 0.25, np.inf, np.nan])],
        name="round decimals out of range",
        note="what is too large to have such digits stays; nothing is left of what is too small",
        accuracy=1,
        signed_zero=True,
        oracle=lambda x: (x, np.where(np.isfinite(x), np.copysign(0.0, x), x)),
    ),
    Case(
        lambda x: (tg.round(x), tg.round(x, 2), tg.round(x, -1), tg.round(x, -2), tg.round(x, -30)),
        [any_dtype("n", values=lambda rng, dtype, shape: _integers(dtype))],
        name="round integers",
        dtypes=("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        static=(False,),
        oracle=lambda x: (x, x, _rounded(x, 10), _rounded(x, 100), np.zeros_like(x)),
    ),
    Case(
        lambda x: (tg.floor(x), tg.ceil(x), tg.trunc(x), tg.fix(x)),
        [any_dtype("n", values=lambda rng, dtype, shape: _integers(dtype))],
        name="integers are whole",
        dtypes=("bool", "int8", "int64", "uint64"),
        static=(False,),
        oracle=lambda x: (x, x, x, x),
    ),
    Case(
        tg.rint,
        [any_dtype("n")],
        name="rint of integers",
        dtypes=("int32", "uint32"),
        oracle=lambda x: x.astype(float),
    ),
    Case(
        lambda x: (tg.floor(tg.ceil(x * 4)), tg.rint(tg.trunc(x * 4)), tg.floor(-tg.floor(x))),
        [f64("n", "m")],
        name="rounded twice",
        oracle=lambda x: (np.ceil(4 * x), np.trunc(4 * x), -np.floor(x)),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.round(x, 1) * x + tg.sign(x) + tg.ceil(x)), x),
        [f64("n")],
        name="grad of steps",
        oracle=lambda x: np.round(x.astype(float), 1),
    ),
)


def _integers(dtype: str) -> Any:
    """Numbers around multiples of ten, and the ends of the dtype."""
    if dtype == "bool":
        return np.array([True, False])
    limits = np.iinfo(dtype)
    low = 0 if dtype.startswith("u") else -40
    near = [v for v in (*range(low, 60), 94, 95, 96, 105, 115, 120) if v <= limits.max]
    return np.array([*near, limits.max, limits.max - 1, limits.min, limits.min + 1], dtype)


CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN)
