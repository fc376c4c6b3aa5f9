"""Comparison, logic and choice by a condition. An int64 and a uint64 are compared by value, as in NumPy."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final

import numpy as np

from tg.ops.elementwise import comparison as t
from tg_native.kernels.element import Elementwise
from tg_native.kernels.elementwise.arithmetic import before
from tg_native.kernels.functions import fabs, sign_bit
from tg_native.kernels.lanes import Lanes, Pair, constant, select

if TYPE_CHECKING:
    from typing import Any

    from tg.plugin.records import Rule
    from tg_native.kernels.lanes import Elements


def always(value: bool) -> Any:
    """A rule whose result is one value."""
    return lambda x: constant(x.body, value, "bool")


def logical_and(x: Elements, y: Elements) -> Lanes:
    """Whether both differ from 0."""
    return ~x.is_zero() & ~y.is_zero()


def logical_or(x: Elements, y: Elements) -> Lanes:
    """Whether one differs from 0."""
    return ~x.is_zero() | ~y.is_zero()


def is_infinite(x: Lanes) -> Lanes:
    """Whether a number is."""
    return fabs(x) == np.inf


def is_finite(x: Lanes) -> Lanes:
    """Whether a number is."""
    return fabs(x) < np.inf


KERNELS: Final[dict[object, Rule]] = {
    t.equal: Elementwise(operator.eq, complex=Pair.equals),
    t.not_equal: Elementwise(operator.ne, complex=Pair.differs),
    t.less: Elementwise(operator.lt, complex=before),
    t.less_equal: Elementwise(operator.le, complex=lambda x, y: x.equals(y) | before(x, y)),
    t.greater: Elementwise(operator.gt, complex=lambda x, y: before(y, x)),
    t.greater_equal: Elementwise(operator.ge, complex=lambda x, y: x.equals(y) | before(y, x)),
    t.logical_and: Elementwise(logical_and, boolean=operator.and_),
    t.logical_or: Elementwise(logical_or, boolean=operator.or_),
    t.logical_xor: Elementwise(lambda x, y: x.is_zero() ^ y.is_zero()),
    t.logical_not: Elementwise(lambda x: x.is_zero()),
    t.isnan: Elementwise(always(False), floating=Lanes.is_nan, complex=Pair.is_nan),
    t.isinf: Elementwise(
        always(False), floating=is_infinite, complex=lambda x: is_infinite(x.real) | is_infinite(x.imag)
    ),
    t.isfinite: Elementwise(always(True), floating=is_finite, complex=lambda x: is_finite(x.real) & is_finite(x.imag)),
    t.signbit: Elementwise(floating=sign_bit, half=sign_bit),
    t.where: Elementwise(select, half=select),
}
