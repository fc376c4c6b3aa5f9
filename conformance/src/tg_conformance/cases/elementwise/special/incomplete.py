"""Cases of `ops/elementwise/special/incomplete`: each way of computing, the ends, derivatives in shapes."""

from __future__ import annotations

import functools
import math
from typing import Any, Final

import mpmath
import numpy as np
from scipy import special

import tg
from tg.ops.elementwise.special import incomplete as ops
from tg.ops.elementwise.special.incomplete import FAMILY
from tg.plugin.case import Case, Input, fixed
from tg_conformance.cases.elementwise.record import Oracle
from tg_conformance.cases.family import of_family

INF: Final = np.inf
NAN: Final = np.nan
# by series, fraction, the small complement, Temme's expansion; the ends and what has no value
SHAPES: Final = [
    0.01,
    0.5,
    3.0,
    50.0,
    2.0,
    0.3,
    30.0,
    120.0,
    0.02,
    0.9,
    25.0,
    25.0,
    1e4,
    1e4,
    0.0,
    2.0,
    2.0,
    INF,
    -1.0,
    2.0,
]
POINTS: Final = [
    0.3,
    0.1,
    1.0,
    20.0,
    9.0,
    4.0,
    90.0,
    400.0,
    0.8,
    1.05,
    24.0,
    31.0,
    9.9e3,
    1.01e4,
    1.0,
    0.0,
    INF,
    3.0,
    1.0,
    -1.0,
]
PARTS: Final = [
    0.3,
    1e-8,
    0.5,
    0.999,
    1e-200,
    0.7,
    0.2,
    1.0 - 2.0**-40,
    0.4,
    0.5,
    0.1,
    0.9,
    0.5,
    0.01,
    0.0,
    1.0,
    0.25,
    0.25,
    0.6,
    2.0,
]
OTHER: Final = [
    0.02,
    5.0,
    0.5,
    80.0,
    2.0,
    12.0,
    0.7,
    3.0,
    1.0,
    400.0,
    25.0,
    8.0,
    2e4,
    1e4,
    1.0,
    2.0,
    2.0,
    3.0,
    1.0,
    -1.0,
]


def double(function: Any) -> Any:
    """SciPy's function, computed in double precision."""

    def of(*arrays: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*(np.asarray(a, np.float64) for a in arrays))

    return Oracle(of)


def in_digits(function: Any, exact: Any) -> Any:
    """SciPy's function, with mpmath's number where that is finite: SciPy's has fewer digits than are asked for."""
    rough = double(function)

    @functools.cache
    def single(*place: float) -> float:
        with mpmath.workdps(30):
            return float(mpmath.re(exact(*(mpmath.mpf(v) for v in place))))

    def of(*arrays: Any) -> Any:
        values = np.array(rough(*arrays))
        for k, y in enumerate(values):
            place = [float(a[k]) for a in arrays]
            if np.isfinite(y) and all(map(np.isfinite, place)) and place[-1]:
                values[k] = single(*place)
        return values

    return Oracle(of)


def size(oracle: Any) -> Any:
    """The magnitude to which the rounding of a value is relative: as many times itself as its exponent has digits."""

    def of(*arrays: Any) -> Any:
        y = np.abs(np.asarray(oracle(*arrays), np.float64))
        return y * (1 + np.abs(np.log(np.where(y > 0, y, 1))))

    return of


def inputs(dtype: str, *values: Any) -> list[Input]:
    """Inputs of fixed values, of a length that is not known."""
    return [fixed(v, dtype) for v in values]


def values_of(function: Any, oracle: Any, *values: Any) -> list[Case]:
    """A function at given places, in double and single precision."""
    right: Any = oracle if isinstance(oracle, Oracle) else double(oracle)
    return [
        Case(
            function,
            inputs(dtype, *values),
            name=f"{function.name} {dtype}",
            layouts=("C",),
            static=(dtype == "float32",),
            oracle=right,
            condition=size(right),
        )
        for dtype in ("float64", "float32")
    ]


def slopes_of(function: Any, exact: Any, *values: Any) -> Case:
    """All derivatives of a function of positive operands, beside those of mpmath."""

    def subject(*operands: Any) -> Any:
        return tuple(tg.grad(tg.sum(function(*operands)), list(operands)))

    @functools.cache
    def single(which: int, *place: float) -> float:
        with mpmath.workdps(30):
            order = tuple(int(j == which) for j in range(len(place)))
            return float(mpmath.diff(exact, tuple(mpmath.mpf(v) for v in place), order))

    def oracle(*arrays: Any) -> Any:
        places = [[float(v) for v in place] for place in zip(*arrays, strict=True)]
        return tuple(np.array([single(which, *place) for place in places]) for which in range(len(arrays)))

    return Case(
        subject,
        inputs("float64", *values),
        name=f"derivatives of {function.name}",
        layouts=("C",),
        static=(False,),
        oracle=oracle,
        accuracy=512,
        condition=lambda *arrays: tuple(np.abs(v) + 1e-3 for v in oracle(*arrays)),
    )


