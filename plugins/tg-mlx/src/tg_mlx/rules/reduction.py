"""Reductions, in the dtype of the operand.

Deviations from MLX: sums are taken of blocks, so that errors grow with the logarithm of the length, those of half
precision in float32; small integers wrap in their own dtype; no elements give the identity, positions in no elements 0
(checks refuse both where it is an error), and complex extrema are lexicographic and propagate NaN.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import mlx.core as mx

from tg import maximum, minimum, multiply
from tg.backend import reduction as t
from tg_mlx.arrays import NAMES, is_complex, is_half, is_integer, scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg.backend import Rule

BLOCK: Final = 32  # about so many parts of a sum are added to one another at each step
BLOCK_SINGLE: Final = 8  # of single precision, in which each addition costs a digit that is missed

REDUCTIONS: Final[dict[object, Callable[..., Any]]] = {multiply: mx.prod, maximum: mx.max, minimum: mx.min}
OF_BOOL: Final[dict[str | None, Callable[..., Any]]] = {"any": mx.any, "all": mx.all}


def reduce(op: t.Reduce, x: Any) -> Any:
    """The elements along the axes combined, by a function that MLX has a reduction for."""
    reduction = op.reduction
    if reduction.kind == "other":
        return NotImplemented
    axes = [k + x.ndim for k in op.axes]
    if 0 in x.shape:
        rest = [n for k, n in enumerate(x.shape) if k not in axes]
        return mx.full(rest, scalar(reduction.identity(NAMES[x.dtype]), x.dtype))
    if x.dtype == mx.bool_ or reduction.kind == "logical":
        return OF_BOOL[reduction.of_bool](x, axes).astype(x.dtype)
    if not reduction.is_extreme and is_half(x):
        return reduce(op, x.astype(mx.float32)).astype(x.dtype)
    if reduction.is_sum:
        return (mx.sum(x, axes) if is_integer(x) else _sum(x, axes)).astype(x.dtype)
    if is_complex(x) and reduction.is_extreme:
        return _extremum_of_complex(op, x)
    return REDUCTIONS[op.fn](x, axes).astype(x.dtype)


def _sum(x: Any, axes: Sequence[int]) -> Any:
    """The sum over axes: runs of neighbours are merged and summed in blocks, the last run first."""
    rest = sorted(axes)
    while rest:
        last = first = rest.pop()
        while rest and rest[-1] == first - 1:
            first = rest.pop()
        merged = x if first == last else mx.flatten(x, first, last)
        x = _sum_in_blocks(merged, first)
    return x


def _sum_in_blocks(x: Any, axis: int) -> Any:
    """The sum over one axis: its parts are added to one another until few elements are left.

    So the error, in halves of a unit in the last place of the sum of the sizes, is at most a block for each step, and
    two for the last.
    """
    block = BLOCK_SINGLE if x.dtype == mx.float32 else BLOCK
    while x.shape[axis] > 2 * block:
        count, length = _parts(x.shape[axis], block)
        if count * length == x.shape[axis]:
            x = mx.sum(mx.unflatten(x, axis, (count, length)), axis)
        else:
            body, tail = mx.split(x, [count * length], axis)
            x = mx.concatenate([mx.sum(mx.unflatten(body, axis, (count, length)), axis), tail], axis)
    return mx.sum(x, axis)


@functools.lru_cache(1024)
def _parts(n: int, block: int) -> tuple[int, int]:
    """The number of parts and their length: a divisor of n from half a block on, or a block and there is a rest."""
    count = next((k for k in range(block, block // 2 - 1, -1) if n % k == 0), block)
    return count, n // count


def _extremum_of_complex(op: t.Reduce, x: Any) -> Any:
    """The element at the position of the extremum."""
    axes = [k + x.ndim for k in op.axes]
    lead = [k for k in range(x.ndim) if k not in axes]
    rows = mx.flatten(mx.transpose(x, [*lead, *axes]), len(lead), -1)
    place = mx.expand_dims(_arg_reduce_complex(op.fn, rows, -1), -1)
    return mx.squeeze(mx.take_along_axis(rows, place, -1), -1)


def arg_reduce(op: t.ArgReduce, x: Any) -> Any:
    """The position of the first extremum, or of the first NaN."""
    if 0 in x.shape:
        rest = list(x.shape)
        rest.pop(op.axis)
        return mx.zeros(rest, mx.int64)
    if is_complex(x):
        return _arg_reduce_complex(op.fn, x, op.axis)
    find = mx.argmax if op.reduction.sign > 0 else mx.argmin
    return find(x, op.axis).astype(mx.int64)


def _arg_reduce_complex(fn: object, x: Any, axis: int) -> Any:
    """The first NaN, else the first of those with the extreme imaginary part among those with the extreme real part."""
    best, worst = (mx.max, -mx.inf) if fn is maximum else (mx.min, mx.inf)
    real, imag, nan = mx.real(x), mx.imag(x), mx.isnan(x)
    ahead = real == best(real, axis, keepdims=True)
    among = mx.where(ahead, imag, scalar(worst, mx.float32))
    is_extreme = ahead & (imag == best(among, axis, keepdims=True))
    chosen = mx.where(mx.any(nan, axis, keepdims=True), nan, is_extreme)
    return mx.argmax(chosen.astype(mx.uint8), axis).astype(mx.int64)


RULES: Final[dict[object, Rule]] = {t.Reduce: reduce, t.ArgReduce: arg_reduce}
