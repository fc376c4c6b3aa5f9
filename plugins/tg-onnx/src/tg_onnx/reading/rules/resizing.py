"""Images of other lengths: Resize at its versions, and Upsample.

Along each axis a new element is a sum of a few old ones with weights that the lengths decide, so positions and weights
are computed while the model is read, in float64, and the program gathers and adds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import tg
from tg.backend import is_float, message

if TYPE_CHECKING:
    from tg import Variable
    from tg_onnx.reading.node import Node
    from tg_onnx.reading.table import Rules

    Array = np.ndarray[Any, Any]


MOST_TAPS: Final = 2**24  # positions and weights along an axis, which are computed while a model is read


@dataclass(frozen=True)
class Setting:
    """The map from places of new elements to places of old ones, and what is taken there."""

    place: str  # of the node, for errors
    mode: str
    coordinates: str
    rounding: str
    cubic: float
    antialias: bool
    exclude: bool
    extrapolation: float


def _setting(node: Node) -> Setting:
    mode = node.attr("mode", "nearest")
    if node.since < 11:  # and all of Upsample
        plain = "asymmetric"
        mode = "linear" if mode in ("linear", "bilinear") else mode
        return Setting(node.place, mode, plain, "simple", -0.75, False, False, 0.0)
    return Setting(
        node.place,
        mode,
        node.attr("coordinate_transformation_mode", "half_pixel"),
        node.attr("nearest_mode", "round_prefer_floor"),
        node.attr("cubic_coeff_a", -0.75),
        bool(node.attr("antialias", 0)),
        bool(node.attr("exclude_outside", 0)),
        node.attr("extrapolation_value", 0.0),
    )


def places(old: int, new: int, scale: float, setting: Setting, roi: tuple[float, float]) -> Array:
    """For each new element, its place among the old ones."""
    _check_count(new, setting)
    k = np.arange(new, dtype=np.float64)
    match setting.coordinates:
        case "asymmetric":
            return np.asarray(k / scale)
        case "align_corners":
            return k * (old - 1) / (old * scale - 1) if new > 1 else np.zeros(new)
        case "pytorch_half_pixel":
            return (k + 0.5) / scale - 0.5 if new > 1 else np.zeros(new)
        case "tf_half_pixel_for_nn":
            return np.asarray((k + 0.5) / scale)
        case "half_pixel_symmetric":
            middle = old / 2 * (1 - new / (scale * old))
            return np.asarray(middle + (k + 0.5) / scale - 0.5)
        case "tf_crop_and_resize":
            start, end = roi
            if new > 1:
                return np.asarray(start * (old - 1) + k * (end - start) * (old - 1) / (new - 1))
            return np.full(new, 0.5 * (start + end) * (old - 1))
    return np.asarray((k + 0.5) / scale - 0.5)


def _check_count(count: int, setting: Setting) -> None:
    if count > MOST_TAPS:
        what = f"{count} weights along an axis"
        raise tg.LimitError(message(f"{setting.place}: found {what}, needed at most {MOST_TAPS}"))


def _nearest(place: Array, rounding: str) -> Array:
    match rounding:
        case "floor":
            return np.floor(place)
        case "ceil":
            return np.ceil(place)
        case "round_prefer_ceil":
            return np.floor(place + 0.5)
    return np.ceil(place - 0.5)


def _linear(distance: Array) -> Array:
    return np.asarray(np.maximum(1 - abs(distance), 0))


def _cubic(distance: Array, a: float) -> Array:
    x = abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def taps(old: int, place: Array, scale: float, setting: Setting) -> tuple[Array, Array]:
    """Positions (new, taps) of old elements, inside the image, and their weights.

    Raises:
        LimitError: there are too many to be computed while the model is read.
    """
    if setting.mode == "nearest":
        rounding = setting.rounding
        if rounding == "simple":  # before 11 nothing says which; ONNX Runtime takes the next one of what shrinks
            rounding = "ceil" if scale < 1 else "floor"
        index = np.clip(_nearest(place, rounding), 0, old - 1)
        return index.astype(np.int64)[:, None], np.ones((len(place), 1))
    shrink = min(scale, 1.0) if setting.antialias else 1.0
    reach = (1 if setting.mode == "linear" else 2) / shrink
    first = np.floor(place - reach).astype(np.int64) + (1 if shrink == 1 else 0)
    count = math.ceil(2 * reach) + (0 if shrink == 1 else 2)
    _check_count(len(place) * count, setting)
    index = first[:, None] + np.arange(count)
    distance = (index - place[:, None]) * shrink
    weights = _linear(distance) if setting.mode == "linear" else _cubic(distance, setting.cubic)
    if setting.exclude or setting.antialias:
        inside = (index >= 0) & (index < old)
        weights = np.where(inside, weights, 0) if setting.exclude else weights
        weights = weights / weights.sum(1, keepdims=True)
    return np.clip(index, 0, old - 1), weights


def resized(x: Variable, axis: int, index: Array, weights: Array) -> Variable:
    """x with sums of its elements along an axis."""
    flat = index.shape[1] == 1 and bool((weights == 1).all())
    length = x.type.shape[axis]
    if flat and isinstance(length, int) and np.array_equal(index[:, 0], np.arange(length)):
        return x
    total = None
    shape = (-1,) + (1,) * (x.ndim - axis - 1)
    for k in range(index.shape[1]):
        part = tg.take(x, tg.constant(index[:, k]), axis, mode="promise")
        if not flat:
            part = part * tg.reshape(tg.constant(weights[:, k].astype(x.dtype)), shape)
        total = part if total is None else total + part
    assert total is not None
    return total


def _resize(node: Node) -> Variable:
    """Resize from version 10 on; lengths of the image have to be static."""
    x, setting = node[0], _setting(node)
    old = [n for n in x.shape if isinstance(n, int)]
    if len(old) < x.ndim:
        node.refuse(f"an image {x.type} of open lengths", "static ones", "tg_onnx.load(model, shapes={…}) says them")
    axes = [a % x.ndim for a in node.attr("axes") or range(x.ndim)]
    new, scales, chosen = _lengths(node, old, axes)
    roi = _region(node, old, axes, setting)
    dtype = x.dtype
    wide = x if setting.mode == "nearest" else tg.cast(x, "float64" if dtype == "float64" else "float32")
    outside: Any = None
    for axis in range(x.ndim):
        if axis not in chosen and setting.coordinates != "tf_crop_and_resize":
            continue
        place = places(old[axis], new[axis], scales[axis], setting, roi[axis])
        wide = resized(wide, axis, *taps(old[axis], place, scales[axis], setting))
        if setting.coordinates == "tf_crop_and_resize":
            over = ((place < 0) | (place > old[axis] - 1)).reshape((-1,) + (1,) * (x.ndim - axis - 1))
            outside = over if outside is None else outside | over
    if outside is not None and outside.any():
        wide = tg.where(tg.constant(outside), setting.extrapolation, wide)
    if not is_float(dtype) and setting.mode != "nearest":
        wide = tg.rint(wide)
    return tg.cast(wide, dtype)


def _lengths(node: Node, old: list[int], axes: list[int]) -> tuple[list[int], list[float], list[int]]:
    """New lengths, scales, and the axes along which something changes."""
    position = 1 if node.since < 11 else 2
    new, scales = list(old), [1.0] * len(old)
    if node.has(3) and node.value(3).variable.type.shape != (0,):
        sizes = node.ints(3, "sizes")
        policy = node.attr("keep_aspect_ratio_policy", "stretch")
        ratios = [s / old[a] for a, s in zip(axes, sizes, strict=True)]
        if policy != "stretch":
            ratio = min(ratios) if policy == "not_larger" else max(ratios)
            sizes, ratios = [math.floor(ratio * old[a] + 0.5) for a in axes], [ratio] * len(axes)
        for a, s, ratio in zip(axes, sizes, ratios, strict=True):
            new[a], scales[a] = s, ratio
    else:
        factors = node.attr("scales") if not node.has(position) else node.static(position, "scales").tolist()
        for a, s in zip(axes, factors, strict=True):
            new[a], scales[a] = math.floor(old[a] * s), float(s)
    if not all(s > 0 for s in scales):
        raise tg.InputError(message(f"{node.place}: found lengths {new} of {old}, needed scales above 0"))
    return new, scales, [a for a in axes if scales[a] != 1 or new[a] != old[a]]


def _region(node: Node, old: list[int], axes: list[int], setting: Setting) -> list[tuple[float, float]]:
    """The part of each axis that is taken, of its whole length."""
    region = [(0.0, 1.0)] * len(old)
    if setting.coordinates != "tf_crop_and_resize":
        return region
    numbers = node.static(1, "a region").tolist()
    for k, a in enumerate(axes):
        region[a] = (numbers[k], numbers[k + len(axes)])
    return region


RULES: Final[Rules] = {"Resize": _resize, "Upsample": _resize}
