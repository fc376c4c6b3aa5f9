"""Comparison, logic and choice.

Deviations from MLX: int64 and uint64 are compared exactly, not as floating numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg.backend import comparison as t
from tg_mlx.arrays import SAME_SIZE

if TYPE_CHECKING:
    from tg.backend import Rule


def equal(x: Any, y: Any) -> Any:
    """Whether x == y; operands of two dtypes are an int64 and a uint64, here and below."""
    if x.dtype == y.dtype:
        return mx.equal(x, y)
    return mx.equal(x.astype(mx.uint64), y.astype(mx.uint64)) & _natural(x) & _natural(y)


def _natural(x: Any) -> Any:
    return mx.array(True) if x.dtype == mx.uint64 else x >= 0


def not_equal(x: Any, y: Any) -> Any:
    """Whether x != y."""
    return mx.not_equal(x, y) if x.dtype == y.dtype else mx.logical_not(equal(x, y))


def less(x: Any, y: Any) -> Any:
    """Whether x < y."""
    if x.dtype == y.dtype:
        return mx.less(x, y)
    return mx.logical_not(_natural(x)) | (_natural(y) & mx.less(x.astype(mx.uint64), y.astype(mx.uint64)))


def less_equal(x: Any, y: Any) -> Any:
    """Whether x <= y."""
    return mx.less_equal(x, y) if x.dtype == y.dtype else mx.logical_not(less(y, x))


def greater(x: Any, y: Any) -> Any:
    """Whether x > y."""
    return mx.greater(x, y) if x.dtype == y.dtype else less(y, x)


def greater_equal(x: Any, y: Any) -> Any:
    """Whether x >= y."""
    return mx.greater_equal(x, y) if x.dtype == y.dtype else mx.logical_not(less(x, y))


def logical_xor(x: Any, y: Any) -> Any:
    """Whether one of x and y holds."""
    return mx.not_equal(x, y)


def signbit(x: Any) -> Any:
    """Whether the first bit is set."""
    return mx.view(x, SAME_SIZE[x.dtype]) < 0


RULES: Final[dict[object, Rule]] = {
    t.equal: equal,
    t.not_equal: not_equal,
    t.less: less,
    t.less_equal: less_equal,
    t.greater: greater,
    t.greater_equal: greater_equal,
    t.logical_and: mx.logical_and,
    t.logical_or: mx.logical_or,
    t.logical_xor: logical_xor,
    t.logical_not: mx.logical_not,
    t.isnan: mx.isnan,
    t.isinf: mx.isinf,
    t.isfinite: mx.isfinite,
    t.signbit: signbit,
    t.where: mx.where,
}
