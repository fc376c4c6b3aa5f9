"""Dual numbers: a value with its derivative along one direction.

A loop over dual numbers gives the derivative of what it computes; that of an order or a shape, for which there is no
formula, is found so. What is added to one, or multiplied with it, may be a variable or a number, which do not change
along the direction; a dual number has to stand on the left of a variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tg.ops.elementwise import arithmetic, exponential, trigonometric
from tg.ops.elementwise.comparison import where
from tg.ops.elementwise.special.error import erfc as erfc_record
from tg.ops.elementwise.special.error import erfcx as erfcx_record
from tg.ops.elementwise.special.gamma import digamma
from tg.ops.elementwise.special.gamma import gamma as gamma_record
from tg.ops.elementwise.special.gamma import gammaln as gammaln_record

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
    return x.value if isinstance(x, Dual) else x


def slope_of(x: Any) -> Any:
    """The derivative of a dual number, or 0."""
    return x.slope if isinstance(x, Dual) else 0.0


def choose(condition: Any, x: Any, y: Any) -> Any:
    """x where a condition holds, y elsewhere."""
    if isinstance(x, Dual) or isinstance(y, Dual):
        slope = where(condition, slope_of(x), slope_of(y))
        return Dual(where(condition, value_of(x), value_of(y)), slope)
    return where(condition, x, y)


def _lifted(function: Callable[[Any], Any], derivative: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A function of dual numbers too; its derivative is given the operand and the result."""

    def of(x: Any) -> Any:
        if not isinstance(x, Dual):
            return function(x)
        y = function(x.value)
        return Dual(y, derivative(x.value, y) * x.slope)

    return of


exp = _lifted(exponential.exp, lambda x, y: y)
expm1 = _lifted(exponential.expm1, lambda x, y: y + 1)
log = _lifted(exponential.log, lambda x, y: 1 / x)
log1p = _lifted(exponential.log1p, lambda x, y: 1 / (x + 1))
sqrt = _lifted(arithmetic.sqrt, lambda x, y: 0.5 / y)
erfc = _lifted(erfc_record, lambda x, y: -TWO_PER_ROOT_PI * exponential.exp(-(x * x)))
erfcx = _lifted(erfcx_record, lambda x, y: 2 * x * y - TWO_PER_ROOT_PI)
gammaln = _lifted(gammaln_record, lambda x, y: digamma(x))
gamma = _lifted(gamma_record, lambda x, y: y * digamma(x))
sin = _lifted(trigonometric.sin, lambda x, y: trigonometric.cos(x))
cos = _lifted(trigonometric.cos, lambda x, y: -trigonometric.sin(x))


def power_of(x: Any, exponent: Any) -> Any:
    """A power of what does not change along the direction."""
    return _lifted(lambda v: arithmetic.power(x, v), lambda _, y: y * exponential.log(x))(exponent)
