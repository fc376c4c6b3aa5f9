"""Bessel functions of real order.

K by the trapezoidal rule for its integral of e^(-x cosh t) cosh(v t), which is even and analytic, about the largest
value of what is integrated and as far as that counts: 96 places serve for all orders and arguments above 1e-9; below,
what is integrated is as good as constant for longer, and there are as many as a step of 1/4 asks for. The derivative in
the order is the same integral with t sinh(v t).
I by its series; by Hankel's expansion where x > 30 + v^2 / 2; and by Debye's for v >= 30.
J by Hankel's expansion where x > 25 and x > v^2 / 4; by its series where x^2 <= 4 (v + 1), so that nothing cancels; and
between by the recurrence downwards from an order far above, made right by Neumann's sum for a power of x. For negative
orders the recurrence goes on. It goes to 20,000: where neither of the others serves beyond that, J is NaN. Near its
zeros J is right as a part of its amplitude sqrt(2 / (pi x)); the recurrence leaves some hundred units in the last place
of that at arguments of a hundred.

Source:
    NIST Digital Library of Mathematical Functions, 10.2.2, 10.6.1, 10.17.3, 10.23.15, 10.25.2, 10.27.2, 10.32.9,
    10.40.1, 10.40.2, 10.41.3, 10.41.9.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.ops.elementwise.arithmetic import absolute, copysign, hypot, maximum, minimum, power, remainder, sqrt
from tg.ops.elementwise.arithmetic import cbrt as cube_root
from tg.ops.elementwise.comparison import equal, isfinite, isnan, logical_not, where
from tg.ops.elementwise.exponential import exp, expm1, log
from tg.ops.elementwise.rounding import ceil, floor, rint
from tg.ops.elementwise.special.bessel import slope_of_scaled
from tg.ops.elementwise.special.gamma import gammaln
from tg.ops.elementwise.special.iterated import DIGIT, in_double, iterated, until_settled
from tg.ops.elementwise.special.series import WIDEST, in_wider, no_derivative
from tg.ops.elementwise.special.tails import gamma_density
from tg.ops.elementwise.trigonometric import arccosh, arcsinh, cos, sin, sinh
from tg.ops.family import Family
from tg.ops.iteration import scan
from tg.variables.conversion import as_variable

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.ops.elementwise.record import ElementwiseFunction

PLACES: Final = 96
MOST_PLACES: Final = 3200  # for the least number
WIDEST_STEP: Final = 0.25
"""Beyond it the rule's own error counts, which is some e^(-pi^2 / step)."""
FALL: Final = 42.0
"""Where the exponent is lower by so much, the integral of K ends: e^-42 is below a unit of the last place."""
STEEP: Final = 1e300
BEYOND: Final = 300.0
TINY: Final = 1e-290
HUGE: Final = 1e250
MOST_ORDERS: Final = 21_000
FARTHEST: Final = 2e4  # orders and arguments that the recurrence goes to
NEAR_0: Final = 0.125
"""The size of an order below which its slope is not taken of the orders beside it alone."""
LARGE: Final = 30.0
"""The order from which on ten terms of Debye's expansion serve."""


@functools.cache
def _debye_table() -> np.ndarray[Any, Any]:
    """V_k with U_k(p) = p^k V_k(p^2) of Debye's expansion (10.41.9), the highest k and power first; exact fractions."""
    orders: list[dict[int, Fraction]] = [{0: Fraction(1)}]
    for _ in range(10):
        after: dict[int, Fraction] = {}
        for e, c in orders[-1].items():
            for power_of, part in ((e + 1, c * e / 2 + c / 8 / (e + 1)), (e + 3, -c * e / 2 - c * 5 / 8 / (e + 3))):
                after[power_of] = after.get(power_of, Fraction(0)) + part
        orders.append(after)
    rows = [[float(u.get(k + 2 * j, 0)) for j in range(10, -1, -1)] for k, u in enumerate(orders)]
    return np.array(rows[::-1])


