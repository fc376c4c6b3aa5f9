"""Sorting, searching, diagonals, repeating and convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg_pytensor.registry import convert
from tg_pytensor.tensors import axis_of, entries, known

if TYPE_CHECKING:
    from tg_pytensor.conversion import Conversion


@convert.register("SortOp")
def sort(op: Any, node: Any, x: Any, *axis: Any) -> Any:
    """The elements in ascending order, NaN last."""
    return tg.sort(x, axis=axis_of(op, axis))


@convert.register("ArgSortOp")
def argsort(op: Any, node: Any, x: Any, *axis: Any) -> Any:
    """The places that sort, those of equal elements in their order."""
    return tg.argsort(x, axis=axis_of(op, axis))


@convert.register("Nonzero")
def nonzero(op: Any, node: Any, x: Any) -> Any:
    """The places of the elements that are not 0."""
    return tg.nonzero(x)


@convert.register("SearchsortedOp")
def searchsorted(op: Any, node: Any, x: Any, v: Any, sorter: Any = None) -> Any:
    """Where elements would be inserted into a sorted vector."""
    return tg.searchsorted(x, v, op.side, sorter)


@convert.register("Unique")
def unique(op: Any, node: Any, x: Any) -> Any:
    """The distinct elements, in ascending order."""
    if op.axis is not None and x.type.ndim != 1:
        raise tg.NoRuleError(f"tg_pytensor has no rule for Unique along axis {op.axis} of {x.type.ndim}")
    return tg.unique(tg.ravel(x), op.return_index, op.return_inverse, op.return_counts)


@convert.register("Repeat")
def repeat(op: Any, node: Any, x: Any, repeats: Any) -> Any:
    """Every entry along an axis as often as is said of it."""
    return tg.repeat(x, repeats, op.axis)


@convert.register("Choose")
def choose(op: Any, node: Any, a: Any, choices: Any) -> Any:
    """At each place the element of one of several arrays."""
    if not isinstance(choices, list):
        choices = [choices[k] for k in range(choices.type.shape[0])]
    return tg.choose(a, choices, mode=op.mode)


@convert.register("PermuteRowElements")
def permute(op: Any, node: Any, x: Any, places: Any) -> Any:
    """The elements along the last axis in another order, or out of it."""
    x, places = tg.broadcast_arrays(x, places)
    return tg.put_along_axis(tg.zeros_like(x), places, x) if op.inverse else tg.take_along_axis(x, places)


@convert.register("UnravelIndex", whole=True)
def unravel_index(conversion: Conversion, node: Any) -> Any:
    """Places in an array of a shape as one index for each axis."""
    return tg.unravel_index(conversion[node.inputs[0]], entries(conversion, node.inputs[1]), node.op.order)


@convert.register("RavelMultiIndex", whole=True)
def ravel_multi_index(conversion: Conversion, node: Any) -> Any:
    """One index for each axis as places in an array of a shape."""
    *places, lengths = node.inputs
    op = node.op
    return tg.ravel_multi_index([conversion[v] for v in places], entries(conversion, lengths), op.mode, op.order)


# --- diagonals -------------------------------------------------------------------------------------------------------


@convert.register("ExtractDiag")
def diagonal(op: Any, node: Any, x: Any) -> Any:
    """The diagonals that two axes span."""
    return tg.diagonal(x, op.offset, op.axis1, op.axis2)


@convert.register("FillDiagonal")
def fill_diagonal(op: Any, node: Any, x: Any, value: Any) -> Any:
    """x with a value on its diagonal."""
    return tg.fill_diagonal(x, tg.cast(value, x.type.dtype))


@convert.register("FillDiagonalOffset")
def fill_diagonal_offset(op: Any, node: Any, x: Any, value: Any, offset: Any) -> Any:
    """A matrix with a value on one of its diagonals."""
    rows, columns = tg.arange(x.shape[0])[:, None], tg.arange(x.shape[1])
    return tg.where(columns - rows == offset, value, x)


# --- functions of whole arrays ---------------------------------------------------------------------------------------


@convert.register("Softmax", "LogSoftmax")
def softmax(op: Any, node: Any, x: Any) -> Any:
    """Shares along an axis, or over all elements, or their logarithms."""
    axis = op.axis[0] if isinstance(op.axis, tuple) and len(op.axis) == 1 else op.axis
    return (tg.softmax if type(op).__name__ == "Softmax" else tg.log_softmax)(x, axis=axis)


@convert.register("SoftmaxGrad")
def softmax_grad(op: Any, node: Any, dy: Any, y: Any) -> Any:
    """The derivative of `Softmax`, of its result."""
    return dy * y - tg.sum(dy * y, axis=op.axis, keepdims=True) * y


@convert.register("Bartlett")
def bartlett(op: Any, node: Any, length: Any) -> Any:
    """The triangular window of Bartlett."""
    n = tg.arange(1 - length, length, 2)
    return 1 - tg.abs(n) / tg.maximum(length - 1, 1)


@convert.register("Convolve1d")
def convolve(op: Any, node: Any, x: Any, y: Any, full: Any) -> Any:
    """The convolution of vectors, or what of it needs no elements beyond the ends of the longer one."""
    dtype = node.outputs[0].type.dtype
    x, y = tg.cast(x, dtype), tg.cast(y, dtype)
    n, m = (tg.as_variable(v.shape[0]) for v in (x, y))
    padded = tg.concatenate([tg.zeros((m - 1,), dtype=dtype), x, tg.zeros((m - 1,), dtype=dtype)])
    windows = padded[tg.arange(n + m - 1)[:, None] + tg.arange(m)]
    start = tg.where(full, 0, tg.minimum(n, m) - 1)
    return tg.matmul(windows, tg.flip(y))[start : n + m - 1 - start]


@convert.register("Convolve2d")
def convolve_matrices(op: Any, node: Any, x: Any, y: Any, full: Any) -> Any:
    """The convolution of matrices, or what of it needs no elements beyond the edges of the larger one."""
    dtype = node.outputs[0].type.dtype
    x, y = tg.cast(x, dtype), tg.cast(y, dtype)
    (h, w), (p, q) = ([tg.as_variable(n) for n in v.shape] for v in (x, y))
    rows, columns = tg.arange(h)[:, None], tg.arange(w)

    def add(k: Any, total: Any) -> Any:
        i, j = tg.floor_divide(k, q), tg.remainder(k, q)
        return total.at[rows + i, columns + j].add(y[i, j] * x)

    total = tg.fori_loop(0, p * q, add, tg.zeros((h + p - 1, w + q - 1), dtype=dtype))
    top, left = (tg.where(full, 0, tg.minimum(n, m) - 1) for n, m in ((h, p), (w, q)))
    return total[top : h + p - 1 - top, left : w + q - 1 - left]


# --- lists, Python functions and what is shown -----------------------------------------------------------------------

convert.register("MakeList")(lambda op, node, *x: [list(x)])
convert.register("Length")(lambda op, node, x: tg.as_variable(len(x)))
convert.register("GetItem")(lambda op, node, x, k: [x[k if isinstance(k, slice) else int(known(k, "GetItem: index"))]])
convert.register("Append")(lambda op, node, x, y: [[*x, y]])
convert.register("Extend")(lambda op, node, x, y: [[*x, *y]])
convert.register("Reverse")(lambda op, node, x: [x[::-1]])
convert.register("PdbBreakpoint")(lambda op, node, condition, *x: x)


@convert.register("Print")
def shown(op: Any, node: Any, x: Any) -> Any:
    """x, which is printed behind a message."""
    return tg.debug_print(x, op.message.replace("{", "{{").replace("}", "}}") + " {}")


@convert.register("FromFunctionOp")
def host_function(op: Any, node: Any, *operands: Any) -> Any:
    """A Python function of arrays, as `as_op` makes one."""

    def run(*arrays: Any) -> Any:
        results: list[list[Any]] = [[None] for _ in node.outputs]
        op.perform(node, arrays, results)
        return tuple(result for (result,) in results)

    types = tuple(tg.TensorType(v.type.dtype, v.type.shape) for v in node.outputs)
    return tg.wrap(run, outputs=types, name=str(op))(*operands)
