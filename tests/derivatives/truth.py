"""The first and second partial derivatives of the elementwise records, by mpmath.

Each entry of `TRUTH` is a function of mpmath's numbers whose differences are taken in 400 bits, or closed forms where
these are as short; and the box in which its operands are drawn. The derivatives of f(x, y) stand in the order x, y, xx,
xy, yy. `LEFT_OUT` says of every other record why it is not here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Any, Final

from mpmath import mp, mpf

if TYPE_CHECKING:
    from collections.abc import Callable

BITS: Final = 400
STEP: Final = 110  # bits of a step of differences: errors are 2^-(2 STEP) of f''', and 2^(STEP - BITS) of rounding
HUGE: Final = 1e308
ROOT_2: Final = 2**0.5


@dataclass(frozen=True)
class Truth:
    """Partial derivatives of one record, and where they are looked at.

    Attributes:
        partials: from the operands to the first derivatives and the second ones, in the order above.
        box: for each operand the least and the greatest value.
        near: for each operand the places around which points crowd: kinks, poles, zeros, ends of the range.
        count: how many points of each dtype.
        where: whether a point is in the domain.
    """

    partials: Callable[..., tuple[Any, ...]]
    box: tuple[tuple[float, float], ...]
    near: tuple[tuple[float, ...], ...]
    count: int = 1000
    where: Callable[..., bool] = lambda *point: True


def pairs(arity: int) -> list[tuple[int, int]]:
    """The operands of the second derivatives, in their order."""
    return list(combinations_with_replacement(range(arity), 2))


def by_differences(f: Callable[..., Any], fixed: tuple[int, ...] = ()) -> Callable[..., tuple[Any, ...]]:
    """Partial derivatives of f by central differences; by the operands `fixed` there are none."""

    def partials(*point: Any) -> tuple[Any, ...]:
        steps = [mp.ldexp(abs(x) if x else mpf(1), -STEP) for x in point]

        def at(*moves: tuple[int, int]) -> Any:
            operands = list(point)
            for k, sign in moves:
                operands[k] = operands[k] + sign * steps[k]
            return f(*operands)

        free = [k for k in range(len(point)) if k not in fixed]
        here = f(*point)
        sides = {(k, sign): at((k, sign)) for k in free for sign in (1, -1)}
        first = [(sides[k, 1] - sides[k, -1]) / (2 * steps[k]) if k in free else mp.nan for k in range(len(point))]
        second = []
        for i, j in pairs(len(point)):
            if i not in free or j not in free:
                second.append(mp.nan)
            elif i == j:
                second.append((sides[i, 1] - 2 * here + sides[i, -1]) / steps[i] ** 2)
            else:
                corners = [at((i, a), (j, b)) * (a * b) for a in (1, -1) for b in (1, -1)]
                second.append(mp.fsum(corners) / (4 * steps[i] * steps[j]))
        return (*first, *second)

    return partials


def smooth(first: Any, second: Any, low: float = -HUGE, high: float = HUGE, near: tuple[float, ...] = (0.0,)) -> Truth:
    """A function of one operand by closed forms."""
    return Truth(lambda x: (first(x), second(x)), ((low, high),), (near,))


def binary(partials: Any, box: Any = None, near: Any = ((0.0,), (0.0,)), **facts: Any) -> Truth:
    """A function of two operands by closed forms."""
    return Truth(partials, box or ((-HUGE, HUGE),) * 2, near, **facts)


def special(f: Any, *box: tuple[float, float], near: Any = None, fixed: tuple[int, ...] = (), **facts: Any) -> Truth:
    """A function by differences."""
    return Truth(by_differences(f, fixed), box, near or tuple((low, high) for low, high in box), **facts)


# --- functions whose closed forms need a name ------------------------------------------------------------------------


def _cut(f: Callable[[Any], Any], low: float, high: float) -> Callable[[Any], Any]:
    """A function that is not asked beyond limits, from where on its values are out of range: that of the limit."""
    return lambda x: f(min(max(x, mpf(low)), mpf(high)))


def _sech(x: Any) -> Any:
    return 1 / mp.cosh(x)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _hypot(x: Any, y: Any) -> tuple[Any, ...]:
    r = mp.sqrt(x * x + y * y)
    return x / r, y / r, y * y / r**3, -x * y / r**3, x * x / r**3


def _arctan2(x: Any, y: Any) -> tuple[Any, ...]:
    s = x * x + y * y
    return y / s, -x / s, -2 * x * y / s**2, (x * x - y * y) / s**2, 2 * x * y / s**2


def _power(x: Any, y: Any) -> tuple[Any, ...]:
    z, log = x**y, mp.log(x)
    return y * z / x, z * log, y * (y - 1) * z / x**2, z / x * (1 + y * log), z * log**2


def _logaddexp(x: Any, y: Any) -> tuple[Any, ...]:
    p, q = _sigmoid(x - y), _sigmoid(y - x)
    return p, q, p * q, -p * q, p * q


def _per_expm1(x: Any, y: Any) -> tuple[Any, ...]:
    e, less = mp.exp(y), mp.expm1(y)
    return 1 / less, -x * e / less**2, mpf(0), -e / less**2, x * e * (e + 1) / less**3


def _remainder(x: Any, y: Any) -> tuple[Any, ...]:
    return mpf(1), -mp.floor(x / y), mpf(0), mpf(0), mpf(0)


def _choice(larger: bool) -> Any:
    def partials(x: Any, y: Any) -> tuple[Any, ...]:
        first = mpf((x > y) == larger)
        return first, 1 - first, mpf(0), mpf(0), mpf(0)

    return partials


def _clip(x: Any, low: Any, high: Any) -> tuple[Any, ...]:
    return (mpf(low <= x <= high), mpf(x < low <= high), mpf(x > high or low > high), *(mpf(0),) * 6)


def _copysign(x: Any, y: Any) -> tuple[Any, ...]:
    return (mpf(1 if (x > 0) == (y > 0) else -1), *(mpf(0),) * 4)


def _sinc(x: Any) -> tuple[Any, ...]:
    if abs(x) < 1e-3:
        terms = [(-1) ** k * mp.pi ** (2 * k) / mp.factorial(2 * k + 1) for k in range(30)]
        first = mp.fsum(2 * k * c * x ** (2 * k - 1) for k, c in enumerate(terms) if k)
        return first, mp.fsum(2 * k * (2 * k - 1) * c * x ** (2 * k - 2) for k, c in enumerate(terms) if k)
    s, c = mp.sinpi(x), mp.cospi(x)
    first = (mp.pi * x * c - s) / (mp.pi * x * x)
    return first, -mp.pi * s / x - 2 * first / x


def _xlogy(x: Any, y: Any) -> tuple[Any, ...]:
    return mp.log(y), x / y, mpf(0), 1 / y, -x / y**2


def _xlog1py(x: Any, y: Any) -> tuple[Any, ...]:
    return mp.log1p(y), x / (1 + y), mpf(0), 1 / (1 + y), -x / (1 + y) ** 2


def _erfcx(x: Any) -> Any:
    if x < 40:
        return mp.exp(x * x) * mp.erfc(x)
    terms = [mp.fac2(2 * k - 1) / (-2 * x * x) ** k for k in range(120)]
    return mp.fsum(terms) / (x * mp.sqrt(mp.pi))


def _of_erfcx(x: Any) -> tuple[Any, ...]:
    """By its differential equation; far out by its series, of which little cancels."""
    if x < 1e6:
        with mp.extraprec(200):
            y = _erfcx(x)
            first = 2 * x * y - 2 / mp.sqrt(mp.pi)
            return first, 2 * y + 2 * x * first
    return -1 / (x * x * mp.sqrt(mp.pi)) * (1 - 3 / (2 * x * x)), 2 / (x**3 * mp.sqrt(mp.pi)) * (1 - 3 / (x * x))


def _hazard(x: Any) -> Any:
    """The normal density over the distribution function."""
    return mp.sqrt(2 / mp.pi) / _erfcx(-x / mp.sqrt(2)) if x < 1e6 else mpf(0)


def _of_log_ndtr(x: Any) -> tuple[Any, ...]:
    if x < -1e6:
        u = 1 / (x * x)
        return -x * (1 + u - 2 * u * u), -(1 + u - 2 * u * u) * (1 - 2 * u + 10 * u * u)
    with mp.extraprec(300):
        h = _hazard(x)
        return h, -h * (x + h)


def _of_inverse_mills(x: Any) -> tuple[Any, ...]:
    if x < -1e6:
        u = 1 / (x * x)
        return -(1 - u + 6 * u * u - 50 * u**3), -2 * u / x * (1 - 12 * u + 150 * u * u)
    with mp.extraprec(400):
        h = _hazard(x)
        slope = -h * (x + h)
        return slope, -slope * (x + h) - h * (1 + slope)


def _density(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _erfcinv(p: Any) -> Any:
    """By Newton's method for the logarithm, from SciPy's value."""
    from scipy import special as scipy

    x = mpf(float(scipy.erfcinv(float(p))))
    for _ in range(8):
        x += (mp.erfc(x) / p - 1) * p * mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
    return x


def _of_erfcinv(p: Any) -> tuple[Any, ...]:
    x = _erfcinv(p) if p <= 1 else -_erfcinv(2 - p)
    first = -mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
    return first, 2 * x * first**2


def _of_erfinv(p: Any) -> tuple[Any, ...]:
    x = mp.sign(p) * _erfcinv(1 - abs(p)) if abs(p) > 0.5 else mp.erfinv(p)
    first = mp.sqrt(mp.pi) / 2 * mp.exp(x * x)
    return first, 2 * x * first**2


def _of_ndtri(p: Any) -> tuple[Any, ...]:
    x = -mp.sqrt(2) * _erfcinv(2 * p) if p <= 0.5 else mp.sqrt(2) * _erfcinv(2 - 2 * p)
    first = 1 / _density(x)
    return first, x * first**2


def _of_ndtri_exp(y: Any) -> tuple[Any, ...]:
    """The inverse of log_ndtr: its slope is that of it, upside down."""
    from scipy import special as scipy

    x = mpf(float(scipy.ndtri_exp(float(y))))
    for _ in range(9):
        value = mp.log(_erfcx(-x / mp.sqrt(2)) / 2) - x * x / 2 if x < 0 else mp.log1p(-mp.erfc(x / mp.sqrt(2)) / 2)
        x -= (value - y) / _hazard(x)
    h, curve = _of_log_ndtr(x)
    return 1 / h, -curve / h**3


def _gammaln(x: Any) -> tuple[Any, ...]:
    return mp.digamma(x), mp.psi(1, x)


def _gamma(x: Any) -> tuple[Any, ...]:
    y, psi = mp.gamma(x), mp.digamma(x)
    return y * psi, y * (psi**2 + mp.psi(1, x))


def _betaln(x: Any, y: Any) -> tuple[Any, ...]:
    both, slope = mp.digamma(x + y), mp.psi(1, x + y)
    return mp.digamma(x) - both, mp.digamma(y) - both, mp.psi(1, x) - slope, -slope, mp.psi(1, y) - slope


def _of_log(partials: Any, value: Any) -> Any:
    """The derivatives of a function of two operands by those of its logarithm."""

    def found(x: Any, y: Any) -> tuple[Any, ...]:
        a, b, aa, ab, bb = partials(x, y)
        z = value(x, y)
        return z * a, z * b, z * (a * a + aa), z * (a * b + ab), z * (b * b + bb)

    return found


def _log_poch(x: Any, y: Any) -> tuple[Any, ...]:
    both, slope = mp.digamma(x + y), mp.psi(1, x + y)
    return both - mp.digamma(x), both, slope - mp.psi(1, x), slope, slope


def _log_binom(n: Any, k: Any) -> tuple[Any, ...]:
    rest, slope = mp.digamma(n - k + 1), mp.psi(1, n - k + 1)
    top, low = mp.digamma(n + 1), mp.digamma(k + 1)
    return top - rest, rest - low, mp.psi(1, n + 1) - slope, slope, -mp.psi(1, k + 1) - slope


def _zeta(s: Any, q: Any) -> tuple[Any, ...]:
    return mp.nan, -s * mp.zeta(s + 1, q), mp.nan, mp.nan, s * (s + 1) * mp.zeta(s + 2, q)


def _polygamma(n: Any, x: Any) -> tuple[Any, ...]:
    return mp.nan, mp.psi(int(n) + 1, x), mp.nan, mp.nan, mp.psi(int(n) + 2, x)


def _lower(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def _upper(a: Any, x: Any) -> Any:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def _gamma_tails(upper: bool, of_log: bool = False) -> Any:
    """Of P or Q: by x from the density, by a by differences of the smaller of them, for they are 1 together."""

    def partials(a: Any, x: Any) -> tuple[Any, ...]:
        low = x < a
        small = _lower if low else _upper
        sign = 1 if low != upper else -1
        first, _, second, _, _ = by_differences(small)(a, x)
        density = mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a)) * (-1 if upper else 1)
        found = (
            sign * first, density, sign * second, density * (mp.log(x) - mp.digamma(a)), density * ((a - 1) / x - 1),
        )  # fmt: skip
        if not of_log:
            return found
        y = small(a, x) if low != upper else 1 - small(a, x)
        p, q, pp, pq, qq = (v / y for v in found)
        return p, q, pp - p * p, pq - p * q, qq - q * q

    return partials


def _stdtr(n: Any, t: Any) -> Any:
    if t * t < n:
        return mpf(1) / 2 + mp.sign(t) * mp.betainc(mpf(1) / 2, n / 2, 0, t * t / (n + t * t), regularized=True) / 2
    tail = mp.betainc(n / 2, mpf(1) / 2, 0, n / (n + t * t), regularized=True) / 2
    return tail if t < 0 else 1 - tail


def _owens_t(h: Any, a: Any) -> Any:
    return mp.quad(lambda x: mp.exp(-h * h * (1 + x * x) / 2) / (1 + x * x), [0, a]) / (2 * mp.pi)


def _of_owens_t(h: Any, a: Any) -> tuple[Any, ...]:
    g, e = _density(h), mp.exp(-h * h * (1 + a * a) / 2) / (2 * mp.pi)
    f = mp.erf(a * h / mp.sqrt(2)) / 2
    s = 1 + a * a
    return (
        -g * f, e / s, h * g * f - g * a * mp.exp(-(a * h) ** 2 / 2) / mp.sqrt(2 * mp.pi),
        -h * e, -a * e * (h * h * s + 2) / s**2,
    )  # fmt: skip


def _i(n: int, x: Any) -> Any:
    return mp.besseli(n, x)


def _j(n: int, x: Any) -> Any:
    return mp.besselj(n, x)


def _i0e(x: Any) -> tuple[Any, ...]:
    a, decay = abs(x), mp.exp(-abs(x))
    curve = (_i(0, a) + _i(2, a)) / 2 - 2 * _i(1, a) + _i(0, a)
    return mp.sign(x) * decay * (_i(1, a) - _i(0, a)), decay * curve


def _i1e(x: Any) -> tuple[Any, ...]:
    a, decay = abs(x), mp.exp(-abs(x))
    slope, curve = (_i(0, a) + _i(2, a)) / 2, (3 * _i(1, a) + _i(3, a)) / 4
    return decay * (slope - _i(1, a)), mp.sign(x) * decay * (curve - 2 * slope + _i(1, a))


def _bessel(kind: Any, scale: Any = None) -> Any:
    return lambda v, x: kind(v, x) * (scale(x) if scale else 1)


POSITIVE: Final = (1e-300, 1e300)
UNIT: Final = (1e-300, 1.0)
INCOMPLETE: Final = ((0.01, 300), (1e-3, 300))
FLAT: Final = lambda x: mpf(0)  # noqa: E731
TURNS: Final = (0.0, 1.5707963267948966, 3.141592653589793)
LAST: Final = (0.0, 710.0, -710.0, 89.0, -89.0)
ENDS: Final = (-745.2, -708.4, -103.9, -87.3, 88.7, 709.8)

TRUTH: Final[dict[str, Truth]] = {
    "add": binary(lambda x, y: (mpf(1), mpf(1), *(mpf(0),) * 3)),
    "subtract": binary(lambda x, y: (mpf(1), mpf(-1), *(mpf(0),) * 3)),
    "multiply": binary(lambda x, y: (y, x, mpf(0), mpf(1), mpf(0))),
    "divide": binary(lambda x, y: (1 / y, -x / y**2, mpf(0), -1 / y**2, 2 * x / y**3)),
    "remainder": binary(_remainder, ((-1e6, 1e6),) * 2, where=lambda x, y: mp.floor(x / y) * y != x),
    "power": binary(_power, ((1e-300, 1e300), (-1e4, 1e4)), ((1.0,), (0.0, 1.0, 2.0))),
    "negative": smooth(lambda x: mpf(-1), FLAT),
    "absolute": smooth(mp.sign, FLAT),
    "sign": smooth(FLAT, FLAT),
    "square": smooth(lambda x: 2 * x, lambda x: mpf(2)),
    "sqrt": smooth(lambda x: 1 / (2 * mp.sqrt(x)), lambda x: -1 / (4 * x * mp.sqrt(x)), 5e-324),
    "reciprocal": smooth(lambda x: -1 / x**2, lambda x: 2 / x**3, near=(0.0, 1e-154, 1e-103, 1e-19, 1e-13)),
    "maximum": binary(_choice(True), where=lambda x, y: x != y),
    "minimum": binary(_choice(False), where=lambda x, y: x != y),
    "clip": Truth(_clip, ((-10, 10),) * 3, ((0.0,),) * 3, 200, lambda x, a, b: x not in (a, b) and a != b),
    "cbrt": smooth(lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2), lambda x: -2 * mp.sign(x) / (9 * mp.cbrt(abs(x)) ** 5)),
    "hypot": binary(_hypot),
    "copysign": binary(_copysign),
    "exp": smooth(_cut(mp.exp, -2000, 2000), _cut(mp.exp, -2000, 2000), -800, 800, ENDS),
    "exp2": smooth(
        _cut(lambda x: mpf(2) ** x * mp.log(2), -2000, 2000), _cut(lambda x: mpf(2) ** x * mp.log(2) ** 2, -2000, 2000),
        -1100, 1100, (-1074.0, -1022.0, -149.0, -126.0, 128.0, 1024.0, 129.0, 1025.0),
    ),
    "expm1": smooth(_cut(mp.exp, -2000, 2000), _cut(mp.exp, -2000, 2000), -800, 800, (0.0, *ENDS)),
    "log": smooth(lambda x: 1 / x, lambda x: -1 / x**2, 5e-324, near=(0.0, 1.0)),
    "log2": smooth(lambda x: 1 / x / mp.log(2), lambda x: -1 / x**2 / mp.log(2), 5e-324, near=(0.0, 1.0)),
    "log10": smooth(lambda x: 1 / x / mp.log(10), lambda x: -1 / x**2 / mp.log(10), 5e-324, near=(0.0, 1.0)),
    "log1p": smooth(lambda x: 1 / (1 + x), lambda x: -1 / (1 + x) ** 2, -1 + 2**-53, near=(0.0, -1.0)),
    "logaddexp": binary(_logaddexp, ((-1000, 1000),) * 2, ((0.0, 1.0),) * 2),
    "per_expm1": binary(_per_expm1, ((-HUGE, HUGE), (-88, 88)), ((0.0,), (0.0, 44.0, -44.0))),  # float32 ends there
    "log1mexp": smooth(
        lambda x: mp.exp(x) / mp.expm1(x), lambda x: -mp.exp(x) / mp.expm1(x) ** 2, -800, -1e-300,
        (-0.6931471805599453, *ENDS[:4]),
    ),
    "sigmoid": smooth(
        lambda x: _sigmoid(x) * _sigmoid(-x), lambda x: -_sigmoid(x) * _sigmoid(-x) * mp.tanh(x / 2), -1e5, 1e5,
        (0.0, 36.0, -36.0, *ENDS),
    ),
    "softplus": smooth(_sigmoid, lambda x: _sigmoid(x) * _sigmoid(-x), -1e5, 1e5, (0.0, 36.0, -36.0, *ENDS)),
    "xlogy": binary(_xlogy, ((-1e300, 1e300), POSITIVE), ((0.0,), (0.0, 1.0))),
    "xlog1py": binary(_xlog1py, ((-1e300, 1e300), (-1 + 2**-53, 1e300)), ((0.0,), (0.0, -1.0))),
    "floor": smooth(FLAT, FLAT), "ceil": smooth(FLAT, FLAT), "trunc": smooth(FLAT, FLAT), "rint": smooth(FLAT, FLAT),
    "sin": smooth(mp.cos, lambda x: -mp.sin(x), -1e15, 1e15, TURNS),
    "cos": smooth(lambda x: -mp.sin(x), lambda x: -mp.cos(x), -1e15, 1e15, TURNS),
    "tan": smooth(
        lambda x: 1 + mp.tan(x) ** 2, lambda x: 2 * mp.tan(x) * (1 + mp.tan(x) ** 2), -1e15, 1e15,
        TURNS,
    ),
    "arcsin": smooth(
        lambda x: 1 / mp.sqrt(1 - x * x), lambda x: x / mp.sqrt(1 - x * x) ** 3, -1 + 2**-53, 1 - 2**-53,
        (0.0, 1.0, -1.0),
    ),
    "arccos": smooth(
        lambda x: -1 / mp.sqrt(1 - x * x), lambda x: -x / mp.sqrt(1 - x * x) ** 3, -1 + 2**-53, 1 - 2**-53,
        (0.0, 1.0, -1.0),
    ),
    "arctan": smooth(lambda x: 1 / (1 + x * x), lambda x: -2 * x / (1 + x * x) ** 2, near=(0.0, 1.0, -1.0)),
    "arctan2": binary(_arctan2),
    "sinh": smooth(_cut(mp.cosh, -2000, 2000), _cut(mp.sinh, -2000, 2000), -800, 800, LAST),
    "cosh": smooth(_cut(mp.sinh, -2000, 2000), _cut(mp.cosh, -2000, 2000), -800, 800, LAST),
    "tanh": smooth(
        lambda x: _sech(x) ** 2, lambda x: -2 * mp.tanh(x) * _sech(x) ** 2, -1000, 1000,
        (0.0, 19.0, -19.0, 354.0, -354.0, 372.0, 9.0, 44.0, 52.0),
    ),
    "arcsinh": smooth(lambda x: 1 / mp.sqrt(1 + x * x), lambda x: -x / mp.sqrt(1 + x * x) ** 3, near=(0.0, 1.0)),
    "arccosh": smooth(
        lambda x: 1 / mp.sqrt(x * x - 1), lambda x: -x / mp.sqrt(x * x - 1) ** 3, 1 + 2**-52, near=(1.0,)
    ),
    "arctanh": smooth(
        lambda x: 1 / (1 - x * x), lambda x: 2 * x / (1 - x * x) ** 2, -1 + 2**-53, 1 - 2**-53, (0.0, 1.0, -1.0)
    ),
    "log_cosh": smooth(mp.tanh, lambda x: _sech(x) ** 2, -1000, 1000, (0.0, 19.0, -19.0, 354.0, 44.0)),
    "sinc": Truth(_sinc, ((-1e6, 1e6),), ((0.0, 1.0, 0.01, 0.3),)),
    "i0": Truth(lambda x: (_i(1, x), (_i(0, x) + _i(2, x)) / 2), ((-720, 720),), ((0.0, 8.0, -8.0),), 300),
    "i1": Truth(
        lambda x: ((_i(0, x) + _i(2, x)) / 2, (3 * _i(1, x) + _i(3, x)) / 4), ((-720, 720),), ((0.0, 8.0),), 300
    ),
    "i0e": Truth(_i0e, ((-1e4, 1e4),), ((1.0, 8.0, -8.0),), 300),
    "i1e": Truth(_i1e, ((-1e4, 1e4),), ((1.0, 8.0, -8.0),), 300),
    "j0": Truth(
        lambda x: (-_j(1, x), (_j(2, x) - _j(0, x)) / 2), ((-1e4, 1e4),), ((0.0, 2.404825557695773, 8.0),), 300
    ),
    "j1": Truth(
        lambda x: ((_j(0, x) - _j(2, x)) / 2, (_j(3, x) - 3 * _j(1, x)) / 4), ((-1e4, 1e4),),
        ((0.0, 3.8317059702075125, 8.0),), 300,
    ),
    "erf": smooth(
        _cut(lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x), -100, 100),
        _cut(lambda x: -4 * x / mp.sqrt(mp.pi) * mp.exp(-x * x), -100, 100), -30, 30, (0.0, 1.0, 26.0, 27.2),
    ),
    "erfc": smooth(
        _cut(lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x), -100, 100),
        _cut(lambda x: 4 * x / mp.sqrt(mp.pi) * mp.exp(-x * x), -100, 100), -30, 30, (0.0, 1.0, 26.0, 27.2),
    ),
    "erfcx": Truth(_of_erfcx, ((-26, 1e300),), ((0.0, -26.0, -9.0, 5.0, 50.0),), 400),
    "erfinv": Truth(_of_erfinv, ((-1 + 2**-53, 1 - 2**-53),), ((0.0, 1.0, -1.0),), 300),
    "erfcinv": Truth(_of_erfcinv, ((1e-300, 2 - 2**-52),), ((0.0, 1.0, 2.0),), 300),
    "gammaln": Truth(_gammaln, ((-30, 1e300),), ((0.0, 1.0, 1.4616321449683623, 2.0, -1.0, -2.0, -30.0),), 400),
    "digamma": Truth(
        lambda x: (mp.psi(1, x), mp.psi(2, x)), ((-30, 1e300),),
        ((0.0, 1.0, 1.4616321449683623, -1.0, -2.0, -30.0),), 400,
    ),
    "gammasgn": smooth(FLAT, FLAT, -30, 1e6, (0.0, -1.0)),
    "gamma": Truth(_gamma, ((-30, 180),), ((0.0, 1.0, 1.4616321449683623, 2.0, -1.0, 171.6, 35.0),), 400),
    "factorial": Truth(lambda x: _gamma(x + 1), ((1e-300, 179),), ((0.0, 1.0, 0.4616321449683623, 170.6),), 400),
    "ndtr": smooth(_cut(_density, -100, 100), _cut(lambda x: -x * _density(x), -100, 100), -45, 45, (0.0, -38.0, 38.0)),
    "log_ndtr": Truth(_of_log_ndtr, ((-1e100, 45),), ((0.0, -30.0, -1.0, 38.0, 5.0, 9.0),), 400),
    "inverse_mills": Truth(_of_inverse_mills, ((-1e30, 45),), ((0.0, -30.0, -1.0, 38.0, 5.0, 9.0),), 400),
    "ndtri": Truth(_of_ndtri, ((1e-300, 1 - 2**-53),), ((0.0, 0.5, 1.0),), 300),
    "ndtri_exp": Truth(_of_ndtri_exp, ((-1e4, -1e-15),), ((0.0, -0.6931471805599453, -600.0),), 300),
    "betaln": binary(_betaln, ((1e-10, 1e6),) * 2, ((1.0, 2.0),) * 2, count=200),
    "beta": binary(_of_log(_betaln, mp.beta), ((1e-3, 100),) * 2, ((1.0, 2.0),) * 2, count=200),
    "poch": binary(_of_log(_log_poch, mp.rf), ((1e-3, 50),) * 2, ((1.0,),) * 2, count=200),
    "binom": binary(
        _of_log(_log_binom, mp.binomial), ((1e-3, 100), (1e-3, 50)), ((1.0,),) * 2, count=200,
        where=lambda n, k: k < n + 1,
    ),
    "zeta": binary(_zeta, ((1.01, 50), (0.01, 1000)), ((2.0,), (1.0,)), count=200),
    "polygamma": binary(_polygamma, ((0, 8), (0.01, 1000)), ((2.0,), (1.0,)), count=200),
    "gammainc": binary(_gamma_tails(False), INCOMPLETE, ((1.0, 20.0),) * 2, count=150),
    "gammaincc": binary(_gamma_tails(True), INCOMPLETE, ((1.0, 20.0),) * 2, count=150),
    "log_gamma_lower": binary(_gamma_tails(False, of_log=True), INCOMPLETE, ((1.0, 20.0),) * 2, count=150),
    "log_gamma_upper": binary(_gamma_tails(True, of_log=True), INCOMPLETE, ((1.0, 20.0),) * 2, count=150),
    "iv": special(mp.besseli, (0.05, 30), (0.01, 100), near=((1.0,), (1.0,)), count=60),
    "ive": special(_bessel(mp.besseli, lambda x: mp.exp(-x)), (0.05, 30), (0.01, 100), near=((1.0,), (1.0,)), count=60),
    "kv": special(mp.besselk, (0.05, 30), (0.01, 100), near=((1.0,), (1.0,)), count=60),
    "kve": special(_bessel(mp.besselk, mp.exp), (0.05, 30), (0.01, 100), near=((1.0,), (1.0,)), count=60),
    "jv": special(mp.besselj, (0.05, 30), (0.01, 100), near=((1.0,), (1.0,)), count=60),
    "owens_t": binary(_of_owens_t, ((-10, 10), (-20, 20)), ((0.5,), (1.0,)), count=200),
    "stdtr": special(
        _stdtr, (0.1, 100), (-50, 50), near=((1.0,), (1.0,)), count=60, where=lambda n, t: abs(t) > 1e-20
    ),
}  # fmt: skip
"""By name."""

DRAWS: Final = "a draw: its derivative belongs to the bits it was made of, which have no real numbers between them"
INVERSE: Final = "its derivative is one over that of the function it inverts, at a point that is itself rounded"
LINEAR: Final = "an entry of a program's structure: its derivative is an operand or a constant"

LEFT_OUT: Final[dict[str, str]] = {
    **dict.fromkeys(
        ("direction", "inversion", "sech_squared", "sigmoid_slope"),
        "a slope of another record, whose second derivatives hold it",
    ),
    "sech": "1 / cosh(x), whose derivatives are its products with tanh(x)",
    "flat_root": "a square root but for its convention at 0",
    "radius": "hypot, but for its range",
    "flat_power": "a power but for its convention at 0",
    **dict.fromkeys(("absolute_power", "signed_power"), "a power of |x|, which test_kinks.py holds"),
    **dict.fromkeys(("radial_power", "matern_3_2", "matern_5_2"), "of a length, whose square test_kinks.py goes by"),
    "nextafter": "the derivative is 1 by convention; the function is a staircase",
    **dict.fromkeys(
        (
            "gate",
            "masked_product",
            "product_at_kink",
            "product_past_kink",
            "at_kink",
            "past_kink",
            "asked_where",
            "asked_opposite",
            "surrogate",
            "kink",
            "where",
            "complex",
            "real",
            "imag",
            "conjugate",
        ),
        LINEAR,
    ),
    **dict.fromkeys(("gammaincinv", "gammainccinv", "betaincinv", "stdtrit"), INVERSE),
    **dict.fromkeys(("gamma_draw", "log_gamma_draw", "vonmises_draw", "wald_draw"), DRAWS),
    **dict.fromkeys(
        ("betainc_da", "betainc_db", "gammainc_da", "kv_dv", "kve_dv", "zeta_ds"), "a slope that test_special.py holds"
    ),
    **dict.fromkeys(
        ("log_beta_tail_da", "log_beta_tail_db", "log_gamma_lower_da", "log_gamma_upper_da"),
        "a slope of a logarithm of a tail, whose second derivatives test_special.py holds",
    ),
    "hyp2f1_along": "slopes of hyp2f1, which test_hypergeometric.py holds",
    "betainc": "its slopes by a and b are series of their own, which test_special.py holds to mpmath",
    "hyp2f1": "its slopes by its parameters are series of their own, which test_hypergeometric.py holds to mpmath",
    "log_beta_tail": "the logarithm of betainc, whose slopes are held there",
}
"""Records with a derivative that are not held to mpmath here, and why."""
