"""Sine, cosine and tangent, and the inverse functions.

The angle is n pi/2 + r with |r| <= pi/4: pi/2 is subtracted in parts, of which the first have so few digits that their
products with n are exact. Where n is too large for that, or r so small that the last part's rounding shows, libm
computes. sin(r) is r + r^3 S(r^2), cos(r) is 1 - r^2 / 2 + r^4 C(r^2), and arctan(r) and arcsin(r) are r + r^3 A(r^2),
where |r| <= tan(pi/8), or |r| <= 1/2; the polynomials have the least error on these intervals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tg_native.kernels.dtypes import FORMATS, item_size
from tg_native.kernels.functions import copysign, fabs, fma, redone, sqrt
from tg_native.kernels.lanes import select
from tg_native.kernels.mathematics.kernel import Kernel, polynomial

if TYPE_CHECKING:
    from tg_native.kernels.lanes import Lanes


class Angle(NamedTuple):
    """The numbers by which angles are reduced: quarters of a turn in parts, and the polynomials of what is left."""

    per_quarter: float
    quarters: tuple[float, float, float, float]
    large: float
    small: float
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


ANGLES: Final = {
    "float64": Angle(
        0.6366197723675814,
        (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32),
        1e6,
        1e-12,
        (
            -0.16666666666666632, 0.00833333333332236, -0.00019841269829762743, 2.7557313675744617e-06,
            -2.505075550880062e-08, 1.5896640742625283e-10,
        ),
        (
            0.0416666666666666, -0.0013888888888874103, 2.48015872894683e-05, -2.75573143478666e-07,
            2.087572259187593e-09, -1.1359608378544948e-11,
        ),
    ),
    "float32": Angle(
        0.6366197466850281,
        (1.5703125, 0.0004837512969970703, 7.549533620476723e-08, 2.563344151594519e-12),
        10000.0,
        1e-5,
        (-0.16666655242443085, 0.008332175202667713, -0.00019516877364367247),
        (0.04166664555668831, -0.0013887364184483886, 2.443808625685051e-05),
    ),
}  # fmt: skip
QUARTER: Final = {"float64": 1.5707963267948966, "float32": 1.5707963705062866}
REST: Final = {"float64": 6.123233995736766e-17, "float32": -4.371139000186241e-08}  # of a quarter of a turn
TANGENTS: Final = {
    "float64": (0.41421356237309503, 2.414213562373095),
    "float32": (0.4142135679721832, 2.4142136573791504),
}
"""Those of pi/8 and of 3 pi/8."""
INVERSE_TANGENT: Final = {
    "float64": (
        -0.333333333333332, 0.19999999999953696, -0.14285714280206874, 0.11111110783912757, -0.09090897768652685,
        0.07692060369772738, -0.06663105350361045, 0.058478954182968376, -0.05039317372228127,
        0.038064516235188396, -0.01790677507573764,
    ),
    "float32": (
        -0.33333316445350647, 0.1999848484992981, -0.14243748784065247, 0.10595198720693588, -0.06081269681453705,
    ),
}  # fmt: skip
INVERSE_SINE: Final = {
    "float64": (
        0.16666666666666763, 0.07499999999970033, 0.0446428571753377, 0.030381942673193822, 0.022372215956505737,
        0.017351594698444613, 0.01398102720629026, 0.011397227709173266, 0.010789664544327228,
        0.0036709503092623593, 0.021793542900798712, -0.021120708685318994, 0.03270460989716228,
    ),
    "float32": (
        0.16666659712791443, 0.07500513643026352, 0.04451524466276169, 0.03182147070765495, 0.014388208277523518,
        0.037585336714982986,
    ),
}  # fmt: skip


class Quadrant(NamedTuple):
    """Quarters of a turn as a number and as bits, the sine and the cosine of what is left, and where that is odd."""

    n: Lanes
    quarters: Lanes
    s: Lanes
    c: Lanes
    odd: Lanes


def _quadrant(x: Lanes) -> Quadrant:
    form, angle = FORMATS[x.dtype], ANGLES[x.dtype]
    first, second, third, fourth = angle.quarters
    t = fma(x, angle.per_quarter, form.rounder)
    n = t - form.rounder
    r = fma(n, -second, fma(n, -first, x))
    r = fma(n, -fourth, fma(n, -third, r))
    z = r * r
    s = r * fma(z, polynomial(z, angle.sine), 1)
    c = fma(z, fma(z, polynomial(z, angle.cosine), -0.5), 1)
    usual = (fabs(x) < angle.large) & (fabs(r) >= angle.small)
    return Quadrant(n, t.seen_as(form.whole), s, c, ~usual)


def _checked(name: str, at: Quadrant, y: Lanes, x: Lanes) -> Lanes:
    return redone(name, at.odd & ((at.n != 0) | x.is_nan()), y, x)


def _turned(at: Quadrant, q: Lanes) -> Lanes:
    """The sine at q quarters of a turn more than the rest."""
    sign = 8 * item_size(at.s.dtype) - 1
    size = select((q & 1) != 0, at.c, at.s)
    return (size.seen_as(q.dtype) ^ ((q >> 1) << sign)).seen_as(size.dtype)


def sin(x: Lanes) -> Lanes:
    """The sine."""
    at = _quadrant(x)
    return _checked("sin", at, _turned(at, at.quarters), x)


def cos(x: Lanes) -> Lanes:
    """The cosine."""
    at = _quadrant(x)
    return _checked("cos", at, _turned(at, at.quarters + 1), x)


def tan(x: Lanes) -> Lanes:
    """The tangent."""
    at = _quadrant(x)
    uneven = (at.quarters & 1) != 0
    return _checked("tan", at, select(uneven, -at.c, at.s) / select(uneven, at.s, at.c), x)


def atan(x: Lanes) -> Lanes:
    """The inverse tangent: that of a is b + arctan((a - tan(b)) / (1 + a tan(b))) for b = 0, pi/4 and pi/2."""
    a, (low_end, high_end) = fabs(x), TANGENTS[x.dtype]
    far = a > high_end
    middle = (a > low_end) & ~far
    top = select(far, -1, select(middle, a - 1, a))
    r = top / select(far, a, select(middle, a + 1, 1))
    none = a.like(0)
    high, low = (select(far, c, select(middle, c / 2, none)) for c in (QUARTER[x.dtype], REST[x.dtype]))
    z = r * r
    return copysign(high + (r + fma(r * z, polynomial(z, INVERSE_TANGENT[x.dtype]), low)), x)


def atan2(x: Lanes, y: Lanes) -> Lanes:
    """The angle of (y, x): of the smaller of both sizes over the larger, then the eighth of the circle."""
    quarter, rest, form = QUARTER[x.dtype], REST[x.dtype], FORMATS[x.dtype]
    a, b = fabs(x), fabs(y)
    steep = a > b
    size = select(steep, a, b)
    q = select(steep, b, a) / size
    t = atan(q)
    angle = select(steep, quarter - (t - rest), t)
    angle = copysign(select(y < 0, 2 * quarter - (angle - 2 * rest), angle), x)
    return redone("atan2", ~((q >= form.tiny) & (size <= form.most)), angle, x, y)


class Halved(NamedTuple):
    """From 1/2 on, arcsin(a) is pi/2 - 2 arcsin(sqrt((1 - a) / 2)): the argument, and what its arcsin has beyond it."""

    far: Lanes
    r: Lanes
    rest: Lanes


def _halved(x: Lanes) -> Halved:
    a = fabs(x)
    far = a > 0.5
    z = select(far, fma(a, -0.5, 0.5), a * a)
    r = select(far, sqrt(z), a)
    return Halved(far, r, r * z * polynomial(z, INVERSE_SINE[x.dtype]))


def asin(x: Lanes) -> Lanes:
    """The inverse sine."""
    far, r, rest = _halved(x)
    beyond = fma(r, -2, QUARTER[x.dtype]) + fma(rest, -2, REST[x.dtype])
    return copysign(select(far, beyond, r + rest), x)


def acos(x: Lanes) -> Lanes:
    """The inverse cosine."""
    far, r, rest = _halved(x)
    quarter, lack = QUARTER[x.dtype], REST[x.dtype]
    near = quarter - (copysign(r, x) + (copysign(rest, x) - lack))
    return select(far, select(x < 0, 2 * quarter - (2 * r + (2 * rest - 2 * lack)), 2 * (r + rest)), near)


KERNELS: Final = {
    "sin": Kernel(sin, error=2.5),
    "cos": Kernel(cos, error=2.5),
    "tan": Kernel(tan, error=4.0),
    "asin": Kernel(asin, error=2.5, narrow=("float32", "float64")),
    "acos": Kernel(acos, error=2.5, narrow=("float64",)),
    "atan2": Kernel(atan2, error=4.0),
    "atan": Kernel(atan, error=2.5),
}
