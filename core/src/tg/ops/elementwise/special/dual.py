"""Dual numbers: a value with its derivative along one direction.

A loop over dual numbers gives the derivative of what it computes; that of an order or a shape, for which there is no
formula, is found so. What is added to one, or multiplied with it, may be a variable or a number, which do not change
along the direction; a dual number has to stand on the left of a variable.

The value and the derivative of a dual number may be dual numbers of another direction: the derivative of the derivative
is that along both.
"""

from __future__ import annotations

import functools
from operator import or_
from typing import TYPE_CHECKING, Any, NamedTuple

from tg.ops.elementwise import arithmetic, exponential, trigonometric
from tg.ops.elementwise.arithmetic import absolute
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.special.error import erfc as erfc_record
from tg.ops.elementwise.special.error import erfcx as erfcx_record
from tg.ops.elementwise.special.gamma import digamma as digamma_record
from tg.ops.elementwise.special.gamma import gamma as gamma_record
from tg.ops.elementwise.special.gamma import gammaln as gammaln_record
from tg.ops.elementwise.special.gamma import trigamma
from tg.ops.elementwise.special.iterated import DIGIT

if TYPE_CHECKING:
    from collections.abc import Callable

TWO_PER_ROOT_PI = 1.1283791670955126


class Dual(NamedTuple):
    """A value and its derivative."""

    value: Any
    slope: Any

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.slope + other.slope)
        return Dual(self.value + other, self.slope)

    def __radd__(self, other: Any) -> Dual:
        return Dual(other + self.value, self.slope)

    def __sub__(self, other: Any) -> Dual:
        opposite: Any = -other
        return self.__add__(opposite)

    def __rsub__(self, other: float) -> Dual:
        return Dual(other - self.value, -self.slope)

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)
        return Dual(self.value * other, self.slope * other)

    def __rmul__(self, other: Any) -> Dual:
        return Dual(other * self.value, other * self.slope)

    def __truediv__(self, other: Any) -> Dual:
        if not isinstance(other, Dual):
            return Dual(self.value / other, self.slope / other)
        quotient = self.value / other.value
        return Dual(quotient, (self.slope - quotient * other.slope) / other.value)

    def __rtruediv__(self, other: float) -> Dual:
        quotient = other / self.value
        return Dual(quotient, -quotient * self.slope / self.value)


def value_of(x: Any) -> Any:
    """The value of a dual number, or what is none."""
    return value_of(x.value) if isinstance(x, Dual) else x


def parts_of(x: Any) -> list[Any]:
    """The value of a dual number and all its derivatives, those of an order after those of the one below."""
    if not isinstance(x, Dual):
        return [x]
    return [*parts_of(x.value), *parts_of(x.slope)]


def along(value: Any, *slopes: Any) -> Any:
    """A number that changes so along one direction, or along two."""
    if not slopes:
        return value
    *others, slope = slopes
    return Dual(along(value, *others), along(slope, *(slope * 0.0 for _ in others)))


def counts(term: Any, total: Any) -> Any:
    """Whether a term is a part of a sum that counts, in its derivatives too."""
    pairs = zip(parts_of(term), parts_of(total), strict=True)
    return functools.reduce(or_, [absolute(part) > DIGIT / 4 * absolute(whole) for part, whole in pairs])


def choose(condition: Any, x: Any, y: Any) -> Any:
    """x where a condition holds, y elsewhere."""
    if isinstance(x, Dual) or isinstance(y, Dual):
        (v, s), (w, t) = ((z.value, z.slope) if isinstance(z, Dual) else (z, 0.0) for z in (x, y))
        return Dual(choose(condition, v, w), choose(condition, s, t))
    return where(condition, x, y)


def _lifted(function: Callable[[Any], Any], derivative: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A function of dual numbers too; its derivative, of dual numbers as well, is given the operand and the result."""

    def of(x: Any) -> Any:
        if not isinstance(x, Dual):
            return function(x)
        y = of(x.value)
        return Dual(y, derivative(x.value, y) * x.slope)

    return of


digamma = _lifted(digamma_record, lambda x, y: trigamma(x))
exp = _lifted(exponential.exp, lambda x, y: y)
expm1 = _lifted(exponential.expm1, lambda x, y: y + 1)
log = _lifted(exponential.log, lambda x, y: 1 / x)
log1p = _lifted(exponential.log1p, lambda x, y: 1 / (x + 1))
sqrt = _lifted(arithmetic.sqrt, lambda x, y: 0.5 / y)
erfc = _lifted(erfc_record, lambda x, y: -TWO_PER_ROOT_PI * exp(-(x * x)))
erfcx = _lifted(erfcx_record, lambda x, y: x * y * 2 - TWO_PER_ROOT_PI)
gammaln = _lifted(gammaln_record, lambda x, y: digamma(x))
gamma = _lifted(gamma_record, lambda x, y: y * digamma(x))
sin: Callable[[Any], Any] = _lifted(trigonometric.sin, lambda x, y: cos(x))
cos: Callable[[Any], Any] = _lifted(trigonometric.cos, lambda x, y: -sin(x))


def power_of(x: Any, exponent: Any) -> Any:
    """A power of what does not change along the direction."""
    return _lifted(lambda v: arithmetic.power(x, v), lambda _, y: y * exponential.log(x))(exponent)
