"""Functions of whole rows that find where extremes are.

A row is a pointer, a number of elements and the distance between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tg_numba.machine import imag, like, real, select, shift
from tg_numba.native import compiled


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
def before(x: Any, y: Any) -> Any:
    """Whether a complex number goes before another: by the real parts first."""
    a, b, c, d = real(x), imag(x), real(y), imag(y)
    return ((a < c) & (b == b) & (d == d)) | ((a == c) & (b < d))


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
