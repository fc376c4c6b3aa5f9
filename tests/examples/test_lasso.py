"""Lasso: the weights beside scikit-learn's coordinate descent, and the features that decide."""

from __future__ import annotations

import lasso
import numpy as np
import pytest
from sklearn.linear_model import Lasso


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", ["c", "jax", "mlx", "numba", "perform", "torch"])
def test_the_weights_are_those_of_coordinate_descent(backend, monkeypatch) -> None:
    monkeypatch.setattr(lasso, "FEATURES", 60)
    monkeypatch.setattr(lasso, "SHARE", 0.2)
    monkeypatch.setattr(lasso, "ENOUGH", 1e-13)
    rows = lasso.drawn(300)
    state = lasso.compiled(backend, rows)(rows.measured, 0.02)
    exact = Lasso(alpha=0.02, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(rows.design, rows.measured)
    assert state.steps < lasso.MOST
    np.testing.assert_array_equal(np.flatnonzero(state.weights), np.flatnonzero(exact.coef_))
    np.testing.assert_allclose(state.weights, exact.coef_, atol=1e-5)


@pytest.mark.long
def test_the_features_that_decide_are_chosen() -> None:
    rows = lasso.drawn(10_000)
    state = lasso.compiled("c", rows)(rows.measured, 1e-3)
    assert set(np.flatnonzero(rows.weights)) <= set(np.flatnonzero(state.weights))
    assert np.count_nonzero(state.weights) < 60
