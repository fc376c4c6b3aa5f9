"""Cases of `ops/elementwise/arithmetic`: integers wrap, x // 0 and x % 0 are 0, the sign of % is the divisor's."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

import tg
from tg.errors import DomainError
from tg.ops.elementwise import arithmetic as ops
from tg.ops.elementwise.arithmetic import FAMILY, clip, direction
from tg.plugin.case import Case, any_dtype, f64, fixed, i8, i32, i64, u8
from tg_conformance.cases.elementwise.record import Facts, Oracle, floats_only, generated
from tg_conformance.cases.family import of_family


def _clip(x: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(x, low), high)


def _power_size(x: Any, y: Any) -> Any:
    return np.abs(np.power(x, y)) * (1 + np.abs(y * np.log(np.abs(x) + (x == 0))))


def _remainder_size(x: Any, y: Any) -> Any:
    return np.where(np.isfinite(y), np.abs(y), np.abs(x))


def _sign(x: int) -> int:
    return (x > 0) - (x < 0)


NATURAL: Final = ((-3.0, 3.0), (0.0, 1.5))  # bases and exponents: integers have no negative exponents
APART: Final = ((-3.0, 3.0), (0.5, 3.0))

FACTS: Final = {
    tg.add: Facts(Oracle(np.add, lambda x, y: x or y if isinstance(x, bool) else x + y), analytic=True, traps=("T7",)),
    tg.subtract: Facts(Oracle(np.subtract, lambda x, y: x - y), analytic=True, traps=("T7",)),
    tg.multiply: Facts(
        Oracle(np.multiply, lambda x, y: x and y if isinstance(x, bool) else x * y), analytic=True, signed_zero=True
    ),
    tg.divide: floats_only(np.true_divide, gradient=APART, analytic=True, signed_zero=True),
    tg.floor_divide: Facts(
        Oracle(np.floor_divide, lambda x, y: x // y if y else 0), hostile_oracle=False, traps=("T1", "T2", "T4")
    ),
    tg.remainder: Facts(
        Oracle(np.remainder, lambda x, y: x % y if y else 0),
        condition=_remainder_size,
        gradient=((-3.0, 3.0), (3.5, 5.0)),
        traps=("T1", "T2", "T4"),
    ),
    tg.power: Facts(
        Oracle(np.power, lambda x, y: x**y),
        domains=NATURAL,
        gradient=((0.2, 3.0), (-2.0, 2.0)),
        condition=_power_size,
        hostile=False,
        traps=("T8",),
    ),
    tg.negative: Facts(Oracle(np.negative, lambda x: -x), analytic=True, signed_zero=True, traps=("T7",)),
    tg.absolute: Facts(
        Oracle(np.absolute, lambda x: x if isinstance(x, bool) else abs(x)), signed_zero=True, traps=("T7",)
    ),
    tg.sign: Facts(Oracle(np.sign, _sign), traps=("T27",)),
    tg.square: Facts(Oracle(np.square, lambda x: x * x), analytic=True),
    tg.sqrt: floats_only(np.sqrt, analytic=True, gradient=((0.1, 9.0),), signed_zero=True),
    tg.reciprocal: Facts(Oracle(np.reciprocal, lambda x: x if abs(x) == 1 else 0), analytic=True),
    tg.maximum: Facts(Oracle(np.maximum, max), traps=("T27",)),
    tg.minimum: Facts(Oracle(np.minimum, min)),
    clip: Facts(
        Oracle(_clip, lambda x, low, high: min(max(x, low), high)),
        gradient=((-3.0, 3.0), (-2.0, -1.0), (0.5, 2.0)),
    ),
    tg.cbrt: floats_only(np.cbrt, gradient=((0.1, 9.0),)),
    tg.hypot: floats_only(np.hypot, gradient=((0.2, 3.0),) * 2),
    tg.copysign: floats_only(np.copysign, gradient=((0.2, 3.0),) * 2, signed_zero=True),
    tg.nextafter: Facts(Oracle(), derivative=False),
    ops.gate: Facts(Oracle(lambda dy, d: np.where(dy == 0, 0, dy * d), lambda dy, d: dy * d), traps=("T70",)),
    ops.direction: Facts(Oracle(direction.reference), hostile_oracle=False, gradient=((0.3, 3.0), (-3.0, -0.3))),
    ops.radius: floats_only(np.hypot, hostile_oracle=False, gradient=((0.3, 3.0), (-3.0, -0.3))),
    ops.flat_root: floats_only(np.sqrt, gradient=((0.1, 9.0),)),
    ops.flat_power: floats_only(np.power, hostile_oracle=False, domains=((0.1, 9.0), (0.2, 1.5)), derivative=False),
    ops.masked_product: Facts(
        Oracle(lambda a, b, x, y: np.where(a & b, x * y, np.zeros((), x.dtype))), derivative=False
    ),
    ops.product_at_kink: Facts(Oracle(lambda c, x, y: np.broadcast_arrays(c, x * y)[1]), derivative=False),
    ops.product_past_kink: Facts(Oracle(lambda c, x, y: np.broadcast_arrays(c, x * y)[1]), derivative=False),
    ops.at_kink: Facts(Oracle(lambda c, x: np.broadcast_arrays(c, x)[1]), derivative=False),
    ops.past_kink: Facts(Oracle(lambda c, x: np.broadcast_arrays(c, x)[1]), derivative=False),
    ops.asked_opposite: Facts(Oracle(lambda c, x: np.where(c, x, np.zeros((), x.dtype))), derivative=False),
    ops.surrogate: Facts(Oracle(lambda x, y: np.broadcast_arrays(x, y)[0]), derivative=False),
    ops.asked_where: Facts(Oracle(lambda c, x: np.broadcast_arrays(c, x)[1]), derivative=False),
    ops.absolute_power: floats_only(
        lambda x, y: np.power(np.abs(x), y), hostile_oracle=False, domains=((-9.0, 9.0), (1.2, 3.5)), derivative=False
    ),
    ops.signed_power: floats_only(
        lambda x, y: np.sign(x) * np.power(np.abs(x), y),
        hostile_oracle=False,
        domains=((-9.0, 9.0), (1.2, 3.5)),
        derivative=False,
    ),
    ops.radial_power: floats_only(
        lambda r, u, y: np.broadcast_arrays(np.power(r, y), u)[0],
        hostile_oracle=False,
        domains=((0.0, 9.0), (0.0, 9.0), (2.2, 3.5)),
        derivative=False,
    ),
    ops.kink: Facts(Oracle(np.zeros_like), derivative=False),
}

SIGNS: Final = [7.5, -7.5, 7.5, -7.5, 6.0, -6.0, 6.0, -6.0, 0.0, -0.0, 5.5]
DIVISORS: Final = [2.0, 2.0, -2.0, -2.0, 3.0, 3.0, -3.0, -3.0, 2.0, 2.0, -3.25]


def power_of_literals() -> Any:
    """2 ** 7 of Python numbers is no int8."""
    return tg.power(2, 7)


def promoted(x: Any, y: Any) -> Any:
    """Operands of two dtypes."""
    return x + y, x * y, tg.maximum(x, y)


def read_again(x: Any, y: Any) -> Any:
    """Sums and products of which one operand is read for the last time, and the other is not."""
    a, b, c, d = x * y, x - y, x + y, x * x
    first, second = a + b, c + a
    third, fourth = d * second, a - first
    return first - a, second - a, third + d, fourth * a


WRITTEN: Final = (
    Case(
        tg.floor_divide,
        [fixed(SIGNS), fixed(DIVISORS)],
        name="floor_divide signs",
        oracle=np.floor_divide,
        traps=("T4",),
    ),
    Case(tg.remainder, [fixed(SIGNS), fixed(DIVISORS)], name="remainder signs", oracle=np.remainder, traps=("T4",)),
    Case(
        tg.floor_divide,
        [fixed([7, -7, 7, -7, -128, 0, 5, -5], "int8"), fixed([2, 2, -2, -2, -1, 3, 0, 0], "int8")],
        name="floor_divide integers",
        oracle=lambda x, y: np.array([3, -4, -4, 3, -128, 0, 0, 0], np.int8),
        traps=("T1", "T2", "T4"),
    ),
    Case(
        tg.remainder,
        [fixed([7, -7, 7, -7, -128, 0, 5, -5], "int8"), fixed([2, 2, -2, -2, -1, 3, 0, 0], "int8")],
        name="remainder integers",
        oracle=lambda x, y: np.array([1, 1, -1, -1, 0, 0, 0, 0], np.int8),
        traps=("T1", "T2", "T4"),
    ),
    Case(
        lambda x, y: tg.where(tg.equal(y, 0), -1, x // y),
        [i64("n"), fixed([0, 1, 2, 0, -1], "int64", layout="C")],
        name="floor_divide not taken",
        note="a division by 0 inside the branch that is not taken",
        traps=("T3",),
        static=(True,),
        oracle=lambda x, y: np.array([-1 if b == 0 else int(a) // int(b) for a, b in zip(x, y, strict=True)]),
    ),
    Case(
        tg.power,
        [i32("n"), fixed([2, 0, -1, 3, 1], "int32")],
        name="power negative exponent",
        raises=DomainError,
        traps=("T5",),
        static=(True,),
    ),
    Case(power_of_literals, [], name="power of literals", oracle=lambda: np.array(128), traps=("T6",), static=(True,)),
    Case(
        lambda x: x**2.5,
        [fixed([-1.5, -0.0, 0.0, 4.0])],
        name="power fractional",
        traps=("T8",),
        oracle=lambda x: np.power(x, 2.5),
    ),
    Case(
        tg.power,
        [fixed([3, 7, -3, 10, 2], "int64"), fixed([39, 22, 37, 18, 62], "int64")],
        name="power of integers with many digits",
        traps=("T8",),
        oracle=lambda x, y: np.array([int(a) ** int(b) for a, b in zip(x, y, strict=True)]),
    ),
    Case(
        lambda x: (tg.sqrt(x**2), tg.sqrt(x) ** 2),
        [f64("n", "m")],
        name="sqrt of square",
        traps=("T26",),
        accuracy=8,
        oracle=lambda x: (np.abs(x), np.sqrt(x) ** 2),
    ),
    Case(
        lambda x: (x / x, x - x, x * 0),
        [fixed([0.0, np.inf, np.nan, -np.inf, 800.0, 2.0])],
        name="cancelling",
        traps=("T24",),
        oracle=lambda x: (x / x, x - x, x * 0),
    ),
    Case(
        lambda x: x * 0.1,
        [any_dtype("n", "m")],
        name="times a literal",
        dtypes=("float16", "float32", "float64", "complex64"),
        traps=("T16",),
    ),
    Case(
        lambda x: 2.0 * x[::-1],
        [f64("n", "m")],
        name="times reversed",
        traps=("T39",),
        oracle=lambda x: 2 * x[::-1],
        gradient=True,
    ),
    Case(
        read_again,
        [f64("n", "m"), f64("n", "m")],
        name="operands that are read again",
        traps=("T44",),
        oracle=read_again,
        condition=lambda x, y: (9 * (1 + abs(x)) * (1 + abs(y)),) * 4,
    ),
    Case(
        lambda x, y: (x * y, x - 2 * y),
        [any_dtype(70_001), any_dtype(70_001)],
        name="many elements",
        dtypes=("int16", "float32", "float64"),
        layouts=("C", "strided", "reversed", "unaligned"),
        oracle=lambda x, y: (x * y, x - 2 * y),
        condition=lambda x, y: (abs(x * y), abs(x) + 2 * abs(y)),
    ),
    Case(
        lambda x, y: x * y + y,
        [f64(257, 131), f64(131)],
        name="many rows",
        oracle=lambda x, y: x * y + y,
        condition=lambda x, y: abs(x * y) + abs(y),
    ),
    Case(
        lambda x, v: (x - v, x - v[:, None], v - x),
        [f64(4, 4, static=True), f64(4, static=True)],
        name="subtract of a square and a vector",
        traps=("T59",),
        oracle=lambda x, v: (x - v, x - v[:, None], v - x),
        condition=lambda x, v: (abs(x) + abs(v), abs(x) + abs(v)[:, None], abs(x) + abs(v)),
        gradient=True,
    ),
    Case(
        lambda *xs: sum(xs[1:], xs[0]),
        [f64("n") for _ in range(40)],
        name="forty operands",
        traps=("T58",),
        oracle=lambda *xs: sum(xs),
        condition=lambda *xs: 40 * sum(map(abs, xs)),
        layouts=("C",),
        accuracy=1,
    ),
    Case(
        lambda x: (-x, abs(x), x + x, x - 1),
        [fixed([-128, 127, 0, -1, 1], "int8")],
        name="int8 wraps",
        traps=("T7",),
        oracle=lambda x: ([-128, -127, 0, 1, -1], [-128, 127, 0, 1, 1], [0, -2, 0, -2, 2], [127, 126, -1, -2, 0]),
    ),
    Case(
        lambda x: (-x, x - x[::-1]),
        [fixed([0, 1, 200, 255], "uint8")],
        name="uint8 wraps",
        traps=("T7",),
        oracle=lambda x: ([0, 255, 56, 1], [1, 57, 199, 255]),
    ),
    Case(
        promoted,
        [i8("n"), f64("n")],
        name="promoted int8 float64",
        oracle=lambda x, y: (x + y, x * y, np.maximum(x, y)),
    ),
    Case(
        promoted,
        [u8("n", high=9), i8("n")],
        name="promoted uint8 int8",
        oracle=lambda x, y: (x.astype(int) + y, x.astype(int) * y, np.maximum(x.astype(int), y)),
    ),
    Case(
        promoted,
        [any_dtype("n"), i64("n")],
        name="promoted with int64",
        dtypes=("bool", "uint8", "int32", "float32", "float64"),
        oracle=None,
    ),
    Case(
        lambda x, y: x / y,
        [i8("n"), fixed([1, -2, 0, 4, 3], "int8")],
        name="divide int8",
        static=(True,),
        traps=("T14",),
        oracle=lambda x, y: x.astype(float) / y.astype(float),
    ),
)

SMALLEST: Final[dict[str, Any]] = {
    "dtypes": ("float32", "float64"),
    "needs": frozenset({"subnormals"}),
    "layouts": ("C", "strided"),
    "traps": ("T29",),
    "accuracy": 0,
}

SUBNORMALS: Final = (
    Case(
        lambda x: x * 2,
        [any_dtype("n", values="subnormal")],
        name="subnormals doubled",
        oracle=lambda x: 2 * x,
        **SMALLEST,
    ),
    Case(
        lambda x, y: x + y, [any_dtype("n", values="subnormal")] * 2, name="subnormals added", oracle=np.add, **SMALLEST
    ),
    Case(
        lambda x: x > 0,
        [any_dtype("n", values="subnormal")],
        name="subnormals compared",
        oracle=lambda x: x > 0,
        **SMALLEST,
    ),
    Case(
        lambda x: tg.sqrt(x) * 1,
        [any_dtype("n", values="subnormal")],
        name="subnormals' roots",
        oracle=np.sqrt,
        # PyTorch's by MKL on vectors of 64 bytes are one unit off in 1 of 150
        **{**SMALLEST, "accuracy": 1},
    ),
    Case(tg.max, [any_dtype("n", values="subnormal")], name="subnormals' maximum", oracle=np.max, **SMALLEST),
)

GRADIENTS: Final = (
    Case(
        lambda x: tg.grad(tg.sum(tg.maximum(x, x)), x),
        [f64("n")],
        name="grad of maximum(x, x)",
        traps=("T68",),
        oracle=np.ones_like,
    ),
    Case(
        lambda x, y: tuple(tg.grad(tg.sum(tg.maximum(x, y) + 2 * tg.minimum(x, y)), [x, y])),
        [fixed([1.0, 2.0, 3.0]), fixed([1.0, 3.0, 2.0])],
        name="grad of maximum at ties",
        traps=("T68",),
        oracle=lambda x, y: ([1.5, 2.0, 1.0], [1.5, 1.0, 2.0]),
    ),
    Case(
        lambda x: tg.grad(tg.sum(abs(x)), x),
        [fixed([-2.0, 0.0, -0.0, 3.0])],
        name="grad of abs at 0",
        traps=("T68",),
        oracle=lambda x: np.array([-1.0, 0.0, 0.0, 1.0]),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.clip(x, -1.0, 1.0)), x),
        [fixed([-2.0, -1.0, 0.5, 1.0, 1.5])],
        name="grad of clip at bounds",
        traps=("T68",),
        oracle=lambda x: np.array([0.0, 1.0, 1.0, 1.0, 0.0]),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.maximum(x, 0.0)), x),
        [fixed([-1.0, 2.0])],
        name="grad of relu",
        traps=("T68",),
        oracle=lambda x: np.array([0.0, 1.0]),
    ),
    Case(
        lambda x, y: tuple(tg.grad(tg.sum(x**y), [x, y])),
        [fixed([0.0, 0.0, 2.0]), fixed([0.0, 2.0, 3.0])],
        name="grad of power at 0",
        traps=("T69",),
        oracle=lambda x, y: ([0.0, 0.0, 12.0], [0.0, 0.0, 8 * np.log(2.0)]),
    ),
    Case(
        lambda x: tg.grad(tg.sum(tg.square(tg.sinh(tg.sqrt(x)))), x),
        [fixed([0.0, 4.0])],
        name="grad of a root that a factor of 0 meets",
        note="The limit at 0 is 1. No selection makes the factor 0: 0 times an infinite slope is NaN, never 0.",
        traps=("T69",),
        accuracy=16,
        oracle=lambda x: np.array([np.nan, np.sinh(4.0) / 4]),
    ),
    Case(
        lambda x: tg.grad(tg.sum(x / 2), x),
        [f64("n")],
        name="grad of a quotient by an integer",
        traps=("T10",),
        oracle=lambda x: np.full_like(x, 0.5),
    ),
    Case(
        lambda x: tg.jacobian(tg.grad(tg.sum(x**3 * tg.exp(-x)), x), x),
        [f64(4)],
        name="second derivative",
        accuracy=64,
        oracle=lambda x: np.diag((6 * x - 6 * x**2 + x**3) * np.exp(-x)),
        condition=lambda x: np.full((4, 4), 300.0),
    ),
    Case(
        lambda x, y: tg.grad(tg.sum(tg.grad(tg.sum(x * x * y), x) * y), y),
        [f64("n"), f64("n")],
        name="gradient of a gradient",
        oracle=lambda x, y: 4 * x * y,
    ),
    Case(
        lambda x, y: tg.grad(tg.sum((x + y) ** 2), y),
        [f64("n", "m"), f64("m")],
        name="gradient through broadcasting",
        oracle=lambda x, y: np.sum(2 * (x + y), 0),
        condition=lambda x, y: np.sum(2 * abs(x + y), 0),
    ),
)


def _neighbours(x: Any, y: Any) -> Any:
    return np.array([math.nextafter(a, b) for a, b in zip(x.astype(float), y.astype(float), strict=True)])


PAIRS: Final = ([1.0, np.nan, np.nan, -2.0, np.inf, 3.0, 0.0], [2.0, 1.0, np.nan, np.nan, -np.inf, 3.0, -1.0])

FUNCTIONS: Final = (
    Case(
        tg.nextafter,
        [
            fixed([1.0, 1.0, -1.0, 2.0, np.inf, 1e308, np.nan, 5.0]),
            fixed([2.0, 0.0, 0.0, 2.0, 0.0, np.inf, 1.0, np.nan]),
        ],
        name="nextafter of float64",
        oracle=_neighbours,
    ),
    Case(
        lambda x, y: tuple(tg.grad(tg.sum(tg.nextafter(x, y) * x), [x, y])),
        [f64("n"), f64("n")],
        name="grad of nextafter",
        oracle=lambda x, y: (_neighbours(x, y) + x, np.zeros_like(y)),
        condition=lambda x, y: (np.abs(x), np.ones_like(y)),
    ),
    Case(
        lambda x, y: (tg.fmax(x, y), tg.fmin(x, y)),
        [fixed(PAIRS[0]), fixed(PAIRS[1])],
        name="fmax and fmin",
        traps=("T27",),
        oracle=lambda x, y: (np.fmax(x, y), np.fmin(x, y)),
    ),
    Case(
        lambda x, y: tuple(tg.grad(tg.sum(tg.fmax(x, y) + 2 * tg.fmin(x, y)), [x, y])),
        [fixed([1.0, np.nan, 3.0, 2.0]), fixed([2.0, 1.0, np.nan, 2.0])],
        name="grad of fmax and fmin",
        traps=("T68",),
        oracle=lambda x, y: ([2.0, 0.0, 3.0, 1.5], [1.0, 3.0, 0.0, 1.5]),
    ),
    Case(
        lambda x, y: (tg.fmax(x, y), tg.fmin(x, y)),
        [any_dtype("n"), any_dtype("n")],
        name="fmax and fmin of dtypes",
        dtypes=("bool", "int16", "uint64", "float16", "float32"),
        oracle=lambda x, y: (np.fmax(x, y), np.fmin(x, y)),
    ),
    Case(
        lambda x, y: (*tg.divmod(x, y), *divmod(x, 2.5)),
        [fixed(SIGNS), fixed(DIVISORS)],
        name="divmod",
        traps=("T4",),
        oracle=lambda x, y: (*np.divmod(x, y), *np.divmod(x, 2.5)),
    ),
    Case(
        tg.fma,
        [f64("n"), f64("n"), f64("n")],
        name="fma",
        oracle=lambda x, y, z: x * y + z,
        condition=lambda x, y, z: np.abs(x * y) + np.abs(z),
        gradient=True,
        analytic=True,
    ),
    Case(
        lambda x: (tg.relu(x), tg.grad(tg.sum(tg.relu(x)), x)),
        [fixed([-1.0, 0.0, -0.0, 2.0, np.inf, -np.inf, np.nan])],
        name="relu",
        traps=("T68",),
        oracle=lambda x: (np.maximum(x, 0), np.array([0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0])),
    ),
    Case(
        lambda x, y: (tg.heaviside(x, y), *tg.grad(tg.sum(tg.heaviside(x, y)), [x, y])),
        [fixed([-1.0, 0.0, -0.0, 2.0, np.inf, np.nan]), fixed([0.5, 0.25, 3.0, 0.5, 0.5, 0.5])],
        name="heaviside",
        oracle=lambda x, y: (
            np.heaviside(x, y),
            np.where(np.isnan(x), 1.0, 0.0),
            np.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.0]),
        ),
    ),
    Case(
        lambda x: (+x, tg.positive(x), tg.abs(x), tg.pow(x, 2), tg.mod(x, 2)),
        [any_dtype("n")],
        name="other names",
        dtypes=("int8", "float32", "float64"),
        oracle=lambda x: (x, x, np.abs(x), x * x, np.mod(x, 2)),
    ),
)

CASES: Final = of_family(FAMILY.path, generated(FAMILY, FACTS), WRITTEN, SUBNORMALS, GRADIENTS, FUNCTIONS)
