"""Networks: convolutions and their transposes, pooling, softmax, attention."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tg.backend import attention, convolution, pooling, softmax
from tg_onnx.writing.rules.reduction import reduced
from tg_onnx.writing.scope import agree, is_one

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tg_onnx.writing.scope import Scope, Value

LEAD: Final = 3  # axes of a convolution in front of those of windows: batch, groups, channels
FLOATS: Final = frozenset({"float16", "bfloat16", "float32", "float64"})


def _integer(n: Any) -> int | None:
    """A length that is a number; None for others."""
    return n if type(n) is int else None


class Paddings(NamedTuple):
    """Zeros before and after each axis, and the sizes of which a prefix is the result, where there are more."""

    before: list[int]
    after: list[int]
    cuts: list[int | None]


def _paddings(
    lengths: Sequence[Any], window: Sequence[Any], op: Any, before: Sequence[Any], sizes: Sequence[Any]
) -> Paddings | None:
    """The padding with which ONNX makes windows of these sizes; None where it cannot be said."""
    pads: Paddings = Paddings([], [], [])
    for n, k, s, d, b, size in zip(lengths, window, op.strides, op.dilations, before, sizes, strict=True):
        if type(k) is not int or type(b) is not int or b < 0 or d < 1:
            return None
        span = (k - 1) * d + 1
        after = _after(n, s, span, b, size)
        if after is None:
            return None
        pads.before.append(b)
        pads.after.append(max(after, 0))
        pads.cuts.append(None if after >= 0 or -after < s else _integer(size))
        if after < 0 and -after >= s and type(size) is not int:
            return None
    return pads


def _after(n: Any, stride: int, span: int, before: int, size: Any) -> int | None:
    """The zeros that windows need behind an axis, below 0 where elements are left over."""
    if type(n) is int and type(size) is int:
        return (size - 1) * stride + span - before - n
    if n is None or size is None:
        return None
    for after in range(2 * span + stride):
        size_with = (n + before + after - span) // stride + 1
        if agree((size_with,), (size,)):
            return after
    return None


def convolve(op: Any, w: Scope, x: Value, kernel: Value, *rest: Value, kind: str = "Conv") -> Any:
    """A `Conv`, a `ConvTranspose` where images are spread, an `AveragePool` where the kernel has one number."""
    split = op.before.count(None)
    if (kind == "Conv" and x.dtype not in FLOATS) or split:
        return NotImplemented
    lengths, window = x.shape[LEAD:], kernel.shape[LEAD:]
    sizes = w.out.shape[LEAD:]
    if any(s != 1 for s in op.spread) or any(d < 0 for d in op.dilations):
        return NotImplemented if kind != "Conv" else _transposed(op, w, x, kernel, sizes)
    pads = _paddings(lengths, window, op, op.before, sizes)
    if pads is None:
        return NotImplemented
    attributes: dict[str, Any] = {
        "kernel_shape": list(window), "strides": list(op.strides), "dilations": list(op.dilations),
        "pads": [*pads.before, *pads.after],
    }  # fmt: skip
    is_one_channel = kind == "Conv" and all(map(is_one, kernel.shape[:LEAD]))
    if is_one_channel and (number := _uniform(kernel)) is not None:
        return _averaged(w, x, number, attributes, sizes)
    groups = _integer(kernel.shape[0])
    if groups is None:
        return NotImplemented
    dtype = w.out.dtype
    operands = _joined(w, x, 1), _joined(w, kernel, 0)
    images = w(kind, *operands, dtype=dtype, group=groups, shape=_result(w, sizes, pads), **attributes)
    if any(n is not None for n in pads.cuts):
        axes = [k + 2 for k, n in enumerate(pads.cuts) if n is not None]
        ends = [n for n in pads.cuts if n is not None]
        images = w(
            "Slice", images, w.integers([0] * len(axes)), w.integers(ends), w.integers(axes), shape=_result(w, sizes)
        )
    return _parted(w, images)


def _result(w: Scope, sizes: Sequence[Any], pads: Paddings | None = None) -> tuple[Any, ...]:
    """The shape of the images that a node makes."""
    n, groups, outer = w.out.shape[:LEAD]
    cut = [None] * len(sizes) if pads is None else pads.cuts
    own = [size if n is None else None for n, size in zip(cut, sizes, strict=True)]
    return (n, groups * outer if groups is not None and outer is not None else None, *own)


def _joined(w: Scope, x: Value, axis: int) -> Value:
    """An axis and the one behind it as one."""
    if is_one(x.shape[axis]):
        return w.squeeze(x, [axis])
    a, b = x.shape[axis : axis + 2]
    one = None if a is None or b is None else a * b
    sizes = [None if k == axis else w.length(x, k + (k > axis)) for k in range(x.ndim - 1)]
    return w.reshape(x, (*x.shape[:axis], one, *x.shape[axis + 2 :]), sizes)


def _parted(w: Scope, images: Value) -> Value:
    """Images with an axis for groups, as the result has it."""
    groups = w.out.shape[1]
    if is_one(groups):
        return w.expand_dims(images, [1])
    sizes = [w.length(images, 0), None, None, *(w.length(images, k) for k in range(2, images.ndim))]
    return w.reshape(images, w.out.shape, sizes)


def _uniform(kernel: Value) -> float | None:
    """The number that all elements of a kernel are."""
    source = kernel.operands[0] if kernel.is_by("Expand") else kernel
    if source.data is None or source.data.size == 0 or (source.data != source.data.flat[0]).any():
        return None
    return float(source.data.flat[0])


def _averaged(w: Scope, x: Value, number: float, attributes: Mapping[str, Any], sizes: Sequence[Any]) -> Any:
    """Means of windows of each channel, times what makes the wanted sums of them."""
    dilations = attributes["dilations"]
    if any(d != 1 for d in dilations) and w.opset < 19:
        return NotImplemented
    axes = len(sizes)
    root = x
    while root.node is not None and root.node.op_type in ("Reshape", "Unsqueeze", "Squeeze"):
        root = root.operands[0]
        if root.ndim == axes + 2 and agree(root.shape[2:], x.shape[LEAD:]):
            break
    else:
        root = w.squeeze(x, [1]) if is_one(x.shape[1]) else x
    own = {name: value for name, value in attributes.items() if name != "dilations" or any(d != 1 for d in value)}
    means = w("AveragePool", root, count_include_pad=1, shape=(*root.shape[:2], *sizes), **own)
    factor = number * math.prod(attributes["kernel_shape"])
    if abs(factor - 1) > 1e-6:
        means = w("Mul", means, w.like(x, factor))
    return w.reshape(means, w.out.shape)


def _transposed(op: Any, w: Scope, x: Value, kernel: Value, sizes: Sequence[Any]) -> Any:
    """A transposed convolution: images are spread, and the kernel is read from its end."""
    groups = _integer(kernel.shape[0])
    if groups is None or any(s != 1 for s in op.strides) or any(d > 0 for d in op.dilations):
        return NotImplemented
    before, after, more = [], [], []
    for n, k, s, d, b, size in zip(
        x.shape[LEAD:], kernel.shape[LEAD:], op.spread, op.dilations, op.before, sizes, strict=True
    ):
        if type(k) is not int or b > 0 or n is None or size is None:
            return NotImplemented
        rest = (n - 1) * s + (k - 1) * -d + 1 + b - size
        if type(rest) is not int or (rest < 0 and -rest >= max(s, -d)):
            return NotImplemented
        before.append(-b)
        after.append(max(rest, 0))
        more.append(max(-rest, 0))
    order = [0, 2, 1, *range(LEAD, kernel.ndim)]
    attributes: dict[str, Any] = {
        "kernel_shape": list(kernel.shape[LEAD:]), "strides": list(op.spread),
        "dilations": [-d for d in op.dilations], "pads": [*before, *after],
    }  # fmt: skip
    if any(more):
        attributes["output_padding"] = more
    flat = _joined(w, w.transpose(kernel, order), 0)
    images = w("ConvTranspose", _joined(w, x, 1), flat, group=groups, shape=_result(w, sizes), **attributes)
    return _parted(w, images)


def max_pool(op: Any, w: Scope, x: Value, *rest: Value) -> Any:
    """A `MaxPool`; its places count in the whole array, those of tg in one image."""
    axes = len(op.window)
    if x.dtype not in {*FLOATS, "int8", "uint8"} or x.ndim != axes + 2:
        return NotImplemented
    sizes = w.out.shape[2:]
    pads = _paddings(x.shape[2:], op.window, op, op.before, sizes)
    if pads is None or any(n is not None for n in pads.cuts):
        return NotImplemented
    attributes: dict[str, Any] = {
        "kernel_shape": list(op.window), "strides": list(op.strides), "dilations": list(op.dilations),
        "pads": [*pads.before, *pads.after],
    }  # fmt: skip
    shape = (*x.shape[:2], *sizes)
    if not w.used[1]:
        return (w("MaxPool", x, shape=shape, **attributes), None)
    values, places = w.several("MaxPool", [x], [(x.dtype, shape), ("int64", shape)], **attributes)
    count: Any = w.constant(np.int64(1))
    for k in range(2, x.ndim):
        count = w("Mul", count, w.length(x, k)) if k > 2 else w.length(x, k)
    return values, w("Mod", places, count, fmod=0, shape=shape)


def softmax_along(op: Any, w: Scope, x: Value) -> Any:
    """A `Softmax` along an axis."""
    return w("Softmax", x, axis=op.axis % x.ndim) if x.is_float else NotImplemented


def log_softmax(op: Any, w: Scope, x: Value) -> Any:
    """A `LogSoftmax` along an axis."""
    return w("LogSoftmax", x, axis=op.axis % x.ndim) if x.is_float else NotImplemented


def masked_softmax(op: Any, w: Scope, x: Value) -> Value:
    """A `Softmax`, of -inf alone 0."""
    return _shares(w, x, op.axis)


def _shares(w: Scope, x: Value, axis: int) -> Value:
    axis %= x.ndim
    none = w("Equal", reduced(w, "ReduceMax", x, [axis], keepdims=True), w.like(x, -math.inf))
    return w("Where", none, w.like(x, 0), w("Softmax", x, axis=axis), dtype=x.dtype)


def attend(op: Any, w: Scope, q: Value, k: Value, v: Value, *masks: Value) -> Any:
    """An `Attention` since opset 23 where every query sees a key; else products, a mask and a softmax."""
    if w.used[1]:
        return NotImplemented
    fits = {q.ndim, k.ndim, v.ndim} == {4} and all(_alike(q, one, 1 if op.is_grouped else 2) for one in (k, v))
    if w.opset >= 23 and not masks and fits:
        attributes: dict[str, Any] = {"is_causal": 1} if op.is_causal else {}
        if op.scale is not None:
            attributes["scale"] = float(op.scale)
        return w("Attention", q, k, v, shape=w.out.shape, **attributes), None
    length = q.shape[-1]
    if op.is_grouped or q.dtype in ("float16", "bfloat16") or type(length) is not int:
        return NotImplemented
    scale = 1 / math.sqrt(length or 1) if op.scale is None else op.scale
    order = [*range(k.ndim - 2), k.ndim - 1, k.ndim - 2]
    shape = (*w.out.shape[:-2], q.shape[-2], k.shape[-2])
    scores = w("MatMul", w("Mul", q, w.like(q, scale)), w.transpose(k, order), shape=shape)
    for mask in masks:
        if mask.dtype == "bool":
            scores = w("Where", mask, scores, w.like(q, -math.inf), dtype=q.dtype)
        else:
            scores = w("Add", scores, mask)
    if op.is_causal:
        scores = w("Where", _triangle(w, q, k), scores, w.like(q, -math.inf), dtype=q.dtype)
    shares = _shares(w, scores, -1) if masks else w("Softmax", scores, axis=scores.ndim - 1)
    return w("MatMul", shares, v, shape=w.out.shape), None


def _alike(x: Value, y: Value, count: int) -> bool:
    """Whether nothing is repeated along the first axes: lengths that are not known are not 1."""
    return all(is_one(n) == is_one(m) for n, m in zip(x.shape[:count], y.shape, strict=False))


def _triangle(w: Scope, q: Value, k: Value) -> Value:
    """For queries by keys whether a key is not behind the query."""
    counts = [w.length(q, -2), w.length(k, -2)]
    if all(n.data is not None for n in counts):
        return w.constant(np.tri(*(int(n.data) for n in counts), dtype=bool))  # type: ignore[arg-type]
    zero, one = w.constant(np.int64(0)), w.constant(np.int64(1))
    rows, columns = (w("Range", zero, n, one, shape=(x.shape[-2],)) for n, x in zip(counts, (q, k), strict=True))
    return w("GreaterOrEqual", w.expand_dims(rows, [-1]), columns)


RULES: Final[Mapping[object, Callable[..., Any]]] = {
    convolution.Convolution: convolve,
    pooling.MaxPool: max_pool,
    softmax.Softmax: softmax_along,
    softmax.LogSoftmax: log_softmax,
    attention.Attention: attend,
    attention.MaskedSoftmax: masked_softmax,
}
