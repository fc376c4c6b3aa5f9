"""NUTS: trees beside a recursion in NumPy, adaptation beside what is published, what it draws beside the truth."""

from __future__ import annotations

from typing import NamedTuple

import mixing
import numpy as np
import nuts
import pytest
from scipy import stats

import tg

MEAN = np.array([1.0, -2.0])
COVARIANCE = np.array([[1.0, 0.8 * 3], [0.8 * 3, 9.0]])
PRECISION = np.linalg.inv(COVARIANCE)


def normal(theta):
    """The log-density of a correlated normal distribution."""
    return -0.5 * (theta - MEAN) @ PRECISION @ (theta - MEAN)


# The oracle: a path of leapfrog steps, and subtrees of it by recursion.
class Part(NamedTuple):
    """Leaves first to last of a path, the sum of their momenta, whether a part turned, and how many were looked at."""

    first: int
    last: int
    total: np.ndarray
    has_turned: bool
    leaves: int


def path(theta, momentum, step, count):
    """Places and momenta after each step."""

    def slope(theta):
        return -PRECISION @ (theta - MEAN)

    found = []
    for _ in range(count):
        momentum = momentum + 0.5 * step * slope(theta)
        theta = theta + step * momentum
        momentum = momentum + 0.5 * step * slope(theta)
        found.append((theta, momentum))
    return found


def turns(a, b, total):
    way = total - 0.5 * (a + b)
    return bool(a @ way <= 0 or b @ way <= 0)


def part(momenta, first, depth):
    """The subtree of 2^depth leaves from `first` on, built of two halves; no more once a part of it has turned."""
    if depth == 0:
        return Part(first, first, momenta[first], False, first + 1)
    a = part(momenta, first, depth - 1)
    if a.has_turned:
        return a
    b = part(momenta, a.last + 1, depth - 1)
    if b.has_turned:
        return b
    total = a.total + b.total
    has_turned = turns(momenta[a.first], momenta[b.last], total)
    return Part(a.first, b.last, total, has_turned, b.leaves)


@pytest.fixture(scope="module")
def grown():
    """A compiled function: where a subtree begins -> its leaves, whether it turned, the sum of momenta."""
    theta, momentum, step = tg.vector("theta", shape=2), tg.vector("momentum", shape=2), tg.scalar("step")
    size, seed = tg.scalar("size", "int64"), tg.scalar("seed", "int64")
    start = nuts.Point(nuts.place_of(normal, theta), momentum)
    tree = nuts.subtree(normal, start, step, tg.ones(2), size, nuts.height(start), tg.random.key(seed))
    found = [tree.leaves, tree.has_turned, tree.total, tree.chosen.theta, tree.log_weight, tree.accepted]
    return tg.function([theta, momentum, step, size, seed], found, backend="c")


def test_a_subtree_ends_where_one_by_recursion_does(grown):
    draw, ends = np.random.default_rng(0), set()
    for _ in range(200):
        theta, momentum = MEAN + draw.normal(size=2), draw.normal(size=2)
        step, depth = float(draw.choice([-0.4, -0.1, 0.05, 0.3])), int(draw.integers(7))
        after = path(theta, momentum, step, 1 << depth)
        needed = part([p for _, p in after], 0, depth)
        leaves, has_turned, total, *_ = grown(theta, momentum, step, 1 << depth, 0)
        assert (leaves, has_turned) == (needed.leaves, needed.has_turned)
        np.testing.assert_allclose(total, sum(p for _, p in after[:leaves]), rtol=1e-9, atol=1e-9)
        ends.add((int(leaves), bool(has_turned)))
    assert len(ends) > 15