def curvatures_of(function: Any, exact: Any, pairs: tuple[tuple[int, int], ...], *values: Any) -> Case:
    """Second derivatives of a function by pairs of operands, beside those of mpmath."""

    def subject(*operands: Any) -> Any:
        first = tg.grad(tg.sum(function(*operands)), list(operands))
        return tuple(tg.grad(tg.sum(first[i]), operands[j]) for i, j in pairs)

    @functools.cache
    def single(i: int, j: int, *place: float) -> float:
        with mpmath.workdps(60):
            order = tuple((i == k) + (j == k) for k in range(len(place)))
            return float(mpmath.diff(exact, tuple(mpmath.mpf(v) for v in place), order))

    def oracle(*arrays: Any) -> Any:
        places = [[float(v) for v in place] for place in zip(*arrays, strict=True)]
        return tuple(np.array([single(i, j, *place) for place in places]) for i, j in pairs)

    return Case(
        subject,
        inputs("float64", *values),
        name=f"second derivatives of {function.name}",
        layouts=("C",),
        static=(False,),
        oracle=oracle,
        accuracy=4096,
        condition=lambda *arrays: tuple(np.abs(v) + 1e-3 for v in oracle(*arrays)),
    )


def _p(a: Any, x: Any) -> Any:
    return mpmath.gammainc(a, 0, x, regularized=True)


def _i(a: Any, b: Any, x: Any) -> Any:
    return mpmath.betainc(a, b, 0, x, regularized=True)


def _slopes_of_inverse(a: Any, p: Any) -> Any:
    a, p = np.asarray(a, np.float64), np.asarray(p, np.float64)
    x = special.gammaincinv(a, p)
    slope = x ** (a - 1) * np.exp(-x) / special.gamma(a)
    with mpmath.workdps(30):
        in_shape = [
            float(mpmath.diff(lambda s, x=y: _p(s, x), mpmath.mpf(float(v)))) for v, y in zip(a, x, strict=True)
        ]
    return -np.array(in_shape) / slope, 1 / slope


def _mixed_derivative(a: Any, x: Any) -> Any:
    """Of P in x and in a."""
    a, x = np.asarray(a, np.float64), np.asarray(x, np.float64)
    return np.diag((np.log(x) - special.digamma(a)) * x ** (a - 1) * np.exp(-x) / special.gamma(a))


def _in_order(exact: Any, which: int | None) -> Any:
    """The derivative in one operand, or the value for None, by mpmath."""

    @functools.cache
    def single(*place: float) -> float:
        with mpmath.workdps(40):
            order = tuple(int(j == which) for j in range(len(place)))
            return float(mpmath.diff(exact, tuple(map(mpmath.mpf, place)), order))

    return lambda *arrays: np.array([single(*map(float, place)) for place in zip(*arrays, strict=True)])


IN_SHAPE = _in_order(_p, 0)


def _log_tail(a: Any, b: Any, w: Any) -> Any:
    """The logarithm of I(1 / (1 + w); a, b), by the series that has no cancelling terms (8.17.8)."""
    x = 1 / (1 + w)
    front = a * mpmath.log(x) + b * mpmath.log(w * x) - mpmath.log(a)
    return front - mpmath.log(mpmath.beta(a, b)) + mpmath.log(mpmath.hyp2f1(a + b, 1, a + 1, x))


ODDS: Final = ([0.5, 3.0, 20.0, 0.02, 400.0, 50.0], [2.0, 0.4, 15.0, 9.0, 0.5, 0.5], [0.3, 1e-3, 0.9, 7.0, 80.0, 1e-4])
LOG_TAILS: Final = tuple(_in_order(_log_tail, k) for k in (None, 0, 1, 2))


def _log_p(a: Any, x: Any) -> Any:
    return mpmath.log(_p(a, x))


def _log_q(a: Any, x: Any) -> Any:
    return mpmath.log(mpmath.gammainc(a, x, mpmath.inf, regularized=True))


FAR_SHAPES: Final = ([0.5, 3.0, 20.0, 0.02, 900.0, 900.0, 40.0], [1e-9, 800.0, 0.01, 1000.0, 700.0, 1150.0, 40.0])
LOG_GAMMA_TAILS: Final = tuple(_in_order(tail, k) for tail in (_log_p, _log_q) for k in (None, 0, 1))
LOG_GAMMA_ENDS: Final = (
    np.array([-INF, 0, 0, -INF, NAN, NAN, -2 * math.log(1e200) - math.log(2)]),
    np.array([0, -INF, -INF, 0, NAN, NAN, 0]),
)

