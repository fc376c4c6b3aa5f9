"""Reductions, whose axes became an operand (ReduceSum at 13, the others at 18), and running sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.backend import is_float

if TYPE_CHECKING:
    from collections.abc import Callable

    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules


def _axes(node: Node) -> tuple[int, ...] | None:
    """The axes of a reduction: an attribute or operand 1; None stands for all of them."""
    axes = node.ints(1, "axes") if node.has(1) else node.attr("axes") or []
    if axes:
        return tuple(axes)
    return () if node.attr("noop_with_empty_axes", 0) else None


def _reduction(function: Callable[..., Any]) -> Callable[[Node], Variable]:
    def rule(node: Node) -> Variable:
        x = node[0]
        return function(x, axis=_axes(node), keepdims=bool(node.attr("keepdims", 1)))  # type: ignore[no-any-return]

    return rule


def _l1(x: Variable, **options: Any) -> Variable:
    return tg.sum(tg.absolute(x), **options)


def _l2(x: Variable, **options: Any) -> Variable:
    return tg.sqrt(_sum_square(x if is_float(x.dtype) else tg.cast(x, "float64"), **options))


def _sum_square(x: Variable, **options: Any) -> Variable:
    return tg.sum(tg.square(x), **options)


def _log_sum(x: Variable, **options: Any) -> Variable:
    return tg.log(tg.sum(x if is_float(x.dtype) else tg.cast(x, "float64"), **options))


def _log_sum_exp(x: Variable, **options: Any) -> Variable:
    wide = x if is_float(x.dtype) else tg.cast(x, "float64")
    return wide if options["axis"] == () else tg.logsumexp(wide, **options)


def _mean(x: Variable, **options: Any) -> Variable:
    if is_float(x.dtype):
        return x if options["axis"] == () else tg.mean(x, **options)
    return tg.trunc(tg.mean(tg.cast(x, "float64"), **options))


def _extreme(function: Any, logical: Any) -> Callable[..., Variable]:
    """A minimum or maximum; of no elements it is the least or greatest value that the dtype has."""

    def reduce(x: Variable, **options: Any) -> Variable:
        if x.dtype == "bool":
            return logical(x, **options)  # type: ignore[no-any-return]
        return function(x, initial=_end(x.dtype, least=function is tg.max), **options)  # type: ignore[no-any-return]

    return reduce


def _end(dtype: str, *, least: bool) -> Any:
    if is_float(dtype):
        return -np.inf if least else np.inf
    info = np.iinfo(dtype)
    return info.min if least else info.max


def _arg(function: Any) -> Callable[[Node], Variable]:
    """The place of the first extreme element along an axis, or with `select_last_index` of the last."""

    def rule(node: Node) -> Variable:
        x, axis, keep = node[0], node.attr("axis", 0), bool(node.attr("keepdims", 1))
        if not node.attr("select_last_index", 0):
            return function(x, axis, keepdims=keep)  # type: ignore[no-any-return]
        return x.shape[axis] - 1 - function(tg.flip(x, axis), axis, keepdims=keep)  # type: ignore[no-any-return]

    return rule


def _running(function: Any, neutral: int) -> Callable[[Node], Variable]:
    """Running sums or products; `exclusive` leaves an element out of its own, `reverse` begins at the end."""

    def rule(node: Node) -> Variable:
        x = node[0]
        axis = int(node.static(1, "an axis").reshape(()))
        x = tg.flip(x, axis) if node.attr("reverse", 0) else x
        if node.attr("exclusive", 0):
            shape = list(x.shape)
            shape[axis] = 1
            rest = [slice(None)] * x.ndim
            rest[axis] = slice(0, -1)
            x = tg.concatenate([tg.full(tuple(shape), neutral, x.dtype), x[tuple(rest)]], axis)
        y = function(x, axis)
        return tg.flip(y, axis) if node.attr("reverse", 0) else y

    return rule


RULES: Final[Rules] = {
    "ArgMax": _arg(tg.argmax),
    "ArgMin": _arg(tg.argmin),
    "CumProd": _running(tg.cumprod, 1),
    "CumSum": _running(tg.cumsum, 0),
    "ReduceL1": _reduction(_l1),
    "ReduceL2": _reduction(_l2),
    "ReduceLogSum": _reduction(_log_sum),
    "ReduceLogSumExp": _reduction(_log_sum_exp),
    "ReduceMax": _reduction(_extreme(tg.max, tg.any)),
    "ReduceMean": _reduction(_mean),
    "ReduceMin": _reduction(_extreme(tg.min, tg.all)),
    "ReduceProd": _reduction(tg.prod),
    "ReduceSum": _reduction(tg.sum),
    "ReduceSumSquare": _reduction(_sum_square),
}
