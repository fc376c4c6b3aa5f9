"""Packing of 256 values by parts of 16 or 32, whose scales are integers beside one float16 for all.

The scale of a part is the one, of a few that are tried, that leaves the least sum of squares: the numbers that a scale
gives are held, and a line through them is fitted. Then all scales are rounded, and the numbers made anew with what the
rounded ones are.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tg.errors import InputError, message

Array = np.ndarray[Any, Any]

TRIED: Final = np.linspace(-1.5, 1.5, 31, dtype=np.float32)  # numbers more or less in the range of a part
ROUNDS: Final = 2  # of fitting the common scale to numbers, and numbers to it


def pack_q4_k(x: Array) -> Array:
    """Groups (n, 256) as 8 parts of numbers from 0 to 15, each with a scale and what is taken off."""
    parts = x.reshape(-1, 8, 32)
    steps, offsets = _line(parts)
    d, m = (halves(np.max(v, -1, keepdims=True) / np.float32(63)) for v in (steps, offsets))
    wholes, below = (np.clip(np.rint(_over(v, u)), 0, 63) for v, u in ((steps, d), (offsets, m)))
    numbers = _of_line(parts, wholes * d, below * m)
    for _ in range(ROUNDS):
        d, m = _refitted(parts, numbers, wholes, below, d, m)
        numbers = _of_line(parts, wholes * d, below * m)
    s, o = wholes.astype(np.uint8), below.astype(np.uint8)
    first, second = s[:, :4] | (s[:, 4:] >> 4 << 6), o[:, :4] | (o[:, 4:] >> 4 << 6)
    shared = (s[:, 4:] & 15) | ((o[:, 4:] & 15) << 4)
    pairs = numbers.astype(np.uint8).reshape(-1, 4, 2, 32)
    packed = (pairs[:, :, 0] | (pairs[:, :, 1] << 4)).reshape(-1, 128)
    return np.hstack([as_bytes(d), as_bytes(m), first, second, shared, packed])


def pack_q6_k(x: Array) -> Array:
    """Groups (n, 256) as 16 parts of numbers from -32 to 31, each with a scale of a signed byte."""
    parts = x.reshape(-1, 16, 16)
    steps = _slope(parts)
    largest = np.take_along_axis(steps, np.abs(steps).argmax(-1, keepdims=True), -1)
    d = halves(largest / np.float32(-128))
    wholes = np.clip(np.rint(_over(steps, d)), -128, 127)
    numbers = _of_slope(parts, wholes * d)
    for _ in range(ROUNDS):
        fitted = wholes[..., None] * numbers
        d = _refined(_over(_total(parts * fitted), _total(fitted * fitted)), d)
        numbers = _of_slope(parts, wholes * d)
    whole = (numbers + 32).astype(np.uint8).reshape(-1, 2, 4, 32)
    lower = (whole[:, :, :2] & 15) | ((whole[:, :, 2:] & 15) << 4)
    upper = np.zeros_like(whole[:, :, 0])
    for k in range(4):
        upper |= whole[:, :, k] >> 4 << 2 * k
    scales = wholes.astype(np.int8).view(np.uint8)
    return np.hstack([lower.reshape(-1, 128), upper.reshape(-1, 64), scales, as_bytes(d)])


def _over(a: Array, b: Array) -> Array:
    """a / b; 0 where b is 0."""
    return np.where(b == 0, np.float32(0), a / np.where(b == 0, np.float32(1), b))


def _total(v: Array) -> Array:
    """The sum of each group (n, parts, values), as (n, 1)."""
    total: Array = v.sum((-2, -1), dtype=np.float64)[:, None].astype(np.float32)
    return total


def halves(scale: Array) -> Array:
    """Scales as float16 has them, in float32.

    Raises:
        InputError: one is beyond its range.
    """
    half = scale.astype(np.float16).astype(np.float32)
    if not np.isfinite(half).all():
        largest = float(np.abs(scale).max())
        raise InputError(message(f"quantize_groups: found a scale of {largest:.3g}, needed at most 65504, of float16"))
    return half


def as_bytes(half: Array) -> Array:
    """Numbers (n, 1) that float16 has, as its two bytes (n, 2)."""
    packed: Array = half.astype("<f2").view(np.uint8)
    return packed


def _refined(scale: Array, before: Array) -> Array:
    """Scales as float16 has them; those before where it has none, or 0."""
    half = scale.astype(np.float16).astype(np.float32)
    return np.where(np.isfinite(half) & (half != 0), half, before)


def _of_line(x: Array, steps: Array, offsets: Array) -> Array:
    return np.clip(np.rint(_over(x + offsets[..., None], steps[..., None])), 0, 15)


def _of_slope(x: Array, steps: Array) -> Array:
    return np.clip(np.rint(_over(x, steps[..., None])), -32, 31)


def _line(x: Array) -> tuple[Array, Array]:
    """For each part (n, parts, values) the step and the offset, both at least 0, of x = step * number - offset."""
    low, high = np.minimum(x.min(-1), 0), x.max(-1)
    best_step, best_offset = (high - low) / np.float32(15), -low
    best = _squares(x, best_step[..., None] * _of_line(x, best_step, best_offset) - best_offset[..., None])
    count = np.float32(x.shape[-1])
    sum_x = x.sum(-1)
    for change in TRIED:
        q = _of_line(x, (high - low) / (15 + change), -low)
        sum_q, sum_qq, sum_qx = q.sum(-1), (q * q).sum(-1), (q * x).sum(-1)
        step = _over(count * sum_qx - sum_q * sum_x, count * sum_qq - sum_q * sum_q)
        offset = (step * sum_q - sum_x) / count
        through = _over(sum_qx, sum_qq)  # of lines through 0, which is as low as an offset goes
        step, offset = np.where(offset < 0, through, step), np.maximum(offset, 0)
        error = _squares(x, step[..., None] * q - offset[..., None])
        is_better = (error < best) & (step >= 0)
        best = np.where(is_better, error, best)
        best_step, best_offset = np.where(is_better, step, best_step), np.where(is_better, offset, best_offset)
    return best_step, best_offset


def _slope(x: Array) -> Array:
    """For each part the step of x = step * number that leaves the least squares, of either sign."""
    extreme = np.take_along_axis(x, np.abs(x).argmax(-1, keepdims=True), -1)[..., 0]
    best_step = extreme / np.float32(-32)
    best = _squares(x, best_step[..., None] * _of_slope(x, best_step))
    for change in TRIED:
        for side in (-32, 31):
            q = _of_slope(x, extreme / (side + np.copysign(change, side)))
            step = _over((q * x).sum(-1), (q * q).sum(-1))
            error = _squares(x, step[..., None] * q)
            is_better = error < best
            best, best_step = np.where(is_better, error, best), np.where(is_better, step, best_step)
    return best_step


def _squares(x: Array, y: Array) -> Array:
    total: Array = np.square(x - y).sum(-1)
    return total


def _refitted(x: Array, q: Array, wholes: Array, below: Array, d: Array, m: Array) -> tuple[Array, Array]:
    """Both common scales of groups, fitted to numbers and to the scales of parts; as they were where it has none."""
    a, b = wholes[..., None] * q, -np.broadcast_to(below[..., None], q.shape)
    aa, ab, bb, ax, bx = (_total(u) for u in (a * a, a * b, b * b, a * x, b * x))
    spread = aa * bb - ab * ab
    new_d, new_m = _over(ax * bb - bx * ab, spread), _over(bx * aa - ax * ab, spread)
    is_kept = (spread <= 1e-6 * aa * bb) | (new_d <= 0) | (new_m < 0)
    return np.where(is_kept, d, _refined(new_d, d)), np.where(is_kept, m, _refined(new_m, m))
