"""Functions of whole rows that reductions call: sums by parts, extremes, and where they are.

A row is a pointer, a number of elements and the distance between them.
"""

from __future__ import annotations

from typing import Any, Final

import numba
import numpy as np

from tg_numba.machine import at, frame, lesser, like, pair, parts, select, shift
from tg_numba.native import compiled
from tg_numba.rules.elementwise.arithmetic import before

BLOCK: Final = 128  # elements that are summed without parts
STRIP: Final = 128  # columns that are summed together
ROWS: Final = 16  # rows that are summed without parts
LEVELS: Final = 32 * 8 * STRIP  # bytes of partial sums of columns: as many as a count has binary digits


@compiled
def sum_block(x: Any, n: Any, s: Any) -> Any:
    """The sum of a few elements, in double precision, by eight accumulators."""
    a = b = c = d = e = f = g = h = 0.0
    whole = n - n % 8
    if s == 1:
        for i in range(0, whole, 8):
            a += x[i]
            b += x[i + 1]
            c += x[i + 2]
            d += x[i + 3]
            e += x[i + 4]
            f += x[i + 5]
            g += x[i + 6]
            h += x[i + 7]
    else:
        for i in range(0, whole, 8):
            p = shift(x, i * s)
            a += p[0]
            b += p[s]
            c += p[2 * s]
            d += p[3 * s]
            e += p[4 * s]
            f += p[5 * s]
            g += p[6 * s]
            h += p[7 * s]
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for i in range(whole, n):
        total += x[i * s]
    return total


@compiled
def add_pairwise(parts: Any, count: Any, x: Any) -> Any:
    """Add a number to partial sums of equal blocks, of which there are as many as `count` has binary digits."""
    k = 0
    left = count
    while left & 1:
        x += parts[k]
        k += 1
        left >>= 1
    parts[k] = x
    return count + 1


@compiled
def total_pairwise(parts: Any, count: Any) -> Any:
    """The sum of the partial sums."""
    total = like(parts[0], 0)
    k = 0
    while count:
        if count & 1:
            total += parts[k]
        k += 1
        count >>= 1
    return total


@compiled
def sum_row(x: Any, n: Any, s: Any) -> Any:
    """The sum of a row, in double precision."""
    if n <= BLOCK:
        return sum_block(x, n, s)
    sums = at(frame(512), numba.float64)
    count = 0
    start = 0
    while start < n:
        count = add_pairwise(sums, count, sum_block(shift(x, start * s), lesser(BLOCK, n - start), s))
        start += BLOCK
    return total_pairwise(sums, count)


@compiled
def sum_row_complex(x: Any, n: Any, s: Any) -> Any:
    """The sum of a row, in double precision: both parts by themselves."""
    place = parts(x)
    return pair(sum_row(place, n, 2 * s), sum_row(shift(place, 1), n, 2 * s))


@compiled
def sum_columns(x: Any, n: Any, s: Any, w: Any, y: Any) -> Any:
    """The sums of n rows of up to STRIP columns, in double precision: rows in blocks, blocks pairwise."""
    levels = at(frame(LEVELS), numba.float64)
    count = 0
    for start in range(0, n, ROWS):
        for j in range(w):
            y[j] = 0.0
        for i in range(start, lesser(start + ROWS, n)):
            row = shift(x, i * s)
            for j in range(w):
                y[j] += row[j]
        level, left = levels, count
        while left & 1:
            for j in range(w):
                y[j] += level[j]
            level = shift(level, STRIP)
            left >>= 1
        for j in range(w):
            level[j] = y[j]
        count += 1
    for j in range(w):
        y[j] = 0.0
    while count:
        if count & 1:
            for j in range(w):
                y[j] += levels[j]
        levels = shift(levels, STRIP)
        count >>= 1
    return 0


