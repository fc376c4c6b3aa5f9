"""The matrix of low rank: both ways to it, and that what they find is the solution."""

from __future__ import annotations

import factors
import numpy as np
import pytest

import tg

SMALL = factors.half_seen(20, 14)


def test_shrunk_takes_the_penalty_from_each_singular_value():
    values = np.array([9.0, 5.0, 2.0])
    left, right = (np.linalg.qr(np.random.default_rng(k).normal(size=(n, 3)))[0] for k, n in ((0, 6), (1, 4)))
    found = factors.shrunk(tg.constant((left * values) @ right.T)).eval(backend="perform")
    np.testing.assert_allclose(found, (left * np.maximum(values - factors.PENALTY, 0)) @ right.T, atol=1e-13)


def test_the_gradient_is_that_by_hand():
    u, v = factors.parts(factors.start(SMALL), SMALL)
    found = factors.compiled(SMALL, "c")[1](u, v, SMALL.a, SMALL.is_seen)
    for one, needed in zip(found, factors.gradient_in_numpy(u, v, SMALL.a, SMALL.is_seen), strict=True):
        np.testing.assert_allclose(one, needed, rtol=1e-12, atol=1e-12)


def is_solution(x, data, digits):
    """Whether (a - x) over the seen is a subgradient of penalty |x|*: the problem is convex, so that decides."""
    slope = np.where(data.is_seen, data.a - x, 0.0) / factors.PENALTY
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    rank = int(np.sum(s > 1e-3))
    u, vh = u[:, :rank], vh[:rank]
    rest = slope - u @ vh
    along = max(np.max(np.abs(u.T @ rest)), np.max(np.abs(rest @ vh.T)))
    return along < digits and np.linalg.norm(rest, 2) < 1 + digits


@pytest.mark.parametrize("rows", [20, pytest.param(factors.ROWS, marks=pytest.mark.long)])
def test_both_ways_end_at_the_solution(rows):
    data = SMALL if rows == 20 else factors.half_seen()
    found = factors.run("c", data)
    assert is_solution(found.by_svd, data, 1e-7)
    assert is_solution(found.by_gradient, data, 1e-4)
    assert not is_solution(data.truth, data, 1e-2)
    np.testing.assert_allclose(found.by_gradient, found.by_svd, atol=1e-3)
    by_hand, svds = factors.by_singular_values_in_numpy(data.a, data.is_seen)
    np.testing.assert_allclose(found.by_svd, by_hand, atol=1e-10)
    assert found.svds == svds
