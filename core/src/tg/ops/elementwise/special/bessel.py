"""Bessel functions of orders 0 and 1: I0 and I1, both scaled by e^-|x|, and J0 and J1.

I up to |x| = 8 by a polynomial of x^2, beyond by one of 1 / |x| - 1 / 16 times e^|x| over the root of |x|; both have
the least relative error: they were found by Remez' exchange in mpmath.
J up to |x| = 5 by its zeros and a polynomial of x^2, so that it is right to the last digits beside the first; beyond by
P cos(t) - Q sin(t) over the root of pi x / 2, for t = x - pi / 4 or x - 3 pi / 4, where P and Q / x are polynomials of
1 / x^2. There it is right as a part of the amplitude. These polynomials interpolate at Chebyshev's points what mpmath
gives, with an error below 1e-17. Of t no difference is taken: sin and cos of it are those of x, added or subtracted.

Source:
    NIST Digital Library of Mathematical Functions, 10.17.3 and 10.17.4, for P and Q; 10.21 for the zeros; 10.2.2,
    10.25.2, 10.40.1 and 10.40.2 for derivatives.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, copysign, maximum, minimum, sign, sqrt
from tg.ops.elementwise.comparison import equal, isnan, where
from tg.ops.elementwise.exponential import exp
from tg.ops.elementwise.facts import of_one
from tg.ops.elementwise.special.series import WIDEST, in_wider, polynomial, special
from tg.ops.elementwise.trigonometric import cos, sin
from tg.ops.family import Family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

END: Final = 8.0
ROOT_PI: Final = 1.7724538509055159
FAR: Final = 50.0
FAR_TERMS: Final = 14  # of Hankel's expansion, of which the last is below a unit where x > FAR and x > v^2
I1_PER_X: Final = tuple(0.5 / (4**k * math.factorial(k) * math.factorial(k + 1)) for k in range(10))
J1_PER_X: Final = tuple((-1) ** k * c for k, c in enumerate(I1_PER_X))
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

J_END: Final = 5.0
ZEROS_J0: Final = ((2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17))
ZEROS_J1: Final = ((3.8317059702075125, -1.5269184090088067e-16), (7.015586669815619, -9.414165653410389e-17))
NEAR_J0: Final = (
    0.0031873556303932387, -0.0019210870437164043, 0.00048768271776558413, -7.121705240575853e-05,
    6.854954847199373e-06, -4.7062916645708525e-07, 2.4286220380254094e-08, -9.781438946172569e-10,
    3.1637239892118345e-11, -8.404185273180054e-13, 1.8688672682728884e-14, -3.524289753004227e-16,
)  # fmt: skip
COSINES_J0: Final = (
    0.9986347659091991, -0.001327493127200339, 3.491730581252044e-05, -2.459963325168103e-06,
    2.975900553746619e-07, -5.086425840264451e-08, 1.1058780568890595e-08, -2.871060070650354e-09,
    8.537676263486641e-10, -2.829452496746712e-10, 1.0436064350820112e-10, -4.106525217778278e-11,
    1.2759965127797933e-11, -4.91251230693199e-12, 8.185823082059821e-12, -4.552209147917835e-12,
    -2.7471611955307327e-12, 1.744128580941252e-12, 1.4135159640864857e-12, -8.369869275701596e-13,
)  # fmt: skip
SINES_J0: Final = (
    -0.12361496352611864, 0.001314213972910237, -6.338715442513257e-05, 6.239113170466805e-06,
    -9.409875312710735e-07, 1.8870296015840276e-07, -4.63978199552338e-08, 1.3296752836791914e-08,
    -4.295554938184743e-09, 1.5272918979801804e-09, -5.811510556278745e-10, 2.373363577724958e-10,
    -1.2115517654380601e-10, 5.843656666984275e-11, 5.53339786752136e-12, -7.131780305763748e-12,
    -3.599094494084107e-11, 2.2610125498080994e-11, 1.70606170155461e-11, -1.1153425787578828e-11,
    -5.912786560846945e-12, 3.750660241439195e-12,
)  # fmt: skip
NEAR_J1: Final = (
    0.0004323698734106474, -0.00020932672214860176, 4.42186880710148e-05, -5.515494459601969e-06,
    4.625979215164964e-07, -2.8111472529722753e-08, 1.3002918729585539e-09, -4.7428777955818374e-11,
    1.4012939606701113e-12, -3.425083087919302e-14, 7.050885594278574e-16, -1.2377241785806614e-17,
)  # fmt: skip
COSINES_J1: Final = (
    1.0022906462560661, 0.002241463213917126, -4.5782806531241475e-05, 2.978621109034246e-06,
    -3.4667186580139646e-07, 5.7916610107440336e-08, -1.2403208324099435e-08, 3.1855032324146683e-09,
    -9.396111382507204e-10, 3.09413943706809e-10, -1.1347108608292092e-10, 4.4449687372999163e-11,
    -1.386282352897023e-11, 5.336343631938542e-12, -8.698156687887373e-12, 4.824788889110816e-12,
    2.890976936914703e-12, -1.8347559597628753e-12, -1.4950516095189181e-12, 8.840536838471388e-13,
)  # fmt: skip
SINES_J1: Final = (
    0.3730474331740802, -0.0018648496218413013, 7.898094177947462e-05, -7.369927948656423e-06,
    1.0798853927846824e-06, -2.1266739030367083e-07, 5.1641441371192136e-08, -1.4664417758215227e-08,
    4.704019137859182e-09, -1.6631302085483532e-09, 6.301395079605953e-10, -2.563874349687109e-10,
    1.2997716607081212e-10, -6.246565517709986e-11, -5.371760586689513e-12, 7.28528462546879e-12,
    3.791835489251781e-11, -2.3787616104980884e-11, -1.7921216001705988e-11, 1.1707414303702014e-11,
    6.22447631529189e-12, -3.944260029715492e-12,
)  # fmt: skip


def _parts(x: Variable, near: tuple[float, ...], far: tuple[float, ...]) -> tuple[Variable, Variable, Variable]:
    """|x|, the polynomial near 0, and the function beyond, without its exponential."""
    a = absolute(x)
    b, c = minimum(a, END), maximum(a, END)
    return a, polynomial(b * b, near), polynomial(1 / c - 0.0625, far) / sqrt(c)


def _grown(value: Variable, a: Variable) -> Variable:
    """A number times e^a in two steps, of which none overflows before the product does."""
    half = exp(0.5 * minimum(a, 800.0))
    product = where(a < 700, value * exp(minimum(a, 700.0)), (value * half) * half)
    return where(a > 750, np.inf, product)


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


def _beside_zeros(a: Variable, zeros: tuple[tuple[float, float], ...], numbers: tuple[float, ...]) -> Variable:
    """The product of a^2 - z^2 for both zeros, which are sums of two numbers, times a polynomial of a^2."""
    product = polynomial(a * a * (2 / J_END**2) - 1, numbers)
    for zero, rest in zeros:
        product = product * (((a - zero) - rest) * (a + zero))
    return product


def _j(x: Variable, order: int) -> Variable:
    a = absolute(x)
    b = minimum(a, J_END)
    c = where((a > J_END) & (a < np.inf), a, J_END)
    s, d = sin(c), cos(c)
    i = 1 / c
    u = i * i * (2 * J_END**2) - 1
    if order == 0:
        near = _beside_zeros(b, ZEROS_J0, NEAR_J0)
        wave = polynomial(u, COSINES_J0) * (d + s) - polynomial(u, SINES_J0) * i * (s - d)
    else:
        near = b * _beside_zeros(b, ZEROS_J1, NEAR_J1)
        wave = polynomial(u, COSINES_J1) * (s - d) + polynomial(u, SINES_J1) * i * (s + d)
    y = where(a > J_END, where(equal(a, np.inf), 0.0, wave / (sqrt(c) * ROOT_PI)), near)
    y = where(isnan(x), x, y)
    return y if order == 0 else y * copysign(1.0, x)


def slope_of_scaled(v: Any, x: Variable, y: Variable, beside: Variable, sign: float) -> Variable:
    """The derivative of kve or ive by the functions `beside` y, or, where all these cancel, -y / x times a ratio.

    It is the one of sums of a_k(v) / x^k (10.40.1, 10.40.2), each term of the first times k + 1/2.
    """
    a = absolute(x)
    far = (a > FAR) & (a > v * v)
    square, i = 4 * where(far, v * v, 0.0), 0.125 / where(far, a, FAR)
    term: Any = 1.0
    total, steep = term, 0.5 * term
    for k in range(1, FAR_TERMS + 1):
        term = (square - float((2 * k - 1) ** 2)) * (i * (sign / k)) * term
        total, steep = total + term, steep + (k + 0.5) * term
    return where(far, -(y / x) * (steep / total), beside)


def _per_x(x: Variable, y: Variable, coefficients: Sequence[float], *, scaled: bool = False) -> Variable:
    """A function of order 1 over x: near 0 by its series, of whose derivatives nothing cancels."""
    near = absolute(x) < 1
    series = polynomial(where(near, x * x, 0.0), coefficients)
    if scaled:
        series = series * exp(-where(near, absolute(x), 0.0))
    return where(near, series, y / where(near, 1.0, x))


def _slope_of_i1(x: Variable) -> Variable:
    y = i0(x)
    return where(equal(y, np.inf), y, y - _per_x(x, i1(x), I1_PER_X))


def _slope_of_i0e(x: Variable) -> Variable:
    y = i0e(x)
    return slope_of_scaled(0.0, x, y, i1e(x) - sign(x) * y, -1.0)


def _slope_of_i1e(x: Variable) -> Variable:
    y = i1e(x)
    return slope_of_scaled(1.0, x, y, i0e(x) - _per_x(x, y, I1_PER_X, scaled=True) - sign(x) * y, -1.0)


def _slope_of_j1(x: Variable) -> Variable:
    return j0(x) - _per_x(x, j1(x), J1_PER_X)


# in double precision: they cancel
_d_i1, _d_i0e, _d_i1e, _d_j1 = (
    in_wider(slope, WIDEST) for slope in (_slope_of_i1, _slope_of_i0e, _slope_of_i1e, _slope_of_j1)
)

i0: ElementwiseFunction = special(
    "i0", 1, _i0, "The modified Bessel function of the first kind of order 0.",
    d=(lambda x, y: i1(x),), domain=(-50, 50), cost=12, wider=WIDEST,
    facts=of_one("nonnegative", "positive", keeps=("not_nan",)),
)  # fmt: skip
i1: ElementwiseFunction = special(
    "i1", 1, _i1, "The modified Bessel function of the first kind of order 1.",
    d=(lambda x, y: _d_i1(x),), domain=(-50, 50), cost=12, wider=WIDEST,
    facts=of_one(keeps=("not_nan", "nonnegative", "nonpositive"), zero=True),
)  # fmt: skip
i0e: ElementwiseFunction = special(
    "i0e", 1, _i0e, "exp(-|x|) i0(x).",
    d=(lambda x, y: _d_i0e(x),), domain=(-500, 500), cost=11,
    facts=of_one("nonnegative", "no_negative_zero", rules=((("not_nan",), ("finite",)),)),
    slope_accuracy=2048,  # to x = 20 the terms of the slope nearly cancel, and those of the next again
)  # fmt: skip
i1e: ElementwiseFunction = special(
    "i1e", 1, _i1e, "exp(-|x|) i1(x).",
    d=(lambda x, y: _d_i1e(x),), domain=(-500, 500), cost=11,
    facts=of_one(
        keeps=("nonnegative", "nonpositive"), rules=((("not_nan",), ("finite",)),), zero=True
    ),
    slope_accuracy=2048,  # as of i0e
)  # fmt: skip

j0: ElementwiseFunction = special(
    "j0", 1, lambda x: _j(x, 0), "The Bessel function of the first kind, of order 0.",
    d=(lambda x, y: -j1(x),), accuracy=8, domain=(-20, 20), cost=100, wider=WIDEST,
    facts=of_one(rules=((("not_nan",), ("finite",)),)),
    slope_accuracy=32,
)  # fmt: skip
j1: ElementwiseFunction = special(
    "j1", 1, lambda x: _j(x, 1), "The Bessel function of the first kind, of order 1.",
    d=(lambda x, y: _d_j1(x),), accuracy=8, domain=(-20, 20), cost=100, wider=WIDEST,
    facts=of_one(rules=((("not_nan",), ("finite",)),)),
    slope_accuracy=32,
)  # fmt: skip

FAMILY = Family("elementwise/special/bessel", (i0, i1, i0e, i1e, j0, j1))
