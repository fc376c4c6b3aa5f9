"""Reductions, running results, extreme positions, sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tg.backend import ArgSort, Reduce, Sort, arithmetic, comparison, cumulative, identity, reduction
from tg_onnx.writing.rules.elementwise import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg_onnx.writing.scope import Scope, Value

NARROW: Final = frozenset({"bool", "int8", "int16", "uint8", "uint16"})
"""The dtypes that not all reductions have: they are reduced in int32, which holds all of their numbers."""

KINDS: Final = {
    arithmetic.add: "ReduceSum",
    arithmetic.multiply: "ReduceProd",
    arithmetic.maximum: "ReduceMax",
    arithmetic.minimum: "ReduceMin",
    comparison.logical_and: "ReduceMin",
    comparison.logical_or: "ReduceMax",
}


def reduced(w: Scope, kind: str, x: Value, axes: Sequence[int], *, keepdims: bool = False) -> Value:
    """The elements along axes combined by an operator; axes became an operand with opset 13 or 18."""
    places = sorted(k % x.ndim for k in axes)
    shape = [1 if k in places else n for k, n in enumerate(x.shape) if keepdims or k not in places]
    if w.opset >= 18 or kind == "ReduceSum":
        return w(kind, x, w.integers(places), keepdims=int(keepdims), shape=shape)
    return w(kind, x, axes=places, keepdims=int(keepdims), shape=shape)


def reduce(op: Any, w: Scope, x: Value) -> Any:
    """The elements along axes combined; truth values by way of int32."""
    if op.fn not in KINDS or x.dtype.startswith("complex"):
        return NotImplemented
    if not op.axes:
        return x
    if x.dtype in NARROW:
        return w.cast(reduced(w, KINDS[op.fn], w.cast(x, "int32"), op.axes), x.dtype)
    return reduced(w, KINDS[op.fn], x, op.axes)


def arg_reduce(op: Any, w: Scope, x: Value) -> Value:
    """The position of the first extreme."""
    kind = "ArgMax" if op.fn is arithmetic.maximum else "ArgMin"
    x = w.cast(x, "int32") if x.dtype == "bool" else x
    return w(kind, x, axis=op.axis % x.ndim, keepdims=0, dtype="int64", shape=w.out.shape)


def accumulate(op: Any, w: Scope, x: Value) -> Any:
    """The running result: of sums, and of products since opset 26, one node; of others a `Scan` along the axis."""
    if x.dtype in ("bool", "complex64", "complex128") or op.fn not in KINDS:
        return NotImplemented
    axis = op.axis % x.ndim
    if op.fn is arithmetic.add and x.dtype not in NARROW:
        return w("CumSum", x, w.constant(axis, "int64"), shape=x.shape)
    if op.fn is arithmetic.multiply and x.dtype not in NARROW and w.opset >= 26:
        return w("CumProd", x, w.constant(axis, "int64"), shape=x.shape)
    lengths = [n if isinstance(n, int) else w.length(x, k) for k, n in enumerate(x.shape) if k != axis]
    rest = tuple(n for k, n in enumerate(x.shape) if k != axis)
    first = w("Expand", w.constant(identity(op.fn, x.dtype), x.dtype), w.sizes(lengths), shape=rest)
    body = w.inner()
    before, here = (body.input(x.dtype, rest) for _ in range(2))
    after = FUNCTIONS[op.fn](body, before, here)
    graph = body.graph([before, here], [after, after])
    attributes = {"scan_input_axes": [axis], "scan_output_axes": [axis]}
    _, results = w.several(
        "Scan", (first, x), ((x.dtype, rest), (x.dtype, x.shape)), body=graph, num_scan_inputs=1, **attributes
    )
    return results


def _sorted(op: Any, w: Scope, x: Value) -> Any:
    """Values and positions in ascending order, by the n least; equal ones keep their order."""
    if x.dtype == "bool" or x.dtype.startswith("complex"):
        return NotImplemented
    axis = op.axis % x.ndim
    count = w.as_vector(w.length(x, axis))
    return w.several("TopK", (x, count), ((x.dtype, x.shape), ("int64", x.shape)), axis=axis, largest=0, sorted=1)


def sort(op: Any, w: Scope, x: Value) -> Any:
    """The elements in ascending order."""
    results = _sorted(op, w, x)
    return results if results is NotImplemented else results[0]


def argsort(op: Any, w: Scope, x: Value) -> Any:
    """The positions that sort the elements."""
    results = _sorted(op, w, x)
    return results if results is NotImplemented else results[1]


RULES: Final[Mapping[object, Callable[..., Any]]] = {
    Reduce: reduce,
    reduction.ArgReduce: arg_reduce,
    cumulative.Accumulate: accumulate,
    Sort: sort,
    ArgSort: argsort,
}
