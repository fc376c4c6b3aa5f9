"""Reductions: sums of float32 by ggml, in float64; extrema, products, logic and integers by NumPy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import ggml as g
import numpy as np

from tg import add, logical_and, logical_or, maximum, minimum, multiply
from tg.backend import Hosted
from tg.backend import reduction as t
from tg_ggml.host import hosted
from tg_ggml.tensors import Tensor, constant, current, transpose

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg.backend import Rule

    Array = np.ndarray[Any, Any]

OF_NUMBERS: Final[dict[object, Callable[..., Any]]] = {
    add: np.sum,
    multiply: np.prod,
    maximum: np.max,
    minimum: np.min,
    logical_and: np.all,
    logical_or: np.any,
}
OF_BOOL: Final[dict[str | None, Callable[..., Any]]] = {"any": np.any, "all": np.all}


def reduce(op: t.Reduce, x: Tensor) -> Any:
    """The elements along the axes combined."""
    if op.fn not in OF_NUMBERS:
        return NotImplemented
    axes = [k + x.ndim for k in op.axes]
    rest = [k for k in range(x.ndim) if k not in axes]
    shape = tuple(x.shape[k] for k in rest)
    dtype, reduction = x.dtype.name, op.reduction
    if 0 in x.shape:
        return constant(np.full(shape, reduction.identity(dtype), dtype))
    if op.fn is add and x.dtype == np.float32:
        return _summed(x, rest, axes, shape)
    function = OF_BOOL[reduction.of_bool] if x.dtype == bool else OF_NUMBERS[op.fn]
    return hosted(lambda a: function(a, axis=tuple(axes)), [x], shape, dtype)


def _summed(x: Tensor, rest: list[int], axes: list[int], shape: tuple[int, ...]) -> Tensor:
    """The sums of rows, of what is summed over put last."""
    rows = transpose(x, rest + axes)
    count = math.prod(x.shape[k] for k in axes)
    return Tensor(shape, node=g.ggml_sum_rows(current().ctx, rows.dims((x.size // count, count))))


def arg_reduce(op: t.ArgReduce, x: Tensor) -> Any:
    """The position of the first extremum, or of the first NaN."""
    axis = op.axis + x.ndim
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    if x.shape[axis] == 0:
        return constant(np.zeros(shape, np.int64))
    find = np.argmax if op.reduction.sign > 0 else np.argmin
    return hosted(lambda a: find(a, axis=axis), [x], shape, "int64")


RULES: Final[dict[object, Rule]] = {t.Reduce: reduce, t.ArgReduce: Hosted(arg_reduce)}
