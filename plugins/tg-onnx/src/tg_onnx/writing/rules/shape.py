"""Lengths and movements: shapes are vectors of int64 at run time, and numbers where they are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tg.backend import AxisLength, BroadcastTo, ExpandDims, Reshape, Squeeze, Transpose, creation, merge_sizes, shape
from tg_onnx.writing.scope import agree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg_onnx.writing.scope import Scope, Value


def sizes_of(field: Sequence[int | None], operands: Sequence[Value]) -> tuple[Any, ...]:
    """The lengths of a field and its operands: numbers, and scalars of int64 for those not known."""
    lengths: tuple[Any, ...] = merge_sizes(field, operands)  # type: ignore[arg-type]
    return tuple(n if isinstance(n, int) or n.data is None else int(n.data) for n in lengths)


def reshape(op: Any, w: Scope, x: Value, *sizes: Value) -> Value:
    """The elements under another shape."""
    return w.reshape(x, w.out.shape, sizes_of(op.shape, sizes))


def broadcast_to(op: Any, w: Scope, x: Value, *sizes: Value) -> Value:
    """The array repeated."""
    if agree(x.shape, w.out.shape):
        return x
    return w("Expand", x, w.sizes(sizes_of(op.shape, sizes)), shape=w.out.shape)


def arange(op: Any, w: Scope, *sizes: Value) -> Value:
    """0, 1, … as int64."""
    (n,) = sizes_of((op.length,), sizes)
    if isinstance(n, int):
        return w.constant(np.arange(n))
    return w("Range", w.constant(np.int64(0)), n, w.constant(np.int64(1)), shape=w.out.shape)


RULES: Final[Mapping[object, Callable[..., Any]]] = {
    AxisLength: lambda op, w, x: w.length(x, op.axis),
    Reshape: reshape,
    BroadcastTo: broadcast_to,
    Transpose: lambda op, w, x: w.transpose(x, op.order(x.ndim)),
    ExpandDims: lambda op, w, x: w.expand_dims(x, op.axes),
    Squeeze: lambda op, w, x: w.squeeze(x, op.axes),
    shape.Concatenate: lambda op, w, *arrays: w.concat(arrays, op.axis),
    creation.Arange: arange,
}