WRITTEN: Final = (
    *values_of(tg.gammainc, special.gammainc, SHAPES, POINTS),
    *values_of(tg.gammaincc, special.gammaincc, SHAPES, POINTS),
    *values_of(tg.gammaincinv, special.gammaincinv, SHAPES[:14], PARTS[:14]),
    *values_of(tg.gammainccinv, special.gammainccinv, SHAPES[:14], PARTS[:14]),
    *values_of(tg.betainc, special.betainc, SHAPES, OTHER, PARTS),
    *values_of(tg.betaincinv, special.betaincinv, SHAPES[:14], OTHER[:14], PARTS[:14]),
    Case(
        lambda a, x: (ops.gammainc_da(a, x), ops.gammainc_da(a, x * 0)),
        inputs("float64", SHAPES[:14], POINTS[:14]),
        name="gammainc_da",
        layouts=("C",),
        static=(False,),
        oracle=lambda a, x: (IN_SHAPE(a, x), 0 * x),
        accuracy=512,
        condition=lambda a, x: (np.abs(IN_SHAPE(a, x)) + 1e-6, 1 + 0 * x),
    ),
    *(
        Case(
            function,
            inputs("float64", SHAPES[:12], OTHER[:12], PARTS[:12]),
            name=name,
            layouts=("C",),
            static=(False,),
            oracle=exact,
            accuracy=4096,
            condition=lambda *given, exact=exact: np.abs(exact(*given)) + 1e-6,
        )
        for name, function, exact in (
            ("betainc_da", ops.betainc_da, _in_order(_i, 0)),
            ("betainc_db", ops.betainc_db, _in_order(_i, 1)),
        )
    ),
    Case(
        lambda a, b, w: (tg.log_beta_tail(a, b, w), *tg.grad(tg.sum(tg.log_beta_tail(a, b, w)), [a, b, w])),
        inputs("float64", *ODDS),
        name="log_beta_tail and its derivatives",
        layouts=("C",),
        static=(False,),
        oracle=lambda *given: tuple(tail(*given) for tail in LOG_TAILS),
        accuracy=4096,
        condition=lambda *given: tuple(np.abs(tail(*given)) + 1e-6 for tail in LOG_TAILS),
    ),
    Case(
        tg.log_beta_tail,
        inputs(
            "float64",
            [1.0, 2.0, 0.0, 2.0, 3.0, 1e7, NAN],
            [0.5, 2.0, 1.0, 1.0, 4.0, 1.0, 1.0],
            [0, INF, 1, -1, NAN, 1, 1],
        ),
        name="ends of log_beta_tail",
        layouts=("C",),
        static=(False,),
        oracle=lambda *_: np.array([0.0, -INF, NAN, NAN, NAN, NAN, NAN]),
    ),
    Case(
        lambda a, x: tuple(
            v
            for tail in (tg.log_gamma_lower, tg.log_gamma_upper)
            for v in (tail(a, x), *tg.grad(tg.sum(tail(a, x)), [a, x]))
        ),
        inputs("float64", *FAR_SHAPES),
        name="log_gamma_lower, log_gamma_upper and their derivatives",
        layouts=("C",),
        static=(False,),
        oracle=lambda *given: tuple(tail(*given) for tail in LOG_GAMMA_TAILS),
        accuracy=4096,
        condition=lambda *given: tuple(np.abs(tail(*given)) + 1e-6 for tail in LOG_GAMMA_TAILS),
    ),
    Case(
        lambda a, x: (tg.log_gamma_lower(a, x), tg.log_gamma_upper(a, x)),
        inputs("float64", [2.0, 2, 0, INF, NAN, -1, 2], [0, INF, 1, 1, 1, 1, 1e-200]),
        name="ends of log_gamma_lower and log_gamma_upper",
        layouts=("C",),
        static=(False,),
        oracle=lambda *_: LOG_GAMMA_ENDS,
    ),
    slopes_of(tg.gammainc, _p, [0.5, 3.0, 5.0, 30.0], [0.3, 1.5, 9.0, 33.0]),
    slopes_of(tg.betainc, _i, [0.5, 3.0, 20.0], [2.0, 0.4, 15.0], [0.3, 0.8, 0.6]),
    curvatures_of(tg.gammainc, _p, ((0, 0), (0, 1)), [0.5, 3.0, 5.0, 30.0], [0.3, 1.5, 9.0, 33.0]),
    curvatures_of(tg.betainc, _i, ((0, 0), (0, 1), (1, 2)), [0.5, 3.0, 20.0], [2.0, 0.4, 15.0], [0.3, 0.8, 0.6]),
    Case(
        lambda a, p: tuple(tg.grad(tg.sum(tg.gammaincinv(a, p)), [a, p])),
        inputs("float64", [0.7, 3.0, 40.0], [0.2, 0.5, 0.9]),
        name="derivatives of gammaincinv",
        layouts=("C",),
        static=(False,),
        oracle=_slopes_of_inverse,
        accuracy=4096,
    ),
    Case(
        lambda a, x: tg.jacobian(tg.grad(tg.sum(tg.gammainc(a, x)), x), a),
        inputs("float64", [0.7, 3.0], [0.9, 2.5]),
        name="second derivative of gammainc",
        layouts=("C",),
        static=(False,),
        oracle=_mixed_derivative,
        accuracy=512,
    ),
)


CASES: Final = of_family(FAMILY.path, WRITTEN)
