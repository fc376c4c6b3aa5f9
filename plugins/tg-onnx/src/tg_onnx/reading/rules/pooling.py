"""Pooling: extreme elements, means and norms of windows."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.backend import is_float, message
from tg_onnx.reading.rules.convolution import borders, positive, settings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules

MAXIMA: Final[dict[int, Callable[..., Variable]]] = {1: tg.nn.max_pool1d, 2: tg.nn.max_pool2d, 3: tg.nn.max_pool3d}
MOST_PLACES: Final = 2**16  # in a window that is written out, one part of the program for each
MEANS: Final[dict[int, Callable[..., Variable]]] = {1: tg.nn.avg_pool1d, 2: tg.nn.avg_pool2d, 3: tg.nn.avg_pool3d}


class Windows:
    """The windows of a pooling node over an image: borders, and how many windows there are along each axis."""

    __slots__ = ("ceil", "counts", "dilation", "lengths", "pads", "place", "reach", "stride", "window")

    def __init__(self, node: Node, x: Variable) -> None:
        self.place = node.place
        self.window: list[int] = node.attr("kernel_shape")
        self.stride, self.dilation = settings(node, self.window)
        self.lengths = x.shape[2:]
        self.pads = borders(node, self.lengths, self.window, self.stride, self.dilation)
        self.ceil = bool(node.attr("ceil_mode", 0))
        self.counts = [self._count(k) for k in range(len(self.window))]
        self.reach = [
            (n - 1) * s + self._span(k) for k, (n, s) in enumerate(zip(self.counts, self.stride, strict=True))
        ]

    def _span(self, k: int) -> int:
        return (self.window[k] - 1) * self.dilation[k] + 1

    def _count(self, k: int) -> Any:
        """The number of windows; rounded up, one that would begin in the border behind is none."""
        (before, after), n, s = self.pads[k], self.lengths[k], self.stride[k]
        room = n + before + after - self._span(k)
        if not self.ceil:
            return room // s + 1
        count = -(-room // s) + 1
        if isinstance(count, int) and isinstance(n, int):
            return count - 1 if (count - 1) * s >= n + before else count
        return count

    @property
    def is_plain(self) -> bool:
        """Whether tg's own pooling has such windows: even borders of at most half a window, none rounded up."""
        even = all(a == b for a, b in self.pads if isinstance(a, int) and isinstance(b, int))
        static = all(isinstance(n, int) for pair in self.pads for n in pair)
        return (
            even
            and static
            and not self.ceil
            and all(2 * a <= k for (a, _), k in zip(self.pads, self.window, strict=True))
        )

    def padded(self, x: Variable, fill: Any) -> Variable:
        """The image with its borders, long enough for all windows."""
        widths: list[Any] = [(0, 0), (0, 0)]
        for (before, _), n, reach in zip(self.pads, self.lengths, self.reach, strict=True):
            widths.append((before, positive(reach - n - before)))
        return tg.pad(x, widths, constant_values=fill) if any(w != (0, 0) for w in widths) else x

    def parts(self, padded: Variable) -> list[Variable]:
        """For each place in a window, the elements of all windows there."""
        if math.prod(self.window) > MOST_PLACES:
            what = f"windows {self.window} that are uneven, dilated or rounded up"
            raise tg.LimitError(message(f"{self.place}: found {what}, needed at most {MOST_PLACES} places in one"))
        parts = []
        for places in itertools.product(*map(range, self.window)):
            picks: list[Any] = [slice(None), slice(None)]
            for place, d, s, n in zip(places, self.dilation, self.stride, self.counts, strict=True):
                picks.append(slice(place * d, place * d + (n - 1) * s + 1, s))
            parts.append(padded[tuple(picks)])
        return parts

    def fold(self, padded: Variable, function: Callable[[Any, Any], Any]) -> Variable:
        """The elements of each window taken together by a function of two."""
        return functools.reduce(function, self.parts(padded))


def _max(node: Node) -> list[Variable]:
    x, windows = node[0], Windows(node, node[0])
    rank = len(windows.window)
    if node.gives(1):
        return _with_places(node, x, windows)
    least = -np.inf if is_float(x.dtype) else np.iinfo(x.dtype).min
    if windows.is_plain and rank in MAXIMA and is_float(x.dtype):
        pads = [a for a, _ in windows.pads]
        return [MAXIMA[rank](x, windows.window, windows.stride, pads, windows.dilation)]
    return [windows.fold(windows.padded(x, least), tg.maximum)]


