"""The modified Bessel functions I0 and I1, and both scaled by e^-|x|.

Up to |x| = 8 a polynomial of x^2, beyond one of 1 / |x| - 1 / 16 times e^|x| over the root of |x|; both have the least
relative error: they were found by Remez' exchange in mpmath.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, copysign, maximum, minimum, sign, sqrt
from tg.ops.elementwise.comparison import equal, where
from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.facts import of_one
from tg.ops.elementwise.special.series import WIDEST, polynomial, special
from tg.ops.family import Family

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

END: Final = 8.0
NEAR_0: Final = (
    1.0, 0.25, 0.015624999999999977, 0.0004340277777777948, 6.781684027771371e-06,
    6.781684027918286e-08, 4.709502795111003e-10, 2.4028075678299263e-12, 9.385965797594732e-15,
    2.8969089282211817e-17, 7.242073372708185e-20, 1.4967804560540279e-22, 2.590147059760982e-25,
    3.933811167828161e-28, 4.1977095832683946e-31, 8.570763092273953e-34,
)  # fmt: skip
FAR_0: Final = (
    0.4021765094450081, 0.053768831738685526, 0.03487131504388624, 0.045641866413585926,
    0.09724543971011095, 0.3118043714221008, 1.488483844814169, 10.556574652909575,
    92.61924447696074, 518.940963727601, -7522.455006650904, -235667.7286630907,
    -1424404.4867386892, 33862426.028975464, 475720372.30940515, -3975226921.3357425,
    -85329021773.32227, 429399683940.17395, 10550884409021.139, -39710894870834.59,
    -820917510475025.0, 2597659191849300.5, 2.986773871548077e+16, -8.432622079659408e+16,
)  # fmt: skip
NEAR_1: Final = (
    0.5, 0.0625, 0.0026041666666666652, 5.4253472222223114e-05, 6.781684027774715e-07,
    5.651403356543503e-09, 3.363930568527278e-11, 1.5017547255719738e-13, 5.214425664797451e-16,
    1.4484536542209702e-18, 3.2918726877808666e-21, 6.236193442392629e-24, 9.967124095249658e-27,
    1.400703646546221e-29, 1.4202965427647965e-32, 2.6314044187201103e-35,
)  # fmt: skip
FAR_1: Final = (
    0.38939845902587233, -0.1559932350917716, -0.056124355541007344, -0.061597889337708094,
    -0.12025267634176544, -0.3653087260430606, -1.677908922536586, -11.577485798582014,
    -100.46287423233146, -579.0057061094755, 7512.259172738609, 246740.4737209139,
    1580760.0759774118, -34315991.17558651, -506281978.6168893, 3905191764.999063,
    89674402896.54916, -411738030547.58466, -11025494957710.941, 37690716347640.5,
    855426948415164.6, -2472027455409764.5, -3.1075728746136884e+16, 8.105776042465147e+16,
)  # fmt: skip


def _parts(x: Variable, near: tuple[float, ...], far: tuple[float, ...]) -> tuple[Variable, Variable, Variable]:
    """|x|, the polynomial near 0, and the function beyond, without its exponential."""
    a = absolute(x)
    b, c = minimum(a, END), maximum(a, END)
    return a, polynomial(b * b, near), polynomial(1 / c - 0.0625, far) / sqrt(c)


def _grown(value: Variable, a: Variable) -> Variable:
    """A number times e^a in two steps, of which none overflows before the product does."""
    half = exp(0.5 * minimum(a, 800.0))
    found = where(a < 700, value * exp(minimum(a, 700.0)), (value * half) * half)
    return where(a > 750, np.inf, found)


def _i0(x: Variable) -> Variable:
    a, near, far = _parts(x, NEAR_0, FAR_0)
    return where(a > END, _grown(far, a), near)


def _i1(x: Variable) -> Variable:
    a, near, far = _parts(x, NEAR_1, FAR_1)
    return copysign(where(a > END, _grown(far, a), a * near), x)


def _i0e(x: Variable) -> Variable:
    a, near, far = _parts(x, NEAR_0, FAR_0)
    return where(a > END, far, near * exp(-a))


def _i1e(x: Variable) -> Variable:
    a, near, far = _parts(x, NEAR_1, FAR_1)
    return copysign(where(a > END, far, a * near * exp(-a)), x)


def _per_x(x: Any, y: Any) -> Variable:
    """I1(x) / x, scaled as it is."""
    null = equal(x, 0)
    return where(null, 0.5, y / where(null, 1.0, x))


i0: ElementwiseFunction = special(
    "i0", 1, _i0, "The modified Bessel function of the first kind of order 0.",
    d=(lambda x, y: i1(x),), domain=(-50, 50), cost=12, wider=WIDEST,
    facts=of_one("nonnegative", "positive", keeps=("not_nan",)),
)  # fmt: skip
i1: ElementwiseFunction = special(
    "i1", 1, _i1, "The modified Bessel function of the first kind of order 1.",
    d=(lambda x, y: i0(x) - _per_x(x, y),), domain=(-50, 50), cost=12, wider=WIDEST,
    facts=of_one(keeps=("not_nan", "nonnegative", "nonpositive"), zero=True),
)  # fmt: skip
i0e: ElementwiseFunction = special(
    "i0e", 1, _i0e, "exp(-|x|) i0(x).",
    d=(lambda x, y: i1e(x) - sign(x) * y,), domain=(-500, 500), cost=11,
    facts=of_one("nonnegative", "no_negative_zero", rules=((("not_nan",), ("finite",)),)),
)  # fmt: skip
i1e: ElementwiseFunction = special(
    "i1e", 1, _i1e, "exp(-|x|) i1(x).",
    d=(lambda x, y: i0e(x) - _per_x(x, y) - sign(x) * y,), domain=(-500, 500), cost=11,
    facts=of_one(
        keeps=("nonnegative", "nonpositive"), rules=((("not_nan",), ("finite",)),), zero=True
    ),
)  # fmt: skip

FAMILY = Family("elementwise/special/bessel", (i0, i1, i0e, i1e))