def test_each_point_of_a_subtree_is_drawn_as_often_as_its_density_says(grown):
    theta, momentum, step = MEAN - 1.0, np.array([0.3, 1.5]), 0.6
    after = path(theta, momentum, step, 4)
    log_weights = np.array([-0.5 * (q - MEAN) @ PRECISION @ (q - MEAN) - 0.5 * p @ p for q, p in after])
    log_weights -= -0.5 * (theta - MEAN) @ PRECISION @ (theta - MEAN) - 0.5 * momentum @ momentum
    leaves, has_turned, *_, total, accepted = grown(theta, momentum, step, 4, 0)
    assert (leaves, has_turned) == (4, False)
    np.testing.assert_allclose(total, np.logaddexp.reduce(log_weights), rtol=1e-12)
    np.testing.assert_allclose(accepted, np.sum(np.exp(np.minimum(log_weights, 0))), rtol=1e-12)
    places, times = np.array([q for q, _ in after]), 4000
    drawn = [np.argmin(np.sum((places - grown(theta, momentum, step, 4, k)[3]) ** 2, axis=1)) for k in range(times)]
    expected = times * np.exp(log_weights) / np.sum(np.exp(log_weights))
    assert stats.chisquare(np.bincount(drawn, minlength=4), expected).pvalue > 1e-3


def test_windows_are_those_of_stan():
    inside, ends = nuts.windows(1000)
    assert np.flatnonzero(ends).tolist() == [99, 149, 249, 449, 949]
    assert np.flatnonzero(inside).tolist() == list(range(75, 950))
    inside, ends = nuts.windows(20)
    assert (np.sum(inside), np.flatnonzero(ends).tolist()) == (15, [17])


def test_the_scale_of_a_window_is_its_deviation_drawn_toward_a_thousandth():
    x = np.random.default_rng(1).normal(size=(30, 3)) * [1.0, 5.0, 0.1]
    spread, _ = tg.scan(lambda s, v: (s.with_draw(v), None), nuts.Spread(0.0, tg.zeros(3), tg.zeros(3)), tg.constant(x))
    needed = np.sqrt(30 / 35 * np.var(x, axis=0, ddof=1) + 1e-3 * 5 / 35)
    np.testing.assert_allclose(tg.function([], spread.scale(), backend="c")(), needed, rtol=1e-12)


def test_the_step_is_averaged_as_published():
    acceptance = np.random.default_rng(2).uniform(0.5, 1.0, 50)
    a, _ = tg.scan(lambda a, x: (nuts.averaged(a, x), None), nuts.averaging(tg.constant(0.3)), tg.constant(acceptance))
    found = tg.function([], [a.log_step, a.average], backend="c")()
    error = average = log_step = 0.0
    for m, alpha in enumerate(acceptance, 1):  # algorithm 6 of Hoffman and Gelman
        error = (1 - 1 / (m + 10)) * error + (0.8 - alpha) / (m + 10)
        log_step = np.log(10 * 0.3) - np.sqrt(m) / 0.05 * error
        average = m**-0.75 * log_step + (1 - m**-0.75) * average
    np.testing.assert_allclose(found, [log_step, average], rtol=1e-12)


@pytest.fixture(scope="module")
def chains():
    """Four chains of the normal distribution."""
    keys = tg.random.split(tg.random.key(1), 4)
    found = tg.vmap(lambda key: nuts.sample(normal, 2, 300, 1000, key))(keys)
    return tg.function([], [found.theta, *found.told, found.scale], backend="c")()


@pytest.mark.long
def test_a_normal_distribution_is_drawn(chains):
    theta, acceptance, leaves, has_diverged, scale = chains
    for k in range(2):
        error = np.sqrt(COVARIANCE[k, k] / mixing.effective_size(theta[..., k]))
        assert abs(np.mean(theta[..., k]) - MEAN[k]) < 4 * error
        assert mixing.disagreement(theta[..., k]) < 1.01
    np.testing.assert_allclose(np.cov(theta.reshape(-1, 2).T), COVARIANCE, rtol=0.15)
    assert 0.75 < np.mean(acceptance) < 0.95
    assert 1 < np.mean(leaves) < 20
    assert not np.any(has_diverged)
    np.testing.assert_allclose(scale, np.tile(np.sqrt(np.diag(COVARIANCE)), (4, 1)), rtol=0.5)
