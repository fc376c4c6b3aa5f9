"""Cases of `ops/quantization`: ties, saturation, zero points, scales along axes and for blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.errors import DtypeError, ShapeError
from tg.ops.quantization import FAMILY
from tg.plugin.case import Case, any_dtype, f32, fixed, i8, i16, i32, i64
from tg_conformance.cases.family import of_family
from tg_conformance.cases.integer_products import whole

if TYPE_CHECKING:
    from collections.abc import Iterator

FLOATS: Final = ("float16", "float32", "float64")
ZEROS: Final = {"int8": -3, "uint8": 130, "int16": 1000, "uint16": 40000, "int4": 1, "uint4": 9}
LIMITS: Final = {
    **{name: (np.iinfo(name).min, np.iinfo(name).max, name) for name in ("int8", "uint8", "int16", "uint16")},
    "int4": (-8, 7, "int8"),
    "uint4": (0, 15, "uint8"),
}
HOSTILE: Final = [
    0.0,
    -0.0,
    0.125,
    -0.125,
    0.375,
    -0.375,
    0.625,
    1e30,
    -1e30,
    np.inf,
    -np.inf,
    31.75,
    -32.0,
    127.4,
    3e4,
    -3e4,
]


def levels(x: Any, scale: Any, zero: Any, name: str) -> Any:
    """Levels by the formula; the quotient is rounded in the dtype of x."""
    low, high, dtype = LIMITS[name]
    with np.errstate(over="ignore"):
        level = np.rint((x / scale.astype(x.dtype)).astype(np.float64)) + np.asarray(zero, float)
    return np.clip(level, low, high).astype(dtype)


def numbers(q: Any, scale: Any, zero: Any = 0) -> Any:
    """The numbers that levels stand for, in the dtype of the scale."""
    wide = np.float64 if scale.dtype == np.float64 else np.float32
    steps = (q.astype(np.int64) - np.asarray(zero, np.int64)).astype(wide)
    return (steps * scale.astype(wide)).astype(scale.dtype)


def one(value: float, x: Any) -> Any:
    """A number in the dtype of an array."""
    return np.asarray(value, x.dtype)


def by_dtype() -> Iterator[Case]:
    """Each dtype of levels with its zero point and without."""
    for name, zero in ZEROS.items():
        yield Case(
            lambda x, name=name, zero=zero: (
                tg.quantize(x, 0.25, None, name),
                tg.quantize(x, 0.03, zero, name),
                tg.fake_quantize(x, 0.25, zero, name),
            ),
            [any_dtype("n", "m", low=-9, high=9)],
            name=f"quantize {name}",
            dtypes=FLOATS,
            oracle=lambda x, name=name, zero=zero: (
                levels(x, one(0.25, x), 0, name),
                levels(x, one(0.03, x), zero, name),
                numbers(levels(x, one(0.25, x), zero, name), one(0.25, x), zero),
            ),
        )
        yield Case(
            lambda x, name=name, zero=zero: (tg.quantize(x, 0.25, None, name), tg.quantize(x, 0.25, zero, name)),
            [fixed(HOSTILE, "float32")],
            name=f"quantize {name} of ties and limits",
            oracle=lambda x, name=name, zero=zero: tuple(levels(x, one(0.25, x), z, name) for z in (0, zero)),
        )


def slopes(x: Any, scale: Any) -> Any:
    """The derivatives of sum(fake_quantize(x) * x) in x and the scale, straight through the rounding, for int4."""
    free = np.rint(x / scale)
    q = np.clip(free, -8, 7)
    within = q == free
    return q * scale + np.where(within, x, 0), np.sum(x * np.where(within, q - x / scale, q), 0, keepdims=True)


WRITTEN: Final = (
    Case(
        lambda x, s, z: (tg.quantize(x, s, z, axis=1), tg.dequantize(tg.quantize(x, s, z, axis=1), s, z, axis=1)),
        [f32("n", "m", "k"), f32("m", low=0.01, high=0.5), i8("m", values=whole)],
        name="quantize along an axis",
        oracle=lambda x, s, z: (
            levels(x, s[:, None], z[:, None], "int8"),
            numbers(levels(x, s[:, None], z[:, None], "int8"), s[:, None], z[:, None]),
        ),
    ),
    Case(
        lambda x, s: (
            tg.quantize(x, s, axis=1, block=3, dtype="int4"),
            tg.dequantize(tg.quantize(x, s, axis=1, block=3, dtype="int4"), s, axis=1, block=3),
        ),
        [f32("n", 7, low=-1, high=1), f32("n", 3, low=0.01, high=0.5)],
        name="quantize by blocks",
        oracle=lambda x, s: (
            levels(x, np.repeat(s, 3, 1)[:, :7], 0, "int4"),
            numbers(levels(x, np.repeat(s, 3, 1)[:, :7], 0, "int4"), np.repeat(s, 3, 1)[:, :7]),
        ),
    ),
    Case(
        lambda q, r, t, s: (
            tg.dequantize(q, s, 5),
            tg.dequantize(r, s, -1000),
            tg.dequantize(t, s),
            tg.dequantize(q, s, dtype="float16"),
            tg.dequantize(q, 0.1, 5),
        ),
        [i8("n", values=whole), i16("n", values=whole), i32("n", low=-1e6, high=1e6), f32(low=0.01, high=0.2)],
        name="dequantize",
        oracle=lambda q, r, t, s: (
            numbers(q, s, 5),
            numbers(r, s, -1000),
            numbers(t, s),
            numbers(q, s).astype(np.float16),
            numbers(q, np.float64(0.1), 5),
        ),
    ),
    Case(
        lambda x: tg.quantize(x, 0.5, 3),
        [fixed([np.nan, 1.0], "float32")],
        name="quantize NaN",
        oracle=lambda x: np.array([0, 5], np.int8),
    ),
    Case(
        lambda x, s: tg.grad(tg.sum(tg.fake_quantize(x, s, dtype="int4") * x), [x, s]),
        [f32("n", 5), f32(1, 5, low=0.1, high=0.4)],
        name="gradient of fake_quantize",
        oracle=slopes,
        condition=lambda x, s: (9 * abs(x), 9 * np.sum(abs(x), 0, keepdims=True) * x.size),
    ),
    Case(
        lambda x: tg.quantize(x, 0.5),
        [any_dtype("n")],
        name="quantize complex numbers",
        dtypes=("complex64",),
        raises=DtypeError,
    ),
    Case(lambda q: tg.dequantize(q, 0.5), [i64("n")], name="dequantize int64", raises=DtypeError),
    Case(
        lambda x, s: tg.quantize(x, s, axis=0),
        [f32(3, 4), f32(2)],
        name="quantize with too few scales",
        raises=ShapeError,
        static=(True,),
    ),
    Case(
        lambda x, s: tg.quantize(x, s, axis=0),
        [f32(3, 4), f32(2)],
        name="quantize with too few scales at run time",
        raises=ShapeError,
        static=(False,),
    ),
    Case(
        lambda x, s: tg.quantize(x, s, axis=1, block=2),
        [f32(3, 7), f32(3, 3)],
        name="quantize with too few blocks",
        raises=ShapeError,
    ),
)


CASES: Final = of_family(FAMILY.path, by_dtype(), WRITTEN)
