"""Multiplications and additions of ops that have many: matrix products, convolutions and attention.

A product and what it is added to are two operations. Windows that reach beyond images count whole.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Final

from tg.ops.contraction import MatMul
from tg.ops.nn.attention import Attention, AttentionGradient
from tg.ops.nn.convolved import Convolution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.graph.op import Op


def operations_of(op: Op, shapes: Sequence[Any]) -> int | None:
    """The operations of an op on operands of such shapes, those of its results behind them; None of other ops."""
    count = COUNTS.get(type(op))
    return None if count is None else 2 * count(op, shapes)


def _convolution(op: Any, shapes: Sequence[Any]) -> int:
    _, (_, _, channels, *window), *_, y = shapes
    return int(math.prod((*y, channels, *window)) // math.prod(op.spread))


def _matmul(_op: Any, shapes: Sequence[Any]) -> int:
    x, _, z = shapes
    return int(math.prod(z)) * int(x[-1])


def _attention(_op: Any, shapes: Sequence[Any], products: tuple[int, int] = (1, 1)) -> int:
    """Of operands q (..., m, d), k (..., n, d) and v (..., n, e): so many products of m n d, and of m n e."""
    q, k, v, *_ = shapes
    return int(math.prod(q[:-1])) * int(k[-2]) * (products[0] * int(q[-1]) + products[1] * int(v[-1]))


COUNTS: Final[dict[type, Callable[[Any, Sequence[Any]], int]]] = {
    Convolution: _convolution,
    MatMul: _matmul,
    Attention: _attention,
    AttentionGradient: functools.partial(_attention, products=(3, 2)),
}
