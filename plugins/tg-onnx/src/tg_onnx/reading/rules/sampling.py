"""Elements of images at places that the program computes: GridSample, RoiAlign, DeformConv, Col2Im."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any, Final

import tg
from tg_onnx.reading.rules.convolution import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules


def _unit(place: Variable, n: Any, *, corners: bool) -> Variable:
    """A place from -1 to 1 as a number of elements."""
    length = tg.cast(tg.as_variable(n), place.dtype)
    return tg.subtract((place + 1) / 2 * length, (place + 1) / 2 if corners else 0.5)


def _reflected(place: Variable, n: Any, *, corners: bool) -> Variable:
    """A place mirrored at both ends until it is inside."""
    length = tg.cast(tg.as_variable(n), place.dtype)
    low = 0.0 if corners else -0.5
    span = length - 1 if corners else length
    span = tg.maximum(span, 1e-9)
    inside = tg.remainder(place - low, 2 * span)
    return tg.where(inside > span, 2 * span - inside, inside) + low


def picked(x: Variable, places: Sequence[Variable], *, border: str, corners: bool) -> Variable:
    """x (n, c, spatial) at whole places (n, points) along each axis: (n, c, points); outside by the border's rule."""
    n, c, *lengths = x.shape
    inside: Any = None
    flat: Any = 0
    if border == "reflection":
        mirrored = [_reflected(p, n, corners=corners) for p, n in zip(places, lengths, strict=True)]
        places = [tg.rint(p) for p in mirrored]
    for place, length in zip(places, lengths, strict=True):
        if border == "zeros":
            ok = tg.logical_and(place >= 0, place <= tg.cast(tg.as_variable(length - 1), place.dtype))
            inside = ok if inside is None else tg.logical_and(inside, ok)
        whole = tg.clip(tg.cast(tg.nan_to_num(place), "int64"), 0, tg.as_variable(length - 1))
        flat = flat * length + whole
    images = tg.reshape(x, (n, c, math.prod(lengths)))
    index = tg.broadcast_to(tg.expand_dims(flat, 1), (n, c, flat.shape[1]))
    values = tg.take_along_axis(images, index, 2, mode="promise")
    return values if inside is None else tg.where(tg.expand_dims(inside, 1), values, 0)


def _cubic_weights(part: Variable) -> list[Variable]:
    """Weights of four neighbours for a place between the middle two."""
    a = -0.75

    def near(x: Variable) -> Variable:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Variable) -> Variable:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]


def _grid_sample(node: Node) -> Variable:
    """x at the places of a grid, whose last axis counts the spatial axes from the last."""
    x, grid = node[0], node[1]
    mode, border = node.attr("mode", "linear"), node.attr("padding_mode", "zeros")
    corners = bool(node.attr("align_corners", 0))
    rank = x.ndim - 2
    n, *shape = grid.shape[:-1]
    points = tg.reshape(grid, (n, math.prod(shape), rank))
    places = [_unit(points[:, :, rank - 1 - k], x.shape[2 + k], corners=corners) for k in range(rank)]
    take = functools.partial(picked, x, border=border, corners=corners)
    if mode == "nearest":
        y = take([tg.rint(p) for p in places])
    else:
        y = _weighted(take, places, cubic=mode in ("cubic", "bicubic"), border=border, x=x, corners=corners)
    return tg.reshape(y, (*x.shape[:2], *shape))


def _weighted(take: Any, places: list[Variable], *, cubic: bool, border: str, x: Variable, corners: bool) -> Variable:
    """Sums over the neighbours of each place, with the products of the axes' weights."""
    if not cubic and border != "zeros":
        fit: Any = _clamped if border == "border" else functools.partial(_reflected_inside, corners=corners)
        places = [fit(p, n) for p, n in zip(places, x.shape[2:], strict=True)]
    axes = []
    for place in places:
        low = tg.floor(place)
        part = place - low
        if cubic:
            axes.append([(low + k - 1, w) for k, w in enumerate(_cubic_weights(part))])
        else:
            axes.append([(low, 1 - part), (low + 1, part)])
    total: Any = None
    for corner in itertools.product(*axes):
        weight = functools.reduce(tg.multiply, [w for _, w in corner])
        term = take([p for p, _ in corner]) * tg.cast(tg.expand_dims(weight, 1), x.dtype)
        total = term if total is None else total + term
    return total  # type: ignore[no-any-return]