def _k_integral(v: Variable, x: Variable, order: int) -> tuple[Variable, Variable]:
    """The integral of K for x > 0, or of a derivative in v >= 0, less a factor; the logarithm of e^x times this."""
    log_x, steep = log(x), v / x > STEEP

    def rises(t: Variable) -> Variable:
        """x sinh(t), of which sinh(t) may be infinite where x is as good as 0."""
        far = t > BEYOND
        return where(far, 0.5 * exp(where(far, t + log_x, 0.0)), x * sinh(where(far, 0.0, t)))

    top = where(steep, log(2 * where(steep, v, 1.0)) - log_x, arcsinh(where(steep, 1.0, v / x)))
    curvature = hypot(x, v)
    half = sinh(0.5 * top)
    peak = v * top - 2 * x * half * half

    def fall(s: Variable) -> Variable:
        """The drop of the exponent, s further on."""
        return 2 * rises(top + 0.5 * s) * sinh(0.5 * s) - v * s

    flat = curvature < 1 / STEEP
    first = arccosh(1 + (FALL + 3) / where(flat, 1.0, curvature))
    s = where(flat, math.log(2 * (FALL + 3)) - log(curvature), first) + 1.0
    for _ in range(6):  # Newton's method from above for a convex function
        s = s - (fall(s) - FALL) / maximum(rises(top + s) - v, 1e-300)
    r = minimum(top, sqrt(2 * FALL / curvature))
    for _ in range(8):  # to the left it may fall as slowly as a line
        missing = FALL - fall(-r)
        further = minimum(top - r, missing / maximum(v - rises(top - r), 1e-300))
        r = where(missing > 0, r + further, r)
    left = maximum(top - r, 0.0)
    places = maximum(ceil((s + r) / WIDEST_STEP), float(PLACES))
    width = (s + r) / places

    def term(k: Any) -> Any:
        t = left + width * k
        h = sinh(0.5 * t)
        rising = exp(v * t - 2 * x * h * h - peak)
        even = -expm1(-2 * v * t) if order % 2 else 1 + exp(-2 * v * t)
        for _ in range(order):
            even = t * even
        return rising * even * where(equal(k, 0), 0.25, 0.5)

    def add(carry: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        k, total = carry
        return (k + 1.0, total + term(k)), None

    def one_more(going: Any, k: Any, total: Any) -> tuple[Any, ...]:
        return going & (k < places), k + 1.0, where(going, total + term(k), total)

    (_, total), _ = scan(add, (0.0, x * 0), length=PLACES + 1)
    total = until_settled(one_more, (places > PLACES, PLACES + 1.0, total), MOST_PLACES)[2]
    return total * width, peak


def _k(v: Variable, x: Variable, scaled: float, order: int = 0) -> Variable:
    """K, or a derivative of it in v, times e^(scaled x)."""
    inside = (x > 0) & isfinite(x) & isfinite(v)
    a, b = where(inside, absolute(v), 1.0), where(inside, x, 1.0)
    value, logarithm = _k_integral(a, b, order)
    value = value * exp(logarithm + (scaled - 1) * b)
    if order:
        return where(
            inside, where(v < 0, -value, value) if order % 2 else value, where(isnan(v) | isnan(x), np.nan, 0.0)
        )
    ends = where(equal(x, 0), np.inf, where(equal(x, np.inf) & isfinite(v), 0.0, np.nan))
    return where(inside, value, where(isnan(v), np.nan, ends))


_k_of_order_twice, _ke_of_order_twice = (in_double(functools.partial(_k, scaled=s, order=2)) for s in (0.0, 1.0))


def _slope_of_k(v: Variable, x: Variable) -> Variable:
    return -0.5 * (kv(v - 1, x) + kv(v + 1, x))


def _slope_of_ke(v: Variable, x: Variable) -> Variable:
    y = kve(v, x)
    return slope_of_scaled(v, x, y, y - 0.5 * (kve(v - 1, x) + kve(v + 1, x)), 1.0)


def _slope_of_k_of_order(v: Variable, x: Variable) -> Variable:
    return -0.5 * (kv_dv(v - 1, x) + kv_dv(v + 1, x))


def _slope_of_ke_of_order(v: Variable, x: Variable) -> Variable:
    return kve_dv(v, x) - 0.5 * (kve_dv(v - 1, x) + kve_dv(v + 1, x))


# in double precision: they cancel, and what is beside a value may be out of the range of float32
_k_slope, _ke_slope, _k_slope_of_order, _ke_slope_of_order = (
    in_wider(slope, WIDEST) for slope in (_slope_of_k, _slope_of_ke, _slope_of_k_of_order, _slope_of_ke_of_order)
)

kv_dv: ElementwiseFunction = iterated(
    "kv_dv", 2, functools.partial(_k, scaled=0.0, order=1), "The derivative of kv(v, x) in the order v.",
    d=(lambda v, x, y: _k_of_order_twice(v, x), lambda v, x, y: _k_slope_of_order(v, x)),
    accuracy=64, domain=(0.1, 20), cost=4500,
)  # fmt: skip
kve_dv: ElementwiseFunction = iterated(
    "kve_dv", 2, functools.partial(_k, scaled=1.0, order=1), "kv_dv(v, x) times e^x.",
    d=(lambda v, x, y: _ke_of_order_twice(v, x), lambda v, x, y: _ke_slope_of_order(v, x)),
    accuracy=64, domain=(0.1, 20), cost=4500,
)  # fmt: skip
kv: ElementwiseFunction = iterated(
    "kv", 2, functools.partial(_k, scaled=0.0), "The modified Bessel function of the second kind, of real order v.",
    d=(lambda v, x, y: kv_dv(v, x), lambda v, x, y: _k_slope(v, x)),
    accuracy=64, domain=(0.1, 20), cost=4500,
    slope_accuracy=128,
)  # fmt: skip
kve: ElementwiseFunction = iterated(
    "kve", 2, functools.partial(_k, scaled=1.0), "kv(v, x) times e^x.",
    d=(lambda v, x, y: kve_dv(v, x), lambda v, x, y: _ke_slope(v, x)),
    accuracy=64, domain=(0.1, 20), cost=4500,
    slope_accuracy=2**13,  # as of ive
)  # fmt: skip


def _hankel_terms(v: Variable, x: Variable, going: Variable) -> tuple[Variable, Variable]:
    """P and Q of Hankel's expansion, each with the signs of its terms alternating."""
    square, one = 4 * v * v, x * 0 + 1.0

    def step(going: Any, k: Any, term: Any, p: Any, q: Any) -> tuple[Any, ...]:
        odd = 2 * k - 1
        term = where(going, term * (square - odd * odd) / (8 * k * x), 0.0)
        phase = remainder(k, 4.0)
        p = p + where(equal(phase, 2), -term, where(equal(phase, 0), term, 0.0))
        q = q + where(equal(phase, 1), term, where(equal(phase, 3), -term, 0.0))
        return going & (absolute(term) > DIGIT / 4 * (absolute(p) + absolute(q))), k + 1.0, term, p, q

    _, _, _, p, q = until_settled(step, (going, 1.0, one, one, one * 0), 200)
    return p, q


def _power_series(v: Variable, x: Variable, going: Variable, sign: float) -> Variable:
    """The sum of (sign x^2 / 4)^k / (k! (v + 1) ... (v + k))."""
    square, one = sign * 0.25 * x * x, x * 0 + 1.0

    def step(going: Any, k: Any, term: Any, total: Any) -> tuple[Any, ...]:
        term = where(going, term * square / (k * (v + k)), 0.0)
        total = total + term
        return going & (absolute(term) > DIGIT / 4 * absolute(total)), k + 1.0, term, total

    return until_settled(step, (going, 1.0, one, one), 2000)[3]  # type: ignore[no-any-return]


def _first_term(v: Variable, h: Variable) -> Variable:
    """h^v / gamma(v + 1) times e^-h."""
    low = v < 1
    near = power(h, where(low, v, 1.0)) * exp(-h - gammaln(where(low, v, 1.0) + 1.0))
    return where(low, near, gamma_density(v + 1.0, h) / h)


def _i_of_positive(v: Variable, x: Variable) -> Variable:
    """e^-x I for v >= 0 and x > 0."""
    large = v >= LARGE
    far = logical_not(large) & (x > 30 + 0.5 * v * v)
    near = logical_not(large | far)
    order, z = where(large, v, LARGE), where(large, x, LARGE)
    root = hypot(order, z)
    p = order / root
    square, per_order = p * p, 1 / order

    def term(total: Variable, row: Variable) -> tuple[Variable, None]:
        return total * (p * per_order) + scan(lambda s, c: (s * square + c, None), p * 0, row)[0], None

    debye, _ = scan(term, p * 0, as_variable(_debye_table()))
    exponent = order * (order / (root + z)) - order * arcsinh(order / z)
    by_debye = exp(exponent) / sqrt(2 * math.pi * root) * debye
    z = where(far, x, 100.0)
    square, one = 4 * v * v, x * 0 + 1.0

    def step(going: Any, k: Any, term: Any, total: Any) -> tuple[Any, ...]:
        odd = 2 * k - 1
        term = where(going, -term * (square - odd * odd) / (8 * k * z), 0.0)
        total = total + term
        return going & (absolute(term) > DIGIT / 4 * absolute(total)), k + 1.0, term, total

    by_hankel = until_settled(step, (far, 1.0, one, one), 200)[3] / sqrt(2 * math.pi * z)
    z, order = where(near, x, 1.0), where(near, v, 0.0)
    by_series = _first_term(order, 0.5 * z) * exp(-0.5 * z) * _power_series(order, z, near, 1.0)
    return where(large, by_debye, where(far, by_hankel, by_series))


def _i(v: Variable, x: Variable, scaled: float) -> Variable:
    """I times e^(-scaled |x|)."""
    a, whole = absolute(x), equal(v, floor(v))
    inside = isfinite(v) & isfinite(x) & (a > 0) & ((x > 0) | whole)
    order, b = where(inside, absolute(v), 1.0), where(inside, a, 1.0)
    value = _i_of_positive(order, b) * exp((1 - scaled) * b)
    other = (2 / math.pi) * sin(math.pi * remainder(order, 2.0)) * _k(order, b, -scaled)
    value = where((v < 0) & logical_not(whole), value + other, value)
    value = where((x < 0) & equal(remainder(v, 2.0), 1), -value, value)
    at_zero = where(equal(v, 0), 1.0, where((v > 0) | whole, 0.0, np.inf))
    infinite = where(x > 0, np.inf, np.nan) if scaled == 0 else where(x > 0, 0.0, np.nan)
    ends = where(equal(x, 0), at_zero, where(equal(a, np.inf), infinite, np.nan))
    return where(inside, value, where(isfinite(v) & logical_not(isnan(x)), ends, np.nan))


def _beside_order_0(v: Variable, x: Variable) -> tuple[Variable, Variable]:
    """Whether an order is so small that v - 1 would have lost digits, and v / x there."""
    near = (absolute(v) < NEAR_0) & logical_not(equal(x, 0))
    return near, v / where(near, x, 1.0)


def _slope_of_i(v: Variable, x: Variable) -> Variable:
    near, per_x = _beside_order_0(v, x)
    above = iv(v + 1, x)
    return where(near, above + per_x * iv(v, x), 0.5 * (iv(v - 1, x) + above))


def _slope_of_ie(v: Variable, x: Variable) -> Variable:
    y = ive(v, x)
    near, per_x = _beside_order_0(v, x)
    above = ive(v + 1, x)
    slope = where(near, above + per_x * y, 0.5 * (ive(v - 1, x) + above))
    return slope_of_scaled(v, x, y, slope - copysign(y, x * y), -1.0)


_i_slope, _ie_slope = in_wider(_slope_of_i, WIDEST), in_wider(_slope_of_ie, WIDEST)

iv: ElementwiseFunction = iterated(
    "iv", 2, functools.partial(_i, scaled=0.0), "The modified Bessel function of the first kind, of real order v.",
    d=(no_derivative("iv", "v"), lambda v, x, y: _i_slope(v, x)),
    accuracy=64, domain=(0.1, 20), cost=5000,
    slope_accuracy=64,
)  # fmt: skip
ive: ElementwiseFunction = iterated(
    "ive", 2, functools.partial(_i, scaled=1.0), "iv(v, x) times e^-|x|.",
    d=(no_derivative("ive", "v"), lambda v, x, y: _ie_slope(v, x)),
    accuracy=64, domain=(0.1, 20), cost=5000,
    slope_accuracy=2**19,  # far out the terms of the slope nearly cancel, and those of the next again
)  # fmt: skip


def _by_recurrence(v: Variable, x: Variable) -> Variable:
    """J for x > 0, by the recurrence downwards from an order where it is as good as 0."""
    whole = floor(v)
    part = v - whole
    wanted = maximum(whole, 0.0)
    large = maximum(wanted, x)
    first = 2 * ceil(0.5 * (large + 12 * cube_root(large) + 20))
    half = 0.5 * first
    weight = exp(gammaln(part + half) - gammaln(half + 1.0))  # gamma(part + k / 2) / (k / 2)!
    last_weight = exp(gammaln(part + 1.0))
    zero = x * 0

    def down(on: Any, k: Any, above: Any, at: Any, weight: Any, total: Any, value: Any, second: Any) -> tuple[Any, ...]:
        """From the orders part + k + 1 and part + k to one less, and Neumann's sum so far."""
        even, j = on & equal(remainder(k, 2.0), 0), 0.5 * k
        total = total + where(even, where(equal(k, 0), last_weight, (part + k) * weight) * at, 0.0)
        divisor = part + j - 1
        weight = where(even & (k > 0), weight * j / where(equal(divisor, 0), 1.0, divisor), weight)
        value, second = where(equal(k, wanted), at, value), where(equal(k, 1), at, second)
        below = 2 * (part + k) / x * at - above
        goes = on & (k > 0)
        scale = where(goes & (absolute(below) > HUGE), 1 / HUGE, 1.0)
        after = (where(goes, at * scale, above), where(goes, below * scale, at))
        return goes, k - 1.0, *after, weight, total * scale, value * scale, second * scale

    carry = (first >= 0, first, zero, zero + TINY, weight, zero, zero, zero)
    _, _, _, at, _, total, value, second = until_settled(down, carry, MOST_ORDERS)
    scale = where(equal(part, 0), 1.0, power(0.5 * x, part)) / total
    # below 0: the recurrence goes on from the orders part and part + 1
    lower = maximum(-whole, 0.0)

    def further(on: Any, k: Any, above: Any, at: Any) -> tuple[Any, ...]:
        below = 2 * (part - k) / x * at - above
        return on & (k + 1.0 < lower), k + 1.0, where(on, at, above), where(on, below, at)

    first_two = (lower > 0, 0.0, second * scale, at * scale)
    negative = until_settled(further, first_two, MOST_ORDERS)[3]
    return where(whole < 0, negative, value * scale)


def _j_of_positive(v: Variable, x: Variable) -> Variable:
    """J for x > 0."""
    far = ((x > 25) & (x > 0.25 * v * v)) | ((x > 1e4) & (x > v * v / 16))
    beyond = logical_not(far) & ((x > FARTHEST) | (absolute(v) > FARTHEST))
    series = logical_not(far) & (0.25 * x * x <= v + 1) & (v >= 0)
    between = logical_not(far | series | beyond)
    z = where(far, x, 100.0)
    p, q = _hankel_terms(where(far, v, 0.0), z, far)
    quarter = 0.5 * v + 0.25
    turn = math.pi * (quarter - 2 * rint(0.5 * quarter))
    c, s, cx, sx = cos(turn), sin(turn), cos(z), sin(z)
    by_hankel = sqrt(2 / (math.pi * z)) * (p * (cx * c + sx * s) - q * (sx * c - cx * s))
    z, order = where(series, x, 1.0), where(series, v, 0.0)
    by_series = _first_term(order, 0.5 * z) * exp(0.5 * z) * _power_series(order, z, series, -1.0)
    by_recurrence = _by_recurrence(where(between, v, 0.5), where(between, x, 1.0))
    return where(far, by_hankel, where(series, by_series, where(beyond, np.nan, by_recurrence)))


def _j(v: Variable, x: Variable) -> Variable:
    a, whole = absolute(x), equal(v, floor(v))
    inside = isfinite(v) & isfinite(x) & (a > 0) & ((x > 0) | whole)
    # for whole orders J of -v is J of v, but for the sign of odd ones
    order = where(inside, where(whole, absolute(v), v), 1.0)
    value = _j_of_positive(order, where(inside, a, 1.0))
    turned = equal(remainder(v, 2.0), 1) & logical_not(equal(x < 0, v < 0))
    value = where(turned, -value, value)
    at_zero = where(equal(v, 0), 1.0, where((v > 0) | whole, 0.0, np.inf))
    ends = where(equal(x, 0), at_zero, where(equal(a, np.inf) & ((x > 0) | whole), 0.0, np.nan))
    return where(inside, value, where(isfinite(v) & logical_not(isnan(x)), ends, np.nan))


def _slope_of_j(v: Variable, x: Variable) -> Variable:
    near, per_x = _beside_order_0(v, x)
    above = jv(v + 1, x)
    return where(near, per_x * jv(v, x) - above, 0.5 * (jv(v - 1, x) - above))


_j_slope = in_wider(_slope_of_j, WIDEST)

jv: ElementwiseFunction = iterated(
    "jv", 2, _j, "The Bessel function of the first kind, of real order v.",
    d=(no_derivative("jv", "v"), lambda v, x, y: _j_slope(v, x)),
    accuracy=512, domain=(0.1, 20), cost=2000,
    slope_accuracy=2048,  # as far off as the function
)  # fmt: skip

FAMILY = Family(
    "elementwise/special/cylinder",
    (iv, ive, kv, kve, kv_dv, kve_dv, jv),
    internal=(
        kv_dv,
        kve_dv,
    ),
)
