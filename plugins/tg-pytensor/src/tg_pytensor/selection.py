"""Sorting, searching, diagonals, repeating and convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tg
from tg_pytensor.conversion import as_dtype
from tg_pytensor.registry import convert
from tg_pytensor.tensors import axis_of, entries, known

if TYPE_CHECKING:
    from tg_pytensor.conversion import Conversion


def one_or_all(axis: Any) -> Any:
    """An axis, which newer releases have in a tuple; None, for all, stays."""
    return axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis


convert.add({
    "SortOp": lambda op, node, x, *axis: tg.sort(x, axis=axis_of(op, axis)),
    "ArgSortOp": lambda op, node, x, *axis: tg.argsort(x, axis=axis_of(op, axis)),
    "Nonzero": lambda op, node, x: tg.nonzero(x),
    "SearchsortedOp": lambda op, node, x, v, sorter=None: tg.searchsorted(x, v, op.side, sorter),
    "Repeat": lambda op, node, x, repeats: tg.repeat(x, repeats, op.axis),
    "ExtractDiag": lambda op, node, x: tg.diagonal(x, op.offset, op.axis1, op.axis2),
    "FillDiagonalOffset": lambda op, node, x, value, offset: tg.where(
        tg.arange(x.shape[1]) - tg.arange(x.shape[0])[:, None] == offset, value, x
    ),
    "Softmax": lambda op, node, x: tg.softmax(x, axis=one_or_all(op.axis)),
    "LogSoftmax": lambda op, node, x: tg.log_softmax(x, axis=one_or_all(op.axis)),
    "SoftmaxGrad": lambda op, node, dy, y: dy * y - tg.sum(dy * y, axis=op.axis, keepdims=True) * y,
})  # fmt: skip


@convert.register("FillDiagonal")
def fill_diagonal(op: Any, node: Any, x: Any, value: Any) -> Any:
    """x with a value on its diagonal."""
    value = as_dtype(value, x.type.dtype)
    return tg.fill_diagonal(tg.cast(x, value.type.dtype), value)


@convert.register("Unique")
def unique(op: Any, node: Any, x: Any) -> Any:
    """The distinct elements, in ascending order."""
    if op.axis is not None and x.type.ndim != 1:
        raise tg.NoRuleError(f"tg_pytensor has no rule for Unique along axis {op.axis} of {x.type.ndim}")
    return tg.unique(tg.ravel(x), op.return_index, op.return_inverse, op.return_counts)


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


@convert.register("Bartlett")
def bartlett(op: Any, node: Any, length: Any) -> Any:
    """The triangular window of Bartlett."""
    n = tg.arange(1 - length, length, 2)
    return 1 - tg.abs(n) / tg.maximum(length - 1, 1)


@convert.register("Convolve1d")
def convolve(op: Any, node: Any, x: Any, y: Any, full: Any) -> Any:
    """The convolution of vectors, or what of it needs no elements beyond the ends of the longer one."""
    dtype = node.outputs[0].type.dtype
    x, y = as_dtype(x, dtype), as_dtype(y, dtype)
    n, m = (tg.as_variable(v.shape[0]) for v in (x, y))
    padded = tg.concatenate([tg.zeros((m - 1,), dtype=dtype), x, tg.zeros((m - 1,), dtype=dtype)])
    windows = padded[tg.arange(n + m - 1)[:, None] + tg.arange(m)]
    start = tg.where(full, 0, tg.minimum(n, m) - 1)
    return tg.matmul(windows, tg.flip(y))[start : n + m - 1 - start]


@convert.register("Convolve2d")
def convolve_matrices(op: Any, node: Any, x: Any, y: Any, full: Any) -> Any:
    """The convolution of matrices, or what of it needs no elements beyond the edges of the larger one."""
    dtype = node.outputs[0].type.dtype
    x, y = as_dtype(x, dtype), as_dtype(y, dtype)
    (h, w), (p, q) = ([tg.as_variable(n) for n in v.shape] for v in (x, y))
    rows, columns = tg.arange(h)[:, None], tg.arange(w)

    def add(k: Any, total: Any) -> Any:
        i, j = tg.floor_divide(k, q), tg.remainder(k, q)
        return total.at[rows + i, columns + j].add(y[i, j] * x)

    total = tg.fori_loop(0, p * q, add, tg.zeros((h + p - 1, w + q - 1), dtype=dtype))
    top, left = (tg.where(full, 0, tg.minimum(n, m) - 1) for n, m in ((h, p), (w, q)))
    return total[top : h + p - 1 - top, left : w + q - 1 - left]


# --- lists and Python functions --------------------------------------------------------------------------------------

convert.add({
    "MakeList": lambda op, node, *x: [list(x)],
    "Length": lambda op, node, x: tg.as_variable(len(x)),
    "GetItem": lambda op, node, x, k: [x[k if isinstance(k, slice) else int(known(k, "GetItem: index"))]],
    "Append": lambda op, node, x, y: [[*x, y]],
    "Extend": lambda op, node, x, y: [[*x, *y]],
    "Reverse": lambda op, node, x: [x[::-1]],
})  # fmt: skip


@convert.register("Print")
def shown(op: Any, node: Any, x: Any) -> Any:
    """x, with which the op calls what it prints by."""

    def run(array: Any) -> Any:
        op.global_fn(op, array)
        return array

    return tg.wrap(run, infer=lambda t: t, grad=lambda xs, ys, dys: dys, name="Print")(x)


@convert.register("FromFunctionOp")
def host_function(op: Any, node: Any, *operands: Any) -> Any:
    """A Python function of arrays, as `as_op` makes one."""

    def run(*arrays: Any) -> Any:
        results: list[list[Any]] = [[None] for _ in node.outputs]
        op.perform(node, arrays, results)
        return tuple(result for (result,) in results)

    types = tuple(tg.TensorType(v.type.dtype, v.type.shape) for v in node.outputs)
    return tg.wrap(run, outputs=types, name=str(op))(*operands)
