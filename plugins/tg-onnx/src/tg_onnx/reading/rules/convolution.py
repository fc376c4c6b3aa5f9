"""Convolutions, their transposes, and the borders that both are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import tg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules

CONVOLUTIONS: Final[dict[int, Callable[..., Variable]]] = {1: tg.nn.conv1d, 2: tg.nn.conv2d, 3: tg.nn.conv3d}
TRANSPOSES: Final[dict[int, Callable[..., Variable]]] = {
    1: tg.nn.conv_transpose1d,
    2: tg.nn.conv_transpose2d,
    3: tg.nn.conv_transpose3d,
}
MOST_AXES: Final = "one to three spatial axes"


def borders(
    node: Node, lengths: Sequence[Any], window: Sequence[Any], stride: Sequence[int], dilation: Sequence[int]
) -> list[tuple[Any, Any]]:
    """Widths before and after each spatial axis: `pads`, or what `auto_pad` makes of the lengths."""
    count, auto = len(window), node.attr("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        pairs = []
        for n, k, s, d in zip(lengths, window, stride, dilation, strict=True):
            total = positive((-(-n // s) - 1) * s + (k - 1) * d + 1 - n)
            half = total // 2
            pairs.append((half, total - half) if auto == "SAME_UPPER" else (total - half, half))
        return pairs
    pads = node.attr("pads") or [0] * (2 * count)
    if auto == "VALID":
        pads = [0] * (2 * count)
    return [(pads[k], pads[k + count]) for k in range(count)]


def positive(length: Any) -> Any:
    """A length, 0 where it is below."""
    return max(length, 0) if isinstance(length, int) else tg.maximum(tg.as_variable(length), 0)


def settings(node: Node, window: Sequence[Any]) -> tuple[list[int], list[int]]:
    """Strides and dilations, 1 unless given."""
    return node.attr("strides") or [1] * len(window), node.attr("dilations") or [1] * len(window)


def _conv(node: Node) -> Variable:
    return convolved(node, node[0], node[1], node.get(2))


def convolved(node: Node, x: Variable, w: Variable, bias: Variable | None) -> Variable:
    """The convolution that a node's attributes say, of these operands."""
    rank = x.ndim - 2
    if rank not in CONVOLUTIONS:
        node.refuse(f"{rank} spatial axes", MOST_AXES)
    window = w.shape[2:]
    stride, dilation = settings(node, window)
    padding = borders(node, x.shape[2:], window, stride, dilation)
    if not all(isinstance(n, int) for pair in padding for n in pair):
        x = tg.pad(x, [(0, 0), (0, 0), *padding])
        padding = [(0, 0)] * rank
    return CONVOLUTIONS[rank](x, w, bias, stride, padding, dilation, node.attr("group", 1))


def _transposed(node: Node) -> Variable:
    """The transpose of a convolution: full results, then cut by the borders, or lengthened by zeros."""
    x, w, bias = node[0], node[1], node.get(2)
    rank = x.ndim - 2
    if rank not in TRANSPOSES:
        node.refuse(f"{rank} spatial axes", MOST_AXES)
    window = w.shape[2:]
    stride, dilation = settings(node, window)
    extra = node.attr("output_padding") or [0] * rank
    pads = _transposed_borders(node, x.shape[2:], window, stride, dilation, extra)
    function, groups = TRANSPOSES[rank], node.attr("group", 1)
    if all(a == b and isinstance(a, int) for a, b in pads) and all(
        e < max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)
    ):
        return function(x, w, bias, stride, [a for a, _ in pads], extra, groups, dilation)
    y = function(x, w, None, stride, 0, 0, groups, dilation)
    picks: list[Any] = [slice(None), slice(None)]
    widths: list[Any] = [(0, 0), (0, 0)]
    for n, (before, after), more in zip(y.shape[2:], pads, extra, strict=True):
        picks.append(slice(max(before, 0), n - max(after - more, 0)))
        widths.append((max(-before, 0), max(more - after, 0)))
    y = tg.pad(y[tuple(picks)], widths)
    return y if bias is None else y + tg.reshape(bias, (-1,) + (1,) * rank)


def _transposed_borders(
    node: Node, lengths: Sequence[Any], window: Sequence[Any], stride: Any, dilation: Any, extra: Any
) -> list[tuple[Any, Any]]:
    auto, shape = node.attr("auto_pad", "NOTSET"), node.attr("output_shape")
    if auto in ("SAME_UPPER", "SAME_LOWER") and shape is None:
        shape = [n * s for n, s in zip(lengths, stride, strict=True)]
    if shape is None:
        return borders(node, lengths, window, stride, dilation)
    pairs = []
    rank = len(window)
    for k in range(rank):
        total = (
            stride[k] * (lengths[k] - 1) + extra[k] + (window[k] - 1) * dilation[k] + 1 - shape[len(shape) - rank + k]
        )
        half = total // 2
        pairs.append((half, total - half) if auto == "SAME_UPPER" else (total - half, half))
    return pairs


RULES: Final[Rules] = {
    "Conv": _conv,
    "ConvTranspose": _transposed,
}
