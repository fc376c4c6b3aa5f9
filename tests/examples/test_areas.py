"""Neighbours: the density and its slopes beside dense formulas, and a fit that finds what the data were drawn with."""

from __future__ import annotations

import areas
import numpy as np
import pytest
from scipy.stats import multivariate_normal


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", ["c", "jax", "mlx", "numba", "perform", "torch"])
def test_the_density_and_its_slopes_are_those_of_the_dense_matrix(backend) -> None:
    data = areas.lattice(7)
    rho, tau = 0.8, 1.7
    touch, counts = data.touch.toarray(), data.counts.toarray()
    q = tau * (counts - rho * touch)
    value, slopes = areas.compiled(backend, data)(np.array([np.log(rho / (1 - rho)), np.log(tau)]))
    np.testing.assert_allclose(value, multivariate_normal(cov=np.linalg.inv(q)).logpdf(data.seen), rtol=1e-11)
    of_rho = tau * (data.seen @ touch @ data.seen - np.trace(np.linalg.solve(q, touch))) / 2
    of_tau = (len(q) / tau - data.seen @ (counts - rho * touch) @ data.seen) / 2
    np.testing.assert_allclose(slopes, [of_rho * rho * (1 - rho), of_tau * tau], rtol=1e-9)


@pytest.mark.long
def test_draws_have_the_covariances_of_the_model(monkeypatch) -> None:
    q = areas.TRUE[1] * (areas.lattice(3).counts - areas.TRUE[0] * areas.lattice(3).touch).toarray()
    drawn = []
    for seed in range(1000):
        monkeypatch.setattr(areas, "SEED", seed)
        drawn.append(areas.lattice(3).seen)
    np.testing.assert_allclose(np.cov(np.array(drawn).T), np.linalg.inv(q), atol=0.08)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["c", "numba"])
def test_ten_thousand_areas_tell_what_they_were_drawn_with(backend) -> None:
    result = areas.fit(backend, areas.lattice(100))
    assert result.rho == pytest.approx(areas.TRUE[0], abs=0.02)
    assert result.tau == pytest.approx(areas.TRUE[1], abs=0.1)