def _clamped(place: Variable, n: Any) -> Variable:
    return tg.clip(place, 0, tg.cast(tg.as_variable(n - 1), place.dtype))


def _reflected_inside(place: Variable, n: Any, *, corners: bool) -> Variable:
    return _clamped(_reflected(place, n, corners=corners), n)


def bilinear(x: Variable, rows: Variable, columns: Variable) -> Variable:
    """x (n, c, h, w) between four elements at places (n, points), zero outside: (n, c, points)."""
    take = functools.partial(picked, x, border="zeros", corners=True)
    return _weighted(take, [rows, columns], cubic=False, border="zeros", x=x, corners=True)


def _roi_align(node: Node) -> Variable:
    """Means or maxima of samples inside regions of images."""
    x, rois, batch = node[0], node[1], node[2]
    height, width = node.attr("output_height", 1), node.attr("output_width", 1)
    ratio, scale = node.attr("sampling_ratio", 0), node.attr("spatial_scale", 1.0)
    if ratio <= 0:
        node.refuse("a number of samples that each region decides", "sampling_ratio of at least 1")
    half = (
        0.5 if node.since >= 16 and node.attr("coordinate_transformation_mode", "half_pixel") == "half_pixel" else 0.0
    )
    x1, y1, x2, y2 = (rois[:, k] * scale - half for k in range(4))
    w, h = x2 - x1, y2 - y1
    if not half:
        w, h = tg.maximum(w, 1), tg.maximum(h, 1)
    rows = _samples(y1, h / height, height, ratio)
    columns = _samples(x1, w / width, width, ratio)
    count = rois.shape[0]
    r, c = height * ratio, width * ratio
    grid_rows = tg.reshape(tg.broadcast_to(tg.expand_dims(rows, 2), (count, r, c)), (count, r * c))
    grid_columns = tg.reshape(tg.broadcast_to(tg.expand_dims(columns, 1), (count, r, c)), (count, r * c))
    images = tg.take(x, batch, 0)
    top, left = _inside(grid_rows, x.shape[2]), _inside(grid_columns, x.shape[3])
    outside = tg.logical_or(_outside(grid_rows, x.shape[2]), _outside(grid_columns, x.shape[3]))
    blank = tg.expand_dims(outside, 1)
    if node.attr("mode", "avg") == "max":
        values = tg.where(blank, 0, _greatest_term(images, top, left))
    else:
        values = tg.where(blank, 0, bilinear(images, top, left))
    cells = tg.reshape(values, (count, x.shape[1], height, ratio, width, ratio))
    return tg.max(cells, (3, 5)) if node.attr("mode", "avg") == "max" else tg.mean(cells, (3, 5))


def _greatest_term(x: Variable, rows: Variable, columns: Variable) -> Variable:
    """The greatest of the four weighted neighbours, as the reference takes it."""
    low_r, low_c = tg.floor(rows), tg.floor(columns)
    part_r, part_c = rows - low_r, columns - low_c
    terms = []
    for r, wr in ((low_r, 1 - part_r), (low_r + 1, part_r)):
        for c, wc in ((low_c, 1 - part_c), (low_c + 1, part_c)):
            value = picked(x, [r, c], border="border", corners=True)
            terms.append(value * tg.expand_dims(wr * wc, 1))
    return functools.reduce(tg.maximum, terms)


def _samples(start: Variable, size: Variable, count: int, ratio: int) -> Variable:
    """Places of all samples along an axis of each region."""
    steps = (tg.arange(count * ratio) + 0.5) / ratio
    return tg.expand_dims(start, 1) + tg.expand_dims(size, 1) * tg.cast(steps, start.dtype)


