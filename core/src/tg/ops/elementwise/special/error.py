"""The error function, its complements and their inverses.

Up to |x| = 1, erf is x P(x^2) with a polynomial P; beyond, 1 - e^(-x^2) Q(1 / (x + 2)), whose error is the smaller the
less is taken off. From 1/2 on, erfc is e^(-x^2) erfcx(x). For x >= 0, erfcx is G(2 x / (x + 2.5) - 1) / (2 x + 1) with
a polynomial G; below, it is 2 e^(x^2) - erfcx(-x). P and G have the least relative error on their intervals, 1.4e-19
and 1e-17, and erf the least absolute one by Q, 1.5e-16 of what is taken off at 1: they were found by Remez' exchange in
mpmath.

The inverses are got from q = p - 1/2 and from the smaller p of both tails, each of which is exact. An inverse is
q P(w) with w = -log(4 p (1 - p)); in the tails, with r = sqrt(-log(p)), it is r C((r - a) / (r + a)), where r > 5 with
another a and E. All these polynomials have the least relative error too. For erfinv the smaller p is 2^-54 or more, so
that one C serves up to r = 6.12: interpolated at the nodes of Chebyshev in mpmath, with a relative error of 2e-18.

Source:
    NIST Digital Library of Mathematical Functions, 7.12.1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, copysign, minimum, sqrt
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.exponential import exp, log
from tg.ops.elementwise.facts import STRICT_SIGNS, of_one
from tg.ops.elementwise.special.series import WIDER, WIDEST, exp_of_square, in_wider, of_gaussian, polynomial, special
from tg.ops.family import Family

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

ROOT_PI: Final = 1.7724538509055159
TWO_PER_ROOT_PI: Final = 1.1283791670955126
PER_ROOT_PI: Final = 0.5641895835477563
NEAR: Final = (
    1.1283791670955126, -0.3761263890318375, 0.11283791670954858, -0.02686617064507296,
    0.00522397762478137, -0.0008548326978765149, 0.00012055331037551108, -1.4925593518728226e-05,
    1.6460972954153765e-06, -1.635002619207727e-07, 1.4657883530919653e-08, -1.136567067182716e-09,
    5.945255584223488e-11,
)  # fmt: skip
OUTER: Final = (
    5.8076474439684274e-05, 0.5617291976705818, 1.1755320715483177, 1.4362821280046507,
    6.87318374611818, -18.268571912697187, 74.48216023858524, -185.6911134892018,
    244.33960946208308, -167.83755048108182, 48.39577259309365,
)  # fmt: skip
LIMIT: Final = 6.0  # where erf is 1
MOST: Final = 1e15  # beyond it erfcx is 1 / (x sqrt(pi))
SCALED: Final = (
    1.2648381843668615, -0.12235676308240416, -0.09902453957360069, 0.15762991902320223,
    -0.10296705603862619, 0.03276089326921424, 0.0009318928182774888, -0.00438207834883088,
    0.0004918658057362381, 0.0006321244109272586, -8.847921679089145e-05, -0.0001135226906489342,
    6.266048696792798e-06, 2.2700516482405265e-05, 2.6085763841529633e-06, -4.21915662969741e-06,
    -1.58428424215838e-06, 5.276821885089798e-07, 5.322126992165318e-07, 3.412957317272623e-08,
    -1.2494156956286386e-07, -4.2598590929507716e-08, 1.924170338475002e-08, 1.1733737441185584e-08,
    -1.4677729699307091e-09, -1.3404643576579495e-09,
)  # fmt: skip

ASYMPTOTIC: Final = 10.0
"""From where on the derivative of erfcx, of whose two terms 1 / (2 x^2) is left, is its asymptotic series."""
FALLS: Final = tuple(math.prod(range(-1, -2 * n, -2)) / 2**n for n in range(1, 16))
"""Of the series in 1 / x^2 (7.12.1), without a factor of 2 / sqrt(pi)."""

TAIL: Final = 0.0005  # from which p on the centre's polynomial serves
MIDDLE: Final = 3.75
FAR: Final = 5.0
FAR_MIDDLE: Final = 11.75
LN2: Final = 0.6931471805599453
TOO_FAR: Final = 30.0  # no number has so small a logarithm


class Quantile(NamedTuple):
    """The polynomials of a quantile: of the centre, of the tails, and of what is far out in these, if there is such."""

    centre: tuple[float, ...]
    tail: tuple[float, ...]
    far: tuple[float, ...] = ()


ERF: Final = Quantile(
    (
        1.772453850905516, 0.4640273330693028, 0.02309868407672939, -0.004670203285474001,
        -0.0002560865742828588, 9.322282610177613e-05, 4.040116837145214e-06, -2.025356060558063e-06,
        -7.427274805243113e-08, 4.5286523714847656e-08, 1.7185386172949643e-09, -1.1537898394671819e-09,
        1.855887435719863e-12, 2.0760120809670064e-11, -2.352249354616172e-12, 1.6674925199051073e-12,
        -8.658768350060464e-13, 2.2993052425562354e-13, -3.7968800423306084e-14, 4.217892171870616e-15,
        -3.2020300480571545e-16, 1.610323711230746e-17, -4.872413487825711e-19, 6.750927254377554e-21,
    ),
    (
        0.9056807439514607, 0.31154850184361577, -0.49694392393493075, 0.6080044874107184,
        -0.6901890781700787, 0.7514503415292413, -0.800392719944661, 0.8402571820569777,
        -0.8741939610402955, 0.9034613555090028, -0.9294057068391153, 0.9526970900708794,
        -0.9699758665240272, 0.9800836043032214, -1.101414966152323, 1.233486128046834,
    ),
    (
        0.9864380561404656, 0.047157445722914, -0.08032517999446977, 0.10455852557875643,
        -0.12471373210091481, 0.14173388242457113, -0.15655350445596442, 0.16955484940533605,
        -0.18112396173870302, 0.1914674630263126, -0.2007960022067685, 0.20924069160470404,
        -0.21694840146226274, 0.22400741778066313, -0.2302763910446332, 0.23596980451105995,
        -0.2440844371892297, 0.25187725081319573, -0.23447779348560965, 0.222467198347666,
        -0.3561744484232702, 0.4265793335175646, 0.05581724591475285, -0.2068239629961836,
        -0.8591895176755368, 1.022352622125899,
    ),
)  # fmt: skip
INNER: Final = Quantile(
    ERF.centre,
    (
        0.9056807439514607, 0.31154850184361593, -0.4969439239349244, 0.6080044874103665,
        -0.6901890781766483, 0.7514503417106496, -0.8003927173917149, 0.8402571404194332,
        -0.8741944444223522, 0.9034663212726423, -0.9293561110542246, 0.9523743552735543,
        -0.9727967145419738, 0.9911357874104594, -1.0177144084231928, 1.0644802913281852,
        -1.0112700734981708, 0.5704684888444604,
    ),
)  # fmt: skip
"""Of erfinv, whose argument is never nearer to 1 than a unit in the last place."""


def near_zero(x: Variable, a: Variable) -> Variable:
    """The error function where a = |x| <= 1."""
    b = minimum(a, 1.0)
    return x * polynomial(b * b, NEAR)


def scaled(a: Variable) -> Variable:
    """e^(a^2) erfc(a) for a >= 0."""
    b = minimum(a, MOST)
    w = b / (b + 2.5)
    return where(a > MOST, PER_ROOT_PI / a, polynomial((w + w) - 1, SCALED) / (2 * b + 1))


def _complement(a: Variable) -> Variable:
    """The complementary error function for a >= 0, from 1/2 on."""
    b = minimum(a, 30.0)
    return exp_of_square(b, -1) * scaled(b)


def _erf(x: Variable) -> Variable:
    a = absolute(x)
    b = minimum(a, LIMIT)
    outer = 1 - exp(-(b * b)) * polynomial(1 / (b + 2), OUTER)
    return where(a < 1, near_zero(x, a), copysign(outer, x))


def _erfc(x: Variable) -> Variable:
    a = absolute(x)
    far = _complement(a)
    return where(a < 0.5, 1 - near_zero(x, a), where(x < 0, 2 - far, far))


def _erfcx(x: Variable) -> Variable:
    a = absolute(x)
    of_size = scaled(a)
    return where(x < 0, 2 * exp_of_square(a, 1) - of_size, of_size)


def quantile(
    numbers: Quantile, q: Variable, tail: Variable, *, halved: bool = False, size: Variable | None = None
) -> Variable:
    """The quantile at q = p - 1/2, with the smaller p of both tails, or at half of them, if twice both are given.

    Args:
        size: -log(p), where that is known better than p.
    """
    p = tail * 0.5 if halved else tail
    near = p >= TAIL
    s = -log(where(near, 4 * p * (1 - p), tail if size is None else 1.0))
    factor = polynomial(where(near, s, 0.0), numbers.centre)
    centre = q * (factor * 0.5 if halved else factor)
    if size is None:
        size = s + LN2 if halved else s
    r = sqrt(where(near, 1.0, size))
    b = minimum(r, TOO_FAR)
    value = polynomial((b - MIDDLE) / (b + MIDDLE), numbers.tail)
    if numbers.far:
        value = where(r > FAR, polynomial((b - FAR_MIDDLE) / (b + FAR_MIDDLE), numbers.far), value)
    return where(near, centre, copysign(r * value, q))


def _erfinv(x: Variable) -> Variable:
    return quantile(INNER, x, 1 - absolute(x), halved=True)


def _erfcinv(x: Variable) -> Variable:
    return quantile(ERF, 1 - x, where(x < 1, x, 2 - x), halved=True)


def _slope(x: Any, y: Any) -> Variable:
    return TWO_PER_ROOT_PI * exp(-(x * x))


def _erfcx_slope(x: Any) -> Variable:
    far = x > ASYMPTOTIC
    i = 1 / where(far, x, ASYMPTOTIC)
    q = i * i
    return where(far, TWO_PER_ROOT_PI * (q * polynomial(q, FALLS)), 2 * x * erfcx(x) - TWO_PER_ROOT_PI)


slope_of_erfcx = in_wider(_erfcx_slope, WIDEST)
# in more digits, which are those of a number before its exponential
_slope_of_erfinv, _slope_of_erfcinv = (
    in_wider(slope, WIDER)
    for slope in (
        lambda x: ROOT_PI / 2 * exp(erfinv(x) * erfinv(x)),
        lambda x: -ROOT_PI / 2 * exp(erfcinv(x) * erfcinv(x)),
    )
)

erf = special(
    "erf", 1, _erf, "The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
    d=(_slope,), domain=(-4, 4), cost=9,
    facts=of_one(
        keeps=(*STRICT_SIGNS, "not_nan", "no_negative_zero"), rules=((("not_nan",), ("finite",)),), zero=True
    ),
    slope_accuracy=of_gaussian,
)  # fmt: skip
erfc = special(
    "erfc", 1, _erfc, "1 - erf(x), exact where it is near 0.",
    d=(lambda x, y: -_slope(x, y),), domain=(-4, 12), cost=9,
    facts=of_one(
        "nonnegative", "no_negative_zero",
        rules=((("not_nan",), ("finite", "not_nan")), (("nonpositive",), ("positive",))),
    ),
    slope_accuracy=of_gaussian,
)  # fmt: skip
erfcx: ElementwiseFunction = special(
    "erfcx", 1, _erfcx, "exp(x^2) erfc(x), which neither overflows nor underflows for x > 0.",
    d=(lambda x, y: slope_of_erfcx(x),), domain=(-5, 100), cost=9,
    facts=of_one("nonnegative", "no_negative_zero", keeps=("not_nan",)),
    slope_accuracy=lambda x: np.where((x > 1) & (x < ASYMPTOTIC), 16 + 3 * x**4, 16),  # two terms cancel
)  # fmt: skip
erfinv: ElementwiseFunction = special(
    "erfinv", 1, _erfinv, "The number whose erf is x.",
    d=(lambda x, y: _slope_of_erfinv(x),), domain=(-1, 1), cost=14,
    facts=of_one(keeps=(*STRICT_SIGNS, "no_negative_zero"), zero=True),
    slope_accuracy=512,  # an exponential of the square of the inverse, which is rounded
)  # fmt: skip
erfcinv: ElementwiseFunction = special(
    "erfcinv", 1, _erfcinv, "The number whose erfc is x.",
    d=(lambda x, y: _slope_of_erfcinv(x),), domain=(1e-9, 2), cost=14, facts=of_one("no_negative_zero"),
    slope_accuracy=lambda p: 32 - 8 * np.log(np.minimum(p, 2 - p)),  # as of erfinv
)  # fmt: skip

FAMILY = Family("elementwise/special/error", (erf, erfc, erfcx, erfinv, erfcinv))
