"""The error function, its complements and their inverses.

Up to |x| = 1, erf is x P(x^2) with a polynomial P; beyond, 1 - e^(-x^2) Q(1 / (x + 2)), whose error is the smaller the
less is taken off. From 1/2 on, erfc is e^(-x^2) erfcx(x). For x >= 0, erfcx is G(2 x / (x + 2.5) - 1) / (2 x + 1) with
a polynomial G; below, it is 2 e^(x^2) - erfcx(-x). P and G have the least relative error on their intervals, 1.4e-19
and 1e-17, and erf the least absolute one by Q, 1.5e-16 of what is taken off at 1: they were found by Remez' exchange in
mpmath.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise.arithmetic import absolute, copysign, minimum
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.facts import STRICT_SIGNS, of_one
from tg.ops.elementwise.special.series import exp_of_square, polynomial, special
from tg.ops.family import Family

if TYPE_CHECKING:
    from tg.graph.nodes import Variable

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


def _near(x: Variable, a: Variable) -> Variable:
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
    return exp_of_square(b, below=True) * scaled(b)


def _erf(x: Variable) -> Variable:
    a = absolute(x)
    b = minimum(a, LIMIT)
    outer = 1 - exp(-(b * b)) * polynomial(1 / (b + 2), OUTER)
    return where(a < 1, _near(x, a), copysign(outer, x))


def _erfc(x: Variable) -> Variable:
    a = absolute(x)
    far = _complement(a)
    return where(a < 0.5, 1 - _near(x, a), where(x < 0, 2 - far, far))


def _slope(x: Any, y: Any) -> Variable:
    return TWO_PER_ROOT_PI * exp(-(x * x))


erf = special(
    "erf", 1, _erf, "The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.",
    d=(_slope,), domain=(-4, 4), cost=9,
    facts=of_one(
        keeps=(*STRICT_SIGNS, "not_nan", "no_negative_zero"), rules=((("not_nan",), ("finite",)),), zero=True
    ),
)  # fmt: skip
erfc = special(
    "erfc", 1, _erfc, "1 - erf(x), exact where it is near 0.",
    d=(lambda x, y: -_slope(x, y),), domain=(-4, 12), cost=9,
    facts=of_one(
        "nonnegative", "no_negative_zero",
        rules=((("not_nan",), ("finite", "not_nan")), (("nonpositive",), ("positive",))),
    ),
)  # fmt: skip

FAMILY = Family("elementwise/special/error", (erf, erfc))