def _inside(place: Variable, n: Any) -> Variable:
    return _clamped(tg.maximum(place, 0), n)


def _outside(place: Variable, n: Any) -> Variable:
    return tg.logical_or(place < -1, place > tg.cast(tg.as_variable(n), place.dtype))


def _deformed(node: Node) -> Variable:
    """A convolution each of whose taps is moved by an offset, and weighed by a mask."""
    x, w, offset, bias, mask = node[0], node[1], node[2], node.get(3), node.get(4)
    if x.ndim != 4:
        node.refuse(f"{x.ndim - 2} spatial axes", "two")
    kh, kw = w.shape[2:]
    (sh, sw), (dh, dw) = settings(node, (kh, kw))
    pads = node.attr("pads") or [0] * 4
    groups, parts = node.attr("group", 1), node.attr("offset_group", 1)
    n, channels = x.shape[:2]
    oh, ow = offset.shape[2:]
    offsets = tg.reshape(offset, (n, parts, kh, kw, 2, oh, ow))
    rows = tg.reshape(tg.arange(oh) * sh - pads[0], (-1, 1)) + tg.reshape(tg.arange(kh) * dh, (-1, 1, 1, 1))
    columns = tg.reshape(tg.arange(ow) * sw - pads[1], (1, -1)) + tg.reshape(tg.arange(kw) * dw, (-1, 1, 1))
    at_rows = offsets[:, :, :, :, 0] + tg.cast(rows, x.dtype)
    at_columns = offsets[:, :, :, :, 1] + tg.cast(columns, x.dtype)
    points = kh * kw * oh * ow
    images = tg.reshape(x, (n * parts, channels // parts, *x.shape[2:]))
    flat = [tg.reshape(v, (n * parts, points)) for v in (at_rows, at_columns)]
    values = tg.reshape(bilinear(images, *flat), (n, parts, channels // parts, kh, kw, oh, ow))
    if mask is not None:
        values = values * tg.reshape(mask, (n, parts, 1, kh, kw, oh, ow))
    columns_of = tg.reshape(values, (n, groups, channels // groups * kh * kw, oh * ow))
    weights = tg.reshape(w, (groups, w.shape[0] // groups, channels // groups * kh * kw))
    y = tg.reshape(tg.matmul(weights, columns_of), (n, w.shape[0], oh, ow))
    return y if bias is None else y + tg.reshape(bias, (-1, 1, 1))


def _columns_to_image(node: Node) -> Variable:
    """Blocks added up where they stood in an image."""
    x = node[0]
    image, block = node.ints(1, "a shape"), node.ints(2, "a block")
    stride, dilation = settings(node, block)
    rank = len(image)
    pads = node.attr("pads") or [0] * (2 * rank)
    counts = [
        (image[k] + pads[k] + pads[k + rank] - (block[k] - 1) * dilation[k] - 1) // stride[k] + 1 for k in range(rank)
    ]
    n = x.shape[0]
    channels = x.shape[1] // math.prod(block)
    parts = tg.reshape(x, (n, channels, *block, *counts))
    size = [image[k] + pads[k] + pads[k + rank] for k in range(rank)]
    y = tg.zeros((n, channels, *size), x.dtype)
    for place in itertools.product(*map(range, block)):
        spots = tuple(
            slice(p * d, p * d + (c - 1) * s + 1, s) for p, d, s, c in zip(place, dilation, stride, counts, strict=True)
        )
        y = y.at[(slice(None), slice(None), *spots)].add(parts[(slice(None), slice(None), *place)])
    return y[(slice(None), slice(None), *(slice(pads[k], pads[k] + image[k]) for k in range(rank)))]


RULES: Final[Rules] = {
    "Col2Im": _columns_to_image,
    "DeformConv": _deformed,
    "GridSample": _grid_sample,
    "RoiAlign": _roi_align,
}