@compiled
def max_row(x: Any, n: Any, s: Any) -> Any:
    """The largest element of a row of floats: a NaN if there is one, -inf if there is none."""
    best = like(x[0], -np.inf)
    whole = n - n % 8 if s == 1 else 0
    if whole > 0:
        a = b = c = d = e = f = g = h = best
        bad = False
        for i in range(0, whole, 8):
            p = shift(x, i)
            a = select(p[0] > a, p[0], a)
            b = select(p[1] > b, p[1], b)
            c = select(p[2] > c, p[2], c)
            d = select(p[3] > d, p[3], d)
            e = select(p[4] > e, p[4], e)
            f = select(p[5] > f, p[5], f)
            g = select(p[6] > g, p[6], g)
            h = select(p[7] > h, p[7], h)
            bad = (
                bad
                | (p[0] != p[0])
                | (p[1] != p[1])
                | (p[2] != p[2])
                | (p[3] != p[3])
                | (p[4] != p[4])
                | (p[5] != p[5])
                | (p[6] != p[6])
                | (p[7] != p[7])
            )
        if bad:
            return like(x[0], np.nan)
        a, b, c, d = select(a > b, a, b), select(c > d, c, d), select(e > f, e, f), select(g > h, g, h)
        a, b = select(a > b, a, b), select(c > d, c, d)
        best = select(a > b, a, b)
    for i in range(whole, n):
        element = x[i * s]
        if element != element:
            return element
        best = select(element > best, element, best)
    return best


@compiled
def min_row(x: Any, n: Any, s: Any) -> Any:
    """The least element of a row of floats: a NaN if there is one, inf if there is none."""
    best = like(x[0], np.inf)
    whole = n - n % 8 if s == 1 else 0
    if whole > 0:
        a = b = c = d = e = f = g = h = best
        bad = False
        for i in range(0, whole, 8):
            p = shift(x, i)
            a = select(p[0] < a, p[0], a)
            b = select(p[1] < b, p[1], b)
            c = select(p[2] < c, p[2], c)
            d = select(p[3] < d, p[3], d)
            e = select(p[4] < e, p[4], e)
            f = select(p[5] < f, p[5], f)
            g = select(p[6] < g, p[6], g)
            h = select(p[7] < h, p[7], h)
            bad = (
                bad
                | (p[0] != p[0])
                | (p[1] != p[1])
                | (p[2] != p[2])
                | (p[3] != p[3])
                | (p[4] != p[4])
                | (p[5] != p[5])
                | (p[6] != p[6])
                | (p[7] != p[7])
            )
        if bad:
            return like(x[0], np.nan)
        a, b, c, d = select(a < b, a, b), select(c < d, c, d), select(e < f, e, f), select(g < h, g, h)
        a, b = select(a < b, a, b), select(c < d, c, d)
        best = select(a < b, a, b)
    for i in range(whole, n):
        element = x[i * s]
        if element != element:
            return element
        best = select(element < best, element, best)
    return best


@compiled
def argmax(x: Any, n: Any, s: Any) -> Any:
    """The place of the first largest element of integers or bools; 0 if there is none."""
    best = 0
    for i in range(1, n):
        if x[i * s] > x[best * s]:
            best = i
    return best


@compiled
def argmin(x: Any, n: Any, s: Any) -> Any:
    """The place of the first least element of integers or bools; 0 if there is none."""
    best = 0
    for i in range(1, n):
        if x[i * s] < x[best * s]:
            best = i
    return best


@compiled
def argmax_floating(x: Any, n: Any, s: Any) -> Any:
    """The place of the first NaN, else of the first largest element; 0 if there is none."""
    best = max_row(x, n, s)
    if best != best:
        for i in range(n):
            if x[i * s] != x[i * s]:
                return i
    for i in range(n):
        if x[i * s] == best:
            return i
    return 0


@compiled
def argmin_floating(x: Any, n: Any, s: Any) -> Any:
    """The place of the first NaN, else of the first least element; 0 if there is none."""
    best = min_row(x, n, s)
    if best != best:
        for i in range(n):
            if x[i * s] != x[i * s]:
                return i
    for i in range(n):
        if x[i * s] == best:
            return i
    return 0


@compiled
def argmax_complex(x: Any, n: Any, s: Any) -> Any:
    """As `argmax`, by the order of complex numbers."""
    best = 0
    for i in range(n):
        element = x[i * s]
        if element != element:
            return i
        if before(x[best * s], element):
            best = i
    return best


@compiled
def argmin_complex(x: Any, n: Any, s: Any) -> Any:
    """As `argmin`, by the order of complex numbers."""
    best = 0
    for i in range(n):
        element = x[i * s]
        if element != element:
            return i
        if before(element, x[best * s]):
            best = i
    return best
