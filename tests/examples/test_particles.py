"""The particle filter beside Kalman's, which is exact, and its resampling beside what it promises."""

from __future__ import annotations

import numpy as np
import particles
from scipy.stats import multivariate_normal

import tg

DATA = particles.series(60)


def test_the_exact_filter_is_the_joint_normal_density():
    y = DATA.y[:12]
    lag = np.abs(np.subtract.outer(np.arange(12), np.arange(12)))
    level = particles.WIDE**2 * particles.A**lag
    covariance = level + particles.R**2 * np.eye(12)
    value, means = particles.exact(y)
    np.testing.assert_allclose(value, multivariate_normal(np.zeros(12), covariance).logpdf(y), rtol=1e-12)
    np.testing.assert_allclose(means[-1], level[-1] @ np.linalg.solve(covariance, y), rtol=1e-12)


def test_each_particle_is_taken_as_often_as_its_weight_says_rounded_up_or_down():
    weights, key = tg.vector("weights"), tg.tensor("key", "uint32", shape=(2,))
    f = tg.function([key, weights], particles.systematic(key, weights), backend="c")
    draw, sums = np.random.default_rng(2), np.zeros(50)
    w = draw.exponential(size=50)
    w /= w.sum()
    for k in range(400):
        counts = np.bincount(f(np.array([1, k], np.uint32), w), minlength=50)
        assert np.all(np.abs(counts - 50 * w) < 1 + 1e-9)
        sums += counts
    np.testing.assert_allclose(sums / 400, 50 * w, atol=4 * 0.5 / np.sqrt(400))  # a count varies by 1/2 at most


def test_a_weight_of_all_is_taken_always():
    w = np.zeros(8)
    w[5] = 1.0
    assert np.all(particles.systematic(tg.random.key(0), tg.constant(w)).eval() == 5)


def test_the_density_of_the_data_is_unbiased_and_the_levels_are_those_of_kalman():
    f = particles.compiled("c", DATA, clouds=40, count=500)
    log_densities, means = f(particles.SEED)
    value, expected = particles.exact(DATA.y)
    ratios = np.exp(log_densities - value)
    assert abs(np.mean(ratios) - 1) < 4 * np.std(ratios) / np.sqrt(40)
    assert np.std(ratios) < 1
    assert np.all(np.abs(np.mean(means, axis=0) - expected) < 5 * np.std(means, axis=0) / np.sqrt(40))
