"""Convolutions by ggml's columns of windows (`im2col`) and a product of matrices, group by group.

A constant kernel is quantised where the options say so: columns are float32, and each row of the kernel is one outer
channel. Transposes, windows read backwards and more than two axes have no columns in ggml: they are expanded.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import ggml as g
import numpy as np

from tg.backend import convolution as t
from tg_ggml.tensors import Tensor, constant, current, extents, reshape, transpose
from tg_ggml.weights import factor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg.backend import Rule

AXES: Final = 2  # of windows that ggml has columns of


def convolution(op: t.Convolution, x: Tensor, w: Tensor, *rest: Any) -> Any:
    """The products of kernels with the columns of images."""
    axes = len(op.strides)
    if x.dtype != np.float32 or axes > AXES or any(u != 1 for u in op.spread) or any(d < 1 for d in op.dilations):
        return NotImplemented
    before, sizes = ([int(n) for n in field] for field in op.numbers(rest))
    n, groups, channels = x.shape[: t.LEAD]
    outer, kernel = w.shape[1], w.shape[t.LEAD :]
    shape = (n, groups, outer, *sizes)
    if not math.prod(shape):
        return Tensor(shape)
    if not x.size or not w.size:
        return constant(np.zeros(shape, np.float32))
    missing = AXES - axes
    ones, zeros = [1] * missing, [0] * missing
    spans = [*zeros, *((k - 1) * d for k, d in zip(kernel, op.dilations, strict=True))]
    geometry = _Geometry([*ones, *kernel], [*ones, *op.strides], [*ones, *op.dilations], [*zeros, *before], spans)
    images = reshape(x, (n, groups * channels, *ones, *x.shape[t.LEAD :]))
    node, pads = geometry.padded(images, [*ones, *sizes])
    kernels = reshape(w, (groups, outer, channels * math.prod(kernel)))
    parts = [_group(geometry, node, pads, kernels, k, (n, groups, channels), [*ones, *sizes]) for k in range(groups)]
    ctx, y = current().ctx, parts[0]
    for part in parts[1:]:
        y = g.ggml_concat(ctx, y, part, 0)
    joined = Tensor((n, math.prod(sizes), groups * outer), node=y)
    return reshape(transpose(joined, (0, 2, 1)), shape)


class _Geometry:
    """The windows of two axes."""

    def __init__(self, kernel: Any, strides: Any, dilations: Any, before: Any, spans: Any) -> None:
        self.kernel, self.strides, self.dilations, self.before, self.spans = kernel, strides, dilations, before, spans

    def padded(self, images: Tensor, sizes: Sequence[int]) -> tuple[Any, list[int]]:
        """The images, and zeros that `im2col` is to put around them.

        It puts as many on both sides, and has all windows that fit. Others are made by padding and cutting beforehand.
        """
        lengths = images.shape[-AXES:]
        rows = list(zip(lengths, sizes, self.strides, self.before, self.spans, strict=True))
        if all(b >= 0 and (n + 2 * b - span - 1) // s + 1 == m for n, m, s, b, span in rows):
            return images.rows(), [*self.before]
        node, ctx = images.rows(), current().ctx
        size, pads, begins, taken = 4, [], [], []
        for n, m, s, b, span in rows:
            length = (m - 1) * s + span + 1
            low, high = max(-b, 0), min(n, length - b)
            pads.append((max(b, 0), length - max(b, 0) - max(high - low, 0)))
            begins.append(low)
            taken.append(max(high - low, 0))
        if not all(taken):
            zeros = constant(np.zeros((*images.shape[:-AXES], *(sum(p) for p in pads)), np.float32))
            return zeros.rows(), [0, 0]
        if taken != [*lengths]:
            strides = (lengths[1] * size, math.prod(lengths) * size, math.prod(images.shape[1:]) * size)
            dims = extents((*images.shape[:-AXES], *taken))
            offset = (begins[0] * lengths[1] + begins[1]) * size
            node = g.ggml_cont(ctx, g.ggml_view_4d(ctx, node, *dims, *strides, offset))
        (top, bottom), (left, right) = pads
        if top or bottom or left or right:
            node = g.ggml_pad_ext(ctx, node, left, right, top, bottom, 0, 0, 0, 0)
        return node, [0, 0]


def _group(
    geometry: _Geometry,
    node: Any,
    pads: Sequence[int],
    kernels: Tensor,
    k: int,
    counts: tuple[int, int, int],
    sizes: Sequence[int],
) -> Any:
    """The product of one group: outer channels behind the positions of all windows."""
    ctx = current().ctx
    n, groups, channels = counts
    if groups > 1:
        ne, nb = [*node.contents.ne], [*node.contents.nb]
        node = g.ggml_cont(
            ctx, g.ggml_view_4d(ctx, node, ne[0], ne[1], channels, n, nb[1], nb[2], nb[3], k * channels * nb[2])
        )
    own = _part(kernels, k)
    shaped = g.ggml_new_tensor_4d(ctx, g.GGML_TYPE_F32, *extents((own.shape[0], channels, *geometry.kernel)))
    (s1, s0), (p1, p0), (d1, d0) = geometry.strides, pads, geometry.dilations
    columns = g.ggml_im2col(ctx, shaped, node, s0, s1, p0, p1, d0, d1, True, g.GGML_TYPE_F32)
    count = own.shape[1]
    columns = g.ggml_reshape_4d(ctx, columns, *extents((n * math.prod(sizes), count)))
    product = g.ggml_mul_mat(ctx, factor("convolution", own, own.shape), columns)
    return g.ggml_reshape_4d(ctx, product, *extents((n, math.prod(sizes), own.shape[0])))


def _part(kernels: Tensor, k: int) -> Tensor:
    """The kernels of one group."""
    if kernels.data is not None:
        return constant(kernels.data[k])
    groups, outer, count = kernels.shape
    if groups == 1:
        return reshape(kernels, (outer, count))
    offset = 4 * k * outer * count
    node = g.ggml_view_4d(current().ctx, kernels.node, count, outer, 1, 1, 4 * count, 4 * count * outer,
                          4 * count * outer, offset)  # fmt: skip
    return Tensor((outer, count), node=node)


RULES: Final[dict[object, Rule]] = {t.Convolution: convolution}
