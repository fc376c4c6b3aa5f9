"""Comparison, logic and choice by a condition. Results of comparisons are bool and have no derivative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tg.ops.elementwise.cast import cast_variable
from tg.ops.elementwise.dtype_loops import from_ufunc
from tg.ops.elementwise.facts import of_where
from tg.ops.elementwise.positions import of_positions
from tg.ops.elementwise.record import binary, ternary, unary
from tg.ops.family import Family
from tg.types.dtypes import is_complex, is_inexact, limits
from tg.types.lengths import minimum, same
from tg.variables.conversion import as_variable, promote

if TYPE_CHECKING:
    from tg.graph.nodes import Variable
    from tg.variables.like import TensorLike


def _where_loops(kinds: Any) -> Any:
    """A bool condition (others ask whether they differ from 0), and the common dtype of the two choices."""
    (a, _), _ = from_ufunc(np.add)(kinds[1:]) if "bool" not in kinds[1:] else from_ufunc(np.maximum)(kinds[1:])
    return ("bool", a, a), a


def _bool_loops(kinds: Any) -> Any:
    return ("bool",) * len(kinds), "bool"


equal = binary(
    "equal",
    np.equal,
    np.equal,
    "Whether x == y.",
    d=(None, None),
    commutative="exact",
    accuracy=0,
    cost=2,
    facts=of_positions("equal"),
)
not_equal = binary(
    "not_equal", np.not_equal, np.not_equal, "Whether x != y.", d=(None, None), commutative="exact", accuracy=0, cost=2
)
less = binary(
    "less", np.less, np.less, "Whether x < y.", d=(None, None), accuracy=0, cost=2, facts=of_positions("less")
)
less_equal = binary(
    "less_equal", np.less_equal, np.less_equal, "Whether x <= y.", d=(None, None), accuracy=0, cost=2,
    facts=of_positions("less_equal"),
)  # fmt: skip
greater = binary(
    "greater", np.greater, np.greater, "Whether x > y.", d=(None, None), accuracy=0, cost=2,
    facts=of_positions("greater"),
)  # fmt: skip
greater_equal = binary(
    "greater_equal", np.greater_equal, np.greater_equal, "Whether x >= y.", d=(None, None), accuracy=0, cost=2,
    facts=of_positions("greater_equal"),
)  # fmt: skip
logical_and = binary(
    "logical_and",
    np.logical_and,
    _bool_loops,
    "Whether x and y differ from 0.",
    d=(None, None),
    commutative="exact",
    accuracy=0,
    cost=0.3,
)
logical_or = binary(
    "logical_or",
    np.logical_or,
    _bool_loops,
    "Whether x or y differs from 0.",
    d=(None, None),
    commutative="exact",
    accuracy=0,
    cost=0.3,
)
logical_xor = binary(
    "logical_xor",
    np.logical_xor,
    _bool_loops,
    "Whether one of x and y differs from 0.",
    d=(None, None),
    commutative="exact",
    accuracy=0,
    cost=0.3,
)
logical_not = unary("logical_not", np.logical_not, _bool_loops, "Whether x is 0.", d=(None,), accuracy=0, cost=0.3)
isnan = unary("isnan", np.isnan, np.isnan, "Whether x is NaN.", d=(None,), accuracy=0, cost=1.9)
isinf = unary("isinf", np.isinf, np.isinf, "Whether x is an infinity.", d=(None,), accuracy=0, cost=2)
isfinite = unary(
    "isfinite", np.isfinite, np.isfinite, "Whether x is neither NaN nor infinite.", d=(None,), accuracy=0, cost=2
)
signbit = unary(
    "signbit",
    np.signbit,
    np.signbit,
    "Whether the sign bit of x is set, as it is in -0.0.",
    d=(None,),
    accuracy=0,
    cost=2,
)
where = ternary(
    "where", np.where, _where_loops, "x where the condition holds, else y; the one not taken never leaks.",
    d=(
        None,
        lambda condition, x, y, z: condition,
        lambda condition, x, y, z: logical_not(condition),
    ),
    accuracy=0, cost=2,
    facts=of_where,
)  # fmt: skip


def isclose(x: TensorLike, y: TensorLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Variable:
    """Whether |x - y| <= atol + rtol * |y|; infinities are close to themselves, NaN to NaN if `equal_nan` is set.

    Source:
        numpy.isclose
    """
    from tg.ops.elementwise.arithmetic import absolute, add, multiply, subtract

    x, y = as_variable(x), as_variable(y)
    if not is_inexact(y.type.dtype):
        y = cast_variable(y, promote(y.type.dtype, float))
    limit = add(atol, multiply(rtol, absolute(y)))
    near = logical_or(logical_and(less_equal(absolute(subtract(x, y)), limit), isfinite(y)), equal(x, y))
    return logical_or(near, logical_and(isnan(x), isnan(y))) if equal_nan else near


def allclose(x: TensorLike, y: TensorLike, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Variable:
    """Whether all elements are close: a bool scalar.

    Source:
        numpy.allclose
    """
    from tg.ops.reduction import all

    return all(isclose(x, y, rtol, atol, equal_nan))


def array_equal(x: TensorLike, y: TensorLike, equal_nan: bool = False) -> Variable:
    """Whether two arrays have one shape and equal elements: a bool scalar.

    Source:
        numpy.array_equal
    """
    from tg.ops.reduction import all

    x, y = as_variable(x), as_variable(y)
    if x.type.ndim != y.type.ndim:
        return as_variable(np.False_)
    shared = tuple(slice(minimum(m, n)) for m, n in zip(x.shape, y.shape, strict=True))
    (a, b) = (v[shared] if shared else v for v in (x, y))
    is_equal = equal(a, b)
    if equal_nan:
        is_equal = logical_or(is_equal, logical_and(isnan(a), isnan(b)))
    is_equal = all(is_equal)
    for m, n in zip(x.shape, y.shape, strict=True):
        if not same(m, n):
            is_equal = logical_and(is_equal, equal(m, n))
    return is_equal


def nan_to_num(
    x: TensorLike, *, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Variable:
    """x with NaN and infinities replaced by numbers, infinities by the largest and the smallest of the dtype.

    Source:
        numpy.nan_to_num
    """
    from tg.ops.elementwise.complex import complex, imag, real

    x = as_variable(x)
    dtype = x.type.dtype
    if is_complex(dtype):
        parts = (nan_to_num(v, nan=nan, posinf=posinf, neginf=neginf) for v in (real(x), imag(x)))
        whole: Variable = complex(*parts)
        return whole
    if not is_inexact(dtype):
        same: Variable = x
        return same
    high, low = limits(dtype)
    y = where(equal(x, np.inf), high if posinf is None else posinf, x)
    y = where(equal(x, -np.inf), low if neginf is None else neginf, y)
    return where(isnan(x), nan, y)


FAMILY = Family(
    "elementwise/comparison",
    (
        equal,
        not_equal,
        less,
        less_equal,
        greater,
        greater_equal,
        logical_and,
        logical_or,
        logical_xor,
        logical_not,
        isnan,
        isinf,
        isfinite,
        signbit,
        where,
    ),
    functions=(isclose, allclose, array_equal, nan_to_num),
)  # fmt: skip
