"""The hierarchical regression of the demo: its data, its density, what is sampled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tg.demo import radon

if TYPE_CHECKING:
    from pathlib import Path


def log_density(theta: Any, data: radon.Houses) -> float:
    """The model, written once more with NumPy and SciPy's densities."""
    from scipy.stats import norm

    a, b, c, log_tau, log_sigma = theta[:5]
    tau, sigma, deviation = np.exp(log_tau), np.exp(log_sigma), theta[5:]
    level = a + b * data.uranium + tau * deviation
    terms = [norm.logpdf(theta[:3], 0, np.exp(2)), norm.logpdf(tau), norm.logpdf(deviation)]
    terms += [norm.logpdf(data.log_radon, level[data.county] + c * data.floor, sigma), log_tau + log_sigma]
    return float(sum(np.sum(term) for term in terms))


def test_the_data_are_the_919_houses_in_85_counties() -> None:
    data = radon.load()
    assert data.county.shape == data.floor.shape == data.log_radon.shape == (919,)
    assert data.uranium.shape == (85,)
    np.testing.assert_array_equal(np.unique(data.county), np.arange(85))
    assert data.floor.sum() == 153
    np.testing.assert_allclose(data.log_radon.mean(), 1.2246226616667426)


def test_log_density_and_gradient_are_those_of_the_model() -> None:
    data = radon.load()
    logp = radon.density(data, "perform")
    points = np.random.default_rng(0).normal(0, 0.3, (2, 90))
    values = [float(logp(theta)[0]) for theta in points]
    np.testing.assert_allclose(values[1] - values[0], log_density(points[1], data) - log_density(points[0], data))
    step = 1e-6 * np.eye(90)
    slopes = [(log_density(points[0] + h, data) - log_density(points[0] - h, data)) / 2e-6 for h in step]
    np.testing.assert_allclose(logp(points[0])[1], slopes, rtol=1e-5, atol=1e-4)


@pytest.mark.long
def test_the_draws_are_near_the_published_fit() -> None:
    result = radon.run("perform", radon.load())
    a, b, c, _, log_sigma = result.draws[:, :5].mean(axis=0)
    # Gelman and Hill (2007), ch. 12.6: 1.47 and 0.72 (intercept and uranium), -0.67 (floor), 0.76 (sigma)
    np.testing.assert_allclose([a, b, c, np.exp(log_sigma)], [1.47, 0.72, -0.67, 0.76], atol=0.06)


def test_trace_plots_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from tg.demo.traces import plot

    draws = np.random.default_rng(1).normal(size=(20, 5))
    plot({"perform": draws}, radon.NAMES, tmp_path / "traces.png")
    assert (tmp_path / "traces.png").read_bytes().startswith(b"\x89PNG")
