"""Exponentials and logarithms, by the system's libm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.ops.elementwise import exponential as t
from tg_numba.element import Expression
from tg_numba.libm import atan2, cexp, clog, cos, exp, expm1, fabs, hypot, log, log1p, sin
from tg_numba.machine import imag, like, pair, real, select
from tg_numba.native import compiled

if TYPE_CHECKING:
    from tg.plugin.records import Rule


def logaddexp(x: Any, y: Any) -> Any:
    """Infinities of one sign too."""
    if x == y:
        return x + like(x, 0.69314718055994530942)
    d = x - y
    if d > 0:
        return x + log1p(exp(-d))
    if d <= 0:
        return y + log1p(exp(d))
    return d


def expm1_complex(x: Any) -> Any:
    """By its parts, exact near 0."""
    a, b = real(x), imag(x)
    s = sin(b / like(b, 2))
    return pair(expm1(a) * cos(b) - like(b, 2) * s * s, exp(a) * sin(b))


def log1p_complex(x: Any) -> Any:
    """By its parts."""
    a, b = real(x) + like(real(x), 1), imag(x)
    return pair(log(hypot(a, b)), atan2(b, a))


@compiled
def scaled(x: Any, factor: Any) -> Any:
    """A complex number times a real one, part by part: infinite parts make no NaN of the other."""
    return pair(real(x) * like(real(x), factor), imag(x) * like(real(x), factor))


def exp2_complex(x: Any) -> Any:
    """2 to the power x."""
    return cexp(scaled(x, 0.69314718055994530942))


def log2_complex(x: Any) -> Any:
    """The logarithm to base 2."""
    return scaled(clog(x), 1.44269504088896340736)


def log10_complex(x: Any) -> Any:
    """The logarithm to base 10."""
    return scaled(clog(x), 0.43429448190325182765)


def sigmoid(x: Any) -> Any:
    """Without overflow."""
    decay = exp(-fabs(x))
    one = like(x, 1)
    return select(x >= 0, one, decay) / (one + decay)


def softplus(x: Any) -> Any:
    """Without overflow."""
    return select((x >= 0) | (x != x), x, like(x, 0)) + log1p(exp(-fabs(x)))


RULES: Final[dict[object, Rule]] = {
    t.exp: Expression(floating="exp(x)", complex="cexp(x)"),
    t.exp2: Expression(floating="exp2(x)", complex=exp2_complex),
    t.expm1: Expression(floating="expm1(x)", complex=expm1_complex),
    t.log: Expression(floating="log(x)", complex="clog(x)"),
    t.log2: Expression(floating="log2(x)", complex=log2_complex),
    t.log10: Expression(floating="log10(x)", complex=log10_complex),
    t.log1p: Expression(floating="log1p(x)", complex=log1p_complex),
    t.logaddexp: Expression(floating=logaddexp),
    t.sigmoid: Expression(floating=sigmoid),
    t.softplus: Expression(floating=softplus),
}
