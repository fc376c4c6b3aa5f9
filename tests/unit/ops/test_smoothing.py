"""Trends, polynomials, medians, designed windows: exact arithmetic, lengths of calls, more tapers than cases have."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import signal

import tg
from tg.errors import ShapeError

DRAWS = np.random.default_rng(0)


@pytest.mark.parametrize(("points", "order", "place"), [(5, 2, 2), (11, 9, 3), (25, 10, 12), (24, 12, 0)])
def test_taps_read_polynomials_exactly(points: int, order: int, place: int) -> None:
    for derivative in (0, 1, 3):
        taps = tg.signal.savgol_coeffs(points, order, derivative, pos=place, use="dot").eval()
        for power in range(order + 1):
            terms = [Fraction(tap) * (k - place) ** power for k, tap in enumerate(taps.tolist())]
            wanted = math.factorial(derivative) if power == derivative else 0
            assert abs(sum(terms) - wanted) <= 1e-11 * sum(map(abs, terms))


@pytest.mark.parametrize("points", [5, 6])
def test_signals_of_lengths_that_calls_give(points: int) -> None:
    x = tg.vector("x")
    f = tg.function(
        [x],
        [
            tg.signal.savgol_filter(x, points, 2),
            tg.signal.savgol_filter(x, points, 2, mode="wrap"),
            tg.signal.detrend(x, bp=3),
            tg.signal.medfilt(x, 5),
        ],
        backend="perform",
    )
    for n in (points, 9, 30):
        at = DRAWS.normal(size=n)
        wanted = [
            signal.savgol_filter(at, points, 2),
            signal.savgol_filter(at, points, 2, mode="wrap"),
            signal.detrend(at, bp=3),
            signal.medfilt(at, 5),
        ]
        for result, one in zip(f(at), wanted, strict=True):
            np.testing.assert_allclose(result, one, rtol=1e-12, atol=1e-13)
    with pytest.raises(ShapeError, match=f"savgol_filter: found a signal of 4 points, needed at least {points}"):
        f(np.ones(4))


def test_windows_of_lengths_that_calls_give() -> None:
    n, own, scipys = tg.scalar("n", dtype="int64"), tg.signal.windows, signal.windows
    f = tg.function(
        [n], [own.chebwin(n, 70.0), own.chebwin(n, 70.0, False), own.taylor(n, sym=False)], backend="perform"
    )
    for points in (0, 1, 2, 5, 8, 33):
        wanted = [scipys.chebwin(points, 70.0), scipys.chebwin(points, 70.0, False), scipys.taylor(points, sym=False)]
        for result, one in zip(f(points), wanted, strict=True):
            np.testing.assert_allclose(result, one, rtol=1e-12, atol=1e-14)


def test_slopes_of_a_window_by_its_level() -> None:
    at, weights = tg.scalar("at"), np.array([1.0, 2.0, 0.5, 1.0, 3.0, -1.0])
    slope = tg.grad(tg.sum(tg.signal.windows.chebwin(6, at) * weights), at)
    result = tg.function([at], slope, backend="perform")(60.0)
    above, below = (weights @ signal.windows.chebwin(6, 60.0 + step) for step in (1e-4, -1e-4))
    np.testing.assert_allclose(result, (above - below) / 2e-4, rtol=1e-7)


@pytest.mark.parametrize(
    ("M", "NW", "count"), [(3, 1.0, 3), (64, 20.0, 64), (255, 4.0, 7), (1024, 4.0, 8), (1023, 8.0, 16)]
)
def test_tapers_are_those_of_scipy_and_orthogonal(M: int, NW: float, count: int) -> None:
    tapers, shares = (v.eval() for v in tg.signal.windows.dpss(M, NW, count, return_ratios=True))
    wanted, their_shares = signal.windows.dpss(M, NW, count, return_ratios=True)
    np.testing.assert_allclose(tapers, wanted, rtol=0, atol=1e-10)
    np.testing.assert_allclose(shares, their_shares, rtol=0, atol=1e-12)
    np.testing.assert_allclose(tapers @ tapers.T, np.eye(count), rtol=0, atol=1e-10)


def test_tapers_of_few_points_have_signs() -> None:
    root = math.sqrt(0.5)
    tapers: Any = tg.signal.windows.dpss(2, 0.5, 2).eval()
    np.testing.assert_allclose(tapers, [[root, root], [root, -root]], rtol=1e-15)
    assert tg.signal.windows.dpss(1, 2.0).eval().tolist() == [1.0]
