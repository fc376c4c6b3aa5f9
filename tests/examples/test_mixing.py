"""Effective sizes and disagreement: of chains whose truth is known, and beside ArviZ."""

from __future__ import annotations

import mixing
import numpy as np
import pytest
from scipy.signal import lfilter


def autoregression(by, chains=8, count=20_000, seed=0):
    """Chains whose correlations are the powers of a number."""
    draw = np.random.default_rng(seed)
    noise = draw.normal(size=(chains, count)) * np.sqrt(1 - by * by)
    return lfilter([1.0], [1.0, -by], noise, axis=1)


@pytest.mark.parametrize("by", [0.9, 0.5, 0.0, -0.5])
def test_an_autoregression_is_worth_what_its_correlations_say(by):
    draws = autoregression(by)
    needed = draws.size * (1 - by) / (1 + by)
    assert abs(mixing.effective_size(draws) / needed - 1) < 0.1


def test_a_mean_has_the_error_that_the_size_says():
    found = [autoregression(0.8, 4, 500, seed) for seed in range(300)]
    sizes = [mixing.effective_size(draws) for draws in found]
    assert abs(np.std([np.mean(draws) for draws in found]) * np.sqrt(np.mean(sizes)) - 1) < 0.15


def test_ranks_are_all_that_counts():
    draws = autoregression(0.5, count=500)
    assert mixing.effective_size(np.exp(5 * draws)) == mixing.effective_size(draws)


def test_chains_that_differ_in_place_in_width_or_in_time_disagree():
    draws = autoregression(0.2, 4, 1000)
    assert 1 - 1e-3 < mixing.disagreement(draws) < 1.01
    assert mixing.disagreement(draws + np.array([[0.0], [0.0], [0.0], [1.0]])) > 1.05
    assert mixing.disagreement(draws * np.array([[1.0], [1.0], [1.0], [3.0]])) > 1.05
    assert mixing.disagreement(draws + np.linspace(0, 2, 1000)) > 1.05


@pytest.mark.parametrize("by", [0.95, 0.3, -0.4])
def test_numbers_are_those_of_arviz(by):
    arviz = pytest.importorskip("arviz")
    draws = autoregression(by, 4, 1000)
    np.testing.assert_allclose(mixing.effective_size(draws), float(arviz.ess(draws)), rtol=1e-9)
    np.testing.assert_allclose(mixing.disagreement(draws), float(arviz.rhat(draws)), rtol=1e-9)