def _with_places(node: Node, x: Variable, windows: Windows) -> list[Variable]:
    """The greatest elements, and the number of each in the whole of x."""
    least = -np.inf if is_float(x.dtype) else np.iinfo(x.dtype).min
    lengths = x.shape[2:]
    order = range(len(lengths)) if node.attr("storage_order", 0) else range(len(lengths) - 1, -1, -1)
    place, factor = tg.zeros((), "int64"), 1
    for k in order:
        along = tg.reshape(tg.arange(lengths[k]), (-1,) + (1,) * (len(lengths) - k - 1))
        place, factor = place + along * factor, factor * lengths[k]
    images = tg.reshape(tg.arange(x.shape[0] * x.shape[1]), (x.shape[0], x.shape[1]) + (1,) * len(lengths))
    places = windows.parts(windows.padded(tg.broadcast_to(place + images * factor, x.shape), 0))
    values = windows.parts(windows.padded(x, least))
    best, where = values[0], places[0]
    for value, position in zip(values[1:], places[1:], strict=True):
        better = value > best
        best, where = tg.where(better, value, best), tg.where(better, position, where)
    return [best, where]


def _mean(node: Node) -> Variable:
    x, windows = node[0], Windows(node, node[0])
    rank, with_borders = len(windows.window), bool(node.attr("count_include_pad", 0))
    wide = tg.cast(x, "float32") if x.dtype in ("float16", "bfloat16") else x
    if windows.is_plain and rank in MEANS and set(windows.dilation) == {1}:
        pads = [a for a, _ in windows.pads]
        return MEANS[rank](wide, windows.window, windows.stride, pads, count_include_pad=with_borders)
    total = windows.fold(windows.padded(wide, 0), tg.add)
    return total / _counted(windows, wide, with_borders=with_borders)


def _counted(windows: Windows, x: Variable, *, with_borders: bool) -> Variable:
    """The number of elements of each window that count: those of the image, and of the borders where these do."""
    counts: Variable = tg.ones((), x.dtype)
    for k, ((before, after), n) in enumerate(zip(windows.pads, windows.lengths, strict=True)):
        starts = tg.arange(windows.counts[k]) * windows.stride[k] - before
        low, high = (-before, n + after) if with_borders else (0, n)
        places = tg.expand_dims(starts, 1) + tg.arange(windows.window[k]) * windows.dilation[k]
        inside = tg.sum(tg.logical_and(places >= low, places < high), 1)
        shape = (-1,) + (1,) * (len(windows.lengths) - k - 1)
        counts = counts * tg.cast(tg.reshape(inside, shape), x.dtype)
    return counts


def _norm(node: Node) -> Variable:
    x, windows, p = node[0], Windows(node, node[0]), node.attr("p", 2)
    powers = windows.fold(windows.padded(tg.power(tg.absolute(x), p), 0), tg.add)
    return tg.power(powers, 1 / p)


def _over_images(function: Callable[..., Any]) -> Callable[[Node], Variable]:
    """A reduction over all spatial axes, which stay as ones."""
    return lambda node: function(node[0], tuple(range(2, node[0].ndim)), keepdims=True)


def _global_norm(node: Node) -> Variable:
    x, p = node[0], node.attr("p", 2)
    return tg.power(tg.sum(tg.power(tg.absolute(x), p), tuple(range(2, x.ndim)), keepdims=True), 1 / p)


def _unpooled(node: Node) -> Variable:
    """Elements put back to the places that MaxPool told, zeros elsewhere."""
    x, places = node[0], node[1]
    window = node.attr("kernel_shape")
    stride, _ = settings(node, window)
    pads = node.attr("pads") or [0] * (2 * len(window))
    spatial = [
        (n - 1) * s - pads[k] - pads[k + len(window)] + w
        for k, (n, s, w) in enumerate(zip(x.shape[2:], stride, window, strict=True))
    ]
    inner = [*x.shape[:2], *spatial]
    shape = tuple(node.ints(2, "a shape")) if node.has(2) else tuple(inner)
    flat = _moved(tg.ravel(places), inner, shape)
    y = tg.zeros((math.prod(shape),), x.dtype).at[flat].set(tg.ravel(x))
    return tg.reshape(y, shape)


def _moved(flat: Variable, inner: Sequence[Any], shape: Sequence[Any]) -> Variable:
    """Numbers of elements in one shape as those of the same places in another."""
    if list(inner) == list(shape):
        return flat
    place, factor, result = flat, 1, tg.zeros((), "int64")
    for n, m in zip(reversed(inner), reversed(shape), strict=True):
        result, place, factor = result + place % n * factor, place // n, factor * m
    return result


RULES: Final[Rules] = {
    "AveragePool": _mean,
    "GlobalAveragePool": _over_images(tg.mean),
    "GlobalLpPool": _global_norm,
    "GlobalMaxPool": _over_images(tg.max),
    "LpPool": _norm,
    "MaxPool": _max,
    "MaxUnpool": _unpooled,
}
